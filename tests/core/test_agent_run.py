"""Agent: what a run does, with its tools, its loop and its reporter."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest
from fireside import Agent, FileStore, Reporter, State, StateInUseError, Store, ToolError, loop, tool
from fireside.messages import ToolResult
from fireside.testing import FakeHuman, FakeModel, tool_call

from tests.core.agents import add, results


class TestRunning:
    def test_the_answer_comes_back(self) -> None:
        state = State("2 + 2?")
        assert Agent(FakeModel(["4"])).run(state) == "4"
        assert (state.stopped_by, state.turn, state.status) == ("is_answered", 1, "waiting")

    def test_a_str_is_the_task_of_a_new_state(self) -> None:
        assert Agent(FakeModel(["4"])).run("2 + 2?") == "4"

    async def test_inside_a_loop_the_sync_name_points_to_its_twin(self) -> None:
        agent = Agent(FakeModel(["4"]))
        with pytest.raises(TypeError, match="arun"):
            agent.run("x")
        assert await agent.arun("x") == "4"

    def test_tools_run_and_the_model_gets_their_results_in_its_own_order(self) -> None:
        first_may_end = threading.Event()

        @tool(read_only=True)
        def slow() -> str:
            assert first_may_end.wait(10)
            return "slow"

        @tool(read_only=True)
        def quick() -> str:
            first_may_end.set()
            return "quick"

        model = FakeModel([[tool_call("slow"), tool_call("quick")], "done"])
        state = State("go")
        assert Agent(model, tools=[slow, quick]).run(state) == "done"
        assert results(state) == ["quick", "slow"]
        sent = [part for part in model.requests[1].messages[-1].content if isinstance(part, ToolResult)]
        assert [part.content[0].text for part in sent] == ["slow", "quick"]  # type: ignore[union-attr]

    def test_calls_that_are_not_parallel_run_one_at_a_time_in_order(self) -> None:
        running, seen = 0, []

        @tool(parallel=False)
        async def step(n: int) -> int:
            nonlocal running
            running += 1
            assert running == 1
            await asyncio.sleep(0)
            running -= 1
            seen.append(n)
            return n

        model = FakeModel([[tool_call("step", n=n) for n in range(4)], "done"])
        Agent(model, tools=[step]).run("go")
        assert seen == [0, 1, 2, 3]

    def test_a_tool_error_goes_to_the_model_and_the_run_goes_on(self) -> None:
        @tool
        def fail() -> None:
            raise ToolError("no such file")

        state = State("go")
        assert Agent(FakeModel([tool_call("fail"), "I see"]), tools=[fail]).run(state) == "I see"
        entry = next(entry for entry in state.history if entry.kind == "tool_result")
        assert (entry.text, entry.is_error) == ("no such file", True)

    @pytest.mark.parametrize(
        ("call", "told"),
        [
            (tool_call("add", a="x", b=1), "a: "),
            (tool_call("add", a=1), "b: "),
            (tool_call("add", a=1, b=2, c=3), "c: "),
            (tool_call("subtract", a=1), "no tool 'subtract'"),
        ],
        ids=["type", "missing", "extra", "unknown"],
    )
    def test_bad_arguments_and_unknown_names_go_to_the_model(self, call, told: str) -> None:  # type: ignore[no-untyped-def]
        state = State("go")
        Agent(FakeModel([call, "sorry"]), tools=[add]).run(state)
        assert results(state)[0].startswith("(input error: ")
        assert told in results(state)[0]

    @pytest.mark.parametrize("deep", [201, 980, 5000])
    def test_arguments_too_deep_to_be_saved_are_told_to_the_model(self, deep: int, tmp_path: Path) -> None:
        args: dict = {}  # type: ignore[type-arg]
        for _ in range(deep):
            args = {"a": args}
        store, state = FileStore(tmp_path), State("go", id="s")
        assert Agent(FakeModel([tool_call("add", **args), "done"]), tools=[add], store=store).run(state) == "done"
        assert results(state) == ["(input error: the arguments are not a JSON object)"]
        assert store.load("s").to_json() == state.to_json()

    async def test_a_store_without_locks_runs_a_state_once_at_a_time_too(self) -> None:
        class Memory(Store):
            kept: dict[str, list] = {}  # type: ignore[type-arg]  # noqa: RUF012

            def write(self, state_id, entries, snapshot, *, create=False):  # type: ignore[no-untyped-def]
                self.kept.setdefault(state_id, []).extend(entries)

            def read(self, state_id):  # type: ignore[no-untyped-def]
                return None

        agent, state = Agent(FakeModel(["one", "two"]), store=Memory()), State("go")
        got = await asyncio.gather(agent.arun(state), agent.arun(state), return_exceptions=True)
        assert sorted(type(each).__name__ for each in got) == ["StateInUseError", "str"]

    def test_a_state_is_run_once_at_a_time(self) -> None:
        state = State("go")
        other = Agent(FakeModel(["x"]))

        @tool
        def again() -> None:
            with pytest.raises(StateInUseError):
                other.run(state)

        assert Agent(FakeModel([tool_call("again"), "done"]), tools=[again]).run(state) == "done"

    def test_a_hidden_parameter_gets_the_state(self) -> None:
        @tool
        def remember(state: State, what: str) -> str:
            """Remembers something.

            Args:
                what: What to remember.
            """
            state.data["what"] = what
            return "ok"

        state = State("go")
        agent = Agent(FakeModel([tool_call("remember", what="it"), "done"]), tools=[remember])
        agent.run(state)
        assert state.data == {"what": "it"}
        assert remember.schema == {
            "type": "object",
            "properties": {"what": {"type": "string", "description": "What to remember."}},
            "required": ["what"],
            "additionalProperties": False,
        }

    def test_a_tool_may_use_the_sync_names_of_the_agent_that_runs_it(self) -> None:
        model = FakeModel([tool_call("wonder"), "aside", "done"])

        @tool
        def wonder(state: State) -> str:
            return str(agent.ask(state, "what do you think?"))

        agent = Agent(model, tools=[wonder])
        state = State("go")
        assert agent.run(state) == "done"
        assert results(state) == ["aside"]

    def test_finish_in_a_tool_ends_the_run(self) -> None:
        @tool
        def submit(state: State, value: int) -> str:
            state.finish(value)
            return "ok"

        state = State("go")
        assert Agent(FakeModel([tool_call("submit", value=7)]), tools=[submit]).run(state) == 7
        assert (state.stopped_by, state.status) == ("finish", "finished")

    def test_a_loop_stops_at_its_limit_and_at_its_until(self) -> None:
        def enough(state: State) -> bool:
            return state.turn >= 2

        @loop(until=enough, limit=5)
        def think_only(agent: Agent, state: State) -> None:
            agent.think(state)
            state.add_notice("more")

        state = State("go")
        Agent(FakeModel(["a", "b", "c"]), loop=think_only).run(state)
        assert (state.turn, state.stopped_by) == (2, "enough")

        @loop(limit=1)
        async def never(agent: Agent, state: State) -> None:
            await agent.athink(state)
            state.add_notice("more")

        state = State("go")
        Agent(FakeModel(["a", "b"]), loop=never).run(state)
        assert (state.stopped_by, state.status) == ("limit", "limit")

    def test_an_answered_state_is_not_asked_again(self) -> None:
        state = State("go")
        agent = Agent(FakeModel(["once"]))
        assert agent.run(state) == "once"
        assert agent.run(state) == "once"

    def test_an_empty_state_asks_for_a_message(self) -> None:
        with pytest.raises(ValueError, match="add_user_message"):
            Agent(FakeModel(["x"])).run(State())

    def test_calls_of_a_reply_that_was_cut_off_are_never_run(self) -> None:
        from fireside import Reply, ToolCall

        ran = []

        @tool
        def dangerous() -> None:
            ran.append(1)

        cut = Reply((ToolCall("c1", "dangerous", {}),), stop_reason="max_tokens")
        state = State("go")
        Agent(FakeModel([cut, "ok"]), tools=[dangerous]).run(state)
        assert ran == []
        assert results(state) == ["(not run: the reply was cut off (max_tokens))"]

    def test_the_model_may_ask_the_person(self) -> None:
        human = FakeHuman(["blue"])
        model = FakeModel([tool_call("ask_human", question="Which colour?"), "Blue it is."])
        state = State("paint")
        assert Agent(model, human=human).run(state) == "Blue it is."
        assert [e.content for e in state.history if e.kind == "human"] == [
            {"question": "Which colour?", "answer": "blue"}
        ]

    def test_the_reporter_hears_all_of_it_in_order(self, tmp_path: Path) -> None:
        heard: list[str] = []
        names = [name for name in vars(Reporter) if name.startswith("on_")]
        methods = {name: (lambda self, *args, name=name: heard.append(name)) for name in names}
        reporter = type("All", (Reporter,), methods)()
        agent = Agent(FakeModel([["let me see", tool_call("add", a=1, b=2)], "3"]), tools=[add],
                      store=FileStore(tmp_path), reporter=reporter)  # fmt: skip
        agent.run("1 + 2?")
        without_repeats = [name for n, name in enumerate(heard) if n == 0 or name != heard[n - 1]]
        assert without_repeats == [
            "on_save", "on_run_start", "on_think_start", "on_text", "on_save", "on_think_end", "on_tool_start", "on_save",
            "on_tool_end", "on_think_start", "on_text", "on_save", "on_think_end", "on_save", "on_run_end",
        ]  # fmt: skip

    def test_a_run_without_a_message_is_refused_and_leaves_nothing(self, tmp_path: Path) -> None:
        store = FileStore(tmp_path)
        state, agent = State(id="s"), Agent(FakeModel([]), store=store)
        with pytest.raises(ValueError, match="no message yet"):
            agent.run(state)
        assert len(state.history) == 0
        assert store.list() == []
        state.add_user_message("hello")
        assert agent.copy(model=FakeModel(["hi"])).run(state) == "hi"

    def test_a_loop_of_ones_own_may_add_the_message(self) -> None:
        @loop(until=State.is_answered)
        def asks(agent: Agent, state: State) -> None:
            state.add_user_message("from the loop")
            agent.think(state)

        assert Agent(FakeModel(["hi"]), loop=asks).run(State()) == "hi"
