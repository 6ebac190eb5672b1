"""State: commands that append one entry, values that follow from the entries."""

from __future__ import annotations

import copy
import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
from fireside import Image, State, ToolCall
from fireside.fold import UNKNOWN_RESULT
from fireside.label import LABEL_TASK
from fireside.messages import ToolResult
from fireside.requests import build
from fireside.stores.base import Record


def reply(state: State, text: str = "", *calls: str, seen: int | None = None) -> None:
    """Records a reply as `think` does."""
    blocks = [{"type": "text", "text": text}] if text else []
    blocks += [{"type": "tool_call", "id": f"c{n}", "name": name, "args": {}} for n, name in enumerate(calls)]
    state._append(
        "reply",
        {
            "blocks": blocks,
            "stop_reason": "tool_use" if calls else "end_turn",
            "usage": {"input": 10, "output": 5, "requests": 1},
            "model": "m",
            "seen": state._next_seq - 1 if seen is None else seen,
            "prefix": "",
        },
    )


def result(state: State, n: int, text: str) -> None:
    state._result(state._fold.calls[n], text)


def loaded(state: State, *, held: bool = False) -> State:
    """The State as it comes back from a store."""
    raw = json.loads(json.dumps([entry.to_json() for entry in state.history]))
    return State._from_record(state.id, Record(raw), None, held=held)  # type: ignore[arg-type]


def paths(value: object, before: tuple[object, ...] = ()) -> Iterator[tuple[object, ...]]:
    """The way to each value inside a JSON value."""
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, part in parts:
        yield (*before, step)
        yield from paths(part, (*before, step))


def nested(deep: int) -> object:
    value: object = 1
    for n in range(deep):
        value = {"k": value} if n % 2 else [value]
    return value


def texts(state: State) -> list[str]:
    return [f"{message.role}: {message.text}" for message in state.context]


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


class TestValues:
    def test_a_persons_title_is_never_replaced_by_itself(self) -> None:
        state = State("go")
        state.rename("auto", by="auto")
        state.rename("mine")
        assert state.rename("auto again", by="auto") is None
        assert state.title == "mine"

    def test_renaming_does_not_count_as_activity(self) -> None:
        state = State("go")
        before = state.updated_at
        state.rename("x")
        assert state.updated_at == before

    def test_changes_of_data_become_one_entry(self) -> None:
        state = State("go", data={"a": 1, "b": {"c": 1}})
        state.record_data()
        state.data["b"]["c"] = 2
        del state.data["a"]
        state.record_data()
        assert state.history[-1].content == {"set": {"b": {"c": 2}}, "removed": ["a"]}
        count = len(state.history)
        state.record_data()
        assert len(state.history) == count

    def test_a_value_that_is_no_json_is_named(self) -> None:
        state = State("go", data={"good": 1, "bad": object()})
        with pytest.raises(TypeError, match="'bad'"):
            state.record_data()
        assert state.history[-1].content["set"] == {"good": 1}

    @pytest.mark.parametrize(
        "value",
        [{1: 2}, [{(1, 2): 3}], {"a": {None: 1}}, float("nan"), [float("inf")], nested(201), nested(100_000)],
        ids=["int key", "tuple key", "None key", "NaN", "infinity", "too deep", "far too deep"],
    )
    def test_what_would_come_back_as_something_else_is_refused(self, value: object) -> None:
        with pytest.raises(TypeError, match="'bad'"):
            State("go", data={"bad": value}).record_data()
        with pytest.raises(TypeError, match="finish"):
            State("go").finish(value)
        with pytest.raises(TypeError, match="checkpoint"):
            State("go").checkpoint("here", value)

    def test_what_is_saved_can_be_loaded_however_deep_it_is(self) -> None:
        state = State("go", data={"deep": nested(200)})
        state.record_data()
        assert loaded(state).to_json() == state.to_json() == {**state.fork("f").to_json(), **state.to_json()}

    def test_values_that_come_out_can_be_changed_and_history_stays(self) -> None:
        state = State("go")
        state.checkpoint("here", {"n": [1]}).data["n"].append(2)
        state.checkpoints[0].data["n"].append(3)
        state.finish({"n": [1]})
        again = loaded(state)
        again.answer["n"].append(2)
        assert again.answer == {"n": [1]}
        assert again.checkpoints[0].data == {"n": [1]}
        assert again.to_json() == state.to_json()

    def test_data_is_a_dict_and_may_be_changed_by_a_thread_meanwhile(self) -> None:
        state, stop = State("go"), threading.Event()
        with pytest.raises(TypeError, match="dict"):
            state.data = 5  # type: ignore[assignment]

        def change() -> None:
            n = 0
            while not stop.is_set():
                state.data[f"k{n % 50}"] = n
                state.data.pop(f"k{(n + 25) % 50}", None)
                n += 1

        thread = threading.Thread(target=change)
        thread.start()
        try:
            for _ in range(300):
                state.record_data()
        finally:
            stop.set()
            thread.join()

    def test_finish_keeps_dataclasses_and_gives_them_back_as_dicts_when_loaded(self) -> None:
        @dataclass
        class Verdict:
            ok: bool

        state = State("go")
        state.finish(Verdict(True))
        assert state.answer == Verdict(True)
        assert loaded(state).answer == {"ok": True}
        with pytest.raises(TypeError, match="finish"):
            state.finish(object())

    def test_clearing_keeps_the_last_results_and_the_history(self) -> None:
        state = State("go")
        for n in range(4):
            reply(state, "", "a")
            result(state, 0, f"r{n}")
        state.clear_tool_results(keep_last=1)
        kept = [
            part.content[0].text
            for message in state.context
            for part in message.content
            if isinstance(part, ToolResult)
        ]
        assert [text.startswith("(cleared") for text in kept] == [True, True, True, False]
        assert [entry.text for entry in state.history if entry.kind == "tool_result"] == ["r0", "r1", "r2", "r3"]

    def test_a_label_is_small_whatever_the_length(self) -> None:
        state = State("long " * 10_000)
        for n in range(200):
            reply(state, f"reply {n}")
        label = state._label()
        assert len(label["task"]) == LABEL_TASK
        assert len(json.dumps(label)) < 700

    @pytest.mark.parametrize(
        "command",
        [
            lambda state: state.add_user_message(5),
            lambda state: state.add_user_message("look", 5),
            lambda state: state.add_notice(None),
            lambda state: state.deny("call", "no"),
            lambda state: state.start_from(5),
            lambda state: state.clear_tool_results("5"),
            lambda state: state.rename(5),
            lambda state: state.checkpoint(None),
            lambda state: state.restore("here"),
            lambda state: state.restore(None),
            lambda state: state.restore(True),
            lambda state: state.fork(5),
            lambda state: state.fork(at="3"),
        ],
    )
    def test_a_value_of_another_type_is_refused_and_leaves_no_trace(self, command: Callable[[State], object]) -> None:
        state = State("go")
        with pytest.raises(TypeError):
            command(state)
        assert len(state.history) == 1

    def test_the_history_is_read_only(self) -> None:
        state = State("go")
        with pytest.raises(TypeError):
            state.history[0] = None  # type: ignore[index]
        with pytest.raises(AttributeError):
            state.history[0].seq = 3  # type: ignore[misc]

    def test_entries_taken_back_leave_no_trace(self) -> None:
        state = State("go")
        state._saved = 1
        before = state.to_json()
        state.add_user_message("unsaved")
        assert [entry.text for entry in state._drop_unsaved()] == ["unsaved"]
        assert state.to_json() == before
        assert state.add_user_message("again").seq == 1
