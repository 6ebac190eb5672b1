"""A State's lock dies with its holder, is not fooled by ids of processes, and stays with the parent of a fork."""

from __future__ import annotations

import asyncio
import errno
import fcntl
import json
import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from fireside import Agent, tool
from fireside.errors import Holder, StateInUseError
from fireside.state import State
from fireside.stores import lock as locks
from fireside.stores import open_store
from fireside.stores.base import Store
from fireside.stores.file import FileStore
from fireside.stores.sqlite import SQLiteStore
from fireside.testing import FakeModel, tool_call

from tests.core.stores.children import Child

pytestmark = pytest.mark.xdist_group("postgres")

Opener = Callable[[], Store]


@pytest.fixture(params=["file", "sqlite", "postgres"])
def opener(request: pytest.FixtureRequest, tmp_path: Path) -> Opener:
    if request.param == "file":
        return lambda: FileStore(tmp_path / "runs")
    if request.param == "sqlite":
        return lambda: SQLiteStore(tmp_path / "runs.db")
    dsn = request.getfixturevalue("postgres")
    return lambda: open_store(dsn)


def test_a_lock_dies_with_its_holder_under_kill_9(opener: Opener) -> None:
    store = opener()
    store.save(State("hello", id="x"))

    def hold(tell: Any, wait: Any) -> None:
        kept = opener().lock("x")
        tell("held")
        wait()
        del kept

    child = Child(hold)
    assert child.said() == "held"
    holder = store.holder("x")
    assert holder is not None
    assert holder.pid == child.pid
    with pytest.raises(StateInUseError, match=f"process {child.pid}"):
        store.lock("x")
    child.kill()
    lock = _soon(store)
    assert store.holder("x") is not None
    lock.release()
    assert store.holder("x") is None


def _soon(store: Store) -> Any:
    """A server hears of the death of a client when it reads from its socket: a moment later."""
    for _ in range(200):
        try:
            return store.lock("x")
        except StateInUseError:
            time.sleep(0.005)
    return store.lock("x")


def test_a_forked_child_holds_nothing_and_takes_nothing_with_it(opener: Opener) -> None:
    store = opener()
    store.save(State("hello", id="x"))
    lock = store.lock("x")

    def try_it(tell: Any, wait: Any) -> str:
        try:
            lock.release()  # the parent's: it does nothing
            opener().lock("x")
        except StateInUseError:
            tell("refused")
        wait()
        opener().lock("x").release()
        return "taken after the parent gave it back"

    child = Child(try_it)
    assert child.said() == "refused"
    with pytest.raises(StateInUseError):
        opener().lock("x")
    assert store.load("x").task == "hello"
    lock.release()
    child.go()
    assert child.said() == "taken after the parent gave it back"
    child.end()


def test_a_lock_ends_with_its_holder_though_a_forked_child_lives_on(opener: Opener) -> None:
    opener().save(State("hello", id="x"))

    def hold(tell: Any, wait: Any) -> None:
        kept = opener().lock("x")
        pid = os.fork()
        if pid == 0:
            wait()
            os._exit(0)
        tell("held")
        os.kill(os.getpid(), 9)
        del kept

    child = Child(hold)
    assert child.said() == "held"
    os.waitpid(child.pid, 0)
    child.pid = 0
    try:
        _soon(opener()).release()
    finally:
        child.go()
        child.end()


def test_a_child_goes_on_with_a_store_of_its_parent(opener: Opener) -> None:
    store = opener()
    store.save(State("hello", id="x"))

    def use(tell: Any, wait: Any) -> list[str]:
        state = State("from the child", id="y")
        store.save(state)
        state.add_user_message("more")
        store.save(state)
        return sorted(row.id for row in store.list())

    child = Child(use)
    assert child.said() == ["x", "y"]
    child.end()
    state = store.load("y")
    state.add_user_message("from the parent")
    store.save(state)
    assert [entry.text for entry in store.load("y").history] == ["from the child", "more", "from the parent"]


def test_eight_processes_open_a_new_store_at_once(opener: Opener) -> None:
    def make(n: int) -> Callable[[Any, Any], str]:
        def work(tell: Any, wait: Any) -> str:
            tell("ready")
            wait()
            opener().save(State("hello", id=f"id-{n}"))
            return "saved"

        return work

    children = [Child(make(n)) for n in range(8)]
    for child in children:
        child.said()
    for child in children:
        child.go()
    assert [child.said() for child in children] == ["saved"] * 8
    for child in children:
        child.end()
    assert sorted(row.id for row in opener().list()) == [f"id-{n}" for n in range(8)]


def test_a_run_tells_who_holds_its_state(opener: Opener) -> None:
    @tool
    def look(state: State) -> str:
        """Looks from outside at who holds the State."""
        with pytest.raises(StateInUseError, match=f"process {os.getpid()}"):
            opener().lock(state.id)
        return str(opener().holder(state.id))

    state = State("Who holds it?", id="x")
    Agent(FakeModel([tool_call("look"), "done"]), tools=[look], store=opener()).run(state)
    (result,) = [entry for entry in state.history if entry.kind == "tool_result"]
    assert f"process {os.getpid()} on {locks.HOST} since" in result.text


class TestLockFiles:
    def test_a_reused_process_id_holds_nothing(self, tmp_path: Path) -> None:
        store = FileStore(tmp_path)
        store.save(State("hello", id="x"))
        told = {"host": locks.HOST, "pid": os.getpid(), "since": "2026-01-01T00:00:00+00:00"}
        (tmp_path / ".locks/x").write_text(json.dumps(told))
        assert store.holder("x") is None
        store.lock("x").release()

    @pytest.mark.parametrize("told", [b"", b"\0\0", b"{", b'{"pid": "no"}'])
    def test_a_holder_that_is_not_told_is_still_a_holder(self, tmp_path: Path, told: bytes) -> None:
        store = FileStore(tmp_path)
        store.save(State("hello", id="x"))
        fd = os.open(tmp_path / ".locks/x", os.O_RDWR | os.O_CREAT)
        fcntl.flock(fd, fcntl.LOCK_EX)
        os.write(fd, told)
        assert isinstance(store.holder("x"), Holder)
        with pytest.raises(StateInUseError):
            store.lock("x")
        os.close(fd)
        assert store.holder("x") is None

    def test_who_asks_for_the_holder_keeps_nobody_out(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        store = FileStore(tmp_path)
        store.save(State("hello", id="x"))
        fd = os.open(tmp_path / ".locks/x", os.O_RDWR)
        fcntl.flock(fd, fcntl.LOCK_SH)  # as `holder` does, for some microseconds
        monkeypatch.setattr(locks.time, "sleep", lambda seconds: fcntl.flock(fd, fcntl.LOCK_UN))
        store.lock("x").release()
        os.close(fd)

    def test_a_lock_file_that_is_removed_meanwhile_is_made_again(self, tmp_path: Path) -> None:
        store = FileStore(tmp_path)
        store.save(State("hello", id="x"))
        store.delete("x")
        assert not (tmp_path / ".locks/x").exists()
        with_lock = store.lock("x")
        (tmp_path / ".locks/x").unlink()
        other = FileStore(tmp_path)
        other._locks = locks.LockFolder(str(tmp_path / ".locks"))
        with pytest.raises(StateInUseError):  # the table of this process knows it by its path
            other.lock("x")
        with_lock.release()
        other.lock("x").release()

    @pytest.mark.parametrize("code", [errno.ENOLCK, errno.EOPNOTSUPP])
    def test_a_file_system_without_locks_is_told(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
    ) -> None:
        def no_locks(fd: int, how: int) -> None:
            raise OSError(code, os.strerror(code))

        monkeypatch.setattr(locks.fcntl, "flock", no_locks)
        with pytest.raises(OSError, match="locks=False"):
            FileStore(tmp_path).save(State("hello", id="x"))
        store = FileStore(tmp_path, locks=False)
        state = State("hello", id="x")
        store.save(state)
        state.add_user_message("more")
        store.save(state)
        assert store.load("x").to_json() == state.to_json()
        store.delete("x")

    def test_a_folder_that_cannot_be_written_is_told(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        store = FileStore(tmp_path / "runs")
        state = State("hello", id="x")
        store.save(state)
        state.add_user_message("more")

        def refuse(path: str, *args: Any, **rest: Any) -> int:
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), path)

        monkeypatch.setattr(store._disk, "open_log", refuse)
        with pytest.raises(OSError, match="can't be written") as told:
            store.save(state)
        assert told.value.errno == errno.EROFS
        assert FileStore(tmp_path / "runs").load("x").task == "hello"


class TestSavesOfOneObject:
    """However many threads and event loops save one State object, they take turns: none meets a lock of its own process."""

    def slow(self, store: Store, monkeypatch: pytest.MonkeyPatch) -> list[int]:
        """Makes a write take longer than anyone asks for a lock; gets how many were under way at once."""
        write, under_way, most = store.write, [0], [0]

        def slowly(*args: Any, **rest: Any) -> None:
            under_way[0] += 1
            most[0] = max(most[0], under_way[0])
            time.sleep(0.03)
            try:
                write(*args, **rest)
            finally:
                under_way[0] -= 1

        monkeypatch.setattr(store, "write", slowly)
        return most

    @pytest.mark.parametrize("kind", ["file", "sqlite"])
    def test_threads_take_turns(self, tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
        store = open_store(f"{tmp_path}/runs" if kind == "file" else f"sqlite:///{tmp_path}/runs.db")
        state = State("hello", id="x")
        store.save(state)
        most = self.slow(store, monkeypatch)

        def save(n: int) -> None:
            state.add_user_message(f"message {n}")
            store.save(state)

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(save, range(8)))
        assert most == [1]
        assert len(store.load("x").history) == 9

    def test_threads_and_event_loops_take_turns(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        store = FileStore(tmp_path)
        state = State("hello", id="x")
        store.save(state)
        most = self.slow(store, monkeypatch)

        async def some(n: int) -> None:
            for k in range(3):
                state.add_user_message(f"message {n} {k}")
                await asyncio.gather(store.asave(state), store.asave(state))

        def save(n: int) -> None:
            if n % 2:
                asyncio.run(some(n))
                return
            state.add_user_message(f"message {n}")
            store.save(state)

        with ThreadPoolExecutor(6) as pool:
            list(pool.map(save, range(6)))
        assert most == [1]
        assert len(store.load("x").history) == 1 + 3 * 3 + 3

    async def test_a_blocking_save_in_a_loop_whose_own_is_under_way_does_not_wait_for_itself(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        store = FileStore(tmp_path)
        state = State("hello", id="x")
        store.save(state)
        began, go_on, write = asyncio.Event(), threading.Event(), store.write
        loop = asyncio.get_running_loop()

        def held(*args: Any, **rest: Any) -> None:
            loop.call_soon_threadsafe(began.set)
            go_on.wait(10)
            write(*args, **rest)

        monkeypatch.setattr(store, "write", held)
        state.add_user_message("one")
        saving = asyncio.create_task(store.asave(state))
        await began.wait()
        with pytest.raises(StateInUseError):
            store.save(state)
        go_on.set()
        assert await saving
