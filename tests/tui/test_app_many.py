"""Ten thousand conversations in the list: what is done for them is counted, and is what twenty would take."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from fireside import Agent, FileStore, SavedState, Usage
from fireside.testing import FakeModel
from fireside_tui.app import FiresideApp
from fireside_tui.config import Config, Paths
from fireside_tui.conversations import Conversations, Row, Titles, by_day
from fireside_tui.device import Device
from fireside_tui.widgets.chat import Chat
from fireside_tui.widgets.row_list import RowList
from fireside_tui.widgets.sidebar import Sidebar, SidebarTitle
from textual.screen import Screen

from tests.tui.app_support import Calls, Opened, calls_of, opened

MANY = 10_000
NOW = datetime.now(UTC)


class Title(str):
    """A title that knows how often titles were lowered."""

    lowered = 0

    def lower(self) -> str:
        Title.lowered += 1
        return super().lower()


def saved(n: int, title: str) -> SavedState:
    return SavedState(f"id{n}", title, Title(title), NOW, NOW - timedelta(minutes=n), 1, None, "waiting", Usage())


ALL = [saved(n, f"talk {n}") for n in range(MANY)]


class Many(FileStore):
    """A store that lists ten thousand conversations."""

    def list(self) -> list[SavedState]:  # type: ignore[override]
        return ALL


async def test_only_rows_that_are_seen_are_made_and_drawn(tmp_path: Path) -> None:
    with calls_of(Row, "of_saved") as made, calls_of(RowList, "_drawn") as drawn:
        async with opened(tmp_path, store=Many(tmp_path / "store")) as it:
            await it.press("ctrl+o")
            assert 0 < drawn.count <= 60
            assert made.count <= 300
            drawn.count = made.count = 0
            await it.press("end")
            assert 0 < drawn.count <= 60
            await it.press("slash", *"77")
            assert drawn.count <= 200
            assert made.count <= 600
            assert len(it.titles) == sum("77" in f"talk {n}" for n in range(MANY))


async def test_a_letter_of_the_filter_is_one_frame_and_lays_nothing_out(tmp_path: Path) -> None:
    async with opened(tmp_path, store=Many(tmp_path / "store")) as it:
        await it.press("ctrl+o", "slash")
        await it.pilot.pause()
        it.main.sidebar.filter.cursor_blink = False
        with calls_of(Screen, "_refresh_layout") as layouts, calls_of(Screen, "_compositor_refresh") as frames:
            for letter in "talk 1":
                await it.press("space" if letter == " " else letter)
            for _ in range(3):
                await it.press("backspace")
            await it.pilot.pause()
            assert layouts.count == 0
            assert 0 < frames.count <= 12  # nine keys; the blink of a cursor may be one


async def test_a_title_is_lowered_once_however_much_is_typed(tmp_path: Path) -> None:
    async with opened(tmp_path, store=Many(tmp_path / "store")) as it:
        await it.press("ctrl+o", "slash")
        Title.lowered = 0
        await it.press(*"talk", "space", "9", "9", "backspace", "9")
        assert len(it.titles) == sum(f"talk {n}".startswith("talk 99") or "99" in f"{n}" for n in range(MANY))
        assert Title.lowered == MANY


async def test_the_scrollbar_goes_when_the_rows_fit_and_comes_back(tmp_path: Path) -> None:
    async with opened(tmp_path, store=Many(tmp_path / "store")) as it:
        rows = it.main.sidebar.rows
        assert rows.show_vertical_scrollbar
        await it.press("ctrl+o", "end", "slash", *"talk", "space", *"1234")
        await it.pilot.pause()
        assert it.titles == ["talk 1234"]
        assert not rows.show_vertical_scrollbar
        assert rows.scroll_y == 0
        await it.press("escape", "end")
        assert rows.show_vertical_scrollbar
        assert rows.scroll_y == rows.max_scroll_y == len(rows.lines) - rows.size.height


def complete_of_chat(seen: list[int], looks: Calls) -> Callable[[Chat], Awaitable[None]]:
    """`Chat.complete`, which notes how often the list had been asked for when it began."""
    inner = Chat.complete

    async def complete(chat: Chat) -> None:
        seen.append(looks.count)
        await inner(chat)

    return complete


async def test_the_first_rows_wait_for_nothing_but_the_list(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fireside_tui.screens.main.SHOW_ROWS", 3600.0)  # between two drawings, not before the first
    with calls_of(Conversations, "refresh") as looks, calls_of(Sidebar, "show") as shown:
        seen: list[int] = []
        places = Paths(tmp_path / "config.toml", tmp_path / "data", tmp_path / "cache")
        app = FiresideApp(Config(), agent=Agent(FakeModel([]), store=Many(tmp_path / "store")), places=places)
        complete = complete_of_chat(seen, looks)
        monkeypatch.setattr(Chat, "complete", complete)
        async with app.run_test() as pilot:
            async with asyncio.timeout(20):
                while not app.main.sidebar.rows.lines:
                    await pilot.pause(0.005)
            assert shown.count == 1
    assert seen == [1]  # it was being read before the rest of the screen was made
    assert looks.count == 1


class FarAway(Many):
    """Its list comes when it is let go; a glance is quick."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.go = threading.Event()

    def glance(self) -> list[SavedState]:  # type: ignore[override]
        return ALL[:100]

    def list(self) -> list[SavedState]:  # type: ignore[override]
        assert self.go.wait(20)
        return ALL


async def test_the_last_conversations_are_there_before_the_list_is(tmp_path: Path) -> None:
    places = Paths(tmp_path / "config.toml", tmp_path / "data", tmp_path / "cache")
    store = FarAway(tmp_path / "store")
    device = Device(places.device_file(store.place or ""))
    device.set_draft("id5000", "of one that is not in the glance")
    assert device.flush()
    app = FiresideApp(Config(), agent=Agent(FakeModel([]), store=store), places=places)
    async with app.run_test() as pilot:
        it = Opened(app, pilot)
        title = app.main.sidebar.query_one(SidebarTitle)
        await it.until(lambda: app.main.ready.is_set() and bool(app.main.sidebar.rows.lines))
        assert it.titles == [f"talk {n}" for n in range(100)]
        assert str(title.render()) == "Conversations"
        await it.press("ctrl+o", "down", "down")
        assert app.main.sidebar.rows.cursor_id == "id2"
        store.go.set()
        await it.until(lambda: str(title.render()) == "Conversations  10,000")
        assert it.titles == [f"talk {n}" for n in range(MANY)]
        assert app.main.sidebar.rows.cursor_id == "id2"


async def test_a_list_that_takes_its_time_is_not_called_empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fireside_tui.widgets.sidebar.PATIENCE", 0.01)
    monkeypatch.setattr(FarAway, "glance", lambda store: [])
    places = Paths(tmp_path / "config.toml", tmp_path / "data", tmp_path / "cache")
    store = FarAway(tmp_path / "store")
    app = FiresideApp(Config(), agent=Agent(FakeModel([]), store=store), places=places)
    async with app.run_test() as pilot:
        it = Opened(app, pilot)
        rows = app.main.sidebar.rows
        await it.until(lambda: app.main.ready.is_set() and rows.empty == "Reading the list …")
        await it.press("ctrl+o", "slash", *"zz")
        assert rows.empty == "Reading the list …"
        store.go.set()
        await it.until(lambda: rows.empty.startswith("No title has these words"))
        await it.press("backspace", "backspace")
        assert len(it.titles) == MANY


@pytest.mark.parametrize("typed", ["", "a", "ab c", "ab cd", "cd a", " x ", "xa xa", "nothing"])
def test_a_filter_that_grows_finds_what_a_new_one_finds(typed: str) -> None:
    titles = [f"{a}{b} {c}{d}" for a in "abx" for b in "bca" for c in "cdx" for d in "dab"]
    items = [saved(n, title) for n, title in enumerate(titles)]
    growing = Titles(items)
    for end in range(len(typed) + 1):
        found = growing.with_words(typed[:end])
    assert found == Titles(items).with_words(typed)
    assert found == [item for item in items if all(word in item.title for word in typed.split())]


def test_rows_stand_under_their_day() -> None:
    now = datetime(2026, 3, 20, 15, tzinfo=UTC).astimezone()
    days = (0, 0, 1, 3, 20, 90, 400)
    rows = [Row(f"{n}", f"{day}", "waiting", now - timedelta(days=day)) for n, day in enumerate(days)]
    pinned = Row("p", "pinned", "waiting", now - timedelta(days=9), pinned=True)
    lines = by_day([pinned, *rows], now)
    assert [line if isinstance(line, str) else line.title for line in lines] == [
        "", "Pinned", "pinned", "", "Today", "0", "0", "", "Yesterday", "1", "", "This week", "3",
        "", "This month", "20", "", "Earlier", "90", "400",
    ]  # fmt: skip
    assert by_day([], now) == []


def test_a_filter_that_shrinks_finds_all_again() -> None:
    titles = Titles(ALL)
    assert len(titles.with_words("talk 99")) < len(titles.with_words("talk 9")) < len(titles.with_words("talk"))
    assert titles.with_words("") == ALL
