"""The list in a real terminal, with keys that come in one read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from fireside import FileStore, State

from tests.support.term import Term

Start = Callable[..., Term]


def conversations(home: Path, *titles: str) -> FileStore:
    """A store in that home, with conversations of these titles, the newest one last."""
    store = FileStore(home / ".local/share/fireside/conversations")
    for title in titles:
        store.save(State(title, id=title))
    return store


def test_keys_in_one_read_open_a_conversation_and_write_into_it(terminal: Start, tmp_path: Path) -> None:
    conversations(tmp_path, "apples", "pears")
    with terminal("--model", "demo") as term:
        term.wait("pears")
        term.send("\x0fj\rgood dy")  # Ctrl+O, down, Enter, and what is meant for the box
        term.wait("good dy")
        term.wait(lambda shown: "Delete “" not in shown)
        term.send("\x0f\x0e")  # Ctrl+O, Ctrl+N: the draft stays with its conversation
        term.wait("Write a message")
        term.send("\x0f/app\x1b[B\r")
        term.wait("good dy")


def test_d_and_y_in_one_read_delete_and_a_pasted_word_does_not(terminal: Start, tmp_path: Path) -> None:
    store = conversations(tmp_path, "apples", "pears")
    with terminal("--model", "demo") as term:
        term.wait("pears")
        term.send("\x0fdynamo")
        term.settle()
        assert len(store.list()) == 2
        term.send("dy")
        term.wait("u undo")
        assert len(store.list()) == 1
