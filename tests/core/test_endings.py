"""How a run ends early: what is closed with which words, what is saved, and which exception one sees."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from fireside import Agent, FileStore, OverloadedError, Reporter, ResumeWarning, State, loop, tool
from fireside.messages import Reply, Text
from fireside.models.base import Delta
from fireside.testing import FakeModel, tool_call


class Failing(FileStore):
    """A real store whose writes fail while `fails` is set."""

    fails = False

    def write(self, *args, **kwargs):  # type: ignore[no-untyped-def]
        if self.fails:
            raise OSError(28, "No space left on device")
        return super().write(*args, **kwargs)


class Streaming:
    """A model that streams a text and then waits to be let go."""

    name = "streaming"

    def __init__(self) -> None:
        self.streamed = asyncio.Event()

    async def stream(self, request):  # type: ignore[no-untyped-def]
        yield Delta("thinking", "hm", 0)
        yield Delta("text", "half of ", 1)
        yield Delta("text", "it", 1)
        self.streamed.set()
        await asyncio.Event().wait()
        yield None

    async def models(self):  # type: ignore[no-untyped-def]
        return []


async def test_a_cancelled_reply_keeps_its_text_marked_as_cut(tmp_path: Path) -> None:
    store, model, state = FileStore(tmp_path), Streaming(), State("go", id="s")
    task = asyncio.create_task(Agent(model, store=store).arun(state))
    await model.streamed.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    again = store.load("s")
    partial = again.history[-2]
    assert (partial.kind, partial.text, partial.content["cut"]) == ("partial_reply", "half of it", True)
    assert (again.answer, again.turn, again.stopped_by, again.status) == (None, 0, None, "waiting")


async def test_streamed_text_is_saved_while_it_streams(tmp_path: Path) -> None:
    saved = asyncio.Event()

    class Saves(Reporter):
        def on_save(self, state: State) -> None:
            if state.history[-1].kind == "partial_reply":
                saved.set()

    store, model = FileStore(tmp_path), Streaming()
    agent = Agent(model, store=store, save_partial_every=0.01, reporter=Saves())
    task = asyncio.create_task(agent.arun(State("go", id="s")))
    await saved.wait()
    record = store.read("s")
    assert record is not None
    assert record.entries[-1]["content"]["delta"] == [[0, "thinking", "hm"], [1, "text", "half of it"]]
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    # only what was new is written a second time
    assert store.load("s").history[-2].content == {"seen": 1, "attempt": 1, "delta": [], "cut": True}


@pytest.mark.parametrize("more", [True, False], ids=["in the next piece", "at the end"])
async def test_what_a_reporter_raises_of_a_save_while_it_streams_ends_the_run(tmp_path: Path, more: bool) -> None:
    told = asyncio.Event()

    class Raises(Reporter):
        def on_save(self, state: State) -> None:
            if state.history[-1].kind == "partial_reply":
                told.set()
                raise LookupError("of the reporter")

    class Waiting(Streaming):
        async def stream(self, request):  # type: ignore[no-untyped-def]
            yield Delta("text", "half", 0)
            await told.wait()
            await asyncio.sleep(0.01)
            if more:
                yield Delta("text", " and half", 0)
                await asyncio.Event().wait()
            yield Reply((Text("half"),))

    state = State("go", id="s")
    agent = Agent(Waiting(), store=FileStore(tmp_path), save_partial_every=0.01, reporter=Raises())
    with pytest.raises(LookupError, match="of the reporter"):
        await asyncio.wait_for(agent.arun(state), 10)
    assert (state.status, state.turn) == ("failed", 0)


def test_what_a_reporter_raises_of_the_save_of_a_result_ends_the_run(tmp_path: Path) -> None:
    class Raises(Reporter):
        def on_save(self, state: State) -> None:
            if state.history[-1].kind == "tool_result":
                raise LookupError("of the reporter")

    @tool
    def look() -> str:
        return "seen"

    agent = Agent(FakeModel([tool_call("look"), "done"]), tools=[look], store=FileStore(tmp_path), reporter=Raises())
    with pytest.raises(LookupError, match="of the reporter"):
        agent.run(state := State("go", id="s"))
    assert (state.status, state.turn) == ("failed", 1)


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ValueError("x"), "(aborted: ValueError)"),
        (SystemExit(3), "(aborted: SystemExit)"),
        (KeyboardInterrupt(), "(interrupted by user)"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_other_calls_of_a_turn_are_closed_with_what_ended_it(tmp_path: Path, error: BaseException, text: str) -> None:
    started = threading.Event()

    @tool
    async def waits() -> None:
        started.set()
        await asyncio.Event().wait()

    @tool
    def fails() -> None:
        assert started.wait(10)
        raise error

    store = FileStore(tmp_path)
    agent = Agent(FakeModel([[tool_call("waits"), tool_call("fails")]]), tools=[waits, fails], store=store)
    with pytest.raises(type(error)):
        agent.run(State("go", id="s"))
    again = store.load("s")
    by_name = {entry.call.name: entry.text for entry in again.history if entry.kind == "tool_result" and entry.call}
    assert by_name["waits"] == text
    assert again.pending_calls == ()
    assert again.status == ("failed" if isinstance(error, ValueError) else "waiting")


def test_a_sync_tool_that_still_works_does_not_hold_the_end_back(tmp_path: Path) -> None:
    let_go, ended = threading.Event(), threading.Event()

    @tool
    def works_on() -> str:
        let_go.wait(20)
        ended.set()
        return "late"

    @tool
    async def fails() -> None:
        raise ValueError("now")

    store = FileStore(tmp_path)
    agent = Agent(FakeModel([[tool_call("works_on"), tool_call("fails")]]), tools=[works_on, fails], store=store)
    with pytest.raises(ValueError, match="now"):
        agent.run(State("go", id="s"))
    assert not ended.is_set()
    let_go.set()
    assert ended.wait(10)
    assert "late" not in [entry.text for entry in store.load("s").history]


async def test_a_sync_loop_function_that_is_stopped_asks_for_nothing_more(tmp_path: Path) -> None:
    begun, let_go, told = threading.Event(), threading.Event(), threading.Event()
    late: list[BaseException] = []

    @loop()
    def patient(agent: Agent, state: State) -> None:
        begun.set()
        let_go.wait(20)
        try:
            agent.think(state)
        except BaseException as error:
            late.append(error)
        told.set()

    model, state = FakeModel(["never asked for"]), State("go")
    task = asyncio.create_task(Agent(model, loop=patient).arun(state))
    assert await asyncio.to_thread(begun.wait, 10)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    let_go.set()
    assert await asyncio.to_thread(told.wait, 10)
    assert isinstance(late[0], RuntimeError)
    assert model.requests == []


def test_a_failed_save_in_a_good_run_is_raised_and_the_next_save_writes_it(tmp_path: Path) -> None:
    store = Failing(tmp_path)

    class Fails(Reporter):
        def on_text(self, state: State, text: str) -> None:
            store.fails = True

    state = State("go", id="s")
    agent = Agent(FakeModel(["answer"]), store=store, reporter=Fails())
    with pytest.raises(OSError, match="No space"):
        agent.run(state)
    store.fails = False
    agent.save(state)
    assert store.load("s").answer == "answer"


def test_a_failed_save_in_a_failing_run_is_a_note_of_what_failed(tmp_path: Path) -> None:
    store = Failing(tmp_path)

    class Fails(Reporter):
        def on_think_start(self, state: State) -> None:
            store.fails = True

    agent = Agent(FakeModel([OverloadedError("busy")]), store=store, reporter=Fails())
    with pytest.raises(OverloadedError) as caught:
        agent.run(State("go"))
    assert caught.value.__notes__ == ["saving the state also failed: OSError: [Errno 28] No space left on device"]


def test_a_failed_save_after_one_result_does_not_stop_the_other_tools(tmp_path: Path) -> None:
    store = Failing(tmp_path)
    done = []

    @tool(read_only=True)
    def first() -> None:
        store.fails = True
        done.append("first")

    @tool(read_only=True, parallel=False)
    def second() -> None:
        store.fails = False
        done.append("second")

    first_in_order = tool(read_only=True, parallel=False)(first.function)
    model = FakeModel([[tool_call("first"), tool_call("second")], "done"])
    agent = Agent(model, tools=[first_in_order, second], store=store)
    assert agent.run(State("go", id="s")) == "done"
    assert done == ["first", "second"]
    assert len([e for e in store.load("s").history if e.kind == "tool_result"]) == 2


def test_a_new_state_with_an_id_that_is_taken_is_refused_before_the_first_request(tmp_path: Path) -> None:
    store = FileStore(tmp_path)
    Agent(FakeModel(["x"]), store=store).run(State("one", id="s"))
    model, state = FakeModel(["y"]), State("two", id="s")
    with pytest.raises(ValueError, match=r"store\.load\('s'\)"):
        Agent(model, store=store).run(state)
    assert model.requests == []
    assert [entry.kind for entry in state.history] == ["user"]


def test_a_state_is_saved_in_one_store(tmp_path: Path) -> None:
    state = State("go")
    Agent(FakeModel(["x"]), store=FileStore(tmp_path / "a")).run(state)
    assert Agent(FakeModel([]), store=FileStore(tmp_path / "a")).run(state) == "x"
    with pytest.raises(ValueError, match="another store"):
        Agent(FakeModel(["y"]), store=FileStore(tmp_path / "b")).run(state)


CHILD = """
import signal, sys, threading, time
from fireside import Agent, FileStore, State, tool
from fireside.testing import FakeModel, tool_call

def stop(signum, frame):
    raise SystemExit(128 + signum)

def too_late(signum, frame):
    raise TimeoutError("too late")

signal.signal(signal.SIGTERM, stop)
signal.signal(signal.SIGALRM, too_late)

@tool
def waits() -> str:
    print("ready", flush=True)
    time.sleep(60)
    return "late"

agent = Agent(FakeModel([tool_call("waits")]), tools=[waits], store=FileStore(sys.argv[1]))
agent.run(State("go", id="s"))
"""


@pytest.mark.parametrize(
    ("sent", "text", "status"),
    [
        (signal.SIGTERM, "(aborted: SystemExit)", 128 + signal.SIGTERM),
        (signal.SIGALRM, "(aborted: TimeoutError)", 1),
        (signal.SIGINT, "(interrupted by user)", -signal.SIGINT),
    ],
)
def test_a_signal_ends_a_run_with_its_true_cause(tmp_path: Path, sent: int, text: str, status: int) -> None:
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, str(tmp_path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )  # fmt: skip
    try:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        child.send_signal(sent)
        _, errors = child.communicate(timeout=20)
    finally:
        child.kill()
        child.wait()
    assert child.returncode == status, errors
    state = FileStore(tmp_path).load("s")
    assert [entry.text for entry in state.history if entry.kind == "tool_result"] == [text]
    assert state.history[-1].kind == "stop"


@pytest.mark.parametrize("where", ["in a callback of the loop", "in the tool itself"])
def test_what_a_signal_handler_raises_ends_the_run_wherever_it_arrives(where: str) -> None:
    def too_late(signum: int, frame: object) -> None:
        raise TimeoutError("too late")

    before = signal.signal(signal.SIGALRM, too_late)

    @tool
    async def waits() -> None:
        if where == "in the tool itself":
            signal.raise_signal(signal.SIGALRM)
        asyncio.get_running_loop().call_soon(signal.raise_signal, signal.SIGALRM)
        await asyncio.Event().wait()

    state = State("go")
    try:
        with pytest.raises(TimeoutError, match="too late"):
            Agent(FakeModel([tool_call("waits")]), tools=[waits]).run(state)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert [entry.text for entry in state.history if entry.kind == "tool_result"] == ["(aborted: TimeoutError)"]


def test_a_killed_run_is_told_as_unknown_and_continues(tmp_path: Path) -> None:
    child = subprocess.Popen([sys.executable, "-c", CHILD, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    try:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        store = FileStore(tmp_path)
        assert store.load("s").status == "running"
        assert len(store.load("s").pending_calls) == 1
    finally:
        child.kill()
        child.communicate()
    assert [row.status for row in store.list()] == ["interrupted"]
    state = store.load("s")
    assert state.status == "interrupted"
    assert state.history[-1].text.startswith("(unknown: the run stopped before this result was saved")
    model = FakeModel(["I will check."])
    with pytest.warns(ResumeWarning):
        assert Agent(model, store=store).run(state) == "I will check."
    assert store.load("s").status == "waiting"


def test_an_exception_without_words_ends_a_run_like_any_other(tmp_path: Path) -> None:
    class Wordless(Exception):
        def __str__(self) -> str:
            raise ValueError

    @tool
    def fails() -> None:
        raise Wordless

    state = State("go", id="s")
    with pytest.raises(Wordless):
        Agent(FakeModel([tool_call("fails")]), tools=[fails], store=FileStore(tmp_path)).run(state)
    assert state.status == FileStore(tmp_path).load("s").status == "failed"
    assert state.history[-2].text == "(Wordless)"
