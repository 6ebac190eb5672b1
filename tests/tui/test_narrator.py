"""A history told in two goes, its end first, is the history told at once."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from fireside import Agent, FileStore, Reply, State, Text, Thinking, ToolError, tool
from fireside.models import Delta
from fireside.testing import FakeModel, tool_call
from fireside_tui.screens.search import Found
from fireside_tui.search import Hit
from fireside_tui.widgets import narrator
from fireside_tui.widgets.narrator import Narrator, last_part

from tests.tui.app_support import opened

TODAY = datetime(2026, 1, 5, tzinfo=UTC)


@tool
def look(at: str) -> str:
    """Looks."""
    if at == "nothing":
        raise ToolError("there is nothing")
    return f"seen {at}"


def eventful(turns: int, store: FileStore | None = None) -> State:
    """A conversation in which all that can be told happens."""
    state = State(id="eventful")
    for n in range(turns):
        replies: list[Any] = [
            [f"turn {n}", tool_call("look", at=str(n)), tool_call("look", at="nothing")],
            f"answer {n}",
        ]
        match n % 5:
            case 1:
                replies = [RuntimeError("the model broke")]
            case 2:
                replies = [[Text("")]]
            case 3:
                replies = [[tool_call("look", at="x")], KeyboardInterrupt()]
        agent = Agent(FakeModel(replies), tools=[look], store=store, retries=0)
        state.add_user_message(f"message {n}")
        with contextlib.suppress(RuntimeError, KeyboardInterrupt):
            agent.run(state)
        if n % 7 == 6:
            state.add_user_message("by the way")
            state.checkpoint(f"mark {n}")
        if n % 11 == 10:
            agent.copy(model=FakeModel([f"summary {n}"])).compact(state)
    return state


def told(history: Any) -> dict[str, Any]:
    return Narrator.of(history, live=False, today=TODAY)[1]


def test_the_end_first_and_then_the_rest_is_all(monkeypatch: pytest.MonkeyPatch) -> None:
    history = eventful(24).history
    whole = told(history)
    starts = set()
    for least in range(1, len(history)):
        monkeypatch.setattr(narrator, "LAST_PART", least)
        starts.add(first := last_part(history))
        assert first == 0 or len(history) - first >= least
        end = told(history[first:])
        assert list(whole)[-len(end) :] == list(end)
        assert list(whole.values())[-len(end) :] == list(end.values())
    assert len(starts) > 20


async def test_a_long_conversation_opens_at_its_end_and_is_whole_a_moment_later(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(narrator, "LAST_PART", 20)
    store = FileStore(tmp_path / "store")
    state = await asyncio.to_thread(eventful, 24, store)
    parts: list[int] = []
    of = Narrator.of.__func__  # type: ignore[attr-defined]

    def counted(cls: Any, history: Any, **settings: Any) -> Any:
        parts.append(len(history))
        return of(cls, history, **settings)

    monkeypatch.setattr(Narrator, "of", classmethod(counted))
    async with opened(tmp_path, [], store=store, resume=state.id) as app:
        chat = app.main.chat
        await chat.whole()
        assert parts[-2:] == [parts[-2], len(state.history)]
        assert 20 <= parts[-2] < 60
        shown = {item.key: item for item in chat.transcript.items}
        assert [key for key in shown if key != "left-open"] == list(told(state.history))
        chat.transcript.action_scroll_home()
        await app.pilot.pause()
        assert "message 0" in "\n".join(strip.text for strip in chat.transcript._view)


async def test_thoughts_that_are_shown_before_all_is_told_are_shown_from_the_beginning(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(narrator, "LAST_PART", 4)
    store = FileStore(tmp_path / "store")
    state = State(id="thoughtful")

    def think() -> None:
        for n in range(8):
            agent = Agent(FakeModel([[Thinking(f"thought {n}"), f"answer {n}"]]), store=store)
            state.add_user_message(f"message {n}")
            agent.run(state)

    await asyncio.to_thread(think)
    async with opened(tmp_path, [], store=store) as app:
        await app.main.open(state.id)
        chat = app.main.chat
        assert not chat._whole.is_set()
        app.main.do_thinking()
        await chat.whole()
        thoughts = [item for item in chat.transcript.items if item.kind == "thinking"]
        assert [item.text for item in thoughts] == [f"thought {n}" for n in range(8)]
        assert not any(item.folded for item in thoughts)


async def test_a_place_that_was_found_is_not_gone_to_in_another_conversation(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(narrator, "LAST_PART", 4)
    store = FileStore(tmp_path / "store")
    state = await asyncio.to_thread(eventful, 12, store)
    async with opened(tmp_path, ["fine"], store=store) as app:
        await app.send("Another one")
        other = app.current
        going = asyncio.create_task(app.main._found_hit(Found(Hit(state.id, "", "", 1, TODAY), "turn")))
        while app.current is other:  # noqa: ASYNC110  nothing tells it
            await asyncio.sleep(0)
        app.main.show(other)
        await going
        assert app.current is other
        assert not app.main.chat.transcript.finding


class Slow:
    """A model whose words come one by one."""

    name = "slow"

    async def stream(self, request: Any) -> AsyncIterator[Any]:
        for word in ("one ", "two "):
            yield Delta("text", word, 0)
            await asyncio.sleep(0.02)
        yield Reply((Text("one two "),))

    async def models(self) -> list[Any]:
        return []


async def test_a_reply_that_another_process_is_writing_is_still_coming(tmp_path: Path) -> None:
    state = State("Hi")
    await Agent(Slow(), store=FileStore(tmp_path), save_partial_every=0.001).arun(state)
    kinds = [entry.kind for entry in state.history]
    begun = state.history[: kinds.index("partial_reply") + 1]
    for elsewhere, said in ((False, "cut off"), (True, "still coming")):
        items = Narrator.of(begun, live=False, elsewhere=elsewhere, today=TODAY)[1]
        assert list(items.values())[-1].state == said


def stated(state: State) -> list[str]:
    """How each answer ended that is not whole."""
    return [item.state for item in told(state.history).values() if item.kind == "assistant" and item.state]


class Breaks(Slow):
    """A model that streams and then fails, or is told to stop."""

    def __init__(self, end: BaseException) -> None:
        self.end = end

    async def stream(self, request: Any) -> AsyncIterator[Any]:
        yield Delta("text", "half an ans", 0)
        raise self.end


@pytest.mark.parametrize(
    ("end", "said"),
    [(ConnectionError("gone"), "cut off"), (RuntimeError("broke"), "cut off"), (KeyboardInterrupt(), "stopped")],
)
async def test_an_answer_is_stopped_by_a_person_and_else_cut_off(tmp_path: Path, end: BaseException, said: str) -> None:
    state = State("Hi")
    with contextlib.suppress(BaseException):
        await Agent(Breaks(end), store=FileStore(tmp_path), retries=0).arun(state)
    assert stated(state) == [said]


@pytest.mark.parametrize("width", [60, 80, 100])
async def test_a_rule_says_to_which_checkpoint_one_went_back_and_is_not_cut(tmp_path: Path, width: int) -> None:
    name = "before the very long change of it all"
    async with opened(tmp_path, ["one", "two"], size=(width, 24)) as app:
        await app.send("Hi")
        await app.command(f"/checkpoint {name}")
        await app.send("more")
        await app.command(f"/rewind {name}")
        await app.until(lambda: "went back" in app.shown)
        for _ in range(2):
            await app.pilot.pause()
            rows = [strip.text for strip in app.main.chat.transcript._view]
            at = next(n for n, row in enumerate(rows) if "went back to" in row)
            words = " ".join(row.replace("─", " ").strip() for row in rows[at : at + 3])
            assert " ".join(words.split()).startswith(
                f"went back to the checkpoint “{name}”: Claude forgets what came after"
            )
            app.main.chat.reload()
