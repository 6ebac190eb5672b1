"""A browser of the terminal gets the terminal, and gives it back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.support.api_server import ApiServer
from tests.support.replies import Say
from tests.support.term import Term


def test_a_browser_of_the_terminal_has_it_alone_until_it_ends(
    terminal: Callable[..., Term], api: ApiServer, tmp_path: Path
) -> None:
    script = tmp_path / "lynx"
    script.write_text('#!/bin/sh\nprintf "reading $1: "\nread line\nprintf "$line" > "$HOME/read"\n')
    script.chmod(0o755)
    api.reply(Say("See [the docs](https://docs.example/a)."))
    env = {
        "ANTHROPIC_BASE_URL": api.url,
        "ANTHROPIC_API_KEY": "k",
        "FIRESIDE_NO_WARM_UP": "1",
        "BROWSER": str(script),
    }
    with terminal(env=env) as term:
        term.wait("Write a message")
        term.send("Hello\r")
        term.wait("the docs")
        term.wait("saved")
        rows = term.text().split("\n")
        y = next(y for y, row in enumerate(rows) if "the docs" in row)
        x = rows[y].index("the docs")
        term.send(f"\x1b[<0;{x + 3};{y + 1}M\x1b[<0;{x + 3};{y + 1}m")
        term.wait("Enter opens · c copies")
        term.send("\r")
        term.wait("reading https://docs.example/a:")
        assert term.raw.rindex(b"\x1b[?1049l") > term.raw.rindex(b"\x1b[?1049h")  # the app's screen is put away
        assert term.raw.rindex(b"\x1b[?1003l") > term.raw.rindex(b"\x1b[?1003h")  # and the mouse
        term.screen.reset()
        term.send("a line\n")
        term.wait("Conversations")
        assert (tmp_path / "read").read_text() == "a line"
        term.send("\x1b")  # from the messages back to the box
        term.settle()
        term.send("more words")
        term.wait("more words")
