"""The end of a long conversation, before all of it is read: what a load ends with, or nothing."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fireside import Agent, FileStore, State, Store, tool
from fireside.stores import tail
from fireside.stores.sqlite import SQLiteStore
from fireside.testing import FakeModel, tool_call

Damage = Callable[[Any], None]


@tool
def look() -> str:
    """Looks."""
    return "seen"


@pytest.fixture(params=["file", "sqlite"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    return FileStore(tmp_path / "runs") if request.param == "file" else SQLiteStore(tmp_path / "runs.db")


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is long, and how much is looked at, for conversations of a few runs."""
    for name, value in (("LONG", 20), ("LONG_BYTES", 4000), ("END", 30), ("END_BYTES", 6000)):
        monkeypatch.setattr(tail, name, value)


def told(store: Store, runs: int = 12, *, id: str = "long") -> State:
    state = State(id=id)
    for n in range(runs):
        state.add_user_message(f"message {n}")
        Agent(FakeModel([tool_call("look"), f"answer {n}"]), tools=[look], store=store).run(state)
    return state


def rewrite(store: Store, change: Callable[[dict[str, Any]], str]) -> None:
    """Writes the last entry in another way, as damage or another program would."""
    if isinstance(store, FileStore):
        path = Path(store.path, "long", "log.jsonl")
        *lines, last = path.read_text().splitlines()
        path.write_text("".join(line + "\n" for line in [*lines, change(json.loads(last))]))
        return
    assert isinstance(store, SQLiteStore)
    with sqlite3.connect(store.path) as db:
        seq, entry = db.execute("SELECT seq, entry FROM entries ORDER BY seq DESC LIMIT 1").fetchone()
        db.execute("UPDATE entries SET entry = ? WHERE seq = ?", (change(json.loads(entry)), seq))
    db.close()


def test_it_is_what_a_load_ends_with(place: Store) -> None:
    told(place)
    found = place.peek("long")
    history = list(place.load("long").history)
    assert 10 < len(found) < len(history)
    assert found[0].kind == "run_start"
    assert [entry.to_json() for entry in found] == [entry.to_json() for entry in history[-len(found) :]]


def test_there_is_none_of_what_is_read_as_a_whole_just_as_soon(place: Store) -> None:
    told(place, 1)
    assert place.peek("long") == []
    assert place.peek("none") == []
    with pytest.raises(ValueError, match="not an id"):
        place.peek("../x")


def test_there_is_none_while_the_end_runs_or_was_left_open(place: Store) -> None:
    state = told(place)
    seen: list[list[Any]] = []

    @tool
    def peeks() -> str:
        """Peeks."""
        seen.append(place.peek("long"))
        return "done"

    state.add_user_message("and now?")
    Agent(FakeModel([tool_call("peeks"), "fine"]), tools=[peeks], store=place).run(state)
    assert seen == [[]]
    assert place.peek("long")
    rewrite(place, lambda last: json.dumps({**last, "kind": "data", "content": {"set": {}, "removed": []}}))
    assert place.peek("long") == []  # as after a kill: the end of the run is missing


def test_there_is_none_where_a_step_by_hand_leaves_calls_open(place: Store) -> None:
    state = told(place)
    state.add_user_message("by hand")
    assert place.save(state)
    assert place.peek("long")
    Agent(FakeModel([tool_call("look")]), tools=[look], store=place).think(state)
    assert place.peek("long") == []


@pytest.mark.parametrize(
    "change",
    [
        lambda last: '{"seq":',
        lambda last: json.dumps({**last, "at": "yesterday"}),
        lambda last: json.dumps({**last, "seq": last["seq"] + 3}),
        lambda last: json.dumps({**last, "content": 7}),
    ],
    ids=["torn", "no entry", "a gap", "no content"],
)
def test_there_is_none_of_a_damaged_end(place: Store, change: Callable[[dict[str, Any]], str]) -> None:
    told(place)
    assert place.peek("long")
    rewrite(place, change)
    assert place.peek("long") == []


def test_there_is_none_of_a_newer_format(place: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    state = told(place)
    state.rename("by a newer one")
    with monkeypatch.context() as patch:
        patch.setattr("fireside.label.VERSION", 99)
        place.save(state)
    assert place.peek("long") == []


def test_it_looks_at_the_end_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = FileStore(tmp_path / "runs")
    told(store, 60)
    sizes: list[int] = []
    parse = tail.last_runs
    monkeypatch.setattr(tail, "last_runs", lambda rows: (sizes.append(len(rows)), parse(rows))[1])
    assert len(store.peek("long")) <= sizes[0] < 40
