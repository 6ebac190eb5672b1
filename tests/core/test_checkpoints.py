"""State: going back to a checkpoint, and forking."""

from __future__ import annotations

import pytest
from fireside import State
from fireside.items import UNKNOWN_RESULT

from tests.core.states import loaded, reply, result, texts


class TestCheckpoints:
    def test_restore_takes_context_data_answer_and_turn_back(self) -> None:
        state = State("go", data={"n": 1})
        reply(state, "one")
        point = state.checkpoint("after one")
        state.data["n"] = 2
        state.add_user_message("more")
        reply(state, "two")
        state.rename("New")
        spent = state.usage
        state.restore(point)
        assert (texts(state), state.data, state.answer, state.turn) == (
            ["user: go", "assistant: one"],
            {"n": 1},
            "one",
            1,
        )
        assert (state.usage, state.title) == (spent, "New")
        assert loaded(state).to_json() == state.to_json()

    def test_the_status_is_that_of_the_point_that_it_went_back_to(self) -> None:
        state = State("go")
        asked = state.checkpoint("asked")
        reply(state, "Hi")
        answered = state.checkpoint("answered")
        state.add_user_message("and?")
        state.restore(answered)
        assert state.status == "waiting"
        state.restore(asked)
        assert state.status == "new"

    def test_what_is_said_after_a_restore_does_not_disturb_the_checkpoint(self) -> None:
        state = State("go")
        point = state.checkpoint("start")
        for text in ("a", "b"):
            state.restore(point)
            state.add_user_message(text)
            assert texts(state) == ["user: go", f"user: {text}"]

    def test_in_the_middle_of_a_turn_open_calls_are_closed_as_unknown(self) -> None:
        state = State("go")
        reply(state, "", "a")
        point = state.checkpoint("mid")
        result(state, 0, "r")
        state.restore(point)
        assert state.pending_calls == ()
        assert state.context[-1].content[0].content[0].text == UNKNOWN_RESULT  # type: ignore[union-attr]

    def test_one_can_go_back_to_before_each_user_message(self) -> None:
        state = State("go")
        reply(state, "one")
        second = state.add_user_message("more")
        reply(state, "two")
        state.restore(second)
        assert (texts(state), state.answer, state.turn, state.status) == (
            ["user: go", "assistant: one"],
            "one",
            1,
            "waiting",
        )
        assert [entry.kind for entry in state.history][-1] == "restore"
        assert state.history[-1].content == {"before": second.seq}
        assert loaded(state).to_json() == state.to_json()
        assert texts(loaded(state)) == texts(state)
        state.add_user_message("something else")
        assert texts(state)[-1] == "user: something else"
        state.restore(state.history[0].seq)
        assert (texts(state), state.status, state.task) == ([], "new", "go")
        state.restore(second.seq)
        assert texts(state) == ["user: go", "assistant: one"]
        assert texts(state.fork()) == texts(state)

    def test_what_was_compacted_since_is_back_before_the_message(self) -> None:
        state = State("go")
        reply(state, "one")
        second = state.add_user_message("more")
        reply(state, "two")
        state.start_from("a summary")
        state.restore(second)
        assert texts(state) == ["user: go", "assistant: one"]

    def test_a_reply_is_no_point_to_go_back_to(self) -> None:
        state = State("go")
        reply(state, "one")
        with pytest.raises(LookupError):
            state.restore(state.history[1])

    def test_there_must_be_one(self) -> None:
        with pytest.raises(LookupError):
            State("go").restore(5)


class TestForks:
    def test_a_fork_has_the_entries_and_its_own_usage(self) -> None:
        state = State("go", data={"n": 1})
        reply(state, "one")
        fork = state.fork()
        assert fork.forked_from == (state.id, state.history[-1].seq)
        assert (texts(fork), fork.data, fork.usage.requests) == (texts(state), {"n": 1}, 0)
        reply(fork, "two")
        assert fork.usage.requests == 1
        again = loaded(fork)
        assert again.forked_from == fork.forked_from
        assert again.usage == fork.usage
        assert again.created_at == fork.created_at > state.created_at

    def test_it_may_end_earlier(self) -> None:
        state = State("go")
        reply(state, "one")
        state.add_user_message("two")
        fork = state.fork(at=1)
        fork.add_user_message("three")
        assert texts(fork) == ["user: go", "assistant: one", "user: three"]
        assert texts(state)[-1] == "user: two"

    def test_open_calls_and_runs_are_closed_in_it(self) -> None:
        state = State("go")
        state._append("run_start", {"agent": {}})
        reply(state, "", "a")
        fork = state.fork()
        assert fork.pending_calls == ()
        assert fork.status == "waiting"
        assert len(state.pending_calls) == 1

    def test_it_needs_an_id_of_its_own(self) -> None:
        state = State("go")
        with pytest.raises(ValueError, match="own"):
            state.fork(state.id)
