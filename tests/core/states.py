"""What the tests of State share: entries as a run makes them, and the State as it comes back from a store."""

from __future__ import annotations

import json

from fireside import State
from fireside.stores.record import Record


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


def texts(state: State) -> list[str]:
    return [f"{message.role}: {message.text}" for message in state.context]
