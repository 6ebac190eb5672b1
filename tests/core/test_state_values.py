"""State: titles, the caller's data, answers, and values of the wrong kind."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from fireside import State
from fireside.label import LABEL_TASK
from fireside.messages import ToolResult

from tests.core.states import loaded, reply, result


def nested(deep: int) -> object:
    value: object = 1
    for n in range(deep):
        value = {"k": value} if n % 2 else [value]
    return value


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
        state._drop_unsaved(1)
        assert state.to_json() == before
        assert state.add_user_message("again").seq == 1


def test_a_cut_reply_stands_after_a_restore_too() -> None:
    state = State("question")
    state._append("partial_reply", {"seen": 0, "attempt": 1, "delta": [[0, "text", "half"]], "cut": True})
    point = state.checkpoint("here")
    state.add_user_message("B")
    assert [message.text for message in state.context] == ["question", "half", "B"]
    state.restore(point)
    assert [message.text for message in state.context] == ["question"]
    state.add_user_message("C")
    assert [message.text for message in state.context] == ["question", "half", "C"]
