"""The commands: each is declared once, can be carried out, and no key means two things in one place."""

from __future__ import annotations

from collections import Counter

import pytest
from fireside_tui import commands
from fireside_tui.commands import COMMANDS, parse


def test_each_command_can_be_carried_out() -> None:
    from fireside_tui.screens.main import MainScreen

    missing = [command.name for command in COMMANDS if not hasattr(MainScreen, f"do_{command.name}")]
    assert missing == []


def test_a_key_means_one_thing_in_one_place() -> None:
    keys = Counter((command.where, key) for command in COMMANDS for key in command.keys)
    assert [key for key, count in keys.items() if count > 1] == []
    assert max(Counter(command.name for command in COMMANDS).values()) == 1


@pytest.mark.parametrize(
    "key", ["ctrl+n", "ctrl+o", "ctrl+p", "ctrl+f", "ctrl+t", "ctrl+g", "f1", "ctrl+q", "ctrl+c", "escape"]
)
def test_the_keys_that_hands_remember_are_there(key: str) -> None:
    assert key in [key for command in commands.at("anywhere") for key in command.keys]


@pytest.mark.parametrize("text", ["/etc/hosts", "/", "hello /new", "//new", "/2", " /new", "/new\nline"])
def test_what_only_looks_like_a_command_is_a_message(text: str) -> None:
    assert parse(text) is None


def test_a_command_with_its_argument() -> None:
    command, rest = parse("/Copy-Code 2") or (None, "")
    assert command is not None
    assert (command.name, rest) == ("copy_code", "2")
    assert parse("/nonsense") == (None, "")
