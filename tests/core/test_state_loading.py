"""State, loaded: what comes back, what is closed, and what damage may cost; replies that were never whole."""

from __future__ import annotations

import copy
from collections.abc import Iterator

import pytest
from fireside import Image, State
from fireside.items import UNKNOWN_RESULT
from fireside.replay import untold
from fireside.requests import build
from fireside.stores.record import Record
from hypothesis import given
from hypothesis import strategies as st

from tests.core.states import loaded, reply, result, texts


def paths(value: object, before: tuple[object, ...] = ()) -> Iterator[tuple[object, ...]]:
    """The way to each value inside a JSON value."""
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, part in parts:
        yield (*before, step)
        yield from paths(part, (*before, step))


class TestLoading:
    def test_a_loaded_state_equals_the_saved_one(self) -> None:
        state = State("go", data={"a": 1})
        state.record_data()
        reply(state, "words", "tool")
        result(state, 0, "r")
        reply(state, "done")
        state.rename("A title")
        state.checkpoint("here", {"n": 1})
        state.finish([1, 2])
        again = loaded(state)
        assert again.to_json() == state.to_json()
        for name in (
            "task",
            "title",
            "answer",
            "turn",
            "usage",
            "created_at",
            "updated_at",
            "status",
            "context",
            "data",
        ):
            assert getattr(again, name) == getattr(state, name), name

    def test_a_call_without_a_saved_result_is_told_as_unknown_and_not_run(self) -> None:
        state = State("go")
        reply(state, "", "a", "b")
        result(state, 0, "done")
        again = loaded(state)
        assert again.pending_calls == ()
        assert again.history[-1].content == UNKNOWN_RESULT
        assert again.updated_at == state.updated_at

    def test_a_state_that_another_process_runs_is_not_closed(self) -> None:
        state = State("go")
        reply(state, "", "a")
        assert len(loaded(state, held=True).pending_calls) == 1

    def test_a_call_that_waited_for_the_person_still_waits(self) -> None:
        state = State("go")
        reply(state, "", "a", "b")
        state._append("approval", {"asked": [0, 1]})
        state._append("approval", {"allowed": True}, call=state.pending_calls[0])
        again = loaded(state)
        assert [call.name for call in again.pending_calls] == ["a", "b"]
        assert again.status == "approval"

    def test_calls_that_were_all_allowed_may_have_run(self) -> None:
        state = State("go")
        reply(state, "", "a")
        state._append("approval", {"asked": [0]})
        state._append("approval", {"allowed": True}, call=state.pending_calls[0])
        assert loaded(state).history[-1].content == UNKNOWN_RESULT

    @pytest.mark.parametrize("lost", range(6))
    def test_all_but_a_lost_step_is_there_and_one_notice_says_so(self, lost: int) -> None:
        state = State("go")
        reply(state, "", "a")
        result(state, 0, "r")
        reply(state, "first")
        state.add_user_message("more")
        reply(state, "second")
        raw = [entry.to_json() for entry in state.history]
        del raw[lost]
        again = State._from_record(state.id, Record(raw, next_seq=6), None, held=False)  # type: ignore[arg-type]
        notices = [entry for entry in again.history if entry.kind == "notice"]
        assert len(notices) == 1
        assert str(lost) in notices[0].text
        assert [entry.seq for entry in again.history][:5] == [n for n in range(6) if n != lost]
        twice = loaded(again)
        assert twice.to_json() == again.to_json()
        assert again.updated_at == max(
            entry.at for entry in again.history if not entry.closing and entry.kind != "title"
        )

    def test_a_place_however_far_away_costs_no_memory(self) -> None:
        state = State("go")
        reply(state, "first")
        raw = [entry.to_json() for entry in state.history]
        record = Record(raw, next_seq=2**60)
        again = State._from_record(state.id, record, None, held=False)  # type: ignore[arg-type]
        assert f"entries 2 to {2**60 - 1}" in again.history[-1].text
        assert loaded(again).to_json() == again.to_json()

    @pytest.mark.parametrize("told", [[[0, 2**60]], [[1, 1], [3, 3]], [[-1, 1]], [[1, 0]]])
    def test_a_notice_of_what_can_not_be_missing_is_itself_told(self, told: object) -> None:
        state = State("go")
        reply(state, "first")
        state.add_notice("steps are missing")
        raw = [entry.to_json() for entry in state.history]
        raw[2]["content"] = {"text": "steps are missing", "missing": told}
        again = State._from_record(state.id, Record(raw), None, held=False)  # type: ignore[arg-type]
        assert "(entries 2)" in again.history[-1].text
        assert loaded(again).to_json() == again.to_json()

    @given(*[st.lists(st.tuples(st.integers(0, 9), st.integers(0, 3)))] * 2)
    def test_what_was_told_is_not_told_again(self, gaps: list[tuple[int, int]], told: list[tuple[int, int]]) -> None:
        missing, end = [], 0
        for gap, length in gaps:
            missing.append(range(end + gap, end := end + gap + length + 1))
        earlier = [range(3 * start, 3 * start + length + 1) for start, length in told]
        new = {seq for places in missing for seq in places} - {seq for places in earlier for seq in places}
        assert [seq for places in untold(missing, earlier) for seq in places] == sorted(new)

    def test_the_notice_names_the_calls_whose_results_are_there_without_them(self) -> None:
        state = State("go", id="s")
        reply(state, "I send it", "send_mail")
        result(state, 0, "sent to bob")
        reply(state, "Done")
        raw = [entry.to_json() for entry in state.history]
        raw[1]["content"] = 7
        again = State._from_record("s", Record(raw), None, held=False)  # type: ignore[arg-type]
        told = again.history[-1].text
        assert "(entries 1 to 2)" in told
        assert f"may or may not have run: send_mail ({raw[2]['call']['id']})" in told
        assert loaded(again).to_json() == again.to_json()

    @pytest.mark.parametrize("broken", [{"seq": 9}, {"kind": "user", "content": 7}, {"kind": "tool_result"}])
    @pytest.mark.parametrize("place", [0, 1, 2])
    def test_a_fork_before_the_notice_has_one_of_its_own(self, broken: dict[str, object], place: int) -> None:
        state = State("one", id="s")
        for text in ("two", "three", "four"):
            state.add_user_message(text)
        raw = [entry.to_json() for entry in state.history]
        raw[place] = {**raw[place], **broken}
        if "seq" in broken:
            del raw[place]
        again = State._from_record("s", Record(raw), None, held=False)  # type: ignore[arg-type]
        fork = again.fork("f", at=3)
        assert loaded(fork).to_json() == fork.to_json()
        assert f"(entries {place})" in texts(fork)[-1]

    def test_a_conversation_with_what_can_not_be_read_can_be_forked_and_taken_back(self) -> None:
        state = State("go", id="s")
        reply(state, "Hi")
        for broken in ({"kind": "from_the_future"}, {"kind": "reply", "content": 5}):
            raw = [entry.to_json() for entry in state.history]
            record = Record([*raw, {**raw[-1], "seq": len(raw), **broken}])
            again = State._from_record("s", record, None, held=False)  # type: ignore[arg-type]
            fork = again.fork("f")
            assert texts(fork) == texts(again)
            assert loaded(fork).to_json() == fork.to_json()
            again.take_back(again.add_user_message("no"))
            assert texts(fork) == texts(again)

    @pytest.mark.parametrize(
        "origin", ["x", 5, [], {}, {"v": "1"}, {"v": 1, "fork": "x"}, {"v": 1, "fork": {"seq": 1}}]
    )
    def test_a_damaged_origin_costs_that_entry_alone(self, origin: object) -> None:
        state = State("go", id="s")
        reply(state, "Hi")
        raw = [entry.to_json() for entry in state.history]
        raw[0]["origin"] = origin
        again = State._from_record("s", Record(raw), None, held=False)  # type: ignore[arg-type]
        assert again.answer == "Hi"
        assert again.forked_from is None
        assert "could not be read" in texts(again)[-1]

    def test_any_one_value_may_be_damaged(self) -> None:
        """Each value of each entry in turn becomes something else: what is there can be read, asked with and saved."""
        state = State("go", id="s", data={"a": [1]})
        state.checkpoint("here", {"n": 1})
        reply(state, "I look", "look", "hear")
        result(state, 1, "text")
        state._result(state.pending_calls[0], [{"type": "text", "text": "t"}, Image("aGk=", "image/png").to_json()])
        state.add_user_message("and this?", Image("aGk=", "image/png"))
        reply(state, "done")
        state.rename("Title")
        raw = [entry.to_json() for entry in state.history]
        for n, entry in enumerate(raw):
            for path in paths(entry):
                if path == ("seq",) or path[:1] == ("origin",):
                    continue
                for value in (None, True, 5, "x", [], {}, [None], [[1]], {"type": "text"}):
                    damaged = copy.deepcopy(raw)
                    place = damaged[n]
                    for step in path[:-1]:
                        place = place[step]
                    place[path[-1]] = value
                    again = State._from_record("s", Record(damaged), None, held=False)  # type: ignore[arg-type]
                    assert all(isinstance(each.text, str) and isinstance(each.blocks, tuple) for each in again.history)
                    build(again._fold.messages(), system="")
                    reply(again, "went on")
                    assert loaded(again).to_json() == again.to_json()

    def test_an_unknown_kind_stays_in_the_history(self) -> None:
        state = State("go")
        raw = [entry.to_json() for entry in state.history]
        raw.append({**raw[0], "seq": 1, "kind": "hologram"})
        raw[1].pop("origin")
        again = State._from_record(state.id, Record(raw), None, held=False)  # type: ignore[arg-type]
        assert [entry.kind for entry in again.history] == ["user", "hologram", "notice"]

    def test_a_newer_format_is_refused(self) -> None:
        raw = State("go").history[0].to_json()
        raw["origin"]["v"] = 99
        with pytest.raises(ValueError, match="newer"):
            State._from_record("x", Record([raw]), None, held=False)  # type: ignore[arg-type]


class TestPartialReplies:
    def partial(self, state: State, text: str, **ending: bool) -> None:
        state._append("partial_reply", {"seen": 0, "attempt": 1, "delta": [[0, "text", text]], **ending})

    def test_it_is_no_answer_and_no_turn(self) -> None:
        state = State("go")
        self.partial(state, "half of", cut=True)
        assert (state.answer, state.turn) == (None, 0)
        assert texts(state) == ["user: go"]

    def test_it_stands_once_the_person_writes_on(self) -> None:
        state = State("go")
        self.partial(state, "half of ")
        self.partial(state, "it \n", cut=True)
        state.add_user_message("go on")
        state.add_user_message("please")
        assert texts(state) == ["user: go", "assistant: half of it", "user: go on", "user: please"]
        reply(state, "the rest")
        assert texts(loaded(state))[1] == "assistant: half of it"

    def test_asking_again_leaves_it_out(self) -> None:
        state = State("go")
        self.partial(state, "half", cut=True)
        reply(state, "whole")
        assert texts(state) == ["user: go", "assistant: whole"]

    def test_a_message_sent_while_it_streams_comes_after_the_whole_reply(self) -> None:
        state = State("go")
        self.partial(state, "half ")
        state.add_user_message("wait")
        self.partial(state, "of it")
        reply(state, "half of it all", seen=0)
        assert texts(state) == ["user: go", "assistant: half of it all", "user: wait"]

    def test_a_void_attempt_is_gone(self) -> None:
        state = State("go")
        self.partial(state, "half", void=True)
        state.add_user_message("on")
        assert texts(state) == ["user: go", "user: on"]
