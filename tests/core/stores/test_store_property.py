"""Whatever is done to a State, saved, failed and loaded again: it equals one that never left memory."""

from __future__ import annotations

import errno
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from fireside import entries as entries_module
from fireside import state as state_module
from fireside.items import UNKNOWN_RESULT
from fireside.state import State
from fireside.stores.base import Store
from fireside.stores.file import FileStore
from fireside.stores.record import Record
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.core.stores.disks import FailingDisk
from tests.core.stores.test_store_contract import MemoryStore

TEXT = st.text(st.characters(), min_size=1, max_size=12) | st.sampled_from(
    ["\ud83d half", "a\0b", "\u2028", "line\nline", " x "]
)
VALUE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=5,
)
SIMPLE = st.sampled_from(
    [
        "save",
        "save",
        "save",
        "reload",
        "reload",
        "no_tools",
        "restore",
        "clear",
        "run",
        "stop",
        "partial",
        "void",
        "cut",
    ]
)
COMMAND = (
    SIMPLE.map(lambda name: (name, None))
    | st.tuples(st.sampled_from(["user", "notice", "title", "auto", "summary", "result", "deny", "reply"]), TEXT)
    | st.tuples(st.just("calls"), st.integers(1, 3))
    | st.tuples(st.sampled_from(["data", "finish", "checkpoint"]), VALUE)
    | st.tuples(st.just("key"), st.tuples(TEXT, VALUE))
    | st.tuples(st.just("drop"), TEXT)
)


class Clock:
    """The time, the same for both States: it goes on when it is told to."""

    at = datetime(2026, 1, 1, tzinfo=UTC)

    @classmethod
    def now(cls, zone: Any) -> datetime:
        return cls.at

    fromisoformat = datetime.fromisoformat


def reply(state: State, text: str, calls: int = 0) -> None:
    blocks: list[Any] = [{"type": "text", "text": text}]
    blocks += [
        {"type": "tool_call", "id": f"c{state.turn}.{n}", "name": "look", "args": {"n": n}} for n in range(calls)
    ]
    usage = {"input": 3, "output": 2, "requests": 1, "cost": 0.25}
    last = state.history[-1].seq if len(state.history) else -1
    state._append("reply", {"blocks": blocks, "stop_reason": "x", "usage": usage, "seen": last, "model": "m"})


def partial(state: State, **rest: Any) -> None:
    last = state.history[-1].seq if len(state.history) else -1
    seen = state._fold.partial.seen if state._fold.partial else last
    state._append("partial_reply", {"seen": seen, "attempt": 1, "delta": [[0, "text", "so far "]], **rest})


def apply(state: State, name: str, value: Any) -> object:
    """Does one thing to a State; what it raised, if it may not be done now."""
    try:
        match name:
            case "user":
                state.add_user_message(value)
            case "notice":
                state.add_notice(value)
            case "title" | "auto":
                state.rename(value, by="person" if name == "title" else "auto")
            case "summary":
                state.start_from(value)
            case "result" if state.pending_calls:
                state._result(state.pending_calls[-1], value)
            case "deny" if state.pending_calls:
                state.deny(state.pending_calls[0], value)
            case "reply" | "no_tools" if not state.pending_calls:
                reply(state, value or "yes")
            case "calls" if not state.pending_calls:
                reply(state, "", value)
            case "key":
                state.data[value[0]] = value[1]
            case "data":
                state.data["data"] = value
            case "drop":
                state.data.pop(value, None)
            case "finish":
                state.finish(value)
            case "checkpoint":
                state.checkpoint("here", value)
            case "restore" if state.checkpoints:
                state.restore(state.checkpoints[-1])
            case "clear":
                state.clear_tool_results(keep_last=0)
            case "run" if not state._fold.run_open:
                state._append("run_start", {"agent": {"name": "a"}})
            case "stop" if state._fold.run_open:
                state._append("stop", {"end": True, "by": "limit"})
            case "partial" | "void" | "cut" if len(state.history) and not state.pending_calls:
                partial(state, **({name: True} if name != "partial" else {}))
    except (ValueError, LookupError) as error:
        return type(error), str(error)
    return None


class FlakyMemory(MemoryStore):
    """Fails before or after it has written, where its turn comes."""

    def __init__(self, at: frozenset[int]) -> None:
        super().__init__()
        self.at, self.count = at, 0

    def write(self, state_id: str, entries: Any, snapshot: Any, *, create: bool = False) -> None:
        self.count += 1
        if self.count in self.at and self.count % 2:
            raise OSError(errno.EIO, "before")
        super().write(state_id, entries, snapshot, create=create)
        if self.count in self.at:
            raise OSError(errno.EIO, "after")

    def read(self, state_id: str) -> Record | None:
        return super().read(state_id)


def flaky_file(at: frozenset[int]) -> Store:
    store = FileStore(tempfile.mkdtemp(prefix="fireside-"), locks=False)
    store._disk = FailingDisk(at, errno.ENOSPC)
    return store


@pytest.mark.parametrize("make", [FlakyMemory, flaky_file])
def test_a_state_that_is_saved_and_loaded_equals_one_that_never_left_memory(
    make: Callable[[frozenset[int]], Store], monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    for module in (entries_module, state_module):
        monkeypatch.setattr(module, "datetime", Clock)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    @settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck), database=None)
    @given(st.lists(COMMAND, max_size=25), st.frozensets(st.integers(0, 120), max_size=25))
    def holds(commands: list[tuple[str, Any]], failures: frozenset[int]) -> None:
        store = make(failures)
        Clock.at = datetime(2026, 1, 1, tzinfo=UTC)
        ours, memory = State("task", id="x"), State("task", id="x")
        for name, value in [*commands, ("reload", None)]:
            Clock.at += timedelta(seconds=1)
            if name in ("save", "reload"):
                memory.record_data()
                for _ in range(200):
                    try:
                        store.save(ours)
                        break
                    except OSError:
                        assert ours.to_json() == memory.to_json()
                        if name == "save":
                            break
                if name == "reload":
                    ours = store.load("x")
                    memory._close_calls(
                        UNKNOWN_RESULT, [c for c in memory.pending_calls if c not in memory._fold.unasked]
                    )
            else:
                assert apply(ours, name, value) == apply(memory, name, value)
            assert ours.to_json() == memory.to_json()
        assert [message.to_json() for message in ours.context] == [message.to_json() for message in memory.context]
        for read in ("title", "task", "answer", "turn", "usage", "stopped_by", "created_at", "updated_at", "data"):
            assert getattr(ours, read) == getattr(memory, read), read
        assert [mark.data for mark in ours.checkpoints] == [mark.data for mark in memory.checkpoints]

    holds()
