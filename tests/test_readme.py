"""The README is true: its Python runs from top to bottom, its keys, settings, options and commands are there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import clean_env

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", README, re.DOTALL)
STORE = next(text for language, text in BLOCKS if language == "python" and "class MemoryStore" in text)
CONTRACT = (
    "from fireside.testing import StoreContract\n"
    "class TestMemoryStore(StoreContract):\n"
    "    def make_store(self, tmp_path):\n"
    "        return MemoryStore()\n"
)


def python(code: str, tmp_path: Path, *args: str) -> subprocess.CompletedProcess[str]:
    file = tmp_path / "test_from_readme.py"
    file.write_text(code)
    env = clean_env(tmp_path, FIRESIDE_DEMO_DELAY="0")
    return subprocess.run(
        [sys.executable, *args, str(file)], env=env, cwd=tmp_path, capture_output=True, text=True, timeout=60
    )


def test_its_python_runs_from_top_to_bottom(tmp_path: Path) -> None:
    done = python("\n".join(text for language, text in BLOCKS if language == "python"), tmp_path)
    assert done.returncode == 0, done.stderr
    assert "offline demo" in done.stdout
    assert "count_words" in done.stdout


def test_its_own_store_keeps_the_contract(tmp_path: Path) -> None:
    code = f"from fireside import Agent\n{STORE}\n{CONTRACT}"
    done = python(code, tmp_path, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", "addopts=")
    assert done.returncode == 0, done.stdout


def test_its_setup_is_two_commands_with_python_and_pip_alone() -> None:
    setup = README.partition("## Set up")[2].partition("\n## ")[0]
    commands = [
        text.strip() for language, text in re.findall(r"```(\w+)\n(.*?)```", setup, re.DOTALL) if language == "sh"
    ]
    assert len(commands) == 2
    assert all(command.startswith("python3 -m venv .venv && .venv/bin/pip install -q -e ") for command in commands)
    assert commands[0].endswith(".venv/bin/fireside")
    assert commands[1].endswith("-m pytest")


def test_every_setting_and_subcommand_is_named() -> None:
    from fireside_tui.cli.root import COMMANDS
    from fireside_tui.config import Config

    for name in Config.model_fields:
        assert f"`{name}`" in README, name
    for name in COMMANDS:
        assert re.search(rf"\b{name}\b", README), name


def test_every_key_of_the_app_is_named() -> None:
    commands = pytest.importorskip("fireside_tui.commands")
    keys = {
        commands.key_name(key) for command in commands.COMMANDS if command.where == "anywhere" for key in command.keys
    }
    keys -= {"Ctrl+Z"}  # every shell's own
    assert keys
    assert [key for key in sorted(keys) if key not in README] == []


def test_its_links_and_pictures_are_there() -> None:
    targets = re.findall(r"\]\(([^)]+)\)", README)
    if not any((ROOT / "screenshots").glob("*.png")):  # not drawn yet
        targets = [target for target in targets if not target.startswith("screenshots/")]
    for target in targets:
        assert os.path.exists(ROOT / target), target


def test_the_map_of_contributing_has_every_room() -> None:
    told = (ROOT / "CONTRIBUTING.md").read_text()
    for package in ("core/fireside", "tui/fireside_tui"):
        rooms = {path.stem for path in (ROOT / package).glob("*.py")} - {"__init__"}
        folders = {f"{path.parent.name}/" for path in (ROOT / package).glob("*/__init__.py")}
        known = set(re.findall(r"`([\w/]+?)(?:\.py)?`", told))
        families = tuple(re.findall(r"`(\w+_)…`", told))
        assert {room for room in rooms | folders if room not in known and not room.startswith(families)} == set()
