"""The installed command in a real terminal, against a real server: talk, quit, come back, delete."""

from __future__ import annotations

import json
import os
import signal
import termios
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.api_server import ApiServer
from tests.support.replies import Say
from tests.support.term import Term

Start = Callable[..., Term]


@pytest.fixture
def start(terminal: Start, api: ApiServer) -> Start:
    """Starts `fireside` with the server at hand."""

    def started(*args: str, **rest: Any) -> Term:
        env = {"ANTHROPIC_BASE_URL": api.url, "ANTHROPIC_API_KEY": "k", "FIRESIDE_NO_WARM_UP": "1"}
        return terminal(*args, env={**env, **rest.pop("env", {})}, **rest)

    return started


def said(api: ApiServer, n: int = -1) -> list[str]:
    """The texts of a request's messages."""
    texts = []
    for message in api.messages[n].body["messages"]:
        content = message["content"]
        texts.append(content if isinstance(content, str) else "".join(b.get("text", "") for b in content))
    return texts


def entries(home: Path) -> list[dict[str, Any]]:
    """All that is in the logs of the store."""
    logs = (home / ".local/share/fireside/conversations").glob("*/log.jsonl")
    return [json.loads(line) for log in logs for line in log.read_text().splitlines()]


def test_talk_quit_come_back_and_delete(start: Start, api: ApiServer) -> None:
    with start() as term:
        term.wait("Write a message")
        term.send("Hello there\r")
        term.wait("You said: Hello there")
        term.wait("saved")
        term.send("\x11")
        assert term.ended() == 0
    with start("--continue") as term:
        term.wait("You said: Hello there")
        term.send("And again\r")
        term.wait("You said: And again")
        assert said(api) == ["Hello there", "You said: Hello there", "And again"]

        term.send("\x0e")  # Ctrl+N
        term.gone("You said: And again")
        term.send("Another matter\r")
        term.wait("You said: Another matter")
        term.send("\x0f")  # Ctrl+O
        term.wait("d Delete")
        term.send("\x1b[B\r")
        term.wait("You said: And again")

        term.send("\x0f")
        term.wait("d Delete")
        term.send("d")
        term.wait("y yes")
        term.send("y")
        term.wait("u undo")
        term.gone("You said: And again")
        term.wait(lambda shown: "Hello there" not in shown.split("Deleted")[0])
        term.send("u")
        term.wait("You said: And again")
        term.send("\x11")
        assert term.ended() == 0


def test_kill_9_while_the_server_holds_the_request_loses_no_message(
    start: Start, api: ApiServer, tmp_path: Path
) -> None:
    hold = api.hold()
    with start() as term:
        term.wait("Write a message")
        term.send("Do not lose this\r")
        api.wait_for_messages(1)
        assert [entry["content"] for entry in entries(tmp_path) if entry["kind"] == "user"] == ["Do not lose this"]
        term.send("half a draft")
        term.wait("half a draft")
        data = tmp_path / ".local/share/fireside"
        term.wait(lambda _: any("half a draft" in file.read_text() for file in data.glob("device-*.json")))
        term.kill(signal.SIGKILL)
    hold.release()
    with start("--continue") as term:
        term.wait("Do not lose this")
        term.wait("The program stopped")
        term.wait("half a draft")
        term.send("\x12")  # Ctrl+R
        term.wait("You said: Do not lose this")
        term.gone("The program stopped")


def test_a_stopped_answer_stays_and_the_talk_goes_on(start: Start, api: ApiServer) -> None:
    api.stall("One two three four five six seven", after=2)
    with start() as term:
        term.wait("Write a message")
        term.send("Count\r")
        term.wait("One")
        term.send("\x1b")
        term.wait("stopped")
        term.send("Go on\r")
        term.wait("You said: Go on")
        assert api.refusals == []
        term.send("\x11")
        assert term.ended() == 0
    with start("--continue") as term:
        term.wait("You said: Go on")
        assert "stopped" in term.text()


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_saves_what_streamed_and_restores_the_terminal(
    start: Start, api: ApiServer, tmp_path: Path, number: int, status: int
) -> None:
    api.stall("One two three four five six seven", after=2)
    with start() as term:
        term.wait("Write a message")
        term.send("Count\r")
        term.wait("One")
        term.kill(number)
        assert term.ended() == status
        if number == signal.SIGTERM:
            after = term.raw[term.raw.rindex(b"\x1b[?1049l") :]
            assert b"\x1b[?25h" in after
            for mode in (b"1000", b"1003", b"1006", b"2004"):
                assert term.raw.rindex(b"\x1b[?" + mode + b"l") > term.raw.rindex(b"\x1b[?" + mode + b"h")
    # on a slow machine some of it was saved before, as an answer that still streamed
    assert [entry["content"].get("cut") for entry in entries(tmp_path) if entry["kind"] == "partial_reply"][-1:] == [
        True
    ]


def test_a_terminal_that_is_closed_in_an_answer_loses_nothing(start: Start, api: ApiServer) -> None:
    api.stall("One two three four five six seven", after=2)
    with start() as term:
        term.wait("Write a message")
        term.send("Count\r")
        term.wait("One")
        term.send("half a draft")
        term.wait("half a draft")
        term.hang_up()
        assert os.waitstatus_to_exitcode(os.waitpid(term.pid, 0)[1]) == 129
        term.status = 129
    with start("--continue") as term:
        term.wait("One")
        term.wait("stopped")
        term.wait("half a draft")
        term.send("\x12")
        term.wait("You said: Count")


def test_quitting_in_the_middle_of_an_answer_says_so_first(start: Start, api: ApiServer, tmp_path: Path) -> None:
    api.stall("One two three four five six seven", after=2)
    with start() as term:
        term.wait("Write a message")
        term.send("Count\r")
        term.wait("One")
        term.send("\x11")
        term.wait("Ctrl+Q again")
        term.send("\x11")
        assert term.ended() == 0
    assert "partial_reply" in [entry["kind"] for entry in entries(tmp_path)]


def test_ctrl_z_gives_the_terminal_back_and_fg_draws_all_again(start: Start) -> None:
    with start() as term:
        term.wait("Write a message")
        term.send("a draft")
        term.wait("a draft")
        term.send("\x1a")
        stat = Path(f"/proc/{term.pid}/stat")
        term.wait(lambda _: stat.read_text().rpartition(")")[2].split()[0] == "T")
        term.pump()
        assert term.raw.rindex(b"\x1b[?1049l") > term.raw.rindex(b"\x1b[?1049h")
        term.screen.reset()
        term.kill(signal.SIGCONT)
        term.wait("a draft")
        term.wait("Conversations")
        term.send(" more")
        term.wait("a draft more")


def test_stopped_and_let_on_from_outside_it_goes_on_and_ends_as_usual(start: Start) -> None:
    with start() as term:
        before = termios.tcgetattr(term.fd)
        term.wait("Write a message")
        term.send("a draft")
        term.wait("a draft")
        threads = Path(f"/proc/{term.pid}/task")
        count = len(list(threads.iterdir()))
        for _ in range(3):
            term.kill(signal.SIGSTOP)
            term.screen.reset()
            term.kill(signal.SIGCONT)
            term.wait("a draft")
            term.wait("Conversations")
        term.send(" more")
        term.wait("a draft more")
        term.settle()
        assert len(list(threads.iterdir())) <= count + 1
        term.send("\x11")
        assert term.ended() == 0
        assert termios.tcgetattr(term.fd) == before
    for on, off in ((b"\x1b[?1049h", b"\x1b[?1049l"), (b"\x1b[>25u", b"\x1b[<u")):
        assert term.raw.count(on) == term.raw.count(off)


EVIL = (
    "see [/tmp/x] [bold [red] [link=file:///x]c[/link]\n\n"
    "\x1b]52;c;QUJD\x1b\\ \x1b]2;stolen\x1b\\ \x1b]8;;http://x\x1b\\l\x1b]8;;\x1b\\ \x1b[2J\x1b[H \x9b31m \x00 \u202egnp\n\n"
    "```py\x1b[2J\nx = '\x1b]52;c;QUJD\x07'\n```\n\n| a\x1b[2J | b |\n|---|---|\n| \x9b2J | \x1b[6n |\n\nend of evil"
)


def test_text_is_never_a_command_for_the_terminal(start: Start, api: ApiServer) -> None:
    api.reply(Say(EVIL))
    with start() as term:
        term.wait("Write a message")
        term.paste("title [/x] \x1b]52;c;QUJD\x1b\\ \x9b2J")
        term.send("\r")
        term.wait("end of evil")
        term.send("\x0f")  # the title in the list, and being asked about
        term.wait("d Delete")
        term.send("d")
        term.wait("y yes")
        term.send("n")
        term.send("\x11")
        assert term.ended() == 0
    raw = term.raw.decode()
    for wrong in ("\x1b]52", "\x1b]2;stolen", "\x1b]8;", "\x1b[2J", "\x1b[6n", "\x9b", "\u202e", "\0"):
        assert wrong not in raw, wrong


def test_a_paste_with_escape_and_return_sends_nothing(start: Start, api: ApiServer) -> None:
    with start() as term:
        term.wait("Write a message")
        term.paste("first\x1bb\r\nsecond\x1b\rthird\x1b[13u\r")
        term.wait("third")
        term.paste("\r\n".join(f"line {n}" for n in range(1000)))
        term.wait("1,000 lines")
        assert api.messages == []
        term.send("\r")
        api.wait_for_messages(1)
        text = said(api)[0]
        assert text.startswith("firstb\nsecond\nthird[13u\nline 0\nline 1\n")
        assert text.endswith("line 999")


def test_two_windows_on_one_store(start: Start, api: ApiServer) -> None:
    api.stall("One two three four", after=2)
    with start() as one, start() as other:
        one.wait("Write a message")
        other.wait("Write a message")
        one.send("Count\r")
        one.wait("One")
        other.wait("Count")  # in its list
        other.send("\x0f\r")
        other.wait(f"Read-only: process {one.pid} answers it")
        other.send("d")
        one.send("\x1b")
        one.wait("stopped")
        other.gone("Read-only: ")
        other.wait("stopped")
