"""Agent: side questions, and summaries in the context's place."""

from __future__ import annotations

from datetime import date

import pytest
from fireside import Agent, ProviderError, State
from fireside.testing import FakeModel
from pydantic import BaseModel


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
