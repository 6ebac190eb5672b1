"""`fireside -p` against a real server: what comes to stdout and when, what is saved, and which exit code tells what."""

from __future__ import annotations

import errno
import io
import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from fireside import FileStore, State
from fireside_tui.cli.ask import _ended_by_signals
from fireside_tui.cli.frame import run, words

from tests.support import ApiServer, Disconnect, Fin, HttpError, Say, Term, ToolUse, clean_env, fireside_command

Ask = Callable[..., "subprocess.Popen[bytes]"]


@pytest.fixture
def store(tmp_path: Path) -> FileStore:
    return FileStore(tmp_path / ".local" / "share" / "fireside" / "conversations")


@pytest.fixture
def start(tmp_path: Path, api: ApiServer) -> Iterator[Ask]:
    """Starts the installed command with the server as its API; what still runs in the end is killed."""
    with ExitStack() as started:

        def call(*args: str) -> subprocess.Popen[bytes]:
            process = subprocess.Popen(
                [fireside_command(), *args],
                env=clean_env(tmp_path, ANTHROPIC_BASE_URL=api.url, ANTHROPIC_API_KEY="key"),
                cwd=tmp_path,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
            started.enter_context(process)
            started.callback(process.kill)
            return process

        yield call


@pytest.fixture
def ask(
    tmp_path: Path, api: ApiServer, clean_environment: dict[str, str], capsys: Any, monkeypatch: Any
) -> Callable[..., tuple[int, str, str]]:
    """Runs it to its end in this process, where the SDK is loaded once: exit code, stdout, stderr."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ANTHROPIC_BASE_URL", api.url)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "key")
    monkeypatch.setattr("sys.path", [*sys.path])

    def call(*args: str, stdin: str = "") -> tuple[int, str, str]:
        capsys.readouterr()
        with monkeypatch.context() as patched:
            patched.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
            code = run(args)
        out, err = capsys.readouterr()
        return code, out, err

    return call


def only(store: FileStore) -> State:
    (row,) = store.list()
    return store.load(row.id)


def test_the_answer_streams_to_stdout_while_it_comes(start: Ask, api: ApiServer, store: FileStore) -> None:
    hold = api.stall("The first half is here. " * 4 + "The second comes later.", after=4)
    process = start("-p", "question")
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.close()
    assert process.stdout.read(20) == b"The first half is he"
    assert hold.reached.wait(10)
    assert process.poll() is None
    assert only(store).status == "running"
    hold.release()
    assert process.stdout.read().endswith(b"The second comes later.\n")
    assert process.wait(10) == 0
    assert only(store).status == "waiting"


def test_a_conversation_goes_on_with_what_was_said(ask: Any, api: ApiServer, store: FileStore) -> None:
    api.reply("one", "two", "three")
    assert ask("-p", "first", "--system", "Be short.") == (0, "one\n", "")
    id = only(store).id
    assert ask("-p", "second", "--resume", id[:6]) == (0, "two\n", "")
    assert ask("--continue", "-p", "third") == (0, "three\n", "")
    body = api.messages[-1].body
    said = [message["content"] for message in body["messages"]]
    assert [block["text"] for content in said for block in content] == ["first", "one", "second", "two", "third"]
    assert "Be short." in json.dumps(body["system"]), "the conversation keeps the system prompt it was begun with"
    assert only(store).answer == "three"


def test_a_system_prompt_that_was_taken_away_in_the_app_stays_away(
    ask: Any, api: ApiServer, store: FileStore, monkeypatch: Any
) -> None:
    monkeypatch.setenv("FIRESIDE_SYSTEM", "Be long.")
    api.reply("one", "two")
    assert ask("-p", "first")[0] == 0
    assert "Be long." in json.dumps(api.messages[-1].body["system"])
    state = only(store)
    state.data["fireside"] = {"system": ""}
    store.save(state)
    assert ask("-p", "second", "--continue")[0] == 0
    assert "system" not in api.messages[-1].body


def test_a_pipe_is_joined_to_the_question(ask: Any, api: ApiServer) -> None:
    ask("-p", "What is this?", stdin="def f(): ...\n")
    ask("-p", stdin="alone\n")
    assert [request.said for request in api.messages] == ["What is this?\n\ndef f(): ...", "alone"]
    code, out, err = ask("-p", stdin=" \n")
    assert (code, out) == (2, "")
    assert "there is no question" in err
    code, _, err = ask("-p", "--continue")
    assert code == 2
    assert "nothing to go on with" in err


def test_a_stdin_that_stays_open_is_told_with_what_ends_the_wait(start: Ask, api: ApiServer) -> None:
    process = start("-p", "What is this?")
    assert process.stdin is not None
    assert process.stderr is not None
    assert select.select([process.stderr], [], [], 20)[0]
    told = process.stderr.readline().decode()
    assert told.startswith("fireside: waiting for the end of stdin")
    assert "< /dev/null" in told
    assert api.messages == []
    _, err = process.communicate(b"def f(): ...\n", timeout=20)
    assert (process.returncode, err) == (0, b"")
    assert api.messages[-1].said == "What is this?\n\ndef f(): ..."


def test_events_as_json_are_exact(ask: Any, api: ApiServer, store: FileStore) -> None:
    nasty = "a\x1b[2J\u202e\n"
    api.reply(nasty)
    code, out, err = ask("-p", "hi", "--json")
    assert (code, err) == (0, "")
    assert out.isascii()
    events = [json.loads(line) for line in out.splitlines()]
    assert [events[0]["event"], events[-2]["event"], events[-1]["event"]] == ["start", "reply", "end"]
    assert "".join(event["text"] for event in events if event["event"] == "text") == nasty
    end = events[-1]
    assert (end["id"], end["answer"], end["error"], end["status"]) == (only(store).id, nasty, None, "waiting")
    assert end["usage"]["requests"] == 1


def test_text_is_exact_in_a_pipe_and_harmless_in_a_terminal(ask: Any, api: ApiServer, tmp_path: Path) -> None:
    api.reply("a\x1b]2;title\x07b", "a\x1b]2;title\x07b")
    assert ask("-p", "hi")[1] == "a\x1b]2;title\x07b\n"
    env = clean_env(tmp_path, ANTHROPIC_BASE_URL=api.url, ANTHROPIC_API_KEY="key")
    with Term([fireside_command(), "-p", "hi"], env=env) as term:
        term.wait("a␛]2;title␇b")
        assert term.ended() == 0
        assert b"\x1b]2;" not in term.raw


@pytest.mark.parametrize(
    ("reply", "code", "told"),
    [
        (HttpError(401), 3, "refused the credentials"),
        (HttpError(400), 4, ""),
        (HttpError(404), 4, ""),
    ],
)
def test_exit_codes_tell_failures_apart_and_the_question_is_kept(
    ask: Any, api: ApiServer, store: FileStore, reply: HttpError, code: int, told: str
) -> None:
    api.reply(reply, "now it works")
    got, out, err = ask("-p", "hi")
    assert (got, out) == (code, "")
    assert told in err
    assert all(line.startswith("fireside: ") for line in err.splitlines())
    state = only(store)
    assert state.status == "failed"
    assert f"--resume {state.id[:8]}" in err.splitlines()[-1]
    assert ask("-p", "--resume", state.id[:8])[:2] == (0, "now it works\n")


def test_without_a_key_it_says_how_to_give_one(ask: Any, monkeypatch: Any) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    monkeypatch.delenv("ANTHROPIC_BASE_URL")
    code, out, err = ask("-p", "hi")
    assert (code, out) == (3, "")
    assert "no API key was found; set ANTHROPIC_API_KEY in the shell" in err
    assert "fireside --model demo" in err
    assert "api_key=" not in err, "who uses the command has nothing to pass"
    _, out, _ = ask("show", only(FileStore(Path(".local/share/fireside/conversations"))).id)
    assert "fireside --model demo" in out
    assert "api_key=" not in out


def test_one_that_runs_elsewhere_is_told_so(ask: Any, store: FileStore) -> None:
    state = State("busy", id="busy")
    store.save(state)
    lock = store.lock("busy")
    try:
        code, out, err = ask("-p", "hi", "--resume", "busy")
    finally:
        lock.release()
    assert (code, out) == (5, "")
    assert "the conversation is in use: process" in err
    assert "State" not in err, "a word of the library's"
    assert "is kept" not in err  # the question is not


def test_what_could_not_be_saved_is_not_said_to_be_kept(ask: Any, store: FileStore, monkeypatch: Any) -> None:
    store.save(State("first", id="a"))

    def full(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(FileStore, "write", full)
    code, _, err = ask("-p", "second", "--resume", "a")
    assert (code, err.count("\n")) == (1, 1)
    assert "No space left on device" in err


def test_what_broke_off_is_asked_for_again_and_told(ask: Any, api: ApiServer) -> None:
    api.reply(Say("half of it and then more", fault=Fin(1)), "the whole")
    code, out, err = ask("-p", "hi")
    assert (code, out) == (0, "half of it and t\nthe whole\n")
    assert "asking again" in err
    assert "begins again below" in err
    api.reply(Say("x" * 99, fault=Disconnect(2)), "the whole")
    events = [json.loads(line) for line in ask("-p", "hi", "--json")[1].splitlines()]
    assert [event["attempt"] for event in events if event["event"] == "retry"] == [2]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_it_and_what_streamed_is_saved(
    start: Ask, api: ApiServer, store: FileStore, number: signal.Signals, code: int
) -> None:
    hold = api.stall("Half an answer, and the rest", after=1)
    process = start("-p", "hi")
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdin.close()
    assert process.stdout.read(16) == b"Half an answer, "
    assert hold.reached.wait(10)
    process.send_signal(number)
    assert process.wait(10) == code
    err = process.stderr.read().decode()
    assert "Traceback" not in err
    state = only(store)
    assert f"--resume {state.id[:8]}" in err
    assert [entry.text for entry in state.history if entry.kind == "partial_reply"] == ["Half an answer, "]
    assert state.status == "waiting"


def test_a_reader_that_goes_away_ends_it_and_what_streamed_is_saved(
    start: Ask, api: ApiServer, store: FileStore
) -> None:
    hold = api.stall("word " * 2000, after=2)
    process = start("-p", "hi")
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdin.close()
    process.stdout.read(5)
    process.stdout.close()
    hold.release()
    assert process.wait(10) == 141
    assert process.stderr.read() == b""
    state = only(store)
    assert state.status == "waiting"
    assert any(entry.kind == "partial_reply" for entry in state.history)


AGENT = """
from fireside import Agent, tool
from fireside_helper import GREETING

@tool
def greet(name: str) -> str:
    "Greets."
    return f"{GREETING} {name}"

agent = Agent(system="mine", tools=[greet])
def made(): return agent.copy(name="made")
def fails(): raise OSError("no luck")
number = 5
"""


@pytest.fixture
def agent_file(tmp_path: Path) -> Path:
    (tmp_path / "fireside_helper.py").write_text("GREETING = 'Good day,'")
    file = tmp_path / "mine.py"
    file.write_text(AGENT)
    return file


def test_a_users_own_agent_runs_its_tools(ask: Any, api: ApiServer, agent_file: Path, store: FileStore) -> None:
    api.reply(Say("Let me greet.", ToolUse("greet", {"name": "Ann"})), "Done.")
    code, out, err = ask("-p", "greet Ann", "--agent", f"{agent_file}:agent")
    assert (code, out, err) == (0, "Let me greet.\nDone.\n", "")
    assert api.messages[-1].said == "Good day, Ann"
    assert only(store).title == "greet Ann"
    api.reply(Say(ToolUse("greet", {"name": "Bob"})), "Done.")
    events = [json.loads(line) for line in ask("-p", "x", "--json", "--agent", f"{agent_file}:made")[1].splitlines()]
    assert [event["text"] for event in events if event["event"] == "tool_result"] == ["Good day, Bob"]


def test_an_agents_own_store_need_not_list(ask: Any, api: ApiServer, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "from fireside import Agent, FileStore, Store\n"
        "files = FileStore('kept')\n"
        "class Own(Store):\n"
        "    def write(self, *args, **more): files.write(*args, **more)\n"
        "    def read(self, id): return files.read(id)\n"
        "agent = Agent(store=Own())\n"
    )
    api.reply(HttpError(400), "two")
    code, _, err = ask("-p", "hi", "--agent", "mine.py")
    id = err.splitlines()[-1].partition("--resume ")[2].split()[0]
    assert (code, len(id)) == (4, 32)
    assert ask("-p", "--resume", id, "--agent", "mine.py")[:2] == (0, "two\n")
    assert ask("-p", "x", "--continue", "--agent", "mine.py")[0] == 1


@pytest.mark.parametrize(
    ("name", "code", "told"),
    [
        ("other", 2, "no 'other'; it has agent"),
        ("number", 2, "no fireside.Agent but int"),
        ("fails", 1, "OSError: no luck"),
    ],
)
def test_an_agent_that_is_none_is_one_line(
    ask: Any, agent_file: Path, store: FileStore, name: str, code: int, told: str
) -> None:
    got, out, err = ask("-p", "hi", "--agent", f"{agent_file}:{name}")
    assert (got, out) == (code, "")
    assert told in err
    assert len(err.splitlines()) == 1
    assert store.list() == []


def test_an_agent_without_a_name_is_the_one_called_agent(ask: Any, api: ApiServer, tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text("from fireside import Agent\nagent = Agent('claude-sonnet-5-5')\n")
    api.reply("hello", "again")
    assert ask("-p", "hi", "--agent", f"{file}")[:2] == (0, "hello\n")
    assert ask("-p", "hi", "--agent", f"{file}:")[:2] == (0, "again\n")


def test_a_signal_that_is_to_be_ignored_stays_so() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with _ended_by_signals():
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("x =", "line 1: SyntaxError"),
        ("\n\n1/0", "line 3: ZeroDivisionError"),
        ("import sys\nsys.exit(0)", "line 2: SystemExit: 0"),
    ],
)
def test_a_file_that_fails_says_on_which_line(ask: Any, tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / "bad.py").write_text(text)
    code, _, err = ask("-p", "hi", "--agent", "bad.py")
    assert code == 1
    assert told in err
    assert len(err.splitlines()) == 1


def test_what_the_system_refuses_is_said_without_its_number() -> None:
    assert words(PermissionError(13, "the folder can't be written")) == "the folder can't be written"
    assert words(OSError(28, "No space left on device", "/a")) == "/a: No space left on device"


def test_a_terminal_that_is_closed_ends_it_as_the_signal_does(tmp_path: Path, api: ApiServer, store: FileStore) -> None:
    api.stall("One two three four five six seven", after=2)
    env = clean_env(tmp_path, ANTHROPIC_BASE_URL=api.url, ANTHROPIC_API_KEY="key")
    with Term([fireside_command(), "-p", "Count"], env=env, cwd=tmp_path) as term:
        term.wait("One")
        term.hang_up()
        assert os.waitstatus_to_exitcode(os.waitpid(term.pid, 0)[1]) == 129
        term.status = 129
    assert "One" in [entry.text for entry in only(store).history if entry.kind == "partial_reply"][-1]
