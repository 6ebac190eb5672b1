"""Agent: the person is asked before a call runs."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from fireside import Agent, FileStore, State, tool
from fireside.testing import FakeModel, tool_call

from tests.core.agents import results


class TestApproval:
    def test_each_call_is_asked_about_before_any_runs(self) -> None:
        order: list[str] = []

        @tool
        def act(n: int) -> str:
            order.append(f"run {n}")
            return "done"

        def approve(state: State, call, tool):  # type: ignore[no-untyped-def]
            order.append(f"ask {call.args['n']}")
            return {0: True, 1: False, 2: "not on a Friday"}[call.args["n"]]

        state = State("go")
        model = FakeModel([[tool_call("act", n=n) for n in range(3)], "ok"])
        Agent(model, tools=[act], approve=approve).run(state)
        assert order == ["ask 0", "ask 1", "ask 2", "run 0"]
        sent = [part.content[0].text for part in model.requests[1].messages[-1].content]  # type: ignore[union-attr]
        assert sent == ["done", "(denied: the person refused this call)", "(denied: not on a Friday)"]

    async def test_the_answer_is_on_disk_before_the_call_runs(self, tmp_path: Path) -> None:
        store = FileStore(tmp_path)
        state = State("go")

        @tool
        async def act() -> None:
            record = store.read(state.id)
            assert record is not None
            assert record.entries[-1]["content"] == {"allowed": True}

        async def approve(state: State, call, tool) -> bool:  # type: ignore[no-untyped-def]
            return True

        await Agent(FakeModel([tool_call("act"), "ok"]), tools=[act], approve=approve, store=store).arun(state)

    async def test_a_call_that_waited_for_an_answer_is_asked_about_again(self, tmp_path: Path) -> None:
        store = FileStore(tmp_path)
        state = State("go", id="s")
        asked = asyncio.Event()

        @tool
        async def act() -> str:
            return "acted"

        async def forever(state: State, call, tool) -> bool:  # type: ignore[no-untyped-def]
            asked.set()
            await asyncio.Event().wait()
            return True

        agent = Agent(FakeModel([tool_call("act")]), tools=[act], approve=forever, store=store)
        task = asyncio.create_task(agent.arun(state))
        await asked.wait()
        # another process finds it so after a kill: what is on disk, without the lock of this run
        on_disk = store.read("s")
        other = FileStore(tmp_path / "copy")
        other.write("s", on_disk.entries, on_disk.snapshot, create=True)  # type: ignore[union-attr]
        again = other.load("s")
        assert again.status == "approval"
        asked_again = []

        async def yes(state: State, call, tool) -> bool:  # type: ignore[no-untyped-def]
            asked_again.append(call.name)
            return True

        answer = await Agent(FakeModel(["fine"]), tools=[act], approve=yes, store=other).arun(again)
        assert (answer, asked_again, results(again)) == ("fine", ["act"], ["acted"])
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
