"""What the store says no to, or holds damaged, harms nothing else: no other conversation, no draft, no index, no app."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from fireside import Agent, AuthError, FileStore, Holder, Image, State
from fireside.testing import FakeModel
from fireside_tui.conversations import explain
from fireside_tui.device import Device
from fireside_tui.search import SearchIndex

from tests.tui.app_support import FullDisk, calls_of, opened, talk
from tests.tui.conversations_support import all_of

PICTURE = Image("iVBORw0KGgo=", "image/png")


def damage_reply(folder: Path, id: str, key: str) -> None:
    """Takes what a reply needs out of the log, as a program with a mistake might."""
    log = folder / "store" / id / "log.jsonl"
    rows = [json.loads(line) for line in log.read_text().splitlines()]
    for row in rows:
        if row["kind"] == "reply":
            del row["content"][key]
    log.write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.mark.parametrize("key", ["stop_reason", "usage"])
async def test_a_conversation_with_a_damaged_reply_opens_and_is_the_one_that_is_written_in(
    tmp_path: Path, key: str
) -> None:
    store = FileStore(tmp_path / "store")
    state = State("the damaged one", id="damaged")
    await Agent(FakeModel(["lost"]), store=store).arun(state)
    await talk(tmp_path, "the sound one", id="sound", store=store)
    damage_reply(tmp_path, "damaged", key)
    async with opened(tmp_path, ["again"], store=store, resume="sound") as it:
        await it.main.open("damaged")
        assert it.current.id == "damaged"
        assert "the damaged one" in it.shown
        assert "the sound one" not in it.shown
        await it.send("go on")
        assert "again" in it.shown


class Gone(FileStore):
    """A store that goes away while `gone` is set, as a server does; it also counts who asks it for a holder."""

    gone = False

    def holder(self, state_id: str) -> Holder | None:
        if self.gone:
            raise sqlite3.OperationalError("the server went away")
        return super().holder(state_id)


async def test_the_list_asks_no_store_who_runs_what(tmp_path: Path) -> None:
    store = Gone(tmp_path / "store")
    state = State("cut off", id="cut")
    state._append("run_start", {"agent": {}})
    store.save(state)
    async with opened(tmp_path, store=store, resume="cut") as it:
        store.gone = True
        with calls_of(Gone, "holder") as asked:
            it.main.show_rows()
            it.main.chat.reload()
        assert asked.count == 0
        assert [row.status for row in it.main.sidebar.rows.rows] == ["interrupted"]


async def test_a_store_that_goes_away_in_a_look_is_told_and_looked_at_again(tmp_path: Path) -> None:
    store = Gone(tmp_path / "store")
    state = State("cut off", id="cut")
    state._append("run_start", {"agent": {}})
    store.save(state)
    conversations = all_of(tmp_path, FakeModel(), store=store)
    await conversations.open("cut")
    other = FileStore(tmp_path / "store")
    held = other.lock("cut")
    try:
        store.gone = True
        await conversations.refresh()
        assert conversations.trouble is not None
        assert "went away" in conversations.trouble.text
    finally:
        held.release()
    store.gone = False
    await talk(tmp_path, "new", id="new", store=other)
    await conversations.refresh()
    assert conversations.trouble is None
    assert "new" in [row.id for row in conversations.rows]


def test_a_device_file_that_can_not_be_read_for_once_is_not_written_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "device.json"
    before = Device(path)
    before.set_draft("a", "half a thought")
    before.flush()
    with monkeypatch.context() as patch:
        patch.setattr(Path, "read_bytes", lambda self: (_ for _ in ()).throw(OSError(5, "Input/output error")))
        device = Device(path)
        assert device.error is not None
        device.pin("b")
        assert not device.flush()
    assert device.flush()
    draft = Device(path).draft("a")
    assert draft is not None
    assert draft.text == "half a thought"
    assert Device(path).is_pinned("b")


async def test_an_edit_that_can_not_be_saved_is_not_lost(tmp_path: Path) -> None:
    store = FullDisk(tmp_path / "store")
    async with opened(tmp_path, ["one", "two"], store=store) as it:
        await it.send("first words")
        before = it.current
        store.full = True
        it.main.action_command("edit")
        await it.until(lambda: len(it.app.screen_stack) > 1)
        await it.press("end", *"er")
        await it.press("ctrl+s")
        await it.until(lambda: it.current is not before)
        assert it.box == "first wordser"
        assert it.current.unsaved
        store.full = False
        await it.press("enter")
        await it.until(lambda: not it.box and not it.current.running)
        assert [e.text for e in it.current.state.history if e.kind == "user"] == ["first wordser"]
        assert "two" in it.shown


async def test_an_edited_message_keeps_its_pictures_also_where_it_is_saved_later(tmp_path: Path) -> None:
    store = FullDisk(tmp_path / "store")
    model = FakeModel(["a", "b"])
    conversations = all_of(tmp_path, model, store=store)
    first = conversations.new()
    await first.send("what is this?", images=(PICTURE,))
    await first.finished()
    message = next(entry for entry in first.state.history if entry.kind == "user")
    store.full = True
    fork = await conversations.edit_and_send(first, message, "and this?")
    assert fork.unsaved
    assert fork.trouble is not None
    store.full = False
    await fork.send("and this?")
    await fork.finished()
    assert model.requests[-1].messages[-1].content[0] == PICTURE
    assert model.requests[-1].messages[-1].text == "and this?"


def test_what_a_database_raises_harms_no_search_index(tmp_path: Path) -> None:
    class Broken(FileStore):
        broken: set[str]

        def read(self, state_id: str) -> Any:
            if state_id in self.broken:
                raise sqlite3.DatabaseError("database disk image is malformed")
            return super().read(state_id)

        def list(self) -> Any:
            if "list" in self.broken:
                raise sqlite3.DatabaseError("database disk image is malformed")
            return super().list()

    store = Broken(tmp_path / "store")
    store.broken = set()
    store.save(State("a red kite", id="a"))
    path = tmp_path / "cache" / "search.sqlite"
    with SearchIndex(path, store) as index:
        index.update()
        inode = path.stat().st_ino
        store.save(State("a blue kite", id="b"))
        store.broken = {"b"}
        index.update()
        assert [hit.id for hit in index.search("kite")] == ["a"]
        store.broken = {"list"}
        with pytest.raises(sqlite3.DatabaseError):
            index.update()
        store.broken = set()
        index.update()
        assert sorted(hit.id for hit in index.search("kite")) == ["a", "b"]
        assert path.stat().st_ino == inode


def test_the_words_about_credentials_keep_the_request_and_advise_what_helps() -> None:
    refused = AuthError("api.example.com refused the credentials (no); set ANTHROPIC_API_KEY, or pass api_key=…; "
                        "without a key, the model 'demo' works offline", request_id="req_1")  # fmt: skip
    said = explain(refused)
    assert said.text == "api.example.com refused the credentials (no) (request id req_1)."
    assert "ANTHROPIC_API_KEY" in said.hint
    may_not = explain(AuthError("this key may not do that at api.example.com (no)", request_id="req_2"))
    assert "req_2" in may_not.text
    assert "ANTHROPIC_API_KEY" not in may_not.line


class ReadOnly(FileStore):
    """A folder whose rights were taken away: root, who runs tests, may write anywhere."""

    def write(self, state_id: str, entries: Any, snapshot: Any, *, create: bool = False) -> None:
        path = "/home/somebody/.local/share/fireside/conversations"
        raise PermissionError(13, "Permission denied", path)


@pytest.mark.parametrize("size", [(80, 24), (60, 20), (100, 30), (40, 8)])
async def test_trouble_is_read_to_its_end_and_at_rest_the_status_is_one_line(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    async with opened(tmp_path, ["fine"], store=ReadOnly(tmp_path / "store"), size=size) as it:
        status = it.main.query_one("#status")
        if size[1] > 8:
            assert status.size.height == 1
        await it.write("keep me")
        await it.press("enter")
        await it.until(lambda: it.current.trouble is not None)
        await it.until(lambda: status.size.height > 1)
        lines = str(status.content).split("\n")
        assert status.size.height == len(lines)
        assert all(len(line) <= status.content_size.width for line in lines)
        if size[1] > 8:
            assert it.current.trouble.line.replace(" ", "") in it.status.replace(" ", "")  # a long path is broken
            assert it.status.startswith("The folder of the conversations can't be written")
        else:
            assert len(lines) == 3
            assert lines[-1].endswith("…")
        assert it.main.chat.composer.size.height > 0
        it.main.chat.composer.put("something else")
        await it.until(lambda: it.current.trouble is None)
        await it.until(lambda: status.size.height == (1 if size[1] > 8 else 0))


async def test_that_a_conversation_was_deleted_elsewhere_is_read_to_its_end(tmp_path: Path) -> None:
    id = await talk(tmp_path, "one")
    async with opened(tmp_path, ["fine"], size=(80, 24), resume=id) as it:
        FileStore(tmp_path / "store").delete(id)
        await it.app.conversations.refresh()
        await it.until(lambda: it.current.trouble is not None)
        await it.until(lambda: "/fork keeps what is here as a new one." in it.status)
