"""A cancellation ends all of a run, whenever it comes: nothing goes on, nothing is left open, nobody waits for the end."""

from __future__ import annotations

import asyncio
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from fireside import Agent, FileStore, Reply, Reporter, State, Text, loop, tool
from fireside.models.base import Delta
from fireside.testing import FakeModel, tool_call


class Slow:
    """A model that streams a word, and answers once it is let go."""

    name = "slow"

    def __init__(self) -> None:
        self.streamed = threading.Event()
        self.go = asyncio.Event()
        self.ended: object = None

    async def stream(self, request: Any) -> Any:
        yield Delta("text", "half", 0)
        self.streamed.set()
        try:
            await self.go.wait()
        except BaseException as error:
            self.ended = type(error)
            raise
        yield Reply((Text("whole"),))

    async def models(self) -> list[Any]:
        return []


async def cancelled(task: asyncio.Task[Any]) -> None:
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_request_that_a_sync_loop_function_asked_for_ends_with_its_run() -> None:
    @loop(until=State.is_answered)
    def thinks(agent: Agent, state: State) -> None:
        agent.think(state)

    model, state = Slow(), State("go")
    task = asyncio.create_task(Agent(model, loop=thinks).arun(state))
    await asyncio.to_thread(model.streamed.wait)
    await cancelled(task)
    assert model.ended is asyncio.CancelledError
    assert [entry.kind for entry in state.history][-2:] == ["partial_reply", "stop"]


async def test_an_agent_that_a_sync_tool_runs_ends_with_the_run_that_called_it(tmp_path: Path) -> None:
    store, model, child = FileStore(tmp_path), Slow(), State("child", id="child")

    @tool
    def delegate() -> str:
        return str(Agent(model, store=store).run(child))

    task = asyncio.create_task(Agent(FakeModel([tool_call("delegate")]), tools=[delegate], store=store).arun("go"))
    await asyncio.to_thread(model.streamed.wait)
    await cancelled(task)
    assert model.ended is asyncio.CancelledError
    assert store.holder("child") is None
    assert store.load("child").history[-1].content["cut"] == "CancelledError"


async def test_one_that_comes_while_a_partial_reply_is_written_is_not_lost(tmp_path: Path) -> None:
    writes, go_on = threading.Event(), threading.Event()

    class SlowStore(FileStore):
        def write(self, state_id, entries, *args, **kwargs):  # type: ignore[no-untyped-def]
            if entries[-1]["kind"] == "partial_reply":
                writes.set()
                go_on.wait()
            return super().write(state_id, entries, *args, **kwargs)

    model = Slow()
    task = asyncio.create_task(Agent(model, store=SlowStore(tmp_path), save_partial_every=0.01).arun("go"))
    await asyncio.to_thread(writes.wait)
    model.go.set()  # the reply is whole, and the write before it is not
    for _ in range(10):
        await asyncio.sleep(0)
    task.cancel()
    asyncio.get_running_loop().call_later(0.05, go_on.set)
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_second_one_finds_all_of_it_closed_and_saved(tmp_path: Path) -> None:
    store, state, ends = FileStore(tmp_path), State("go", id="s"), []
    works, tells = asyncio.Event(), asyncio.Event()

    class Lingering(Reporter):
        async def on_tool_end(self, *_: object) -> None:
            tells.set()
            await asyncio.Event().wait()

        def on_run_end(self, state: State, error: BaseException | None) -> None:
            ends.append(error)

    @tool
    async def work() -> None:
        works.set()
        await asyncio.Event().wait()

    model = FakeModel([[tool_call("work"), tool_call("work")]])
    task = asyncio.create_task(Agent(model, tools=[work], store=store, reporter=Lingering()).arun(state))
    await works.wait()
    task.cancel()
    await tells.wait()
    await cancelled(task)
    assert store.load("s").to_json() == state.to_json()
    assert [entry.kind for entry in state.history][-3:] == ["tool_result", "tool_result", "stop"]
    assert [type(error) for error in ends] == [asyncio.CancelledError]


def test_the_reporter_hears_of_the_end_where_the_last_save_fails(tmp_path: Path) -> None:
    ends = []

    class Full(FileStore):
        def write(self, state_id, entries, *args, **kwargs):  # type: ignore[no-untyped-def]
            if entries[-1]["kind"] == "stop":
                raise OSError(28, "No space left on device")
            return super().write(state_id, entries, *args, **kwargs)

    class Hears(Reporter):
        def on_run_end(self, state: State, error: BaseException | None) -> None:
            ends.append(error)

    with pytest.raises(OSError, match="No space"):
        Agent(FakeModel(["Hi"]), store=Full(tmp_path), reporter=Hears()).run("go")
    assert [type(error) for error in ends] == [OSError]


@pytest.mark.parametrize("partial", [None, 0.001])
async def test_whenever_it_comes_what_is_saved_is_what_was_there(tmp_path: Path, partial: float | None) -> None:
    """Cancels a run after each number of steps of the event loop, until one is too many."""

    @tool
    async def one() -> str:
        await asyncio.sleep(0)
        return "1"

    @tool
    def two() -> str:
        return "2"

    store = FileStore(tmp_path)
    for steps in range(0, 2000, 3):
        state = State("go", id=f"s{steps}", data={"n": steps})
        model = FakeModel([[tool_call("one"), tool_call("two")], "done", "went on"])
        agent = Agent(model, tools=[one, two], store=store, approve=lambda *_: True, save_partial_every=partial)
        task = asyncio.create_task(agent.arun(state))
        for _ in range(steps):
            if task.done():
                break
            await asyncio.sleep(0)
            if steps % 2:
                time.sleep(0.0002)  # noqa: ASYNC251  lets the threads come further
        finished = task.done()
        if not finished:
            await cancelled(task)
        if state.history[-1].kind != "user":  # else it was cancelled before the run began
            assert state.status == "waiting"
            assert not state.pending_calls
            assert store.load(state.id).to_json() == state.to_json()
        assert store.holder(state.id) is None
        state.add_user_message("and now?")
        assert await agent.arun(state)
        if finished:
            return
    raise AssertionError("it never came to its end")
