"""Runs, without a screen and on a real FileStore: stopped, side by side, failed, asking, compacting, at the end."""

from __future__ import annotations

import asyncio
from pathlib import Path

from fireside import FileStore, ProviderError, ToolError, tool
from fireside.testing import FakeModel, tool_call
from fireside_tui.conversations import Conversation, Listener
from fireside_tui.conversations.approval import call_line

from tests.tui.conversations_support import Gate, all_of, saved_kinds


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
    assert [row.title for row in conversations.rows] == ["Hi (2)", "Hi"]


async def test_editing_a_message_forks_before_it(tmp_path: Path) -> None:
    model = FakeModel(["a", "b", "c", "d"])
    conversations = all_of(tmp_path, model)
    talk = conversations.new()
    for text in ("one", "two"):
        await talk.send(text)
        await talk.finished()
    message = [entry for entry in talk.state.history if entry.kind == "user"][1]
    fork = await conversations.edit_and_send(talk, message, "zwei")
    await fork.finished()
    assert [message.text for message in model.requests[-1].messages] == ["one", "a", "zwei"]
    assert [entry.text for entry in talk.state.history if entry.kind == "user"] == ["one", "two"]
    assert fork.state.forked_from is not None
    again = await conversations.edit_and_send(fork, message, "deux")
    await again.finished()
    assert {row.title for row in conversations.rows} == {"one", "one (2)", "one (3)"}


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
                asked.put_nowait(call_line(conversation.approval.call))

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
