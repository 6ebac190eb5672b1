"""The terminal of the tests: what a program shows is read, what is typed arrives, and nothing is left running."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support import Term, clean_env, fireside_command, fixtures

clean_environment = fixtures.clean_environment


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Callable[[str], Term]]:
    """Runs a few lines of Python in a terminal of 40 by 10."""
    terms = []

    def start(code: str) -> Term:
        terms.append(Term([sys.executable, "-Ic", code], 40, 10, clean_env(tmp_path), tmp_path))
        return terms[-1]

    yield start
    for term in terms:
        term.close()


def test_what_is_shown_and_typed(run):
    term = run("print('name?'); print('hello', input())")
    assert term.wait("name?") < 10
    term.send("Ada\r")
    term.wait(lambda shown: "hello Ada" in shown)
    assert term.ended() == 0
    assert b"hello Ada" in term.raw


def test_the_size_stands_before_the_program_starts_and_can_change(run):
    term = run(
        "import os, signal\n"
        "signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGWINCH})\n"
        "print('at first', *os.get_terminal_size())\n"
        "signal.sigwait({signal.SIGWINCH})\n"
        "print('now', *os.get_terminal_size())"
    )
    term.wait("at first 40 10")
    term.resize(60, 20)
    term.wait("now 60 20")


def test_a_text_that_goes_away_is_waited_for(run):
    term = run("print('soon gone'); input(); print('\\x1b[2J\\x1b[Hempty')")
    term.wait("soon gone")
    term.send("\r")
    term.gone("soon gone")


def test_what_never_comes_is_told_with_the_screen_and_the_exit_status(run):
    term = run("print('something else'); raise SystemExit(3)")
    with pytest.raises(AssertionError, match=r"(?s)the program has ended \(3\).*something else"):
        term.wait("nothing")


def test_kitty_sequences_are_not_printed_even_when_cut_in_two(run):
    term = run(
        "import sys, time\n"
        "for part in ('a\\x1b[>', '1u', 'b\\x1b[<u', 'c\\x1b', '[?u', 'd\\n'):\n"
        "    sys.stdout.write(part); sys.stdout.flush(); time.sleep(0.02)"
    )
    term.wait("abcd")


def test_a_long_paste_arrives_whole(run):
    term = run(
        "import sys, tty; tty.setraw(0); print('ready', flush=True)\n"
        "n = 0\n"
        "while n < 200012: n += len(sys.stdin.buffer.read1(5000)); print(end='\\rreading', flush=True)\n"
        "print('\\r\\nall', n, flush=True)"
    )
    term.wait("ready")
    term.paste("x" * 200_000)
    term.wait("all 200012")


def test_a_signal_is_its_exit_status(run):
    term = run("print('up'); input()")
    term.wait("up")
    assert term.ended(0.05) is None
    term.kill(signal.SIGTERM)
    assert term.ended() == -signal.SIGTERM
    term.kill()  # nothing to end any more


def test_its_program_ends_with_it(tmp_path):
    with Term([sys.executable, "-Ic", "print('up'); input()"], env=clean_env(tmp_path)) as term:
        term.wait("up")
    assert term.status == -signal.SIGKILL
    with pytest.raises(ProcessLookupError):
        os.kill(term.pid, 0)
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(term.fd)


def test_a_program_that_is_not_there_is_told(tmp_path):
    with Term(["/nowhere"], env=clean_env(tmp_path)) as term:
        term.wait("cannot start /nowhere")
        assert term.ended() == 127


def test_a_program_sees_nothing_of_the_person_at_this_machine(tmp_path, monkeypatch):
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_CONFIG_DIR", "HTTPS_PROXY", "PYTHONDONTWRITEBYTECODE"):
        monkeypatch.setenv(name, "x")
    env = clean_env(tmp_path, ANTHROPIC_BASE_URL="http://127.0.0.1:1")
    assert env["HOME"] == str(tmp_path)
    assert env["COLORTERM"] == "truecolor"
    own = {"PATH", "TMPDIR", "HOME", "TERM", "COLORTERM", "LC_ALL", "ANTHROPIC_BASE_URL"}
    assert {name for name in env if not name.startswith("XDG_")} <= own


def test_this_process_can_have_such_an_environment(clean_environment, tmp_path):
    assert os.environ["HOME"] == str(tmp_path)
    assert not [name for name in os.environ if name.startswith("ANTHROPIC_") or name.lower().endswith("_proxy")]


def test_the_command_is_the_one_of_this_environment():
    assert os.access(fireside_command(), os.X_OK)
