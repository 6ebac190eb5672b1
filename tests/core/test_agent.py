"""Agent: one implementation under sync and async names, settings that stay, and what a run does."""

from __future__ import annotations

import asyncio
import threading
from datetime import date
from pathlib import Path

import pytest
from fireside import (
    Agent,
    FileStore,
    ProviderError,
    Reporter,
    ResumeWarning,
    State,
    StateInUseError,
    Store,
    ToolError,
    loop,
    tool,
)
from fireside.messages import ToolResult
from fireside.testing import FakeHuman, FakeModel, tool_call
from pydantic import BaseModel


@tool(read_only=True)
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


def results(state: State) -> list[str]:
    return [entry.text for entry in state.history if entry.kind == "tool_result"]


class TestSettings:
    def test_they_do_not_change(self) -> None:
        agent = Agent(FakeModel([]))
        with pytest.raises(AttributeError, match="copy"):
            agent.system = "x"  # type: ignore[misc]

    def test_a_copy_has_the_changes_alone(self) -> None:
        agent = Agent(FakeModel([]), system="one", tools=[add], name="A")
        other = agent.copy(system="two")
        assert (other.system, other.name, list(other.tools)) == ("two", "A", ["add"])
        assert agent.system == "one"

    def test_a_copy_keeps_the_connections_unless_it_speaks_to_another_model(self) -> None:
        agent = Agent("claude-sonnet-5")
        assert agent.copy(system="x").model is agent.model
        assert agent.copy(model="claude-opus-5").model is not agent.model

    def test_a_setting_that_there_is_none_of_is_refused(self) -> None:
        with pytest.raises(TypeError, match="sytem"):
            Agent(FakeModel([])).copy(sytem="x")

    @pytest.mark.parametrize(
        "settings",
        [
            {"save_every": 0},
            {"save_partial_every": 0},
            {"save_partial_every": float("nan")},
            {"retries": -1},
            {"max_tokens": 0},
            {"context_window": -1},
            {"tools": [add, add]},
        ],
        ids=lambda settings: next(iter(settings)),
    )
    def test_values_that_can_not_be_are_refused(self, settings: dict) -> None:  # type: ignore[type-arg]
        with pytest.raises(ValueError):
            Agent(FakeModel([]), **settings)

    @pytest.mark.parametrize(
        "settings",
        [
            *({key: 5} for key in ("system", "name", "effort", "approve", "human", "loop", "store", "session")),
            *({key: 1.5} for key in ("save_every", "retries", "max_tokens", "context_window")),
            {"save_partial_every": "1"},
            {"reporter": Reporter},
            {"save_every": True},
        ],
        ids=lambda settings: next(iter(settings)),
    )
    def test_values_of_another_type_are_refused_at_once(self, settings: dict) -> None:  # type: ignore[type-arg]
        with pytest.raises(TypeError, match=next(iter(settings))):
            Agent(FakeModel([]), **settings)

    @pytest.mark.parametrize("action", ["run", "think", "use_tools", "compact", "save"])
    def test_an_action_on_what_is_no_state_is_refused(self, action: str, tmp_path: Path) -> None:
        with pytest.raises(TypeError, match=f"{action} takes"):
            getattr(Agent(FakeModel([]), store=FileStore(tmp_path)), action)(5)

    def test_creating_one_needs_no_key_and_no_network(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
        assert Agent("claude-sonnet-5").model.name == "claude-sonnet-5"


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


class TestSideQuestions:
    def test_a_side_question_does_not_change_the_context(self) -> None:
        model = FakeModel(["hello", "a title"])
        agent, state = Agent(model), State("go")
        agent.run(state)
        before = state.context
        assert agent.ask(state, "a title?") == "a title"
        assert state.context == before
        assert state.usage.requests == 2

    def test_typed_answers_are_checked_and_asked_for_once_more(self) -> None:
        class Point(BaseModel):
            x: int

        agent = Agent(FakeModel(["no idea", '```json\n{"x": 3}\n```', "[1, 2]"]))
        state = State("go")
        assert agent.ask(state, "where?", returns=Point) == Point(x=3)
        assert agent.ask(state, "which?", returns=list[int]) == [1, 2]

    def test_the_answer_may_be_of_any_type_that_pydantic_knows(self) -> None:
        state = State("go")
        assert Agent(FakeModel(['["2020-01-31"]'])).ask(state, "when?", returns=list[date]) == [date(2020, 1, 31)]
        assert state.history[-1].content["answer"] == ["2020-01-31"]

    def test_what_was_spent_on_an_answer_that_does_not_fit_is_counted(self) -> None:
        state = State("go")
        with pytest.raises(ValueError, match="does not fit"):
            Agent(FakeModel(["no", "no"])).ask(state, "how many?", returns=int)
        assert state.usage.requests == 2

    def test_what_was_spent_on_a_summary_that_is_none_is_counted(self) -> None:
        agent, state = Agent(FakeModel(["hello", " "])), State("go")
        agent.run(state)
        with pytest.raises(ProviderError, match="no summary"):
            agent.compact(state)
        assert state.usage.requests == 2

    def test_compacting_replaces_the_context_and_keeps_the_history_and_what_is_unanswered(self) -> None:
        agent, state = Agent(FakeModel(["one", "they said hello", "two"])), State("hello")
        agent.run(state)
        state.add_user_message("and now?")
        agent.compact(state)
        assert [message.text for message in state.context] == [
            "[summary of the conversation so far]\nthey said hello",
            "and now?",
        ]
        assert agent.run(state) == "two"
        assert [entry.text for entry in state.history if entry.kind == "reply"] == ["one", "two"]

    def test_the_default_loop_compacts_when_the_context_is_nearly_full(self) -> None:
        from fireside import Reply, Text, Usage

        big = Reply((Text("big"),), usage=Usage(input=900, output=10, requests=1))
        agent = Agent(FakeModel([big, "summary", "after"]), context_window=1000)
        state = State("go")
        agent.run(state)
        state.add_user_message("on")
        assert agent.run(state) == "after"
        assert "compact" in [entry.kind for entry in state.history]


class Counting(FileStore):
    """A real store that counts its writes."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.writes: list[list[str]] = []

    def write(self, state_id, entries, snapshot, *, create=False):  # type: ignore[no-untyped-def]
        super().write(state_id, entries, snapshot, create=create)
        self.writes.append([entry["kind"] for entry in entries])


class TestSavePoints:
    def test_every_step_is_saved_as_it_goes(self, tmp_path: Path) -> None:
        store = Counting(tmp_path)
        agent = Agent(FakeModel([tool_call("add", a=1, b=2), "3"]), tools=[add], store=store)
        agent.run("1 + 2?")
        assert store.writes == [["user", "run_start"], ["reply"], ["tool_result"], ["reply"], ["stop"]]

    def test_nothing_is_written_when_nothing_changed(self, tmp_path: Path) -> None:
        store, state = Counting(tmp_path), State("go")
        agent = Agent(FakeModel(["x"]), store=store)
        agent.run(state)
        count = len(store.writes)
        agent.save(state)
        assert len(store.writes) == count

    def test_with_an_interval_steps_wait_but_for_what_may_not_be_lost(self, tmp_path: Path) -> None:
        @tool
        def send() -> str:
            return "sent"

        store, state = Counting(tmp_path), State("go")
        calls = [tool_call("add", a=1, b=n) for n in range(4)]
        agent = Agent(FakeModel([*calls, tool_call("send"), "done"]), tools=[add, send], store=store, save_every=5)
        agent.run(state)
        assert store.writes[0] == ["user", "run_start"]
        # the call that can't be repeated is on disk before it runs
        assert [writes[-1] for writes in store.writes] == ["run_start", "reply", "reply", "stop"]
        assert [len(writes) for writes in store.writes] == [2, 5, 4, 3]
        assert store.load(state.id).to_json() == state.to_json()

    def test_data_of_a_run_that_could_not_begin_is_saved_by_the_next(self, tmp_path: Path) -> None:
        class Full(FileStore):
            full = True

            def write(self, *args, **kwargs):  # type: ignore[no-untyped-def]
                if self.full:
                    raise OSError(28, "No space left on device")
                return super().write(*args, **kwargs)

        store, state = Full(tmp_path), State("go", id="s", data={"a": 1})
        agent = Agent(FakeModel(["Hi"]), store=store)
        with pytest.raises(OSError, match="space"):
            agent.run(state)
        store.full = False
        agent.run(state)
        assert store.load("s").data == {"a": 1}

    def test_data_that_json_can_not_hold_is_told_before_the_next_request(self, tmp_path: Path) -> None:
        @tool
        def spoil(state: State) -> str:
            state.data["bad"] = object()
            return "ok"

        store, model = Counting(tmp_path), FakeModel([tool_call("spoil"), "never"])
        state = State("go")
        with pytest.raises(TypeError, match="'bad'"):
            Agent(model, tools=[spoil], store=store).run(state)
        assert len(model.requests) == 1
        assert "tool_result" in [entry.kind for entry in store.load(state.id).history]

    def test_a_state_that_is_behind_its_store_is_brought_up_to_date_first(self, tmp_path: Path) -> None:
        store = FileStore(tmp_path)
        Agent(FakeModel(["one"]), store=store).run(State("go", id="s"))
        mine, theirs = store.load("s"), store.load("s")
        theirs.add_user_message("theirs")
        Agent(FakeModel(["two"]), store=store).run(theirs)
        mine.add_user_message("mine")
        model = FakeModel(["three"])
        assert Agent(model, store=store).run(mine) == "three"
        assert [message.text for message in model.requests[0].messages] == ["go", "one", "theirs", "two", "mine"]
        assert store.load("s").to_json() == mine.to_json()

    def test_a_run_that_died_while_one_looked_on_does_not_run_its_calls_again(self, tmp_path: Path) -> None:
        store = FileStore(tmp_path)
        state = State("go", id="s")
        state._append("run_start", {"agent": {}})
        state._append("reply", {"blocks": [{"type": "tool_call", "id": "c", "name": "add", "args": {"a": 1, "b": 2}}],
                                "stop_reason": "tool_use", "usage": {}, "model": "m", "seen": 1, "prefix": ""})  # fmt: skip
        store.save(state)
        lock = store.lock("s")
        looking_on = store.load("s")
        assert len(looking_on.pending_calls) == 1
        lock.release()
        agent = Agent(FakeModel(["I will check"], name="fake"), tools=[add], store=store)
        with pytest.warns(ResumeWarning):
            agent.run(looking_on)
        assert results(looking_on)[0].startswith("(unknown: ")
