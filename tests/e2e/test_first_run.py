"""What a person meets who has no key, a wrong config, a folder that can't be written, or a very small terminal."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from fireside import FileStore, State

from tests.support.term import Term

Start = Callable[..., Term]
QUICK = {"FIRESIDE_DEMO_DELAY": "0", "FIRESIDE_NO_WARM_UP": "1"}


def test_without_a_key_it_says_what_is_missing_and_offers_the_demo(terminal: Start) -> None:
    with terminal(env=QUICK) as term:
        term.wait("ANTHROPIC_API_KEY")
        assert "/demo" in term.text()
        assert "/server" in term.text()
        term.send("Hello\r")
        term.wait("Ctrl+R asks again", timeout=30)  # the SDK is loaded to find out that there is no key
        words = " ".join(term.text().split())
        assert "set ANTHROPIC_API_KEY in the shell" in words
        assert "fireside --model demo" in words
        assert "api_key=" not in words
        term.send("/model demo\r")
        term.wait("goes on with demo")
        term.send("\x12")
        term.wait("nothing is lost")
        term.send("\x11")
        assert term.ended() == 0


def test_who_takes_the_demo_is_not_told_of_a_key_any_more(terminal: Start) -> None:
    with terminal(env=QUICK) as term:
        term.wait("No API key")
        term.send("/model demo\r")
        term.gone("No API key")
        assert "What would you like to talk about?" in term.text()
        term.send("\x11")
        assert term.ended() == 0


def test_a_wrong_config_opens_the_app_and_says_where(terminal: Start, tmp_path: Path) -> None:
    config = tmp_path / ".config/fireside/config.toml"
    config.parent.mkdir(parents=True)
    config.write_text("model = 3\n")
    with terminal("--model", "demo", env=QUICK) as term:
        term.wait("line 1")
        term.send("Hello\r")
        term.wait("nothing is lost")


def test_a_store_that_can_not_be_written_keeps_the_text_in_the_box(terminal: Start, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    with terminal("--model", "demo", "--store", str(tmp_path / "file" / "store"), env=QUICK) as term:
        term.wait("Write a message")
        term.send("Keep this\r")
        term.wait(lambda shown: "Not a directory" in shown[shown.index("╰") :])  # below the box, not only over the list
        assert "Keep this" in term.text()
        (tmp_path / "file").unlink()
        term.send("\r")
        term.wait("nothing is lost")
        term.send("\x11")
        assert term.ended() == 0


def test_the_terminals_own_cursor_is_where_one_writes(terminal: Start) -> None:
    with terminal("--model", "demo", env=QUICK) as term:
        term.wait("Write a message")
        term.settle()

        def place() -> tuple[int, str]:
            return term.screen.cursor.x, term.screen.display[term.screen.cursor.y]

        assert "Write a message" in place()[1], "before the first key, too: an input method opens there"
        assert place()[0] == place()[1].index("Write")
        term.send("hi")
        term.wait("hi")
        term.settle()
        assert place()[0] == place()[1].index("hi") + 2
        term.send("\x0f/")
        term.settle()
        assert "/ filter" in place()[1]


def test_without_colours_all_stands_in_the_terminals_own(terminal: Start, tmp_path: Path) -> None:
    place = tmp_path / "store"
    FileStore(place).save(State("an old talk", id="old"))
    with terminal("--model", "demo", "--store", str(place), env={**QUICK, "NO_COLOR": "1"}) as term:
        term.wait("an old talk")
        term.send("code\r")
        term.wait("from collections import deque")
        term.settle()
        reversed_at_rest = {y for y, line in term.screen.buffer.items() for x in line if line[x].reverse and x < 28}
        term.send("\x0f")  # the list
        term.settle()
        cursor = {y for y, line in term.screen.buffer.items() for x in line if line[x].reverse and x < 28}
        assert len(cursor - reversed_at_rest) == 1, "the cursor of the list is seen"
        term.send("\x10")  # the palette
        term.settle()
        term.send("\x1b\x1b[11~")  # F1
        term.settle()
    colours = re.findall(rb"\x1b\[(?:[\d;]*;)?(?:[34]8;[25];[\d;]+|[349][0-7]|10[0-7])m", term.raw)
    assert colours == []


def test_a_terminal_of_any_size(terminal: Start) -> None:
    with terminal("--model", "demo", env=QUICK, cols=5, rows=2) as term:
        term.settle()
        term.send("Hello\r")
        term.settle()
        for cols, rows in ((1, 1), (20, 5), (60, 20), (5, 2), (200, 60), (80, 24)):
            term.resize(cols, rows)
            term.send("\x0f")
            term.settle(0.2)
        term.wait("Conversations")
        term.wait("Hello")
        term.send("\x11")
        assert term.ended() == 0
    assert b"Traceback" not in term.raw


def test_a_dumb_terminal_gets_one_clear_line(terminal: Start) -> None:
    with terminal("--model", "demo", env={**QUICK, "TERM": "dumb"}) as term:
        assert term.ended() == 2
    assert term.raw.startswith(b"fireside: the app can't be shown in a terminal with TERM=dumb; fireside -p")
    assert b"\x1b" not in term.raw


def test_a_draft_that_can_not_be_kept_is_on_the_terminal_after_the_end(terminal: Start, tmp_path: Path) -> None:
    place = tmp_path / "store"
    FileStore(place).save(State("an old talk", id="old"))
    (tmp_path / ".local").write_text("no folder, so that no draft can be kept either")
    with terminal("--model", "demo", "--store", str(place), "--resume", "old", env=QUICK) as term:
        term.wait("an old talk")
        term.send("not sent")
        term.wait("What you write")
        term.send("\x11")
        assert term.ended() == 0
    assert b"Traceback" not in term.raw
    end = term.raw[term.raw.rindex(b"\x1b[?1049l") :]
    assert b"could not be kept" in end
    assert b"not sent" in end
