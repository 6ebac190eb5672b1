"""State: its id, its messages, and what waits while calls are pending."""

from __future__ import annotations

import pytest
from fireside import Image, State, ToolCall
from fireside.messages import ToolResult
from fireside.stores.record import Record

from tests.core.states import loaded, reply, result, texts


class TestIds:
    @pytest.mark.parametrize("id", ["a", "review-pr-42", "A_b-9", "x" * 128])
    def test_letters_digits_and_two_signs(self, id: str) -> None:
        assert State(id=id).id == id

    @pytest.mark.parametrize("id", ["", "a b", "../x", "/tmp/x", "..\\x", ".", "a\0", "a\n", "é", "x" * 129])
    def test_a_wrong_one_is_refused_with_what_is_allowed(self, id: str) -> None:
        with pytest.raises(ValueError, match="letters"):
            State(id=id)

    def test_another_type_is_refused(self) -> None:
        with pytest.raises(TypeError):
            State(id=7)  # type: ignore[arg-type]

    def test_a_random_one_has_32_hex_digits(self) -> None:
        ids = {State().id for _ in range(100)}
        assert len(ids) == 100
        assert all(len(id) == 32 and int(id, 16) >= 0 for id in ids)


class TestMessages:
    def test_the_task_is_the_first_message_and_the_title_its_first_line(self) -> None:
        state = State("\n  Fix the test\nplease")
        assert state.task == "\n  Fix the test\nplease"
        assert state.title == "Fix the test"
        assert texts(state) == ["user: \n  Fix the test\nplease"]

    def test_an_empty_message_is_refused(self) -> None:
        with pytest.raises(ValueError, match="empty"):
            State("  \n")

    def test_a_message_waits_for_the_results(self) -> None:
        state = State("go")
        reply(state, "", "a", "b")
        state.add_user_message("and one more thing")
        assert len(state.context) == 2
        result(state, 1, "second")
        result(state, 0, "first")
        results = state.context[2].content
        assert [part.content[0].text for part in results if isinstance(part, ToolResult)] == ["first", "second"]
        assert texts(state)[3] == "user: and one more thing"

    def test_what_was_said_while_a_reply_streamed_comes_after_it_and_is_not_answered(self) -> None:
        state = State("one")
        seen = state.history[-1].seq
        state.add_user_message("two")
        reply(state, "answer to one", seen=seen)
        assert texts(state) == ["user: one", "assistant: answer to one", "user: two"]
        assert not state.is_answered()

    def test_a_notice_is_marked(self) -> None:
        state = State("x")
        state.add_notice("the file changed")
        assert texts(state)[-1] == "user: [notice] the file changed"

    def test_pictures_come_back(self) -> None:
        state = State("look")
        state.add_user_message("this", Image("aGk=", "image/png"))
        assert loaded(state).context[-1].content[0] == Image("aGk=", "image/png")

    def test_a_message_opens_a_finished_state_again(self) -> None:
        state = State("x")
        state.finish({"done": True})
        assert (state.answer, state.is_finished(), state.status) == ({"done": True}, True, "finished")
        state.add_user_message("but")
        assert not state.is_finished()
        assert state.answer is None


class TestPending:
    @pytest.mark.parametrize(
        "command",
        [lambda s: s.start_from("x"), lambda s: s.clear_tool_results(), lambda s: s.restore(0)],
        ids=["start_from", "clear_tool_results", "restore"],
    )
    def test_commands_that_change_the_context_wait(self, command) -> None:  # type: ignore[no-untyped-def]
        state = State("go")
        reply(state, "", "a")
        with pytest.raises(ValueError, match="no result"):
            command(state)

    def test_they_also_wait_for_an_open_run(self) -> None:
        state = State("go")
        state._append("run_start", {"agent": {}})
        state._running = True
        with pytest.raises(ValueError, match="run"):
            state.start_from("x")

    def test_a_run_whose_process_is_gone_is_not_waited_for(self) -> None:
        state = State("go")
        state._append("run_start", {"agent": {}})
        state.start_from("what they said")
        assert state.status == "waiting"

    def test_a_denied_call_has_its_reason(self) -> None:
        state = State("go")
        reply(state, "", "rm")
        call = state.pending_calls[0]
        state.deny(call, "too dangerous")
        assert state.history[-1].text == "(denied: too dangerous)"
        with pytest.raises(ValueError, match="not pending"):
            state.deny(call, "again")
        with pytest.raises(ValueError, match="not pending"):
            state.deny(ToolCall("other", "x"), "no")

    def test_two_calls_with_one_id_have_their_own_results(self) -> None:
        state = State("go")
        reply(state, "", "a", "b")
        entry = state.history[-1]
        for block in entry.content["blocks"]:
            block["id"] = "same"
        again = State._from_record(state.id, Record([e.to_json() for e in state.history]), None, held=True)  # type: ignore[arg-type]
        again._result(again.pending_calls[1], "second")
        again._result(again.pending_calls[0], "first")
        assert [part.content[0].text for part in again.context[-1].content] == ["first", "second"]  # type: ignore[union-attr]
