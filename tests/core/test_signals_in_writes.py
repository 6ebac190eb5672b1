"""Ctrl+C and SIGTERM while something is written: the write is finished first, and neither is ever swallowed."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fireside import Agent, FileStore, RateLimitError, State, Store, tool
from fireside.signals import undisturbed
from fireside.stores.sqlite import SQLiteStore
from fireside.testing import FakeModel, tool_call


class Signalled(FileStore):
    """A store in whose writes a signal comes, before what it does or after."""

    def __init__(self, folder: Path, number: int, at: int, *, times: int = 1) -> None:
        super().__init__(folder)
        self.number, self.at, self.times, self.writes = number, at, times, 0

    def write(self, *args: Any, **rest: Any) -> None:
        self.writes += 1
        if self.writes == self.at:
            for _ in range(self.times):
                signal.raise_signal(self.number)
        super().write(*args, **rest)


@pytest.fixture
def sigterm() -> Iterator[None]:
    """The page's own recipe: SIGTERM becomes SystemExit."""

    def stop(signum: int, frame: Any) -> None:
        raise SystemExit(128 + signum)

    before = signal.signal(signal.SIGTERM, stop)
    yield
    signal.signal(signal.SIGTERM, before)


def kinds(store: Store) -> list[str]:
    return [entry.kind for entry in store.load("x").history]


@pytest.mark.parametrize("at", [1, 2, 3])
def test_ctrl_c_in_a_save_ends_a_run_that_goes_well(tmp_path: Path, at: int) -> None:
    store = Signalled(tmp_path, signal.SIGINT, at)
    with pytest.raises(KeyboardInterrupt):
        Agent(FakeModel(["fine"]), store=store).run(State("t", id="x"))
    assert kinds(store)[-1] == "stop"
    assert store.load("x").status == "waiting"
    assert FileStore(tmp_path).holder("x") is None


def test_ctrl_c_in_the_save_of_a_failing_run_wins(tmp_path: Path) -> None:
    store = Signalled(tmp_path, signal.SIGINT, 2)
    with pytest.raises(KeyboardInterrupt) as caught:
        Agent(FakeModel([RateLimitError("slow down")]), store=store, retries=0).run(State("t", id="x"))
    assert isinstance(caught.value.__cause__, RateLimitError)


def test_ctrl_c_in_a_save_by_hand_is_not_swallowed(tmp_path: Path) -> None:
    store = Signalled(tmp_path, signal.SIGINT, 1)
    with pytest.raises(KeyboardInterrupt):
        Agent(FakeModel([]), store=store).save(State("t", id="x"))
    assert kinds(store) == ["user"]


def test_ctrl_c_while_nothing_is_waited_for_any_more_is_not_swallowed() -> None:
    @tool
    async def busy() -> str:
        """Holds up the loop."""
        signal.raise_signal(signal.SIGINT)
        return "done"

    with pytest.raises(KeyboardInterrupt):
        Agent(FakeModel([tool_call("busy"), "fine"]), tools=[busy]).run(State("t"))


@pytest.mark.parametrize("at", [1, 2, 3])
@pytest.mark.usefixtures("sigterm")
def test_sigterm_in_a_save_ends_the_run_as_the_page_says(tmp_path: Path, at: int) -> None:
    @tool
    def look() -> str:
        """Looks."""
        return "seen"

    store = Signalled(tmp_path, signal.SIGTERM, at)
    state = State("t", id="x")
    with pytest.raises(SystemExit):
        Agent(FakeModel([tool_call("look"), "fine"]), tools=[look], store=store).run(state)
    loaded = FileStore(tmp_path).load("x")
    assert loaded.to_json() == state.to_json()
    assert loaded.history[-1].kind == "stop"
    assert not loaded.pending_calls
    assert FileStore(tmp_path).holder("x") is None


@pytest.mark.usefixtures("sigterm")
def test_sigterm_while_another_writer_is_waited_for_leaves_no_transaction(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "a.db")
    state = State("t", id="x")
    store.save(state)
    other = sqlite3.connect(tmp_path / "a.db", isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")

    def later() -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        threading.Timer(0.1, lambda: other.execute("ROLLBACK")).start()

    state.add_user_message("more")
    timer = threading.Timer(0.1, later)
    timer.start()
    with pytest.raises(SystemExit):
        Agent(FakeModel(["fine"]), store=store).run(state)
    timer.join()
    other.close()
    assert SQLiteStore(tmp_path / "a.db").load("x").to_json() == state.to_json()
    state.add_user_message("and more")
    assert store.save(state)
    store.close()


def test_a_statement_that_was_broken_off_leaves_no_transaction(tmp_path: Path) -> None:
    """As a signal's exception in the middle of a call of the store's own, outside of any run."""

    class Broken(sqlite3.Connection):
        broken = True

        def execute(self, sql: str, *args: Any) -> sqlite3.Cursor:
            done = super().execute(sql, *args)
            if sql.startswith("BEGIN") and self.broken:
                self.broken = False
                raise SystemExit(143)
            return done

    store = SQLiteStore(tmp_path / "a.db")
    store.save(State("t", id="x"))
    for call in (lambda: store.read("x"), lambda: store.delete("x")):
        store.close()
        with store._connected(create=True):
            pass
        own = store._mine.connection
        own.db.close()
        own.db = sqlite3.connect(store.path, isolation_level=None, factory=Broken)
        with pytest.raises(SystemExit):
            call()
        assert store.read("x") is not None
    store.close()


@pytest.mark.usefixtures("sigterm")
def test_a_second_signal_waits_no_longer() -> None:
    done: list[int] = []

    def write() -> None:
        with undisturbed():
            signal.raise_signal(signal.SIGTERM)
            done.append(1)
            signal.raise_signal(signal.SIGTERM)
            done.append(2)

    with pytest.raises(SystemExit):
        write()
    assert done == [1]
    with pytest.raises(SystemExit):
        signal.raise_signal(signal.SIGTERM)  # the handler stands again


@pytest.mark.parametrize("raised", [SystemExit(143), KeyboardInterrupt()])
def test_what_goes_through_a_loop_of_ones_own_is_the_cause(tmp_path: Path, raised: BaseException) -> None:
    """A signal handler's exception reaches the run as a cancellation: its calls are closed by its name all the same."""
    store = FileStore(tmp_path)

    @tool
    async def wait() -> str:
        """Waits."""

        def handler() -> None:
            raise raised

        asyncio.get_running_loop().call_soon(handler)
        await asyncio.sleep(60)
        return "done"

    with pytest.raises(type(raised)):
        asyncio.run(Agent(FakeModel([tool_call("wait")]), tools=[wait], store=store).arun(State("t", id="x")))
    (result,) = [entry.text for entry in store.load("x").history if entry.kind == "tool_result"]
    assert result == ("(aborted: SystemExit)" if isinstance(raised, SystemExit) else "(interrupted by user)")


@pytest.mark.usefixtures("sigterm")
@pytest.mark.parametrize("where", ["in asyncio", "where nobody hears of it", "in the tool"])
def test_what_a_handler_raises_ends_the_run_wherever_it_is_raised(where: str) -> None:
    """In asyncio's own code it would take a wake-up with it, and the end would be waited for for ever; what is raised in a
    weakref's callback, Python drops."""
    raised: list[bool] = []

    @tool
    async def wait() -> str:
        """Waits."""
        frame = sys._getframe()
        while where == "in asyncio" and not frame.f_code.co_filename.endswith("base_events.py"):
            frame = frame.f_back  # type: ignore[assignment]
        try:
            signal.getsignal(signal.SIGTERM)(signal.SIGTERM, frame)  # type: ignore[operator, misc]
        except SystemExit:
            raised.append(True)
            if where == "in the tool":
                raise
        await asyncio.sleep(60)
        return "done"

    state = State("t")
    with pytest.raises(SystemExit):
        Agent(FakeModel([tool_call("wait")]), tools=[wait]).run(state)
    assert raised == ([] if where == "in asyncio" else [True])
    assert [entry.text for entry in state.history if entry.kind == "tool_result"] == ["(aborted: SystemExit)"]
    assert "stop" in signal.getsignal(signal.SIGTERM).__qualname__  # type: ignore[union-attr]
