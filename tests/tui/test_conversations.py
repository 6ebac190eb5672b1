"""The conversations without a screen, on a real FileStore: what is promised about sending, stopping and deleting."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from fireside import Agent, FileStore, ProviderError, State, StateInUseError, ToolError, tool
from fireside.testing import FakeModel, tool_call
from fireside_tui.conversations import Conversation, Conversations, Listener, NotSavedError
from fireside_tui.device import Device


class Gate:
    """A model that streams some words and then waits until it is let on."""

    name = "gate"

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.go = asyncio.Event()
        self.requests: list[Any] = []

    async def stream(self, request: Any) -> AsyncIterator[Any]:
        from fireside import Reply, Text
        from fireside.models import Delta

        self.requests.append(request)
        yield Delta("text", "half ", 0)
        self.asked.set()
        await self.go.wait()
        yield Delta("text", "done", 0)
        yield Reply((Text("half done"),))

    async def models(self) -> list[Any]:
        return []


class FullDisk(FileStore):
    """A store whose writes fail while `full` is set."""

    full = False

    def write(self, *args: Any, **rest: Any) -> None:
        if self.full:
            raise OSError(28, "No space left on device")
        super().write(*args, **rest)


class Heard(Listener):
    """Notes what it hears."""

    def __init__(self) -> None:
        self.entries: list[str] = []
        self.text = ""
        self.reloads = 0

    def on_entry(self, conversation: Conversation, entry: Any) -> None:
        self.entries.append(entry.kind)

    def on_stream(self, conversation: Conversation, kind: str, text: str) -> None:
        self.text += text

    def on_reload(self, conversation: Conversation) -> None:
        self.reloads += 1


def all_of(tmp_path: Path, model: Any, *, store: FileStore | None = None, **settings: Any) -> Conversations:
    store = store or FileStore(tmp_path / "store")
    return Conversations(store, Agent(model, **settings), Device(tmp_path / "device.json"))


async def saved_kinds(conversations: Conversations, id: str) -> list[str]:
    record = await conversations.store.aread(id)
    return [entry["kind"] for entry in record.entries] if record else []


# -- sending


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


# -- runs


async def test_a_stopped_answer_keeps_what_came_and_it_is_saved(tmp_path: Path) -> None:
    gate = Gate()
    conversations = all_of(tmp_path, gate)
    talk = conversations.new()
    await talk.send("Hi")
    await gate.asked.wait()
    await talk.stop()
    assert not talk.running
    assert talk.trouble is None
    loaded = await FileStore(tmp_path / "store").aload(talk.id)
    partial = [entry for entry in loaded.history if entry.kind == "partial_reply"]
    assert [entry.text for entry in partial] == ["half "]
    assert partial[0].content["cut"]


async def test_a_message_sent_right_after_a_stop_is_answered(tmp_path: Path) -> None:
    gate = Gate()
    conversations = all_of(tmp_path, gate)
    talk = conversations.new()
    await talk.send("Hi")
    await gate.asked.wait()
    talk.ask_to_stop()
    gate.go.set()
    await talk.send("Go on")
    await talk.finished()
    assert talk.state.is_answered()
    assert [entry.text for entry in talk.state.history if entry.kind == "user"] == ["Hi", "Go on"]


async def test_runs_go_on_side_by_side_and_each_stays_in_its_conversation(tmp_path: Path) -> None:
    gate = Gate()
    conversations = all_of(tmp_path, gate)
    one, two = conversations.new(), conversations.new()
    conversations.current = two
    await one.send("one")
    await two.send("two")
    assert {row.status for row in conversations.rows} == {"running"}
    gate.go.set()
    await asyncio.gather(one.finished(), two.finished())
    assert one.state.answer == two.state.answer == "half done"
    assert [entry.text for entry in one.state.history if entry.kind == "user"] == ["one"]
    assert {row.title: row.unread for row in conversations.rows} == {"one": True, "two": False}
    await conversations.open(one.id)
    assert not any(row.unread for row in conversations.rows)


async def test_a_failed_run_says_why_and_can_be_asked_again(tmp_path: Path) -> None:
    conversations = all_of(tmp_path, FakeModel([ProviderError("the server is on fire"), "fine now"]))
    talk = conversations.new()
    await talk.send("Hi")
    await talk.finished()
    assert talk.trouble is not None
    assert "server is on fire" in talk.trouble.text
    assert conversations.rows[0].status == "failed"
    assert await conversations.retry(talk) is talk
    await talk.finished()
    assert talk.state.answer == "fine now"
    assert talk.trouble is None


async def test_another_answer_is_asked_for_in_a_fork_and_the_old_branch_stays(tmp_path: Path) -> None:
    conversations = all_of(tmp_path, FakeModel(["first", "second"]))
    talk = conversations.new()
    await talk.send("Hi")
    await talk.finished()
    fork = await conversations.retry(talk)
    await fork.finished()
    assert fork is not talk
    assert (talk.state.answer, fork.state.answer) == ("first", "second")
    assert len(conversations.rows) == 2


async def test_editing_a_message_forks_before_it(tmp_path: Path) -> None:
    model = FakeModel(["a", "b", "c"])
    conversations = all_of(tmp_path, model)
    talk = conversations.new()
    for text in ("one", "two"):
        await talk.send(text)
        await talk.finished()
    seq = [entry.seq for entry in talk.state.history if entry.kind == "user"][1]
    fork = await conversations.edit_and_send(talk, seq, "zwei")
    await fork.finished()
    assert [message.text for message in model.requests[-1].messages] == ["one", "a", "zwei"]
    assert [entry.text for entry in talk.state.history if entry.kind == "user"] == ["one", "two"]
    assert fork.state.forked_from is not None


async def test_a_call_waits_for_the_person(tmp_path: Path) -> None:
    ran: list[str] = []

    @tool
    def write(path: str) -> str:
        """Writes a file."""
        ran.append(path)
        return "written"

    @tool(read_only=True)
    def look() -> str:
        """Looks."""
        return "seen"

    replies = [tool_call("look"), tool_call("write", path="a"), tool_call("write", path="b"), "ok"]
    conversations = all_of(tmp_path, FakeModel(replies), tools=[write, look])
    talk = conversations.new()
    asked = asyncio.Queue[str]()

    class Asks(Listener):
        def on_change(self, conversation: Conversation) -> None:
            if conversation.approval is not None:
                asked.put_nowait(conversation.approval.line)

    talk.listen(Asks())
    await talk.send("Do it")
    assert await asked.get() == 'write(path="a")'
    assert conversations.rows[0].status == "approval"
    talk.answer("not that one")
    assert await asked.get() == 'write(path="b")'
    talk.answer(True, always=True)
    await talk.finished()
    assert ran == ["b"]
    results = [entry.text for entry in talk.state.history if entry.kind == "tool_result"]
    assert results == ["seen", "(denied: not that one)", "written"]


async def test_a_tool_that_fails_ends_no_app(tmp_path: Path) -> None:
    @tool(read_only=True)
    def leave() -> str:
        """Leaves."""
        raise SystemExit(3)

    @tool(read_only=True)
    def fails() -> str:
        """Fails."""
        raise ToolError("no")

    conversations = all_of(tmp_path, FakeModel([tool_call("fails"), tool_call("leave")]), tools=[leave, fails])
    talk = conversations.new()
    await talk.send("Do it")
    await talk.finished()
    assert talk.trouble is not None


# -- deleting


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
    gate.go.set()
    await theirs.finished()
    await here.refresh()
    assert mine.elsewhere is None
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


# -- the rest


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


async def test_compacting_is_a_run_of_its_own(tmp_path: Path) -> None:
    conversations = all_of(tmp_path, FakeModel(["a", "the summary"]))
    talk = conversations.new()
    await talk.send("one")
    await talk.finished()
    talk.compact()
    assert talk.running
    await talk.finished()
    assert "the summary" in talk.state.context[0].text
    assert "compact" in await saved_kinds(conversations, talk.id)


async def test_closing_saves_what_streamed(tmp_path: Path) -> None:
    gate = Gate()
    conversations = all_of(tmp_path, gate)
    talk = conversations.new()
    await talk.send("Hi")
    await gate.asked.wait()
    await conversations.close(within=10)
    assert "partial_reply" in await saved_kinds(conversations, talk.id)


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
