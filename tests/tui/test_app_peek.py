"""A long conversation shows its end before all of it is read, and nothing gets into another one meanwhile."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from fireside import Agent, FileStore, Record
from fireside.stores import tail
from fireside.testing import FakeModel
from fireside_tui.app import FiresideApp
from fireside_tui.config import Config, Paths
from fireside_tui.transcript import Transcript
from fireside_tui.widgets import narrator

from tests.tui.app_support import Gate, Opened, calls_of, opened, talk

LONG = [f"message {n}" for n in range(30)]
LAST = "answer to message 29"


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is long, and how much is looked at, for conversations of a few runs."""
    monkeypatch.setattr(tail, "LONG_BYTES", 8000)
    monkeypatch.setattr(tail, "END_BYTES", 4000)
    monkeypatch.setattr(narrator, "LAST_PART", 4)


class Slow(FileStore):
    """A store that reads the long one when it is told to; to peek into it is quick."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.asked, self.go = threading.Event(), threading.Event()
        self.fails: Exception | None = None

    def read(self, state_id: str) -> Record | None:
        if state_id == "long":
            self.asked.set()
            assert self.go.wait(20)
            if self.fails is not None:
                raise self.fails
        return super().read(state_id)


@pytest.fixture
def slow(tmp_path: Path) -> Iterator[Slow]:
    store = Slow(tmp_path / "store")
    yield store
    store.go.set()


async def told(folder: Path, store: Slow) -> Slow:
    await talk(folder, *LONG, id="long", store=FileStore(store.path))
    return store


def first_and_last(it: Opened) -> tuple[bool, bool]:
    return "message 0" in it.shown, LAST in it.shown


def on_screen(it: Opened) -> str:
    """What is drawn of the transcript."""
    return "\n".join(strip.text for strip in it.main.chat.transcript._view)


async def test_a_picked_conversation_shows_its_end_at_once_and_is_whole_later(tmp_path: Path, slow: Slow) -> None:
    await told(tmp_path, slow)
    async with opened(tmp_path, ["fine"], store=slow) as it:
        await it.send("Another one")
        with calls_of(Transcript, "load") as loads:
            it.main.pick("long")
            await it.until(lambda: LAST in on_screen(it))
            assert "message 0" not in it.shown
            assert str(it.main.query_one("#heading").content).startswith("message 0")
            assert slow.asked.is_set()
            slow.go.set()
            await it.until(lambda: it.current.id == "long")
            await it.main.chat.whole()
            assert loads.count == 1  # what was shown stays; what is before it is put above
        keys = [item.key for item in it.main.chat.transcript.items]
        it.main.chat.reload()
        await it.main.chat.whole()
        assert [item.key for item in it.main.chat.transcript.items] == keys
        assert first_and_last(it) == (True, True)


async def test_who_scrolled_meanwhile_stays_where_he_is(
    tmp_path: Path, slow: Slow, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(narrator, "LAST_PART", 16)
    monkeypatch.setattr(tail, "END_BYTES", 8000)
    await told(tmp_path, slow)
    async with opened(tmp_path, [], store=slow, size=(100, 16)) as it:
        it.main.pick("long")
        await it.until(lambda: LAST in on_screen(it))
        it.main.chat.transcript.action_page_up()
        await it.pilot.pause()
        before = on_screen(it)
        assert LAST not in before
        slow.go.set()
        await it.until(lambda: it.current is not None and it.current.id == "long")
        await it.main.chat.whole()
        await it.pilot.pause()
        assert on_screen(it) == before


async def test_what_is_typed_meanwhile_is_for_the_one_that_is_seen(tmp_path: Path, slow: Slow) -> None:
    await told(tmp_path, slow)
    async with opened(tmp_path, ["first", "to the long one"], store=slow) as it:
        await it.send("Another one")
        other = it.current
        await it.press("ctrl+o")
        it.main.pick("long")
        await it.until(lambda: LAST in on_screen(it))
        await it.press(*"hi", "enter")
        assert [entry.text for entry in other.state.history if entry.kind == "user"] == ["Another one"]
        slow.go.set()
        await it.until(lambda: "to the long one" in it.shown)
        assert it.current.id == "long"
        assert it.current.state.context[-2].text == "hi"
        assert not it.box
        assert it.main.conversations.device.draft(other.id) is None


async def test_an_answer_that_streams_elsewhere_does_not_get_into_it(tmp_path: Path, slow: Slow) -> None:
    await told(tmp_path, slow)
    gate = Gate()
    async with opened(tmp_path, gate, store=slow) as it:
        await it.send("go", answered=False)
        await gate.is_asked("go")
        other = it.current
        it.main.pick("long")
        await it.until(lambda: LAST in on_screen(it))
        gate.let_on("go")
        await it.until(lambda: not other.running)
        assert "half of go" not in it.shown
        assert str(it.main.query_one("#heading").content).startswith("message 0")
        slow.go.set()
        await it.until(lambda: it.current.id == "long")
        assert "half of go" not in it.shown


@pytest.mark.parametrize("how", ["escape", "gone", "unreadable"])
async def test_where_nothing_comes_of_it_the_one_before_stands_there_again(
    tmp_path: Path, slow: Slow, how: str
) -> None:
    await told(tmp_path, slow)
    async with opened(tmp_path, ["fine"], store=slow) as it:
        await it.send("Another one")
        other = it.current
        it.main.pick("long")
        await it.until(lambda: LAST in on_screen(it))
        if how == "escape":
            await it.press("escape")
        else:
            slow.fails = LookupError("gone") if how == "gone" else OSError(5, "Input/output error")
            slow.go.set()
        await it.until(lambda: "fine" in on_screen(it))
        assert it.current is other
        assert LAST not in it.shown
        assert str(it.main.query_one("#heading").content).startswith("Another one")
        await it.write("and on")
        await it.until(lambda: it.box == "and on")
        slow.go.set()


async def test_a_start_with_one_shows_its_end_in_the_first_frame(tmp_path: Path, slow: Slow) -> None:
    await told(tmp_path, slow)
    places = Paths(tmp_path / "config.toml", tmp_path / "data", tmp_path / "cache")
    agent = Agent(FakeModel(["fine"]), store=slow)
    app = FiresideApp(Config(), agent=agent, places=places, resume="long")
    async with app.run_test(size=(100, 30)) as pilot:
        it = Opened(app, pilot)
        await it.until(lambda: app.main.chat._transcript is not None and LAST in on_screen(it))
        assert not app.main.ready.is_set()
        await it.press(*"hi", "enter")
        slow.go.set()
        await it.until(lambda: app.main.ready.is_set() and "fine" in it.shown)
        assert it.current.id == "long"
        assert it.current.state.context[-2].text == "hi"
        await app.main.chat.whole()
        assert first_and_last(it) == (True, True)
        await app.conversations.close(5)  # type: ignore[union-attr]


async def test_a_start_with_one_that_can_not_be_read_says_so(tmp_path: Path, slow: Slow) -> None:
    await told(tmp_path, slow)
    slow.fails = OSError(5, "Input/output error")
    slow.go.set()
    async with opened(tmp_path, [], store=slow, resume="long") as it:
        assert LAST not in it.shown
        assert it.current.empty
        assert "Input/output" in str(it.main.query_one("#message-bar").content)


async def test_what_a_load_tells_more_of_the_end_is_shown(tmp_path: Path, slow: Slow) -> None:
    await told(tmp_path, slow)
    log = Path(slow.path) / "long" / "log.jsonl"
    log.write_bytes(log.read_bytes() + b'{"seq": torn')

    def more() -> None:
        store = FileStore(slow.path)  # as another process, while it is read
        state = store.load("long")
        state.add_user_message("one more")
        store.save(state)

    async with opened(tmp_path, [], store=slow) as it:
        it.main.pick("long")
        await it.until(lambda: LAST in on_screen(it))
        await asyncio.to_thread(more)
        slow.go.set()
        await it.until(lambda: it.current is not None and it.current.id == "long")
        await it.main.chat.whole()
        assert "one more" in it.shown
        assert "Ctrl+R asks for one" in it.shown
        assert first_and_last(it) == (True, True)
