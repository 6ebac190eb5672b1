"""Runs in the app: stop, fail, continue, approve; each command on messages; quitting."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from fireside import Agent, FileStore, ProviderError, Reply, State, tool
from fireside.testing import FakeModel, tool_call
from fireside_tui.screens.pick import Pick

from tests.tui.app_support import Gate, Opened, opened, talk


async def test_escape_stops_the_answer_on_the_screen_and_what_came_stays(tmp_path: Path) -> None:
    gate = Gate()
    async with opened(tmp_path, gate) as it:
        await it.send("one", answered=False)
        await gate.is_asked("one")
        await it.press("escape")
        await it.until(lambda: not it.current.running)
        assert "half" in it.shown
        assert "stopped" in it.shown
        assert "This answer was stopped. Ctrl+R asks again." in it.shown
        shown = it.shown
        id = it.current.id
    async with opened(tmp_path) as it:
        await it.main.open(id)
        assert it.shown.split() == shown.split(), "it looks the same when it is loaded"
        await it.press("ctrl+r")
        await it.until(lambda: not it.current.running and "This answer was stopped" not in it.shown)


async def test_coming_back_to_a_conversation_that_streams_shows_all_that_came(tmp_path: Path) -> None:
    gate = Gate()
    other = await talk(tmp_path, "other")
    async with opened(tmp_path, gate) as it:
        await it.send("one", answered=False)
        first = it.current
        await gate.is_asked("one")
        await it.main.open(other)
        await it.main.open(first.id)
        assert "half" in it.shown
        gate.let_on("one")
        await it.until(lambda: not first.running)
        assert "half of one" in it.shown
        assert it.shown.count("half") == 1


@pytest.mark.parametrize(
    ("end", "words", "unread"),
    [
        (None, "An answer came in “one”.", True),
        (ProviderError("Overloaded (529)"), "No answer in “one”: Overloaded (529).", False),
        (RuntimeError("a tool fell over"), "No answer in “one”: RuntimeError: A tool fell over.", False),
    ],
)
async def test_what_is_told_of_a_run_elsewhere_fits_its_outcome(
    tmp_path: Path, end: Exception | None, words: str, unread: bool
) -> None:
    class Fails(Gate):
        async def stream(self, request: Any) -> AsyncIterator[Any]:
            async for part in super().stream(request):
                if end is not None and isinstance(part, Reply):
                    raise end
                yield part

    gate = Fails()
    async with opened(tmp_path, gate) as it:
        await it.send("one", answered=False)
        first = it.current
        await gate.is_asked("one")
        await it.press("ctrl+n")
        await it.until(lambda: it.current is not first)
        gate.let_on("one")
        await it.until(lambda: it.said == [words])
        assert it.app.conversations.device.is_unread(first.id) is unread


async def test_ctrl_c_copies_else_stops_else_says_how_to_quit(tmp_path: Path) -> None:
    gate = Gate()
    async with opened(tmp_path, gate) as it:
        await it.press("ctrl+c")
        await it.until(lambda: any("Ctrl+Q quits" in words for words in it.said))
        await it.send("one", answered=False)
        await gate.is_asked("one")
        await it.write("some words")
        it.main.chat.composer.select_all()
        await it.press("ctrl+c")
        await it.until(lambda: it.app.clipboard == "some words")
        assert it.current.running
        it.main.chat.composer.move_cursor((0, 0))
        await it.press("ctrl+c")
        await it.until(lambda: not it.current.running)
        assert it.app.is_running


async def test_a_failure_is_told_in_the_chat_and_ctrl_r_asks_again(tmp_path: Path) -> None:
    async with opened(tmp_path, [ProviderError("the [server] is on fire"), "fine"]) as it:
        await it.send("Hi")
        assert "the [server] is on fire" in it.shown
        assert "on fire" in it.status
        await it.press("ctrl+r")
        await it.until(lambda: it.current.state.answer == "fine")
        assert "fine" in it.shown


async def test_an_answer_without_words_and_one_that_was_cut_say_so(tmp_path: Path) -> None:
    from fireside import Reply, Text

    async with opened(tmp_path, [Reply(()), Reply((Text("long"),), stop_reason="max_tokens")]) as it:
        await it.send("one")
        assert "empty reply" in it.shown
        await it.send("two")
        assert "cut off" in it.shown


def interrupted(folder: Path) -> str:
    """A conversation whose program died in the middle of a tool call."""
    state = State("Send the mail", id="dead")
    store = FileStore(folder / "store")
    agent = Agent(FakeModel([tool_call("send_mail", to="x")]), store=store)
    store.save(state)
    entries = [
        {"kind": "run_start", "content": {"agent": {"name": None, "model": "fake", "system": None, "tools": []}}},
        {"kind": "reply", "content": {"blocks": [{"type": "tool_call", "id": "c", "name": "send_mail", "args": {}}],
                                      "stop_reason": "tool_use", "usage": {}, "model": "fake", "seen": 1, "prefix": ""}},
    ]  # fmt: skip
    at = json.loads(json.dumps(state.history[0].to_json()))["at"]
    store.write("dead", [{"seq": n + 1, "turn": 0, "at": at, **entry} for n, entry in enumerate(entries)], None)
    assert agent is not None
    return "dead"


async def test_an_interrupted_run_says_what_may_have_happened_and_one_key_continues(tmp_path: Path) -> None:
    interrupted(tmp_path)
    model = FakeModel(["It was not sent."])
    async with opened(tmp_path, model, newest=True) as it:
        assert "may or may not have run: send_mail" in it.shown
        assert model.requests == []
        await it.press("ctrl+r")
        await it.until(lambda: it.current.state.answer == "It was not sent.")
        assert "Ctrl+R continues" not in it.shown


@tool
def write(path: str) -> str:
    """Writes a file."""
    return f"wrote {path}"


async def asks(it: Any) -> None:
    await it.until(lambda: it.current.approval is not None and it.main.chat.approval_bar.approval is not None)


async def test_a_tool_call_waits_for_y_n_a_or_a_reason(tmp_path: Path) -> None:
    calls = [tool_call("write", path=name) for name in "abcd"]
    async with opened(tmp_path, FakeModel([*calls, "done"]), tools=[write]) as it:
        await it.send("go", answered=False)
        await asks(it)
        assert it.main.chat.approval_bar.has_focus
        await it.press("y")
        await it.until(lambda: "wrote" in str([entry.content for entry in it.current.state.history]))
        await asks(it)
        await it.press("n")
        await it.until(lambda: it.current.approval is None or it.current.approval.call.args["path"] == "c")
        await asks(it)
        await it.press("r")
        await it.until(lambda: len(it.app.screen_stack) == 3)
        await it.press(*"not now", "enter")
        await it.until(lambda: it.current.approval is not None and it.current.approval.call.args["path"] == "d")
        await it.pilot.pause()
        await it.press("a")
        await it.until(lambda: it.current.state.answer == "done" and not it.current.running)
        results = [entry.text for entry in it.current.state.history if entry.kind == "tool_result"]
        assert results[0] == "wrote a"
        assert "refused" in results[1]
        assert results[2] == "(denied: not now)"
        assert results[3] == "wrote d"
        assert it.current.allowed == {"write"}
        assert it.main.chat.composer.has_focus


async def test_letters_that_come_as_a_question_appears_are_no_answers(tmp_path: Path) -> None:
    async with opened(tmp_path, FakeModel([tool_call("write", path="a")]), tools=[write], grace=60) as it:
        await it.send("go", answered=False)
        await asks(it)
        assert it.main.chat.approval_bar.has_focus
        await it.press(*"any")
        await it.until(lambda: it.box == "any")
        assert it.current.approval is not None
        assert it.current.allowed == set()


async def test_a_question_never_takes_the_keys_from_who_is_writing(tmp_path: Path) -> None:
    import asyncio

    go = asyncio.Event()

    @tool(read_only=True)
    async def look() -> str:
        """Looks."""
        await go.wait()
        return "seen"

    async with opened(
        tmp_path, FakeModel([tool_call("look"), tool_call("write", path="a"), "x"]), tools=[look, write]
    ) as it:
        await it.send("go", answered=False)
        await it.until(lambda: "using look" in it.current.activity)
        await it.press(*"why")
        go.set()
        await asks(it)
        await it.press("y", "n")
        assert it.box == "whyyn"
        assert it.current.approval is not None
        await it.press("escape")
        await it.until(lambda: not it.current.running)


async def test_quitting_in_the_middle_of_an_answer_says_so_first(tmp_path: Path) -> None:
    gate = Gate()
    async with opened(tmp_path, gate) as it:
        await it.send("one", answered=False)
        await gate.is_asked("one")
        await it.press("ctrl+q")
        await it.until(lambda: any("Ctrl+Q again" in words for words in it.said))
        assert it.current.running
        it.app.main.chat.composer.insert("draft")
        await it.press("ctrl+q")
        await it.until(lambda: it.app._exit)
        assert not it.current.running
        id = it.current.id
    state = FileStore(tmp_path / "store").load(id)
    assert "half " in [entry.text for entry in state.history]
    (kept,) = (tmp_path / "data").glob("device-*.json")
    assert "draft" in kept.read_text()


async def test_edit_and_retry_fork_and_leave_the_old_branch(tmp_path: Path) -> None:
    id = await talk(tmp_path, "one", "two")
    async with opened(tmp_path, ["other answer", "zwei answered"]) as it:
        await it.main.open(id)
        await it.press("ctrl+r")
        await it.until(lambda: it.current.id != id and it.current.state.answer == "other answer")
        await it.main.open(id)
        await it.command("/edit")
        await it.until(lambda: len(it.app.screen_stack) == 3)
        it.app.screen.query_one("TextArea").text = "zwei"  # type: ignore[attr-defined]
        await it.press("ctrl+s")
        await it.until(lambda: it.current.state.answer == "zwei answered")
        assert len(FileStore(tmp_path / "store").list()) == 3
        assert [e.text for e in FileStore(tmp_path / "store").load(id).history if e.kind == "user"] == ["one", "two"]


async def test_checkpoint_rewind_and_compact(tmp_path: Path) -> None:
    id = await talk(tmp_path, "one")
    async with opened(tmp_path, ["second answer", "the summary"]) as it:
        await it.main.open(id)
        await it.command("/checkpoint start")
        await it.until(lambda: it.current.state.checkpoints)
        await it.send("two")
        await it.command("/rewind start")
        await it.until(lambda: it.current.state.answer == "answer to one")
        assert "went back" in it.shown
        await it.command("/compact")
        await it.until(lambda: "the summary" in it.shown and not it.current.running)


async def test_one_can_go_back_to_before_a_message_and_write_another_one(tmp_path: Path) -> None:
    id = await talk(tmp_path, "one", "two", "three")
    model = FakeModel(["another answer"])
    async with opened(tmp_path, model, resume=id) as it:
        await it.app.conversations.set_settings(it.current, effort="low")
        await it.command("/rewind")
        await it.until(lambda: isinstance(it.app.screen, Pick))
        pick = it.app.screen
        assert [choice.label for choice in pick._choices] == ["before: three", "before: two", "before: one"]
        await it.press("down", "enter")
        await it.until(lambda: it.box == "two")
        assert it.current.id == id
        assert it.current.state.answer == "answer to one"
        assert "went back to an earlier message" in it.shown
        assert "answer to three" in it.shown, "what came after can still be read"
        assert "has no answer yet" not in it.shown
        assert it.current.agent.effort == "low"
        await it.press(*" and more", "enter")
        await it.until(lambda: it.current.state.answer == "another answer" and not it.current.running)
        assert [message.text for message in model.requests[0].messages] == ["one", "answer to one", "two and more"]
    again = FileStore(tmp_path / "store").load(id)
    assert [message.text for message in again.context][-2:] == ["two and more", "another answer"]
    assert len(FileStore(tmp_path / "store").list()) == 1


async def test_before_the_first_message_nothing_waits_for_an_answer(tmp_path: Path) -> None:
    id = await talk(tmp_path, "one")
    async with opened(tmp_path, ["again"], resume=id) as it:
        await it.command("/rewind")
        await it.until(lambda: isinstance(it.app.screen, Pick))
        await it.press("enter")
        await it.until(lambda: it.box == "one")
        assert "has no answer yet" not in it.shown
        await it.press("enter")
        await it.until(lambda: it.current.state.answer == "again" and not it.current.running)


async def test_copying_an_answer_its_code_and_the_id(tmp_path: Path) -> None:
    async with opened(tmp_path, ["See:\n\n```py\nprint(1)\n```\n"]) as it:
        await it.send("Hi")
        answer = "See:\n\n```py\nprint(1)\n```\n"
        for line, text in (
            ("/copy", answer),
            ("/copy-code", "print(1)\n"),
            ("/copy-id", it.current.id),
        ):
            await it.command(line)
            await it.until(lambda text=text: it.app.clipboard == text)


async def test_the_model_the_prompt_and_the_effort_belong_to_the_conversation(tmp_path: Path) -> None:
    async with opened(tmp_path, ["a"]) as it:
        await it.command("/effort high")
        await it.command("/system be brief")
        await it.send("Hi")
        await it.command("/model demo")
        await it.until(lambda: it.current.agent.model.name == "demo")
        id = it.current.id
        await it.command("/effort nonsense")
        await it.until(lambda: any("efforts are" in words for words in it.said))
    async with opened(tmp_path, []) as it:
        await it.main.open(id)
        agent = it.current.agent
        assert (agent.model.name, agent.system, agent.effort) == ("demo", "be brief", "high")
        await it.press("ctrl+n")
        await it.until(lambda: it.current.id != id)
        assert it.current.agent.model.name == "fake"


async def test_the_palette_and_the_keys_below_carry_commands_out(tmp_path: Path) -> None:
    id = await talk(tmp_path, "one")
    async with opened(tmp_path) as it:
        await it.main.open(id)
        await it.press("ctrl+p")
        await it.until(lambda: len(it.app.screen_stack) == 3)
        await it.press(*"pin or")
        await it.pilot.pause(0.3)
        await it.press("enter")
        await it.until(lambda: it.main.conversations.device.is_pinned(id))
        await it.pilot.click("#keys", offset=(3, 0))
        await it.until(lambda: it.current.id != id)


async def test_thinking_is_folded_and_shown(tmp_path: Path) -> None:
    from fireside import Text, Thinking

    async with opened(tmp_path, [[Thinking("deep thought", "sig"), Text("answer")]]) as it:
        await it.send("Hi")
        thought = next(item for item in it.main.chat.transcript.items if item.kind == "thinking")
        assert thought.folded
        await it.press("ctrl+t")
        await it.until(lambda: not thought.folded)
        assert "show_thinking = true" in (it.app.config.source).read_text()


async def to_the_messages(it: Opened) -> None:
    """What was just opened may take the focus back to its box once more."""
    async with asyncio.timeout(20):
        while not (it.main.where == "message" and it.main.abilities_at_cursor()):
            it.main.set_focus(None)
            it.main.set_focus(it.main.chat.transcript)
            await it.pilot.pause(0.02)


async def test_the_keys_on_a_message(tmp_path: Path) -> None:
    id = await talk(tmp_path, "one", "two")
    async with opened(tmp_path, ["other"]) as it:
        await it.main.open(id)
        await to_the_messages(it)
        await it.press("c")
        await it.until(lambda: it.app.clipboard == "answer to two")
        await it.press("k", "k", "k", "f")
        await it.until(lambda: it.current.id != id)
        assert [entry.text for entry in it.current.state.history if entry.kind == "user"] == ["one"]
        await it.main.open(id)
        await to_the_messages(it)
        await it.press("k", "e")
        await it.until(lambda: len(it.app.screen_stack) == 3)
        await it.press("!", "ctrl+s")
        await it.until(lambda: it.current.state.answer == "other")


@tool
def poke(at: str) -> str:
    """Pokes."""
    return "poked"


async def test_after_a_no_with_a_reason_the_keys_go_to_the_next_question(tmp_path: Path) -> None:
    model = FakeModel([[tool_call("poke", at="a"), tool_call("poke", at="b")], "done"])
    async with opened(tmp_path, model, tools=[poke]) as it:
        await it.send("go", answered=False)
        await it.until(lambda: it.current.approval is not None and it.main.chat.approval_bar.has_focus)
        await it.press("r")
        await it.until(lambda: len(it.app.screen_stack) == 3)
        await it.press(*"why", "enter")
        await it.until(lambda: it.current.approval is not None and it.current.approval.call.args["at"] == "b")
        await it.until(lambda: it.main.chat.approval_bar.has_focus)
        await it.press("y")
        await it.until(lambda: not it.current.running)
        assert it.box == ""
        assert [entry.text for entry in it.current.state.history if entry.kind == "tool_result"][1] == "poked"


async def test_the_keys_below_say_stop_only_while_there_is_something_to_stop(tmp_path: Path) -> None:
    gate = Gate()
    async with opened(tmp_path, gate) as it:

        def keys() -> str:
            return str(it.main.query_one("#keys").content)

        await it.send("one", answered=False)
        await gate.is_asked("one")
        await it.until(lambda: "Stop" in keys())
        gate.let_on("one")
        await it.until(lambda: "Stop" not in keys())


async def test_an_answer_stands_under_the_name_of_its_model(tmp_path: Path) -> None:
    async with opened(tmp_path, FakeModel(["hello"], name="small-one")) as it:
        await it.send("hi")
        id = it.current.id
        assert [item.name for item in it.main.chat.transcript.items if item.kind == "assistant"] == ["small-one"]
    async with opened(tmp_path) as it:
        await it.main.open(id)
        assert [item.name for item in it.main.chat.transcript.items if item.kind == "assistant"] == ["small-one"]


async def test_a_setting_with_a_wrong_word_is_told_and_changes_nothing(tmp_path: Path) -> None:
    async with opened(tmp_path, ["done"], tools=[poke]) as it:
        await it.command("/tools maybe")
        assert list(it.app.conversations.agent.tools) == ["poke"]
        await it.command("/allow nothing")
        assert it.said == ["/tools on, or /tools off.", "There is no tool nothing; there are poke."]


async def test_tools_go_off_and_on_of_an_agent_that_may_ask_a_person_too(tmp_path: Path) -> None:
    async with opened(tmp_path, ["done"], tools=[poke], human=lambda question: "yes") as it:
        for names in ([], ["poke", "ask_human"]):
            await it.command("/tools")
            assert list(it.app.conversations.agent.tools) == names
