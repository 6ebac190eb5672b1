"""Settings in the app: a server, the demo, a model, what is asked in a box."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path

import pytest
from fireside.testing import FakeModel
from fireside_tui.app import FiresideApp
from fireside_tui.config import Config, Paths
from fireside_tui.screens.ask import Ask, Lines
from fireside_tui.screens.pick import Choice, Pick
from textual.widgets import Input, OptionList

from tests.support.server import ApiServer
from tests.tui.app_support import Opened, opened, talk


async def test_after_demo_nothing_says_any_more_that_a_key_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("FIRESIDE_DEMO_DELAY", "0")
    places = Paths(tmp_path / "c", tmp_path / "d", tmp_path / "e")
    app = FiresideApp(Config(store=str(tmp_path / "s")), places=places)
    async with app.run_test(size=(80, 24)) as pilot:
        it = Opened(app, pilot)
        await it.until(lambda: app.main.ready.is_set() and it.current is not None)
        await it.send("Hello")
        assert "No API key" in it.status
        await it.command("/demo")
        await it.until(lambda: it.current.agent.model.name == "demo" and "No API key" not in it.status)
        await it.press("ctrl+r")
        await it.until(lambda: it.current.state.is_answered() and not it.current.running)
        assert "No API key" not in it.status


async def asked(it: Opened) -> Ask:
    await it.until(lambda: isinstance(it.app.screen, Ask) and it.app.screen.focused is not None)
    assert isinstance(it.app.screen, Ask)
    return it.app.screen


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("http://localhost:80x", "is no address of a server: write it like http://localhost:8080"),
        ("localhost:8080", "it begins with http:// or https://"),
        ("http://", "is no address"),
        ("ftp://a", "it begins with http:// or https://"),
        ("http://a:99999", "is no address"),
    ],
)
async def test_a_wrong_address_is_told_when_it_is_given(tmp_path: Path, address: str, words: str) -> None:
    async with opened(tmp_path, FakeModel([])) as it:
        before = it.app.conversations.agent
        await it.command(f"/server {address} m")
        await it.until(lambda: any(words in said for said in it.said))
        assert it.app.conversations.agent is before
        await it.command("/server")
        box = await asked(it)
        await it.press(*address, "enter")
        wrong = box.query_one("#ask-wrong")
        await it.until(lambda: words in str(wrong.content))
        assert box.query_one(Input).value == address, "what is typed takes the place of the address that is offered"
        await it.press("escape")
        await it.until(lambda: it.app.screen is it.main)
        assert it.app.conversations.agent is before


async def test_a_server_that_answers_not_is_told_of_and_one_that_does_answers(tmp_path: Path, api: ApiServer) -> None:
    async with opened(tmp_path, "demo") as it:
        await it.send("Hello")
        await it.command("/demo")
        port = free_port()
        await it.command(f"/server http://127.0.0.1:{port} m")
        await it.until(
            lambda: any(f"Nothing answers at http://127.0.0.1:{port}: Connection refused." in s for s in it.said)
        )
        api.reply("from the server")
        await it.command(f"/server {api.url} some-model")
        await it.until(lambda: it.current.agent.model.name == "some-model")
        await it.send("Hello")
        await asyncio.sleep(0)
        assert it.current.state.answer == "from the server"
        assert not any(f"Nothing answers at {api.url}" in said for said in it.said)


async def test_a_message_is_edited_with_the_keys_it_was_written_with(tmp_path: Path) -> None:
    id = await talk(tmp_path, "first")
    async with opened(tmp_path, ["again"], resume=id) as it:
        await it.command("/edit")
        box = await asked(it)
        assert "Enter sends it · Ctrl+J breaks the line · Esc cancels" in str(box.query_one("#ask-hint").content)
        await it.press(*" and", "ctrl+j", *"more")
        assert box.query_one(Lines).text == "first and\nmore"
        await it.press("enter")
        await it.until(lambda: it.current.id != id and not it.current.running)
        assert [entry.text for entry in it.current.state.history if entry.kind == "user"] == ["first and\nmore"]


async def test_a_system_prompt_is_set_with_the_same_keys(tmp_path: Path) -> None:
    async with opened(tmp_path, ["x"]) as it:
        await it.command("/system")
        await asked(it)
        await it.press(*"Be", "ctrl+j", *"kind", "enter")
        await it.until(lambda: it.current.agent.system == "Be\nkind")


async def test_models_are_listed_by_one_kind_of_name_and_one_on_its_way_out_says_so(
    tmp_path: Path, api: ApiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_BASE_URL", api.url)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "key")
    async with opened(tmp_path, "claude-sonnet-5-5") as it:
        await it.command("/model")
        await it.until(lambda: isinstance(it.app.screen, Pick) and it.app.screen.focused is not None)
        pick = it.app.screen
        assert isinstance(pick, Pick)
        await it.until(lambda: len(pick._choices) > 3)
        assert [choice.label for choice in pick._choices] == [choice.value for choice in pick._choices]
        notes = {choice.value: choice.note for choice in pick._choices}
        assert notes["claude-sonnet-5-5"] == "Claude Sonnet 5.5"
        assert {entry["id"] for entry in api.models if entry["lifecycle"] == "deprecated"} == {
            id for id, note in notes.items() if note.startswith("deprecated")
        }
        assert "Enter takes it · Esc cancels" in str(pick.query_one("#pick-hint").content)
        await it.press("escape")


async def test_a_list_that_comes_later_does_not_move_the_cursor(tmp_path: Path) -> None:
    async with opened(tmp_path, FakeModel([])) as it:
        pick = Pick("Which?", [Choice("a", "a"), Choice("b", "b")], current="a")
        await it.app.push_screen(pick)
        await it.press("down")
        pick.add([Choice("a", "a", "told anew"), Choice("c", "c")])
        assert [choice.note for choice in pick._choices] == ["told anew", "", ""]
        assert pick.query_one(OptionList).highlighted == 1
        await it.press("escape")
