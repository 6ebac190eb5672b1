"""What the command hands to the app: which conversation, whose Agent, and what is wrong with the settings."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fireside import FileStore, State
from fireside_tui.cli import frame


@pytest.fixture
def opened(tmp_path: Path, clean_environment: dict[str, str], monkeypatch: Any) -> Callable[..., dict[str, Any]]:
    """Runs the command in a terminal, with an app that only says what it was given."""
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)

    def call(*args: str, code: int = 7) -> dict[str, Any]:
        given: dict[str, Any] = {}

        def run_app(config: Any, **rest: Any) -> int:
            given.update(config=config, **rest)
            return code

        monkeypatch.setattr("fireside_tui.app.run_app", run_app)
        assert frame.run(args) == (code if given else 1)
        return given

    return call


@pytest.fixture
def store(tmp_path: Path) -> FileStore:
    store = FileStore(tmp_path / ".local" / "share" / "fireside" / "conversations")
    for id in ("aaa1", "aab2"):
        store.save(State(f"task {id}", id=id))
    return store


def test_without_arguments_it_opens_the_app_with_the_settings(opened: Any) -> None:
    given = opened()
    assert (given["resume"], given["newest"], given["agent"], given["warning"]) == (None, False, None, "")
    assert opened("--model", "demo", "--system", "Be short.")["config"].system == "Be short."
    assert opened("-c")["newest"] is True


def test_the_start_of_an_id_becomes_the_id(opened: Any, store: FileStore) -> None:
    assert opened("--resume", "aaa")["resume"] == "aaa1"
    assert opened("-r", "aa") == {}, "two begin so: it is told, and no app opens"


def test_a_wrong_config_file_opens_the_app_and_is_told_there(opened: Any, tmp_path: Path) -> None:
    file = tmp_path / ".config" / "fireside" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text("theme = 5")
    given = opened("--model", "demo")
    assert given["warning"].startswith(f"{file}, line 1: theme is 5")
    assert given["config"].model == "demo"
    assert given["config"].source == file


def test_a_users_own_agent_comes_with_the_options_of_the_command(opened: Any, tmp_path: Path, store: FileStore) -> None:
    file = tmp_path / "mine.py"
    file.write_text("from fireside import Agent\nagent = Agent('demo', name='mine', system='own')\n")
    agent = opened("--agent", str(file))["agent"]
    assert (agent.name, agent.system, agent.store) == ("mine", "own", store)
    place = tmp_path / "other"
    agent = opened("--agent", f"{file}:agent", "--system", "other", "--store", str(place))["agent"]
    assert (agent.name, agent.system, agent.store) == ("mine", "other", FileStore(place))
    assert opened("--agent", str(file), "--resume", "aab")["resume"] == "aab2"
