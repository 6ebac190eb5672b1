"""Sending, without a screen and on a real FileStore: a message is saved before anything else, once, and is answered."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from fireside import FileStore
from fireside.testing import FakeModel
from fireside_tui.conversations import NotSavedError

from tests.tui.conversations_support import FullDisk, Gate, Heard, all_of, saved_kinds


async def test_a_message_is_saved_before_its_request_leaves(tmp_path: Path) -> None:
    at_request: list[list[str]] = []

    def look(request: Any) -> str:
        record = FileStore(tmp_path / "store").read(talk.id)
        assert record is not None
        at_request.append([entry["kind"] for entry in record.entries])
        return "Hello!"

    conversations = all_of(tmp_path, FakeModel([look]))
    talk = conversations.new()
    heard = Heard()
    talk.listen(heard)
    await talk.send("Hi")
    await talk.finished()
    assert at_request[0][0] == "user"
    assert heard.text == "Hello!"
    assert heard.entries == ["user", "run_start", "reply", "stop"]
    assert talk.saved
    assert not talk.running


async def test_nothing_is_in_the_store_before_the_first_message(tmp_path: Path) -> None:
    conversations = all_of(tmp_path, FakeModel())
    conversations.new()
    await conversations.refresh()
    assert conversations.rows == []


async def test_a_message_that_could_not_be_saved_is_there_once_after_the_next_try(tmp_path: Path) -> None:
    store = FullDisk(tmp_path / "store")
    model = FakeModel(["Hello!"])
    conversations = all_of(tmp_path, model, store=store)
    talk = conversations.new()
    store.full = True
    with pytest.raises(NotSavedError, match="disk is full"):
        await talk.send("Hi")
    assert talk.unsaved
    assert model.requests == []
    with pytest.raises(NotSavedError):
        await talk.send("Hi")
    store.full = False
    await talk.send("Hi")
    await talk.finished()
    assert [entry.kind for entry in talk.state.history].count("user") == 1
    assert (await saved_kinds(conversations, talk.id)).count("user") == 1
    assert talk.trouble is None


async def test_editing_the_text_takes_the_unsaved_message_back(tmp_path: Path) -> None:
    store = FullDisk(tmp_path / "store")
    conversations = all_of(tmp_path, FakeModel(["Hello!"]), store=store)
    talk = conversations.new()
    store.full = True
    with pytest.raises(NotSavedError):
        await talk.send("Hi")
    talk.take_back()
    assert len(talk.state.history) == 0
    store.full = False
    await talk.send("Hi there")
    await talk.finished()
    assert [entry.text for entry in talk.state.history if entry.kind == "user"] == ["Hi there"]


async def test_another_text_sent_after_a_failed_save_replaces_it(tmp_path: Path) -> None:
    store = FullDisk(tmp_path / "store")
    conversations = all_of(tmp_path, FakeModel(["one", "two"]), store=store)
    talk = conversations.new()
    await talk.send("first")
    await talk.finished()
    store.full = True
    with pytest.raises(NotSavedError):
        await talk.send("second")
    store.full = False
    await talk.send("second, better")
    await talk.finished()
    assert [entry.text for entry in talk.state.history if entry.kind == "user"] == ["first", "second, better"]


async def test_a_message_sent_while_it_answers_is_answered_too(tmp_path: Path) -> None:
    gate = Gate()
    conversations = all_of(tmp_path, gate)
    talk = conversations.new()
    await talk.send("first")
    await gate.asked.wait()
    await talk.send("second")
    gate.go.set()
    await talk.finished()
    while talk.running:
        await talk.finished()
    assert [m.text for m in gate.requests[-1].messages][0::2] == ["first", "second"]
    assert talk.state.is_answered()


async def test_an_attached_text_goes_along_and_a_wrong_file_is_refused(tmp_path: Path) -> None:
    model = FakeModel(["read"])
    conversations = all_of(tmp_path, model)
    (tmp_path / "notes.py").write_text("print('```')\n")
    (tmp_path / "blob.bin").write_bytes(b"\xff\xfe\x00\x81")
    talk = conversations.new()
    with pytest.raises(ValueError, match="neither a picture"):
        await talk.send("see", (str(tmp_path / "blob.bin"),))
    with pytest.raises(ValueError, match="No such file"):
        await talk.send("see", (str(tmp_path / "gone"),))
    assert talk.empty
    await talk.send("see", (str(tmp_path / "notes.py"),))
    await talk.finished()
    assert model.requests[0].messages[0].text == "see\n\nnotes.py:\n\n````py\nprint('```')\n````"
