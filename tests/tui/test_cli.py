"""The command line: what each command prints, and that whatever goes wrong is one line and an exit code."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fireside import FileStore, State
from fireside_tui.cli.frame import run
from fireside_tui.cli.look import STATUSES

from tests.support import clean_env, fireside_command

ESC = "\x1b]52;c;aGk=\x07\x1b[2J\x9b31m\u202e[bold]"


class Result:
    """What a command gave."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err


@pytest.fixture
def home(tmp_path: Path, clean_environment: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FIRESIDE_DEMO_DELAY", "0")
    return tmp_path


@pytest.fixture
def store(home: Path) -> FileStore:
    """The default store of this home."""
    return FileStore(home / ".local" / "share" / "fireside" / "conversations")


@pytest.fixture
def cli(home: Path, capsys: Any, monkeypatch: Any) -> Callable[..., Result]:
    """Runs a command in this process, which is quick; nothing comes from its stdin."""

    def call(*args: str) -> Result:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO()))
        capsys.readouterr()
        code = run(args)
        out, err = capsys.readouterr()
        return Result(code, out, err)

    return call


@pytest.fixture
def shell(home: Path) -> Callable[..., Result]:
    """Runs the installed command in a process of its own."""

    def call(*args: str, stdin: str | bytes | None = None, env: dict[str, str] | None = None, **more: Any) -> Result:
        raw = stdin.encode() if isinstance(stdin, str) else stdin
        given = {"stdin": subprocess.DEVNULL} if raw is None and "stdin" not in more else {"input": raw}
        done = subprocess.run(
            [fireside_command(), *args],
            env=clean_env(home, FIRESIDE_DEMO_DELAY="0", **(env or {})),
            cwd=home,
            capture_output=True,
            timeout=30,
            **{**given, **more},
        )
        return Result(done.returncode, done.stdout.decode(), done.stderr.decode())

    return call


def add(store: FileStore, task: str, id: str, **changes: Any) -> State:
    state = State(task, id=id)
    if title := changes.get("title"):
        state.rename(title)
    store.save(state)
    return state


def one_line(result: Result, code: int, *parts: str) -> None:
    """It failed as a command should."""
    assert result.code == code, (result.out, result.err)
    lines = result.err.splitlines()
    assert len(lines) == 1, result.err
    assert lines[0].startswith("fireside: ")
    for part in parts:
        assert part in lines[0]


# -- list


def test_list_is_aligned_and_newest_first(cli: Any, store: FileStore) -> None:
    add(store, "first", "a" * 32)
    add(store, "second", "b" * 32, title="A title\nof two lines")
    lines = cli("list").out.splitlines()
    assert lines[0] == "ID        UPDATED   STATUS  TURNS  TITLE"
    assert lines[1:] == [
        "bbbbbbbb  just now  new         0  A title of two lines",
        "aaaaaaaa  just now  new         0  first",
    ]
    assert cli("list", "-n", "1").out.splitlines() == lines[:2]


def test_list_of_nothing_says_what_to_do_and_leaves_stdout_and_disk_alone(cli: Any, home: Path) -> None:
    result = cli("list")
    assert (result.code, result.out) == (0, "")
    assert "No conversations yet" in result.err
    assert not list(home.rglob("*conversations*"))


def test_list_shows_outside_text_harmlessly(cli: Any, store: FileStore) -> None:
    add(store, ESC, "nasty")
    shown = cli("list").out
    assert "[bold]" in shown
    assert not set(shown) & set("\x1b\x07\x9b\u202e")


def test_short_ids_are_unique_and_enough(cli: Any, store: FileStore) -> None:
    for id in ("0123456789abcdef0", "0123456789abcdff0", "name-of-mine"):
        add(store, f"task {id}", id)
    short = [line.split()[0] for line in cli("list").out.splitlines()[1:]]
    assert sorted(short) == ["0123456789abcde", "0123456789abcdf", "name-of-mine"]
    for id in short:
        assert cli("show", id).code == 0
    one_line(cli("show", "0123"), 1, "start of several ids: 0123456789abcd")
    one_line(cli("show", "zz"), 1, "no conversation 'zz'")
    one_line(cli("show", "../x"), 1, "is not an id")


def test_an_id_goes_before_a_start_of_others(cli: Any, store: FileStore) -> None:
    add(store, "short", "abc")
    add(store, "long", "abcdef")
    assert "short" in cli("show", "abc").out


def test_list_as_json_holds_what_a_program_needs(cli: Any, store: FileStore) -> None:
    add(store, ESC, "nasty")
    (line,) = cli("list", "--json").out.splitlines()
    row = json.loads(line)
    assert (row["id"], row["task"], row["status"], row["turn"], row["finished"]) == ("nasty", ESC, "new", 0, False)


def test_empty_conversations_are_listed_on_demand(cli: Any, store: FileStore) -> None:
    state = State(id="empty")
    state.checkpoint("before anything")
    store.save(state)
    assert cli("list").out == ""
    assert "(nothing said yet)" in cli("list", "--all").out


def test_help_explains_every_status(cli: Any) -> None:
    from typing import get_args

    from fireside.label import Status

    assert set(STATUSES) == set(get_args(Status))
    assert all(name in cli("list", "--help").out for name in STATUSES)


@pytest.mark.parametrize("command", [["list"], ["show", "a"], ["search", "hello"], ["export", "a"], ["doctor"]])
def test_looking_loads_neither_textual_nor_the_sdk(home: Path, store: FileStore, command: list[str]) -> None:
    add(store, "hello", "a")
    code = (
        "import sys; from fireside_tui.cli.frame import run; run(sys.argv[1:]); "
        "print([m for m in ('textual', 'anthropic', 'httpx2', 'rich') if m in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *command], env=clean_env(home), capture_output=True, text=True, timeout=30
    )
    assert done.stderr.splitlines()[-1] == "[]", done.stderr


def test_the_first_frame_waits_for_neither_the_library_nor_the_sdk_nor_a_parser(home: Path) -> None:
    late = ("fireside", "anthropic", "httpx2", "click", "pydantic", "markdown_it", "pygments", "sqlite3", "tomllib")
    code = (
        "import sys; import fireside_tui.cli, fireside_tui.cli.screen, fireside_tui.app; "
        f"print([m for m in {late} if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], env=clean_env(home), capture_output=True, text=True, timeout=30)
    assert done.stdout == "[]\n", done.stderr


# -- show, export, search


@pytest.fixture
def talk(store: FileStore) -> State:
    state = State("Why *so*?", id="talk-1")
    call = {"type": "tool_call", "id": "c1", "name": "look", "args": {"path": ESC}}
    blocks = [{"type": "thinking", "text": "hm"}, {"type": "text", "text": f"Since {ESC}"}, call]
    state._append("reply", {"blocks": blocks, "stop_reason": "tool_use", "usage": {}, "model": "m", "seen": 0})
    state._append("tool_result", "x" * 2100, call=state.pending_calls[0])
    store.save(state)
    return state


def test_show_reads_from_top_to_bottom_and_is_harmless(cli: Any, talk: State) -> None:
    shown = cli("show", "talk").out
    lines = shown.splitlines()
    assert lines[0] == "Why *so*?"
    assert lines[1].startswith("talk-1 · ")
    assert lines[3].startswith("you  ")
    assert lines[6].startswith("m  ")
    assert lines[7] == "┊ hm"
    assert lines[-1].endswith("done · 2.1 k characters")
    assert not set(shown) & set("\x1b\x07\x9b\u202e")


def test_show_and_export_as_json_are_exact(cli: Any, talk: State, store: FileStore) -> None:
    whole = json.loads(cli("show", "talk", "--json").out)
    assert whole == {"title": talk.title, **store.load("talk-1").to_json()}
    assert cli("export", "talk", "-f", "json").out == cli("show", "talk", "--json").out


def test_export_writes_a_private_file_and_not_over_another(cli: Any, talk: State, home: Path) -> None:
    file = home / "out.json"
    assert "written to" in cli("export", "talk", "-o", str(file)).err
    assert json.loads(file.read_text())["id"] == "talk-1"
    assert file.stat().st_mode & 0o777 == 0o600
    one_line(cli("export", "talk", "-o", str(file)), 1, "--force")
    assert cli("export", "talk", "-f", "md", "-o", str(file), "--force").code == 0
    assert file.read_text().startswith("# Why")
    assert cli("export", "talk", "-o", str(home)).code == 0
    assert (home / "why-so-talk-1.md").exists()
    one_line(cli("export", "talk", "-o", str(home / "no" / "x.md")), 1, "No such file or directory")


def test_a_folder_that_is_not_there_does_not_become_a_file(cli: Any, talk: State, home: Path) -> None:
    one_line(cli("export", talk.id, "-o", f"{home}/none/"), 1, f"there is no folder {home}/none")
    assert not (home / "none").exists()


def test_search_finds_what_was_said_and_says_where_nothing_is(cli: Any, talk: State, home: Path) -> None:
    result = cli("search", "since")
    assert result.out.startswith("talk-1  Why *so*?  just now\n  Since ")
    assert not set(result.out) & set("\x1b\x07\x9b\u202e")
    assert json.loads(cli("search", "--json", "WHY").out)["id"] == "talk-1"
    result = cli("search", "nowhere", "to be found")
    assert (result.code, result.out) == (1, "")
    assert "Nothing found" in result.err
    assert list((home / ".cache" / "fireside").glob("search-*.sqlite"))


# -- change


def test_rename_fork_and_delete(cli: Any, talk: State, store: FileStore) -> None:
    assert cli("rename", "talk", "Another").code == 0
    copied = cli("fork", "talk").out.strip()
    assert store.load(copied).forked_from == ("talk-1", 3)
    assert [row.title for row in store.list()] == ["Another (2)", "Another"]
    one_line(cli("rename", "talk", "  "), 2, "the title is empty")
    one_line(cli("delete", "talk", "nope", "-y"), 1, "'nope'")
    assert len(store.list()) == 2, "nothing is deleted where one of them is not there"
    assert cli("delete", "talk", copied[:6], "talk", "--yes").code == 0
    assert store.list() == []


@pytest.mark.parametrize(
    "command", ["list", "search word", "show x", "export x", "rename x y", "fork x", "delete x -y"]
)
def test_a_store_that_is_not_there_is_told_where_one_is_named(cli: Any, tmp_path: Path, command: str) -> None:
    for place in (tmp_path / "none", f"sqlite:///{tmp_path}/none.db"):
        one_line(cli(*command.split(), "--store", str(place)), 1, "there is no store here")
    assert not list(tmp_path.glob("none*"))


def test_delete_asks_first_and_never_without_a_terminal(shell: Any, store: FileStore, terminal: Any) -> None:
    add(store, ESC, "mine")
    one_line(shell("delete", "mine"), 2, "--yes")
    for answer, left in (("n", 1), ("y", 0)):
        term = terminal("delete", "mine")
        term.wait("Delete 1 conversation for good? [y/N]")
        assert "␛]52;c;aGk=␇" in term.text()
        term.send(f"{answer}\r")
        assert term.ended() == left
        assert len(store.list()) == left


def test_what_another_process_runs_is_neither_renamed_nor_deleted(shell: Any, store: FileStore) -> None:
    add(store, "busy", "busy")
    lock = store.lock("busy")
    try:
        one_line(shell("delete", "busy", "-y"), 5, "in use", str(os.getpid()))
        one_line(shell("rename", "busy", "x"), 5, "in use")
    finally:
        lock.release()
    assert [row.title for row in store.list()] == ["busy"]


# -- wrong use


@pytest.mark.parametrize(
    ("args", "code", "parts"),
    [
        (["lst"], 2, ["did you mean 'list'?"]),
        (["nonsense"], 2, ["no such command 'nonsense'"]),
        (["list", "--foo"], 2, ["--foo", "'fireside list --help'"]),
        (["list", "-n", "0"], 2, ["0"]),
        (["list", "extra"], 2, ["extra"]),
        (["show"], 2, ["missing argument 'ID'"]),
        (["search"], 2, ["WORDS"]),
        (["--store"], 2, ["--store"]),
        (["--store", "", "list"], 2, ["--store needs a value"]),
        (["list", "--store", "mysql://x"], 2, ["mysql"]),
        (["list", "--store", "sqlite:///."], 1, ["fireside: ", "unable to open database file"]),
        (["-p", "--continue", "a"], 2, ["right behind -p"]),
        (["-p", "a", "--agent", ""], 2, ["--agent needs a FILE"]),
        (["export", "x", "-o", ""], 2, ["--output needs a FILE"]),
        (["list", "--config", "none.toml"], 2, ["there is no config file none.toml"]),
        (["--model", "x", "list"], 2, ["--model is for the app and -p"]),
        (["--json", "list"], 2, ["put --json behind the command"]),
        (["--json"], 2, ["-p"]),
        (["-p", "a", "b"], 2, ["quotes"]),
        (["-p", "a", "--continue", "--resume", "x"], 2, ["one of them"]),
        (["-p", "a", "--continue"], 1, ["no conversation yet"]),
        (["-p", "a", "--resume", "x"], 1, ["no conversation 'x'"]),
        (["-p", "a", "--model", "gpt"], 2, ["'gpt' is not a model"]),
        (["-p", "a", "--agent", "none.py:x"], 2, ["there is no file none.py"]),
        (["--resume", "x"], 1, ["no conversation 'x'"]),
        (["export", "x", "-f", "pdf"], 2, ["pdf"]),
    ],
)
def test_wrong_use_is_one_clear_line(cli: Any, args: list[str], code: int, parts: list[str]) -> None:
    result = cli(*args)
    one_line(result, code, *parts)
    assert result.out == ""


def test_store_and_config_stand_before_or_behind_the_command(cli: Any, home: Path) -> None:
    add(FileStore(home / "other"), "elsewhere", "e")
    config = home / "my.toml"
    config.write_text('store = "other"')
    for args in (
        ["--store", str(home / "other"), "list"],
        ["list", "--store", str(home / "other")],
        ["--config", str(config), "list"],
        ["list", "--config", str(config)],
        ["--store", str(home / "none"), "list", "--store", str(home / "other")],
    ):
        assert "elsewhere" in cli(*args).out, args


def test_a_wrong_config_is_one_line_for_every_command(cli: Any, home: Path) -> None:
    file = home / ".config" / "fireside" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text("\nmodle = 'x'")
    for args in (["list"], ["show", "x"], ["-p", "hi"]):
        one_line(cli(*args), 2, f"{file}, line 2", "did you mean 'model'?")


@pytest.mark.parametrize("args", [["list"], ["show", "x"], ["search", "x"], ["-p", "hi", "-m", "demo"]])
def test_a_store_that_is_a_file_is_one_line(cli: Any, home: Path, args: list[str]) -> None:
    (home / "file").write_text("")
    result = cli(*args, "--store", str(home / "file"))
    one_line(result, 1, str(home / "file"))


@pytest.mark.parametrize("args", [["list"], ["show", "x"], ["search", "x"], ["-p", "hi", "-m", "demo"]])
def test_a_store_below_a_file_is_no_empty_store(cli: Any, home: Path, args: list[str]) -> None:
    (home / "file").write_text("")
    one_line(cli(*args, "--store", str(home / "file" / "below")), 1, f"{home / 'file'}: this is a file")


def test_a_database_that_fails_is_told_in_its_own_words(cli: Any, home: Path) -> None:
    result = cli("list", "--store", f"sqlite:///{home}")
    one_line(result, 1, str(home))
    assert "OperationalError" not in result.err


@pytest.mark.parametrize("loading", ["click", "fireside_tui.cli.root", "fireside_tui.cli.look"])
def test_ctrl_c_is_one_line_from_the_first_moment(home: Path, loading: str) -> None:
    code = (
        "import sys, fireside_tui.cli as cli\n"
        "class Interrupted:\n"
        "    def find_spec(self, name, *_):\n"
        f"        if name == {loading!r}:\n"
        "            sys.meta_path.remove(self)\n"
        "            raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Interrupted())\n"
        "cli.main(['list'])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], env=clean_env(home), capture_output=True, text=True, timeout=30)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "fireside: interrupted\n")


def test_many_are_deleted_with_one_look_at_the_list(cli: Any, store: FileStore, monkeypatch: Any) -> None:
    for n in range(5):
        add(store, "x", f"id{n}")
    looks: list[int] = []
    look = FileStore.list
    monkeypatch.setattr(FileStore, "list", lambda self: looks.append(1) or look(self))
    assert cli("delete", "-y", "id0", "id1", "id2", "id3").code == 0
    assert len(looks) == 1
    assert [row.id for row in look(store)] == ["id4"]


def test_an_unexpected_failure_is_one_line_too(cli: Any, monkeypatch: Any) -> None:
    def fail(place: str) -> None:
        raise ZeroDivisionError("oh\nno\x1b[2J")

    monkeypatch.setattr("fireside.stores.open_store", fail)
    one_line(cli("list"), 1, "ZeroDivisionError: oh no␛[2J")


def test_a_reader_that_goes_away_ends_it_quietly(home: Path, store: FileStore) -> None:
    add(store, "x" * 500_000, "big")
    process = subprocess.Popen(
        [fireside_command(), "show", "big", "--json"],
        env=clean_env(home),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.read(10)
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait(20) == 141
    process.stderr.close()


def test_closed_streams_and_a_poor_encoding_are_no_trouble(home: Path, store: FileStore) -> None:
    add(store, "snowman ☃", "a")
    command = fireside_command()
    env = clean_env(home, PYTHONIOENCODING="latin-1")

    def sh(script: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(["sh", "-c", script], env=env, capture_output=True, encoding="latin-1", timeout=30)

    assert sh(f"{command} list").stdout.splitlines()[1].endswith("snowman ?")
    closed = sh(f"{command} list <&- >&-")
    assert (closed.returncode, closed.stderr) == (0, "")
    full = sh(f"{command} list > /dev/full")
    assert (full.returncode, full.stderr) == (1, "fireside: No space left on device\n")
    assert sh(f"{command} show none 2> /dev/full").returncode == 1


def test_the_app_wants_a_terminal(shell: Any) -> None:
    one_line(shell(), 2, 'fireside -p "question"')


def test_version(shell: Any) -> None:
    import fireside

    result = shell("--version")
    assert (result.code, result.out, result.err) == (0, f"fireside {fireside.__version__}\n", "")


# -- doctor


def test_doctor_finds_and_never_tells_a_secret(cli: Any, monkeypatch: Any, store: FileStore) -> None:
    add(store, "x", "a")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-SECRET")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://ann:SECRET@127.0.0.1:9")
    monkeypatch.setenv("HTTPS_PROXY", "http://ann:SECRET@127.0.0.1:9")
    result = cli("doctor")
    assert result.code == 0
    assert "ANTHROPIC_API_KEY is set" in result.out
    assert "http://ann:***@127.0.0.1:9" in result.out
    assert "conversations  1, listed in" in result.out
    rows = [json.loads(line) for line in cli("doctor", "--json").out.splitlines()]
    assert {row["room"] for row in rows} == {"Program", "Settings", "Model", "Store", "Terminal"}
    secret = cli("doctor", "--store", "postgresql://ann:SECRET@127.0.0.1:9/db?password=SECRET&connect_timeout=1")
    assert secret.code == 1
    assert "SECRET" not in result.out + result.err + secret.out + secret.err


def test_doctor_sees_an_address_that_is_none(cli: Any, monkeypatch: Any) -> None:
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "api.example")
    result = cli("doctor")
    assert result.code == 1
    assert "api.example is no address" in result.out


def test_doctor_asks_the_terminal_and_leaves_it_as_it_was(terminal: Any) -> None:
    term = terminal("doctor", cols=80, rows=50)
    term.wait("kitty keys")
    assert term.ended() == 0
    assert "80 × 50" in term.text()
    assert "the terminal did not say" in term.text()
    assert max(map(len, term.text().splitlines())) <= 80


def test_doctor_goes_on_where_something_is_wrong(cli: Any, home: Path) -> None:
    file = home / ".config" / "fireside" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text("broken")
    (home / ".cache").write_text("a file")
    result = cli("doctor")
    assert result.code == 1
    assert result.out.count("✗") == 2
    assert "line 1: this is not TOML" in result.out
    assert "none: set ANTHROPIC_API_KEY" in result.out
    assert result.err == ""
