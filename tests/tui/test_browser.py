"""Links: which browser opens them, and what is offered where there is none."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from fireside_tui import browser
from fireside_tui.browser import Browser, find
from textual.widgets import OptionList, Static

from tests.tui.app_support import Opened, opened


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """A folder with programs of these names, which do nothing."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("lynx", "xdg-open", "firefox", "mine", "open"):
        (folder / name).write_text("#!/bin/sh\nexit 0\n")
        (folder / name).chmod(0o755)
    return folder


DESKTOP = {"DISPLAY": ":0"}


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        (DESKTOP, Browser(("xdg-open",), False)),
        ({"WAYLAND_DISPLAY": "wayland-0"}, Browser(("xdg-open",), False)),
        ({**DESKTOP, "BROWSER": "firefox"}, Browser(("firefox",), False)),
        ({**DESKTOP, "BROWSER": "lynx"}, Browser(("lynx",), True)),
        ({**DESKTOP, "BROWSER": "mine --new %s"}, Browser(("mine", "--new", "%s"), False)),
        ({**DESKTOP, "BROWSER": "nothing:lynx -nocolor"}, Browser(("lynx", "-nocolor"), True)),
        ({**DESKTOP, "BROWSER": "'open quote:nothing"}, Browser(("xdg-open",), False)),
        ({"BROWSER": "mine"}, Browser(("mine",), True)),  # by SSH: it may need the terminal
        ({"BROWSER": "mine &"}, Browser(("mine",), False)),
        ({}, None),  # by SSH: a browser over there would show nothing
        ({"BROWSER": ""}, None),
    ],
)
def test_which_browser_is_taken_and_which_gets_the_terminal(
    programs: Path, environ: dict[str, str], expected: Browser | None
) -> None:
    assert find({**environ, "PATH": str(programs)}, "linux") == expected


def test_a_mac_opens_with_open(programs: Path) -> None:
    assert find({"PATH": str(programs)}, "darwin") == Browser(("open",), False)


@pytest.mark.parametrize("words", [("b", "-u", "%s"), ("b",)])
def test_an_address_is_one_argument_and_never_a_command(words: tuple[str, ...]) -> None:
    url = "https://e.com/;rm -rf $(x)`y`&z"
    assert Browser(words, False).command(url)[-1] == url


TEXT = "See [the docs](https://docs.example/a) and https://bare.example/b. [/] `code`"


async def at_links(it: Opened) -> None:
    await it.send("Hi")
    it.main.go_to(it.main.chat.transcript)
    await it.pilot.pause()
    it.main.chat.transcript.set_cursor(it.main.chat.transcript.items[-1].key)
    await it.press("l")
    await it.until(lambda: len(it.app.screen_stack) == 3)


async def test_links_are_listed_with_their_words_and_can_be_copied(tmp_path: Path) -> None:
    async with opened(tmp_path, [TEXT]) as it:
        await at_links(it)
        shown = [str(option.prompt) for option in it.app.screen.query_one(OptionList).options]
        assert shown == ["the docs\nhttps://docs.example/a", "https://bare.example/b"]
        assert "Enter opens · c copies" in str(it.app.screen.query_one("#links-keys", Static).content)
        await it.press("down", "c")
        await it.until(lambda: it.app.clipboard == "https://bare.example/b")
        assert it.said == ["Copied the address."]


async def test_without_a_browser_the_address_is_copied_and_that_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(browser, "find", lambda: None)
    async with opened(tmp_path, [TEXT]) as it:
        await at_links(it)
        await it.press("enter")
        await it.until(lambda: it.said == ["There is no browser here: the address is copied."])
        assert it.app.clipboard == "https://docs.example/a"


@pytest.mark.parametrize(("command", "said"), [("false", "false ended with status 1"), ("/nowhere/b", "No such file")])
async def test_a_browser_that_fails_is_told_of_and_the_address_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, said: str
) -> None:
    monkeypatch.setattr(browser, "find", lambda: Browser((command,), False))
    async with opened(tmp_path, [TEXT]) as it:
        it.app.open_url("https://e.com")
        await it.until(lambda: it.said)
        assert said in it.said[0]
        assert it.said[0].endswith(": the address is copied.")
        assert it.app.clipboard == "https://e.com"


async def test_a_graphical_browser_has_no_terminal_and_the_app_does_not_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = tmp_path / "told"
    script = tmp_path / "browser"
    script.write_text(f"""#!/bin/sh
echo noise; echo noise >&2
files=$(readlink /proc/$$/fd/0 /proc/$$/fd/1 /proc/$$/fd/2)
{{ echo "$files"; cut -d' ' -f6,7 /proc/$$/stat; echo "$1"; }} > {told}.part
mv {told}.part {told}
exec sleep 600
""")
    script.chmod(0o755)
    monkeypatch.setattr(browser, "SOON", 0.01)
    monkeypatch.setattr(browser, "find", lambda: Browser((str(script),), False))
    async with opened(tmp_path, []) as it:
        it.app.open_url("https://e.com/x y")
        await it.until(told.exists)
        *files, ids, url = told.read_text().splitlines()
        session, tty = map(int, ids.split())
        try:
            assert files == ["/dev/null"] * 3
            assert tty == 0  # no terminal
            assert session != os.getsid(0)
            assert url == "https://e.com/x y"
            await it.press("a")
            assert it.box == "a"
        finally:
            os.killpg(session, 15)
