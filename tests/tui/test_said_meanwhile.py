"""What is said while an answer streams, here or in another window: in order, marked, and the same after a restart."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest
from fireside import Agent, FileStore, State, Text
from fireside_tui.app import FiresideApp
from fireside_tui.config import Config, Paths
from fireside_tui.export import export
from fireside_tui.reading import Said, read

from tests.tui.app_support import Gate, Opened, opened, talk

UNANSWERED = "has no answer yet"


def order(state: State) -> list[tuple[str, str, str]]:
    """Who said what, and where it was cut."""
    return [
        (said.who, "".join(part.text for part in said.parts if isinstance(part, Text)), said.cut)
        for said in read(state)
        if isinstance(said, Said)
    ]


async def two_in_one(it: Opened, gate: Gate) -> None:
    """Asks something, and writes a second message once a part of the answer is saved."""
    await it.send("one", answered=False)
    await gate.is_asked("one")
    await it.until(lambda: any(e.kind == "partial_reply" for e in it.current.state.history))
    await it.send("two", answered=False)


async def test_a_message_said_in_an_answer_stands_behind_it_wherever_it_is_read(tmp_path: Path) -> None:
    gate = Gate()
    async with opened(tmp_path, gate, save_partial_every=0.01) as it:
        await two_in_one(it, gate)
        await it.until(lambda: "two" in it.shown)
        gate.let_on("one")
        await gate.is_asked("two")
        gate.let_on("two")
        await it.until(lambda: not it.current.running)
        id = it.current.id
    state = FileStore(tmp_path / "store").load(id)
    assert order(state) == [
        ("you", "one", ""),
        ("claude", "half of one", ""),
        ("you", "two", ""),
        ("claude", "half of two", ""),
    ]


async def test_a_message_that_a_stop_leaves_without_an_answer_is_told_of_and_keeps_its_place(tmp_path: Path) -> None:
    gate = Gate()
    async with opened(tmp_path, gate, save_partial_every=0.01) as it:
        await two_in_one(it, gate)
        await it.press("escape")
        await it.until(lambda: not it.current.running)
        live = it.shown
        assert live.index("half") < live.index("two") < live.index(UNANSWERED)
        id = it.current.id
    assert [who for who, _, _ in order(FileStore(tmp_path / "store").load(id))] == ["you", "claude", "you"]
    async with opened(tmp_path, gate, resume=id) as it:
        assert it.shown.index("half") < it.shown.index("two") < it.shown.index(UNANSWERED)


async def test_an_answer_that_was_stopped_has_been_seen(tmp_path: Path) -> None:
    gate = Gate()
    async with opened(tmp_path, gate) as it:
        await it.send("one", answered=False)
        await gate.is_asked("one")
        await it.until(lambda: "half" in it.shown)
        await it.press("escape")
        await it.until(lambda: not it.current.running)
        assert UNANSWERED not in it.shown


async def test_a_second_window_sees_an_answer_grow(tmp_path: Path) -> None:
    store = FileStore(tmp_path / "store")
    store.save(State("grow", id="grow"))
    async with opened(tmp_path, resume="grow") as it:
        gate = Gate()
        run = asyncio.create_task(Agent(gate, store=store, save_partial_every=0.01).arun(store.load("grow")))
        await gate.is_asked("grow")
        assert it.app.conversations is not None

        async def look_until(words: str) -> None:
            async with asyncio.timeout(20):
                while words not in it.shown:
                    await asyncio.sleep(0.05)
                    await it.app.conversations.refresh()  # type: ignore[union-attr]
                    await it.pilot.pause()

        await look_until("half")
        assert it.current.elsewhere is not None
        assert "still coming" in it.shown
        gate.let_on("grow")
        await run
        await look_until("half of grow")
        assert "still coming" not in it.shown


async def test_a_talk_with_the_demo_goes_on_with_the_demo(tmp_path: Path) -> None:
    places = Paths(tmp_path / "config.toml", tmp_path / "data", tmp_path / "cache")
    for command in ("/demo", ""):
        folder = tmp_path / (command.strip("/") or "option")
        agent = Agent("claude-sonnet-5-5" if command else "demo", store=FileStore(folder / "store"))
        async with FiresideApp(Config(), agent=agent, places=places).run_test(size=(100, 30)) as pilot:
            app = pilot.app
            assert isinstance(app, FiresideApp)
            await app.main.ready.wait()
            for words in filter(None, (command, "hello")):
                app.main.chat.composer.insert(words)
                await pilot.press("enter")
                await pilot.pause()
            current = app.main.current
            assert current is not None
            await asyncio.wait_for(current.finished(), 20)
            assert current.state.is_answered()
        (row,) = FileStore(folder / "store").list()
        agent = Agent("claude-sonnet-5-5", store=FileStore(folder / "store"))
        again = FiresideApp(Config(), agent=agent, places=places, resume=row.id)
        async with again.run_test(size=(100, 30)):
            await again.main.ready.wait()
            assert again.main.current is not None
            assert again.main.current.agent.model.name == "demo"


def test_who_answered_is_called_by_its_name(tmp_path: Path) -> None:
    agent = Agent("demo", store=FileStore(tmp_path / "store"))
    state = State("hello")
    agent.run(state)
    assert [said.name for said in read(state) if isinstance(said, Said)] == ["you", "demo"]
    assert "## demo ·" in export(state, "md")


async def test_the_models_that_can_be_picked_are_each_there_once(tmp_path: Path) -> None:
    async with opened(tmp_path, "demo") as it:
        it.main.action_command("model")
        await it.until(lambda: len(it.app.screen_stack) > 1)
        await it.pilot.pause()
        labels = [choice.value for choice in it.app.screen._choices]  # type: ignore[attr-defined]
        assert labels.count("demo") == 1
        assert "claude-sonnet-5-5" in labels
        await it.press("escape")


async def test_the_cursor_of_the_list_stays_in_view_in_a_lower_window(tmp_path: Path) -> None:
    for n in range(40):
        await talk(tmp_path, f"talk {n}")
    async with opened(tmp_path) as it:
        rows = it.main.sidebar.rows
        await it.press("ctrl+o", "G")
        await it.pilot.resize_terminal(100, 18)
        await it.pilot.pause()
        top = round(rows.scroll_y)
        assert top <= rows._cursor < top + rows.size.height


@pytest.mark.parametrize("theme", ["ansi-dark", "ansi-light"])
async def test_without_colours_an_ansi_theme_stays_readable(
    tmp_path: Path, theme: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(os.environ, "NO_COLOR", "1")
    async with opened(tmp_path, ["A plain answer."]) as it:
        it.app.theme = theme
        await it.send("say something")
        await it.until(lambda: "A plain answer." in it.shown)
        await it.pilot.pause()
        black = 0
        for strip in it.app.screen._compositor.render_strips():
            for segment in strip:
                style = segment.style
                if segment.text.strip() and style is not None and style.color is not None:
                    black += style.color == style.bgcolor and not style.color.is_default
        assert black == 0
