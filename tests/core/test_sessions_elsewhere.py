"""A Session that another process went on with: what it did is seen at the next call."""

from __future__ import annotations

from pathlib import Path

import pytest
from fireside import Agent, FileStore, Session
from fireside.stores.postgres import PostgresStore
from fireside.testing import FakeModel


@pytest.fixture(params=["file", "sqlite"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return f"{tmp_path}/runs" if request.param == "file" else f"sqlite:///{tmp_path / 'runs.db'}"


def session(place: str) -> Session:
    return Session("t", persistence=place)


def worker(session: Session, *replies: str) -> Agent:
    return Agent(FakeModel(replies), session=session)


@pytest.mark.parametrize("looked", ["state", "checkpoint"])
def test_start_refuses_what_was_started_elsewhere(place: str, looked: str) -> None:
    here = session(place)
    assert here.state.title == ""
    if looked == "checkpoint":
        here.checkpoint({"n": 1}, "before")
    worker(session(place), "done").start("Process 1000 items...")
    with pytest.raises(ValueError, match="has a task already"):
        worker(here).start("Another one")
    assert here.state.task == "Process 1000 items..."
    assert worker(here).resume() == "done"


def test_resume_answers_what_was_asked_elsewhere(place: str) -> None:
    here = session(place)
    assert worker(here, "one").start("first") == "one"
    other = session(place)
    other.state.add_user_message("second")
    other.store.save(other.state)
    assert worker(here, "two").resume() == "two"


def test_checkpoints_and_states_of_elsewhere_are_found(place: str) -> None:
    here = session(place)
    here.save_state({"by": "me"})
    other = session(place)
    other.checkpoint({"n": 1}, "theirs")
    other.save_state({"by": "them"})
    assert here.restore_state() == {"by": "them"}
    assert [point.message for point in here.checkpoints()] == ["theirs"]
    assert here.resume_from_checkpoint("theirs") == {"n": 1}


def test_the_state_stays_the_very_object_and_keeps_what_is_new_in_it(place: str) -> None:
    here = session(place)
    here.save_state({"n": 1})
    state = here.state
    state.add_user_message("mine")
    session(place).checkpoint(None, "theirs")
    assert [point.message for point in here.checkpoints()] == ["theirs"]
    assert here.state is state
    assert [entry.kind for entry in state.history] == ["data", "checkpoint", "user"]
    assert here.store.save(state)
    assert here.store.load("t").to_json() == state.to_json()


def test_a_run_that_was_killed_behind_its_answer_is_closed_by_resume(tmp_path: Path) -> None:
    store = FileStore(tmp_path)
    Agent(FakeModel(["done"]), session=Session("t", persistence=store)).start("task")
    log = tmp_path / "t" / "log.jsonl"
    log.write_bytes(b"".join(line for line in log.read_bytes().splitlines(True) if b'"kind":"stop"' not in line))
    assert [row.status for row in FileStore(tmp_path).list()] == ["interrupted"]
    assert worker(Session("t", persistence=FileStore(tmp_path))).resume() == "done"
    assert [row.status for row in FileStore(tmp_path).list()] == ["waiting"]


def test_an_address_of_postgres_may_have_either_form(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    for address in ("host=localhost dbname=prod", "postgresql://localhost/prod"):
        monkeypatch.setenv("FIRESIDE_POSTGRES", address)
        assert Session("t", persistence="postgres").store == PostgresStore("postgresql://localhost/prod")
    for address in ("prod-db", "postgresql://u:secret@[bad/x", "postgresql://u:secret@h/x?nosuch=1"):
        monkeypatch.setenv("FIRESIDE_POSTGRES", address)
        with pytest.raises(ValueError, match="no address of a PostgreSQL database") as caught:
            Session("t", persistence="postgres")
        assert "secret" not in str(caught.value)
        assert caught.value.__cause__ is None
    assert not list(tmp_path.iterdir())


def test_what_is_added_costs_no_second_look_at_all_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = Session("t", persistence=FileStore(tmp_path))
    here.checkpoint({"n": 1}, "first")
    with monkeypatch.context() as patch:
        patch.setattr(FileStore, "read", None)
        here.save_state({"n": 2})
        here.checkpoint({"n": 2}, "second")
    assert [point.message for point in here.checkpoints()] == ["first", "second"]
