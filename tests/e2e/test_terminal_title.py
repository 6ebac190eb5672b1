"""The title of the terminal: what is on the screen, nothing that a terminal obeys, and in the end the one before."""

from __future__ import annotations

import re
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from fireside import FileStore, State

from tests.support.term import Term

Start = Callable[..., Term]
QUICK = {"FIRESIDE_DEMO_DELAY": "0", "FIRESIDE_NO_WARM_UP": "1"}
KEEP, GIVE_BACK = b"\x1b[22;2t", b"\x1b]2;\x07\x1b[23;2t"


def titles(term: Term) -> list[str]:
    """All that were set, in turn (pyte takes OSC 22, the pointer's shape, for a title)."""
    return [found.decode() for found in re.findall(rb"\x1b\]2;([^\x07\x1b]*)\x07", term.raw)]


def named(term: Term, title: str) -> None:
    """Waits until the terminal has this title."""
    term.wait(lambda _: titles(term)[-1:] == [title])


def test_the_terminal_is_named_after_the_conversation_and_gets_its_title_back(terminal: Start) -> None:
    with terminal("--model", "demo", env=QUICK) as term:
        term.wait("Write a message")
        named(term, "fireside")
        assert term.raw.index(KEEP) < term.raw.index(b"\x1b]2;")
        term.send("Hello there\r")
        named(term, "Hello there – fireside")
        term.send("\x0e")
        named(term, "fireside")
        term.send("\x0f")
        term.wait("d Delete")
        term.send("\x1b[B\r")
        named(term, "Hello there – fireside")
        term.send("/rename Another name\r")
        named(term, "Another name – fireside")
        term.send("\x11")
        assert term.ended() == 0
    assert term.raw.count(KEEP) == term.raw.count(GIVE_BACK) == 1
    assert titles(term)[-1] == ""
    assert titles(term)[:2] == ["fireside", "Hello there – fireside"], "the same one is not set again and again"


def test_a_title_is_never_a_command_for_the_terminal(terminal: Start, tmp_path: Path) -> None:
    evil = "evil \x07\x1b]2;stolen\x07\x1b[2J \x9b2J \u202egnp " + "words " * 100
    FileStore(tmp_path / ".local/share/fireside/conversations").save(State(evil, id="evil"))
    with terminal("--model", "demo", "--resume", "evil", env=QUICK) as term:
        term.wait(lambda _: "evil" in "".join(titles(term)[-1:]))
        title = titles(term)[-1]
        term.send("\x11")
        assert term.ended() == 0
    assert title.isprintable()
    assert title.endswith("… – fireside")
    assert "stolen" not in titles(term)


@pytest.mark.parametrize("name", ["", "linux"])
def test_a_terminal_without_a_title_is_sent_none(terminal: Start, name: str) -> None:
    with terminal("--model", "demo", env={**QUICK, "TERM": name}) as term:
        term.wait("Write a message")
        term.send("Hello there\r")
        term.wait("nothing is lost")
        term.send("\x11")
        assert term.ended() == 0
    assert b"\x1b]2;" not in term.raw
    assert b"2;2t" not in term.raw


def test_ctrl_z_gives_the_title_back_and_fg_takes_it_again(terminal: Start) -> None:
    with terminal("--model", "demo", env=QUICK) as term:
        term.wait("Write a message")
        term.send("Hello there\r")
        named(term, "Hello there – fireside")
        term.wait("nothing is lost")
        term.send("\x1a")
        stat = Path(f"/proc/{term.pid}/stat")
        term.wait(lambda _: stat.read_text().rpartition(")")[2].split()[0] == "T")
        term.pump()
        assert titles(term)[-1] == ""
        assert term.raw.count(GIVE_BACK) == 1
        term.kill(signal.SIGCONT)
        named(term, "Hello there – fireside")
        term.send("\x11")
        assert term.ended() == 0
    assert term.raw.count(KEEP) == term.raw.count(GIVE_BACK) == 2
