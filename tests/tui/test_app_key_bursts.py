"""Keys come faster than what they set off: each goes where it was meant, whatever has to be loaded or saved first."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
from fireside import FileStore, Record
from textual.events import Key, Paste

from tests.tui.app_support import Opened, opened, talk

NAMED = {
    "\r": "enter",
    "\x1b": "escape",
    "/": "slash",
    " ": "space",
    "\x0e": "ctrl+n",
    "\x0f": "ctrl+o",
    "\x15": "ctrl+u",
    "\x1e": "down",
}


def burst(it: Opened, keys: str) -> None:
    """Types all of it in one go: nothing of it waits for what the keys before it do."""
    for character in keys:
        it.app.post_message(Key(NAMED.get(character, character), character if character.isprintable() else None))


class Slow(FileStore):
    """A store that loads when it is told to."""

    def __init__(self, *args: Any, **rest: Any) -> None:
        super().__init__(*args, **rest)
        self.asked, self.go = threading.Event(), threading.Event()
        self.go.set()

    def read(self, state_id: str) -> Record | None:
        self.asked.set()
        assert self.go.wait(20)
        return super().read(state_id)


async def test_what_is_typed_after_enter_on_a_row_is_for_its_box(tmp_path: Path) -> None:
    await talk(tmp_path, "older", id="older")
    await talk(tmp_path, "newer", id="newer")
    store = Slow(tmp_path / "store")
    async with opened(tmp_path, store=store, resume="newer") as it:
        await it.write("half")
        store.go.clear()
        await it.press("ctrl+o")
        burst(it, "j\rd")
        await it.until(store.asked.is_set)
        burst(it, "one")  # while it loads
        it.app.post_message(Paste(" and all"))
        burst(it, "!")
        await it.pilot.pause()
        assert it.current.id == "newer"
        assert not it.main.sidebar.asking
        store.go.set()
        await it.until(lambda: it.current.id == "older" and it.box == "done and all!")
        await it.main.open("newer")
        assert it.box == "half"


async def test_a_message_and_what_follows_it_may_be_typed_while_a_conversation_loads(tmp_path: Path) -> None:
    await talk(tmp_path, "older", id="older")
    store = Slow(tmp_path / "store")
    async with opened(tmp_path, store=store) as it:
        store.go.clear()
        await it.press("ctrl+o")
        burst(it, "\rhi\r\x0enext")
        await it.until(store.asked.is_set)
        store.go.set()
        await it.until(lambda: it.current.id != "older" and it.box == "next")
        sent = it.main.conversations.get("older")
        await it.until(lambda: [e.text for e in sent.state.history if e.kind == "user"] == ["older", "hi"])


async def test_what_is_typed_after_down_and_enter_in_the_filter_is_for_the_box(tmp_path: Path) -> None:
    await talk(tmp_path, "apples", id="apples")
    await talk(tmp_path, "pears", id="pears")
    async with opened(tmp_path) as it:
        burst(it, "\x0f/app\x1e\rgood")
        await it.until(lambda: it.current.id == "apples" and it.box == "good")
        assert it.main.sidebar.filter.value == "app"


@pytest.mark.parametrize("leave", [True, False], ids=["esc", "gone"])
async def test_what_was_typed_for_one_that_is_not_opened_is_not_lost_and_does_nothing(
    tmp_path: Path, leave: bool
) -> None:
    await talk(tmp_path, "older", id="older")
    await talk(tmp_path, "newer", id="newer")
    store = Slow(tmp_path / "store")
    async with opened(tmp_path, store=store, resume="newer") as it:
        store.go.clear()
        await it.press("ctrl+o")
        burst(it, "j\rdy\rdy")
        await it.until(store.asked.is_set)
        await it.pilot.pause()
        if leave:
            burst(it, "\x1b")
        else:
            FileStore(tmp_path / "store").delete("older")
        await it.until(lambda: leave or store.go.set() is None)
        await it.until(lambda: it.box == "dydy")
        store.go.set()
        await it.until(lambda: not [worker for worker in it.app.workers if worker.group == "commands"])
        assert it.current.id == "newer"
        assert it.main.chat.composer.has_focus
        assert not it.main.conversations.deleted
        assert [entry.text for entry in it.current.state.history if entry.kind == "user"] == ["newer"]


@pytest.mark.parametrize("grace", [0.0, 0.1])
async def test_d_and_y_in_one_go_delete(tmp_path: Path, grace: float) -> None:
    for title in ("one", "two"):
        await talk(tmp_path, title)
    async with opened(tmp_path, grace=grace) as it:
        burst(it, "\x0fdy")
        await it.until(lambda: it.titles == ["one"])
        assert not it.main.sidebar.asking


@pytest.mark.parametrize("pasted", ["dynamo", "dy\r", "dyy", "dy "])
async def test_a_paste_that_comes_as_keys_deletes_nothing(tmp_path: Path, pasted: str) -> None:
    for title in ("one", "two"):
        await talk(tmp_path, title)
    async with opened(tmp_path, grace=60.0) as it:
        burst(it, "\x0f")
        burst(it, pasted[:3])
        await it.until(lambda: it.main.in_list and not it.main.sidebar.asking and it.main._deleting is None)
        assert len(FileStore(tmp_path / "store").list()) == 2
        assert not it.main.conversations.deleted


async def test_a_paste_is_no_answer_to_the_question(tmp_path: Path) -> None:
    await talk(tmp_path, "one")
    async with opened(tmp_path) as it:
        burst(it, "\x0fd")
        it.app.post_message(Paste("y"))
        await it.until(lambda: it.box == "y")
        assert not it.main.sidebar.asking
        assert len(FileStore(tmp_path / "store").list()) == 1


async def test_an_arrow_behind_a_yes_does_not_take_it_back(tmp_path: Path) -> None:
    for title in ("one", "two", "three"):
        await talk(tmp_path, title)
    async with opened(tmp_path, grace=60.0) as it:
        burst(it, "\x0fdy")
        it.app.post_message(Key("down", None))
        await it.until(lambda: it.titles == ["two", "one"])


async def test_deleting_undoing_and_renaming_in_one_go(tmp_path: Path) -> None:
    for title in ("c", "b", "a"):
        await talk(tmp_path, title, id=title)
    async with opened(tmp_path) as it:
        burst(it, "\x0fdydyuur\x15new\r")
        await it.until(lambda: it.titles == ["new", "b", "c"])
        assert FileStore(tmp_path / "store").load("a").title == "new"
        await it.main.conversations.refresh()
        await it.rows()
        assert it.titles == ["new", "b", "c"]
