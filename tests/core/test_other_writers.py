"""What another writer left or moved: its calls are not run here, checkpoints stay themselves, nothing unsaved is dropped."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest
from fireside import Agent, FileStore, Session, State, StateInUseError, Store, open_store, tool
from fireside.stores import index
from fireside.testing import FakeModel, tool_call


class Plain(Store):
    """A user's own store: `write` and `read`, no locks."""

    def __init__(self, inner: FileStore) -> None:
        self.inner = inner

    def write(self, *args: Any, **rest: Any) -> None:
        self.inner.write(*args, **rest)

    def read(self, state_id: str) -> Any:
        return self.inner.read(state_id)


@pytest.mark.parametrize("kind", ["plain", "file"])
@pytest.mark.parametrize("in_a_run", [True, False])
def test_a_call_that_a_dead_process_left_open_is_not_run_where_there_are_no_locks(
    tmp_path: Path, kind: str, in_a_run: bool
) -> None:
    paid: list[str] = []

    @tool
    def pay() -> str:
        """Pays."""
        paid.append("here")
        return "paid"

    def store() -> Store:
        inner = FileStore(tmp_path / "store", locks=False)
        return inner if kind == "file" else Plain(inner)

    here, there = store(), store()
    here.save(State("begin", id="c"))
    mine = here.load("c")
    mine.add_user_message("and then?")
    other = there.load("c")
    dead = Agent(FakeModel([[tool_call("pay")]]), store=there, tools=[pay])
    if in_a_run:
        other._append("run_start", {"agent": {}})
        there.save(other)
    dead.think(other)  # and it was killed at the call
    model = FakeModel(["I see."])
    Agent(model, store=here, tools=[pay]).run(mine)
    assert paid == []
    results = [entry.text for entry in mine.history if entry.kind == "tool_result"]
    assert len(results) == 1
    assert results[0].startswith("(unknown: ")
    assert mine.answer == "I see."


@pytest.mark.parametrize("place", ["store", "sqlite"])
def test_a_checkpoint_is_found_where_another_writers_entries_came_before_it(tmp_path: Path, place: str) -> None:
    where = str(tmp_path / "store") if place == "store" else f"sqlite:///{tmp_path / 's.db'}"
    one = Session("task", persistence=where)
    one.state.add_user_message("begin")
    one.store.save(one.state)
    two = Session("task", persistence=where)
    assert two.state.history[-1].text == "begin"
    one.checkpoint({"n": "A"}, "first")
    before = two.state.checkpoint("kept in hand", {"n": "B"})
    mine = two.checkpoint({"n": "C"}, "second")
    assert [(point.seq, point.message) for point in two.checkpoints()][-1] == (mine.seq, "second")
    two.state.restore(before)
    place_of = {point.message: point.seq for point in two.checkpoints()}
    assert two.state.history[-1].content == {"checkpoint": place_of["kept in hand"], "message": "kept in hand"}
    with pytest.raises(LookupError, match="elsewhere"):
        two.state.restore(State("another").checkpoint("elsewhere"))


def test_a_sessions_state_is_what_it_was_when_it_was_saved(tmp_path: Path) -> None:
    session = Session("dirty", persistence=str(tmp_path / "s"))
    session.state.add_user_message("begin")
    progress: dict[str, Any] = {"done": 10}
    session.save_state(progress)
    progress["half"] = True
    read = session.restore_state()
    assert read == {"done": 10}
    read["more"] = 1
    session.checkpoint(None, "other thing")
    assert Session("dirty", persistence=str(tmp_path / "s")).restore_state() == {"done": 10}
    progress["bad"] = {1, 2}
    with pytest.raises(TypeError):
        session.save_state(progress)
    session.checkpoint(None, "goes on")
    assert session.restore_state() == {"done": 10}


def test_data_that_can_not_be_saved_is_still_there_after_a_catch_up(tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "store"))
    store.save(State("begin", id="c"))
    behind, other = store.load("c"), store.load("c")
    other.data["theirs"] = 1
    store.save(other)
    behind.data["ok"], behind.data["odd"] = 1, {1, 2}
    behind.add_user_message("more")
    with pytest.raises(TypeError, match="odd"):
        store.save(behind)
    assert behind.data["odd"] == {1, 2}
    behind.data["odd"] = [1, 2]
    store.save(behind)
    assert store.load("c").data == {"theirs": 1, "ok": 1, "odd": [1, 2]}


ROWS: list[Any] = [
    1,
    [1, 2, 3],
    [0, 0, 0, "c0", "", "", "yesterday", "today", 0, None, "new", None],
    [0, 0, 0, "../x", "", "", "2026-01-01T00:00:00+00:00", "2026-01-01T00:00:00+00:00", 0, None, "running", None],
    [0, 0, 0, "c0", "", "", "2026-01-01T00:00:00", "2026-01-01T00:00:00", 0, None, "new", None],
    [0, 0, 0, "c0", "", "", "2026-01-01T00:00:00+00:00", "2026-01-01T00:00:00+00:00", 0, None, "new", 7],
]


@pytest.mark.parametrize("row", ROWS, ids=range(len(ROWS)))
def test_a_list_file_that_holds_what_no_list_wrote_is_not_believed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, row: Any
) -> None:
    monkeypatch.setattr(index, "WORTH", 1)
    root = tmp_path / "store"
    store = FileStore(root)
    for n in range(3):
        store.save(State(f"talk {n}", id=f"c{n}"))
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "log.jsonl").write_bytes((root / "c0" / "log.jsonl").read_bytes())
    stat = os.stat(root / "c0" / "log.jsonl")
    if isinstance(row, list) and len(row) == 12:
        row = [stat.st_ino, stat.st_size, stat.st_mtime_ns, *row[3:]]
    for line in ({"c0": row}, {"../secret": row, "a\0b": row, "\ud800": row}, [1], "x", 5):
        body = json.dumps(line).encode()
        with (root / ".list").open("ab") as file:
            file.write(b"%08x %s\n" % (crc32(body, index.SHAPE), body))
    again = FileStore(root)
    assert {saved.id for saved in again.glance()} <= {"c0", "c1", "c2"}
    assert sorted((saved.id, saved.task) for saved in again.list()) == [(f"c{n}", f"talk {n}") for n in range(3)]


def test_a_conversation_whose_folder_can_not_be_entered_is_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "store"
    store = FileStore(root)
    for name in ("aa", "bb"):
        store.save(State(name, id=name))
    if os.geteuid():
        (root / "aa").chmod(0)
    else:  # who may do anything is let in; the system says no in our place

        def refused(real: Any) -> Any:
            def call(path: Any, *args: Any, **rest: Any) -> os.stat_result:
                if str(path).startswith(str(root / "aa") + "/"):
                    raise PermissionError(13, "Permission denied", str(path))
                return real(path, *args, **rest)  # type: ignore[no-any-return]

            return call

        monkeypatch.setattr(os, "stat", refused(os.stat))
        monkeypatch.setattr(os, "lstat", refused(os.lstat))
    try:
        assert {saved.id for saved in FileStore(root).list()} == {"aa", "bb"}
    finally:
        if os.geteuid():
            (root / "aa").chmod(0o700)


@pytest.mark.parametrize("again", ["", "and more"])
@pytest.mark.parametrize("fresh", [False, True])
def test_a_deleted_state_does_not_go_on_in_one_that_got_its_id(tmp_path: Path, fresh: bool, again: str) -> None:
    for place in (f"{tmp_path}/runs", f"sqlite:///{tmp_path}/runs.db"):
        store = open_store(place)
        mine = State("my secret", id="x")
        store.save(mine)
        store.delete("x")
        theirs = State("their task", id="x")
        if again:
            theirs.add_user_message(again)
        (open_store(place) if fresh else store).save(theirs)
        before = store.read("x")
        mine.rename("Mine")
        with pytest.raises(LookupError, match="was deleted, and another one has its id"):
            store.save(mine)
        with pytest.raises(LookupError, match="was deleted, and another one has its id"):
            Agent(FakeModel(["an answer"]), store=store).run(mine)
        assert store.read("x") == before
        assert store.save(mine.fork())  # nothing of it is lost
        theirs.add_user_message("still mine")
        assert store.save(theirs)


def test_a_damaged_beginning_makes_no_other_state_of_it(tmp_path: Path) -> None:
    store = FileStore(tmp_path)
    state = State("one", id="x")
    state.add_user_message("two")
    store.save(state)
    log = tmp_path / "x" / "log.jsonl"
    first, *rest = log.read_bytes().splitlines(True)
    log.write_bytes(b"#" * (len(first) - 1) + b"\n" + b"".join(rest))
    for fresh in (store, FileStore(tmp_path)):
        loaded = fresh.load("x")
        loaded.add_user_message("three")
        assert fresh.save(loaded)
    assert [row.created_at for row in store.list()] == [state.created_at]


def test_a_state_that_no_store_took_may_go_into_another_one(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    state = State("t", id="x")
    with pytest.raises(NotADirectoryError):
        FileStore(tmp_path / "file").save(state)
    taken = FileStore(tmp_path / "taken")
    taken.save(State("another", id="x"))
    with pytest.raises(ValueError, match="already"):
        taken.save(state)
    assert FileStore(tmp_path / "store").save(state)
    with pytest.raises(ValueError, match="another store"):
        FileStore(tmp_path / "third").save(state)


def test_a_save_as_its_run_begins_does_not_meet_the_runs_lock(tmp_path: Path) -> None:
    """A person's message from one thread, the run from another: the very object is saved, whoever is first."""

    class Late(FileStore):
        def lock(self, state_id: str) -> Any:
            lock = super().lock(state_id)
            held.set()
            assert tried.wait(20)
            return lock

        def _lock_for_write(self, state_id: str) -> Any:
            try:
                return super()._lock_for_write(state_id)
            except StateInUseError:
                tried.set()
                raise

    held, tried = threading.Event(), threading.Event()
    store, state = Late(tmp_path), State("t", id="x")
    FileStore.save(store, state)
    run = threading.Thread(target=lambda: Agent(FakeModel(["fine"]), store=store).run(state))
    run.start()
    assert held.wait(20)
    state.add_notice("by the way")
    assert store.save(state)
    run.join()
    assert store.load("x").to_json() == state.to_json()


def test_a_checkpoint_is_known_by_its_place_where_the_clock_stands_still(monkeypatch: pytest.MonkeyPatch) -> None:
    state = State("t")
    first = state.checkpoint("same", {"n": 1})
    second = state.checkpoint("same", {"n": 2})
    state._fold.checkpoints = {seq: one._replace(at=first.at) for seq, one in state._fold.checkpoints.items()}
    entry = state.restore(second._replace(at=first.at))
    assert entry.content == {"checkpoint": second.seq, "message": "same"}
