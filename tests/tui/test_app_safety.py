"""Text is never markup, any size is bearable, and no wrong setting keeps the app from opening."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest
from fireside import Agent, FileStore, ProviderError
from fireside.testing import FakeModel, tool_call
from fireside_tui.app import FiresideApp
from fireside_tui.config import Config, Paths

from tests.tui.app_support import Opened, opened, talk

EVIL = [
    "[/] [bold see [/tmp/x] [link=file:///x]c[/link]",
    "\x1b]52;c;QUJD\x1b\\ a\tb\0c\x9b",
    "\ud83d \u202eevil 🇩🇪👩‍👧",
]


@pytest.mark.parametrize("text", EVIL)
async def test_hostile_text_harms_nothing_wherever_it_is_shown(tmp_path: Path, text: str) -> None:
    call = tool_call("nothing", value=text)
    async with opened(tmp_path, FakeModel([[f"{text} answer", call], ProviderError(text), "x"])) as it:
        await it.send(f"{text} title")
        await it.rows()
        await it.press("ctrl+o", "d", "y")
        await it.until(lambda: it.main.conversations.deleted)
        await it.press("u")
        await it.until(lambda: not it.main.conversations.deleted)
        assert it.current.state.task == f"{text} title"
        it.main.say(text)
        it.main.warn(text)
        await it.press("r")
        await it.until(lambda: len(it.app.screen_stack) == 3)
        await it.press("escape")
        await it.press("escape")
        await it.command("/checkpoint x" + text.replace("\0", ""))
        await it.command("/rewind")
        await it.until(lambda: len(it.app.screen_stack) == 3)
        await it.press("escape", "f1")
        await it.pilot.pause()
        await it.press("escape", "ctrl+p")
        await it.pilot.press(*"titl")
        await it.pilot.pause(0.2)
        await it.press("escape")
        assert it.app.is_running
        picture = it.app.export_screenshot()
        assert "\x1b" not in picture
        assert "\u202e" not in picture


SIZES = [(1, 1), (5, 2), (2, 30), (200, 3), (10, 4), (30, 10), (79, 24)]


async def test_any_size_is_bearable(tmp_path: Path) -> None:
    id = await talk(tmp_path, "a talk with a title that is rather long", "and more")
    async with opened(tmp_path) as it:
        await it.main.open(id)
        for size in SIZES:
            await it.pilot.resize_terminal(*size)
            await it.press("ctrl+o")
            await it.pilot.pause()
            await it.press("ctrl+o", "f1")
            await it.pilot.pause()
            await it.press("escape")
        await it.pilot.resize_terminal(80, 24)
        await it.press(*"ok")
        assert it.box == "ok"


async def test_the_theme_can_be_changed_and_is_kept(tmp_path: Path) -> None:
    id = await talk(tmp_path, "one")
    async with opened(tmp_path) as it:
        await it.main.open(id)
        await it.command("/theme fireside-light")
        await it.until(lambda: it.app.theme == "fireside-light")
        assert 'theme = "fireside-light"' in it.app.config.source.read_text()
        await it.command("/theme")
        await it.until(lambda: len(it.app.screen_stack) == 3)
        await it.press(*"nord", "enter")
        await it.until(lambda: it.app.theme == "nord")


async def start(folder: Path, config: Config, agent: Agent | None = None, warning: str = "") -> Any:
    return FiresideApp(config, agent=agent, places=Paths(folder / "c", folder / "d", folder / "e"), warning=warning)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"store": "nonsense://x"}, "The store can't be opened"),
        ({"model": "nonsense"}, "not a model"),
        ({"theme": "nonsense", "model": "demo"}, "no theme"),
    ],
)
async def test_a_wrong_setting_is_told_and_the_app_opens(tmp_path: Path, settings: dict[str, str], words: str) -> None:
    app = await start(tmp_path, Config(**{"store": str(tmp_path / "s"), **settings}))
    async with app.run_test() as pilot:
        it = Opened(app, pilot)
        await it.until(lambda: app.main.ready.is_set() and it.current is not None)
        await it.until(lambda: words in str(app.main.query_one("#message-bar").content))
        await it.press(*"still here")
        assert it.box == "still here"


def config_of(folder: Path, text: str) -> tuple[Config, str]:
    from fireside_tui.cli.given import Given

    given = Given()
    given.config_file = folder / "config.toml"
    given.config_file.write_text(text)
    return given.config_despite()


async def test_what_the_wrong_config_line_leaves_right_counts(tmp_path: Path) -> None:
    text = f"store = '{tmp_path / 'big'}'\nmodel = 'demo'\nthem = 'x'\nshow_thinking = 3"
    config, warning = config_of(tmp_path, text)
    app = await start(tmp_path, config, warning=warning)
    async with app.run_test(size=(80, 24)) as pilot:
        it = Opened(app, pilot)
        await it.until(lambda: app.main.ready.is_set() and it.current is not None)
        bar = app.main.query_one("#message-bar")
        await it.until(lambda: "line 3: there is no setting 'them'" in str(bar.content))
        assert "\nline 4: show_thinking is 3" in str(bar.content) or "\nline 3: there is" in str(bar.content)
        assert bar.content_size.height >= 4, "all of it is read"
        await it.send("Hello")
        assert it.current.agent.model.name == "demo"
        assert (tmp_path / "big" / it.current.id).exists()


async def test_a_message_goes_into_no_store_that_the_person_did_not_choose(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data-home"))
    config, warning = config_of(tmp_path, "store = 5\nmodel = 'demo'")
    app = await start(tmp_path, config, warning=warning)
    async with app.run_test(size=(80, 24)) as pilot:
        it = Opened(app, pilot)
        await it.until(lambda: app.main.ready.is_set() and it.current is not None)
        await it.until(lambda: "none can be opened or saved" in str(app.main.query_one("#message-bar").content))
        await it.write("private")
        await it.press("enter")
        await it.until(lambda: "does not say where" in it.status)
        assert it.box == "private"
        assert not it.current.running
    assert not (tmp_path / "data-home").exists()


async def test_a_message_goes_to_no_server_that_the_person_did_not_choose(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, api: Any
) -> None:
    monkeypatch.setenv("ANTHROPIC_BASE_URL", api.url)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "key")
    config, warning = config_of(tmp_path, f"store = '{tmp_path / 's'}'\nbase_url = 'localhost:8080'")
    app = await start(tmp_path, config, warning=warning)
    async with app.run_test(size=(80, 24)) as pilot:
        it = Opened(app, pilot)
        await it.until(lambda: app.main.ready.is_set() and it.current is not None)
        for model in ("", "/model claude-sonnet-5-5"):
            if model:
                await it.command(model)
            await it.send("private")
            assert "base_url in" in it.status
            assert it.current.trouble is not None
        assert api.requests == []


async def test_without_a_key_the_first_screen_offers_ways_to_talk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("FIRESIDE_DEMO_DELAY", "0")
    app = await start(tmp_path, Config(store=str(tmp_path / "s")))
    async with app.run_test() as pilot:
        it = Opened(app, pilot)
        await it.until(lambda: "ANTHROPIC_API_KEY" in str(app.main.query_one("#welcome").content))
        await it.command("/demo")
        await it.until(lambda: it.current is not None and it.current.agent.model.name == "demo")
        assert "ANTHROPIC_API_KEY" not in str(app.main.query_one("#welcome").content)
        await it.send("Hello")
        assert "offline demo" in it.shown


async def test_no_colour_is_wanted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    id = await talk(tmp_path, "one")
    async with opened(tmp_path) as it:
        await it.main.open(id)
        assert "answer to one" in it.shown


async def test_a_database_that_can_not_be_read_is_told_in_its_own_words_and_whole(tmp_path: Path) -> None:
    words = "/a/long/way/to/the/database/s.db: attempt to write a readonly database; give this user write access"

    class Unlisted(FileStore):
        broken = True

        def list(self) -> Any:
            if self.broken:
                raise sqlite3.OperationalError(words)
            return super().list()

    store = Unlisted(tmp_path / "store")
    async with opened(tmp_path, store=store) as it:
        bar = it.main.query_one("#message-bar")
        assert words in str(bar.content)
        assert "OperationalError" not in it.main.sidebar.rows.empty
        store.broken = False
        await it.main.conversations.refresh()
        await it.rows()
        assert str(bar.content) == ""


async def test_a_store_that_lists_nothing_still_takes_messages(tmp_path: Path) -> None:
    class Unlisted(FileStore):
        def list(self) -> Any:
            raise PermissionError(13, "Permission denied", "/store")

    async with opened(tmp_path, ["ok"], store=Unlisted(tmp_path / "store")) as it:
        assert "Permission denied" in it.main.sidebar.rows.empty
        assert "The list of conversations can't be read." in str(it.main.query_one("#message-bar").content)
        await it.send("Hi")
        assert it.current.state.answer == "ok"
