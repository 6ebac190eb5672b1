"""Session: every call of the page that asked for it, on each kind of store."""

from __future__ import annotations

from pathlib import Path

import pytest
from fireside import Agent, FileStore, Session, State, open_store, tool
from fireside.session import STATE_KEY
from fireside.testing import FakeModel, tool_call


@pytest.fixture(params=["sqlite", "file", "address", "store"])
def persistence(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> object:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    made = {"address": f"sqlite:///{tmp_path / 'a.db'}", "store": FileStore(tmp_path / "store")}
    return made.get(request.param, request.param)


def session(persistence: object, **settings: int) -> Session:
    return Session(session_id="task-123", persistence=persistence, **settings)  # type: ignore[arg-type]


def worker(session: Session, *replies: object, **settings: object) -> Agent:
    return Agent(FakeModel(replies), name="Worker", session=session, **settings)  # type: ignore[arg-type]


def test_a_task_is_started_and_resumed_by_its_id(persistence: object) -> None:
    @tool
    def crash() -> None:
        raise RuntimeError("power cut")

    first = worker(session(persistence), tool_call("crash"), tools=[crash])
    with pytest.raises(RuntimeError, match="power cut"):
        first.start("Process 1000 items...")
    again = worker(session(persistence), "All done.", tools=[crash])
    assert again.resume() == "All done."
    assert again.model.requests[0].messages[0].text == "Process 1000 items..."  # type: ignore[attr-defined]
    # nothing is left to do: the answer that is there comes back, without a request
    assert worker(session(persistence), tools=[crash]).resume() == "All done."


def test_resume_needs_a_session_that_is_there(persistence: object) -> None:
    with pytest.raises(LookupError, match="task-123"):
        worker(session(persistence)).resume()


def test_start_refuses_a_session_that_has_a_task(persistence: object) -> None:
    worker(session(persistence), "x").start("one")
    with pytest.raises(ValueError, match="resume"):
        worker(session(persistence), "y").start("two")


def test_the_interval_of_saves_is_the_checkpoint_interval(persistence: object) -> None:
    assert worker(session(persistence, checkpoint_interval=5)).save_every == 5


def test_a_manual_checkpoint_before_the_start(persistence: object) -> None:
    mine = session(persistence)
    mine.checkpoint(state={"processed": 500, "remaining": 500}, message="Halfway done")
    assert session(persistence).resume_from_checkpoint() == {"processed": 500, "remaining": 500}
    assert worker(session(persistence), "ok").start("go on") == "ok"
    assert [point.message for point in session(persistence).checkpoints()] == ["Halfway done"]


def test_named_checkpoints(persistence: object) -> None:
    mine = session(persistence)
    agent = worker(mine, "first", "second")
    agent.start("one")
    mine.checkpoint(state={"n": 1}, message="early")
    mine.state.add_user_message("two")
    agent.run(mine.state)
    mine.checkpoint(state={"n": 2}, message="late")
    assert session(persistence).resume_from_checkpoint() == {"n": 2}
    again = session(persistence)
    assert again.resume_from_checkpoint("early") == {"n": 1}
    assert [message.text for message in session(persistence).state.context] == ["one", "first"]
    with pytest.raises(LookupError, match="nowhere"):
        again.resume_from_checkpoint("nowhere")


def test_a_session_without_checkpoints_has_none_to_go_back_to(persistence: object) -> None:
    with pytest.raises(LookupError):
        session(persistence).resume_from_checkpoint()


def test_the_users_own_dict_is_saved_at_once(persistence: object) -> None:
    mine = session(persistence)
    assert mine.restore_state() is None
    mine.save_state({"page": 3})
    assert session(persistence).restore_state() == {"page": 3}
    with pytest.raises(TypeError):
        mine.save_state({"page": object()})
    assert mine.restore_state() == {"page": 3}
    assert mine.state.data == {STATE_KEY: {"page": 3}}


def test_all_sessions_newest_first(persistence: object) -> None:
    for name in ("a", "b"):
        own = Session(session_id=name, persistence=persistence)  # type: ignore[arg-type]
        worker(own, "x").start(f"task {name}")
    rows = Session.list_all(persistence=persistence)  # type: ignore[arg-type]
    assert [(row.session_id, row.status) for row in rows] == [("b", "waiting"), ("a", "waiting")]
    assert rows[0].updated_at >= rows[1].updated_at


async def test_the_async_twins(persistence: object) -> None:
    assert await worker(session(persistence), "x").astart("go") == "x"
    assert await worker(session(persistence)).aresume() == "x"


@pytest.mark.parametrize(
    "settings",
    [
        {"session_id": "no/slash"},
        {"checkpoint_interval": 0},
        {"persistence": "mysql://x/y"},
        {"persistence": "papyrus"},
    ],
    ids=str,
)
def test_wrong_settings_are_refused(settings: dict[str, object], tmp_path: Path) -> None:
    with pytest.raises(ValueError):
        Session(**{"session_id": "x", "persistence": FileStore(tmp_path), **settings})  # type: ignore[arg-type]


def test_postgres_needs_an_address(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("FIRESIDE_POSTGRES", "DATABASE_URL"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ValueError, match="FIRESIDE_POSTGRES"):
        Session("x", persistence="postgres")


def test_a_session_has_its_own_store(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="own store"):
        Agent(FakeModel(), session=session(FileStore(tmp_path / "a")), store=open_store(str(tmp_path / "b")))


def test_a_run_that_died_can_go_back_to_a_checkpoint(tmp_path: Path) -> None:
    store = FileStore(tmp_path)
    state = State("go", id="task-123")
    state.checkpoint("start")
    state._append("run_start", {"agent": {}})
    store.save(state)
    mine = session(store)
    assert mine.resume_from_checkpoint() is None
    assert mine.state.status == "new"


def test_one_that_went_back_to_before_its_start_can_be_started_again(tmp_path: Path) -> None:
    mine = session(FileStore(tmp_path))
    mine.checkpoint(message="empty")
    agent = Agent(FakeModel(["done", "again"]), session=mine)
    agent.start("Process 1000 items")
    mine.resume_from_checkpoint()
    with pytest.raises(LookupError, match="start"):
        agent.resume()
    assert agent.start("Process 10 items") == "again"


def test_what_a_checkpoint_holds_can_be_changed_by_who_gets_it(tmp_path: Path) -> None:
    mine = session(FileStore(tmp_path))
    mine.checkpoint(state={"done": 1}, message="first")
    mine.resume_from_checkpoint()["done"] = 2
    mine.checkpoints()[0].data["done"] = 3
    assert mine.resume_from_checkpoint() == {"done": 1}
