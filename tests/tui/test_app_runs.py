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

from tests.tui.app_support import Gate, opened, talk


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
