"""The label of a conversation that is run: it waits while the end of the log tells as much, and nobody is told less."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
from fireside.label import label_of
from fireside.messages import Json
from fireside.state import State
from fireside.stores import file_run
from fireside.stores import label as labels
from fireside.stores.base import Lock
from fireside.stores.file import FileStore
from fireside.stores.record import SavedState
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.core.stores.disks import FailingDisk, RecordingDisk
from tests.core.stores.test_store_property import COMMAND, apply, reply


def begun(store: FileStore, id: str = "x") -> tuple[State, Lock]:
    """A State whose run is open and saved, and the lock that the run holds."""
    state = State("the task", id=id)
    lock = store.lock(id)
    state._running = True
    store.save(state)
    state._append("run_start", {"agent": {"name": "a"}})
    store.save(state)
    return state, lock


def told(root: Path, id: str = "x") -> SavedState:
    """The row in the list of a process that looks now."""
    return next(row for row in FileStore(root).list() if row.id == id)


def of(state: State) -> SavedState:
    return SavedState.from_label(state._label(), running=True)


def on_disk(root: Path) -> dict[str, Json]:
    label: dict[str, Json] = json.loads((root / "x/snapshot.json").read_bytes())
    return label


class TestSteps:
    def test_a_step_of_a_run_writes_one_line_and_renames_nothing(self, root: Path) -> None:
        store = FileStore(root)
        state, lock = begun(store)
        disk = store._disk = FailingDisk()
        for n in range(20):
            state.add_notice(f"step {n}")
            reply(state, "on")
            disk.names.clear()
            store.save(state)
            assert disk.names == ["open_log", "write", "fsync"]
            assert told(root) == of(state)
            record = store.read("x")
            assert record is not None
            assert record.snapshot == state._label()
        lock.release()
        assert told(root) == of(state)._replace(status="interrupted")

    def test_a_label_that_says_something_else_is_written_at_once(self, root: Path) -> None:
        store = FileStore(root)
        state, lock = begun(store)
        for change in (
            lambda: state.rename("A title"),
            lambda: reply(state, "", 2),
            lambda: state._append("approval", {"asked": [0, 1]}),
            lambda: state._append("approval", {"allowed": True}, call=state.pending_calls[0]),
            lambda: state._append("approval", {"allowed": True}, call=state.pending_calls[1]),
            lambda: state._append("stop", {"end": True, "by": "limit"}),
        ):
            change()
            store.save(state)
            assert told(root) == of(state)
        assert on_disk(root)["entries"] == len(state.history)
        assert on_disk(root)["status"] == "limit"
        lock.release()

    def test_a_save_without_a_run_writes_the_label(self, root: Path) -> None:
        store = FileStore(root)
        state, lock = begun(store)
        lock.release()
        state._running = False
        state.add_user_message("by itself")
        store.save(state)
        assert on_disk(root)["entries"] == 3

    def test_the_end_of_the_log_stays_short(self, root: Path) -> None:
        store = FileStore(root)
        state, lock = begun(store)
        for n in range(200):
            state.add_notice(f"{n} " * 300)
            store.save(state)
            _, size = on_disk(root)["_log"]
            assert (root / "x/log.jsonl").stat().st_size - size <= file_run.TAIL
        assert on_disk(root)["entries"] > 100
        lock.release()


class TestTheEndOfARun:
    def test_the_label_that_waited_is_written(self, root: Path) -> None:
        store = FileStore(root)
        state, lock = begun(store)
        state.add_notice("a step")
        store.save(state)
        assert on_disk(root)["entries"] == 2
        lock.release()
        assert on_disk(root)["entries"] == 3
        lock.release()

    def test_a_label_that_could_not_be_written_is_tried_again(self, root: Path) -> None:
        store = FileStore(root)
        state, lock = begun(store)
        state.rename("A title")
        store._disk = FailingDisk({3})  # open_log, write, fsync, write_whole
        store.save(state)
        assert on_disk(root).get("title") is None
        assert told(root).title == "A title"
        state.add_notice("on")
        store.save(state)
        assert on_disk(root)["title"] == "A title"
        lock.release()

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
    def test_a_forked_child_writes_no_label_of_its_parents_run(self, root: Path) -> None:
        store = FileStore(root)
        state, lock = begun(store)
        state.add_notice("a step")
        store.save(state)
        child = os.fork()
        if not child:
            lock.release()
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        assert on_disk(root)["entries"] == 2
        lock.release()
        assert on_disk(root)["entries"] == 3

    def test_a_log_that_was_made_again_meanwhile_keeps_its_own_label(self, root: Path) -> None:
        store = FileStore(root)
        state, lock = begun(store)
        state.add_notice("a step " * 50)
        store.save(state)
        shutil.rmtree(root / "x")
        FileStore(root, locks=False).save(State("another", id="x"))
        lock.release()
        assert told(root).task == "another"

    def test_a_killed_run_is_listed_as_it_was_saved(self, root: Path) -> None:
        code = (
            "import os, sys\n"
            "from pathlib import Path\n"
            "from fireside.stores.file import FileStore\n"
            "from tests.core.stores.test_file_run import begun, reply\n"
            "state, lock = begun(store := FileStore(sys.argv[1]))\n"
            "for n in range(7):\n"
            "    reply(state, f'answer {n}')\n"
            "    store.save(state)\n"
            "os.kill(os.getpid(), 9)\n"
        )
        env = {**os.environ, "PYTHONPATH": os.getcwd()}
        assert subprocess.run([sys.executable, "-c", code, str(root)], env=env).returncode == -9
        assert on_disk(root)["turn"] == 0
        row = told(root)
        loaded = FileStore(root).load("x")
        assert (row.turn, row.usage, row.updated_at) == (7, loaded.usage, loaded.updated_at)
        assert row.status == "interrupted"
        loaded.add_user_message("on")
        FileStore(root).save(loaded)
        assert on_disk(root)["turn"] == 7


@pytest.mark.parametrize("how", ["nothing", "names", "all", "any"])
def test_power_may_go_in_a_run(tmp_path: Path, how: str) -> None:
    root = tmp_path / "runs"
    root.mkdir()
    chance = random.Random(f"seed {how}")
    store = FileStore(root)
    disk = store._disk = RecordingDisk(root)  # type: ignore[assignment]
    store._locks._make = lambda folder: os.makedirs(folder, exist_ok=True)  # type: ignore[union-attr]
    lock = store.lock("x")
    state, acked, looks = State("the task", id="x"), [0], [0]
    state._running = True
    state._append("run_start", {"agent": {"name": "a"}})

    def look() -> None:
        for _ in range(3 if how == "any" else 1):
            looks[0] += 1
            after = tmp_path / f"after-{looks[0]}"
            disk.crash(after, chance, how)
            record, rows = FileStore(after).read("x"), FileStore(after).list()
            assert len(rows) == (record is not None)
            if record is None:
                assert acked[0] == 0
            else:
                assert len(record.entries) >= acked[0]
                assert record.entries == state.to_json()["entries"][: len(record.entries)]
                whole = State(id="x")
                whole._replay(*list(state.history)[: len(record.entries)])
                assert rows[0] == of(whole)._replace(status="interrupted")
            shutil.rmtree(after)

    disk.on_call = look
    for n in range(6):
        store.save(state)
        acked[0] = len(state.history)
        look()
        reply(state, f"answer {n}")
    store.save(state)
    acked[0] = len(state.history)
    lock.release()
    look()


def test_whatever_is_done_in_a_run_the_list_of_another_process_tells_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(file_run, "TAIL", 600)

    @settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck), database=None)
    @given(st.lists(COMMAND, max_size=25))
    def holds(commands: list[tuple[str, Any]]) -> None:
        store = FileStore(tempfile.mkdtemp(prefix="fireside-"))
        state, lock = begun(store)
        for name, value in commands:
            apply(state, name, value)
            try:
                store.save(state)
            except TypeError:
                continue
            assert told(Path(store.path)) == of(state)
        lock.release()
        label = labels.read(f"{store.path}/x")
        assert label is not None
        assert label.content == label_of("x", state._fold, state._next_seq)

    holds()


def test_a_save_in_another_thread_takes_no_row_out_of_a_list(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = FileStore(root)
    for id in "abc":
        store.save(State("a task", id=id))
    listing = store._listing

    class Found(dict[str, Any]):
        def values(self) -> Any:
            for value in super().values():
                listing.forget("c")  # as a save does, right now
                yield value

    look = listing._look
    monkeypatch.setattr(listing, "_look", lambda names: Found(look(names)))
    assert sorted(row.id for row in store.list()) == ["a", "b", "c"]
    assert sorted(row.id for row in store.list()) == ["a", "b", "c"]


def test_a_ctrl_c_while_the_label_is_written_leaves_no_lock_behind(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = FileStore(root)
    _, lock = begun(store)

    def stopped(id: str, run: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(store, "_end_run", stopped)
    with pytest.raises(KeyboardInterrupt):
        lock.release()
    assert store.holder("x") is None
    FileStore(root).lock("x").release()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_child_forked_during_a_save_does_not_wait_for_its_turn(root: Path) -> None:
    state = State("a task", id="x")
    with state._turns.wait():  # a thread of the parent has it
        state._turns._thread = 1
        pid = os.fork()
        if pid == 0:
            signal.alarm(5)
            try:
                FileStore(root).save(state)
            finally:
                os._exit(0 if (root / "x").exists() else 1)
    assert os.waitpid(pid, 0)[1] == 0
