"""The conversations without a screen, on a real FileStore: deleting, two windows, drafts, settings, checkpoints."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from fireside import FileStore, State, StateInUseError
from fireside.testing import FakeModel
from fireside_tui.conversations import NotSavedError

from tests.tui.conversations_support import Gate, Heard, all_of


async def test_deleting_and_undoing_brings_back_every_byte(tmp_path: Path) -> None:
    conversations = all_of(tmp_path, FakeModel(["a", "b"]))
    talk, other = conversations.new(), conversations.new()
    for each in (talk, other):
        await each.send("Hi \ud83d [bold] \x1b[2J")
        await each.finished()
    conversations.device.pin(talk.id)
    before = await conversations.store.aread(talk.id)
    await conversations.delete(talk.id)
    assert [row.id for row in conversations.rows] == [other.id]
    assert await conversations.store.aread(talk.id) is None
    deleted = await conversations.undo()
    assert deleted is not None
    after = await conversations.store.aread(talk.id)
    assert before is not None
    assert after is not None
    assert after.entries == before.entries
    await conversations.refresh()
    assert {row.id: row.pinned for row in conversations.rows} == {talk.id: True, other.id: False}
    assert await conversations.undo() is None


async def test_deleting_one_that_runs_stops_it_and_it_does_not_come_back(tmp_path: Path) -> None:
    gate = Gate()
    conversations = all_of(tmp_path, gate)
    talk = conversations.new()
    await talk.send("Hi")
    await gate.asked.wait()
    await conversations.delete(talk.id)
    gate.go.set()
    await conversations.refresh()
    assert conversations.rows == []
    await conversations.undo()
    again = await conversations.open(talk.id)
    assert "half " in [entry.text for entry in again.state.history]


async def test_one_that_runs_elsewhere_is_read_only_here_and_is_not_deleted(tmp_path: Path) -> None:
    gate = Gate()
    there = all_of(tmp_path, gate)
    theirs = there.new()
    await theirs.send("Hi")
    await gate.asked.wait()
    here = all_of(tmp_path, FakeModel(["x"]))
    await here.refresh()
    mine = await here.open(theirs.id)
    assert mine.elsewhere is not None
    with pytest.raises(StateInUseError):
        await here.delete(theirs.id)
    with pytest.raises(NotSavedError, match="answering"):
        await mine.send("me too")
    mine.take_back()
    mine.run()
    await mine.finished()
    assert "is answering it" in mine.trouble.line
    gate.go.set()
    await theirs.finished()
    await here.refresh()
    assert mine.elsewhere is None
    assert mine.trouble is None, "what was in the way is no longer"
    assert mine.state.answer == "half done"


async def test_two_windows_see_each_others_conversations(tmp_path: Path) -> None:
    one = all_of(tmp_path, FakeModel(["a", "b"]))
    other = all_of(tmp_path, FakeModel(["c"]))
    talk = one.new()
    await talk.send("Hi")
    await talk.finished()
    await other.refresh()
    assert [row.title for row in other.rows] == ["Hi"]
    theirs = await other.open(talk.id)
    heard = Heard()
    theirs.listen(heard)
    await talk.send("More")
    await talk.finished()
    await one.rename(talk.id, "Another name")
    await other.refresh()
    assert heard.reloads == 1
    assert theirs.state.answer == "b"
    assert [row.title for row in other.rows] == ["Another name"]
    await theirs.send("From the other")
    await theirs.finished()
    await one.refresh()
    assert talk.state.answer == "c"


async def test_an_unsent_draft_is_a_row_of_its_own(tmp_path: Path) -> None:
    conversations = all_of(tmp_path, FakeModel())
    talk = conversations.new()
    conversations.device.set_draft(talk.id, "a thought\nand more")
    assert [(row.title, row.status) for row in conversations.rows] == [("a thought", "draft")]
    conversations.device.flush()
    again = all_of(tmp_path, FakeModel())
    assert (await again.open(talk.id)).empty
    with pytest.raises(LookupError):
        await again.open("nothing-there")


async def test_a_conversation_keeps_its_own_settings(tmp_path: Path) -> None:
    model = FakeModel(["a"])
    conversations = all_of(tmp_path, model, system="be kind")
    talk = conversations.new()
    await conversations.set_settings(talk, system="be brief")
    await talk.send("Hi")
    await talk.finished()
    assert model.requests[0].system == "be brief"
    again = await all_of(tmp_path, FakeModel()).open(talk.id)
    assert again.agent.system == "be brief"
    with pytest.raises(ValueError, match="not a model"):
        await conversations.set_settings(talk, model="nonsense")
    assert talk.agent.system == "be brief"


async def test_checkpoint_and_rewind(tmp_path: Path) -> None:
    conversations = all_of(tmp_path, FakeModel(["a", "b"]))
    talk = conversations.new()
    await talk.send("one")
    await talk.finished()
    await conversations.checkpoint(talk, "here")
    await talk.send("two")
    await talk.finished()
    await conversations.rewind(talk, talk.state.checkpoints[0].seq)
    assert talk.state.answer == "a"
    loaded = await conversations.store.aload(talk.id)
    assert [message.text for message in loaded.context] == ["one", "a"]


async def test_a_store_that_can_not_be_read_is_told_and_read_later(tmp_path: Path) -> None:
    class Broken(FileStore):
        broken = True

        def list(self) -> list[Any]:  # type: ignore[override]
            if self.broken:
                raise PermissionError(13, "Permission denied", "/store")
            return super().list()

    store = Broken(tmp_path / "store")
    conversations = all_of(tmp_path, FakeModel(), store=store)
    await conversations.refresh()
    assert conversations.trouble is not None
    assert "Permission denied" in conversations.trouble.text
    store.broken = False
    await conversations.refresh()
    assert conversations.trouble is None


async def test_conversations_at_rest_leave_the_memory(tmp_path: Path) -> None:
    conversations = all_of(tmp_path, FakeModel([str(n) for n in range(20)]))
    for n in range(20):
        talk = conversations.new()
        await talk.send(str(n))
        await talk.finished()
    await conversations.refresh()
    assert len(conversations.rows) == 20
    assert len(conversations._open) <= 9
    assert isinstance(talk.state, State)
