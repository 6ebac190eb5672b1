"""Opens the app on a store of its own, with a scripted model; what the pilot tests share."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

from fireside import Agent, FileStore, Reply, State, Text
from fireside.models import Delta
from fireside.testing import FakeModel
from fireside_tui.app import FiresideApp
from fireside_tui.config import Config, Paths
from fireside_tui.conversations import Conversation
from textual.pilot import Pilot

from tests.tui.conversations_support import FullDisk as FullDisk


class Gate:
    """A model that streams "half " and waits until it is let on; each request has a gate of its own, by its message."""

    name = "gate"

    def __init__(self) -> None:
        self.asked: dict[str, asyncio.Event] = {}
        self.go: dict[str, asyncio.Event] = {}

    def _gates(self, said: str) -> tuple[asyncio.Event, asyncio.Event]:
        return self.asked.setdefault(said, asyncio.Event()), self.go.setdefault(said, asyncio.Event())

    async def stream(self, request: Any) -> AsyncIterator[Any]:
        said = request.messages[-1].text
        asked, go = self._gates(said)
        yield Delta("text", "half ", 0)
        asked.set()
        await go.wait()
        yield Delta("text", f"of {said}", 0)
        yield Reply((Text(f"half of {said}"),))

    async def models(self) -> list[Any]:
        return []

    async def is_asked(self, said: str) -> None:
        await asyncio.wait_for(self._gates(said)[0].wait(), 20)

    def let_on(self, said: str) -> None:
        self._gates(said)[1].set()


class Opened:
    """A running app and what tests do with it."""

    def __init__(self, app: FiresideApp, pilot: Pilot[int]) -> None:
        self.app, self.pilot = app, pilot

    @property
    def main(self) -> Any:
        return self.app.main

    @property
    def current(self) -> Conversation:
        return self.app.main.current  # type: ignore[return-value]

    @property
    def box(self) -> str:
        """What stands in the composer."""
        return self.app.main.chat.composer.text

    @property
    def shown(self) -> str:
        """All text of the transcript."""
        items = self.app.main.chat.transcript.items
        return "\n".join(" ".join(part for part in (i.title, i.text, i.state) if part) for i in items)

    @property
    def status(self) -> str:
        """The words of the status line, which may have been wrapped."""
        return " ".join(str(self.app.main.query_one("#status").content).split())

    @property
    def titles(self) -> list[str]:
        return [row.title for row in self.app.main.sidebar.rows.rows]

    @property
    def said(self) -> list[str]:
        """The toasts."""
        return [note.message for note in self.app._notifications]

    async def until(self, holds: Callable[[], Any]) -> None:
        """Waits, while the app goes on, until something holds."""
        async with asyncio.timeout(20):
            while not holds():  # noqa: ASYNC110  the app sets no event for it
                await asyncio.sleep(0.005)
        await self.pilot.pause()

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)

    async def write(self, text: str) -> None:
        self.main.chat.composer.insert(text)
        await self.pilot.pause()

    async def send(self, text: str, *, answered: bool = True) -> None:
        """Writes a message, sends it, and waits for its answer."""
        await self.write(text)
        await self.press("enter")
        await self.until(lambda: not self.box)
        if answered:
            await self.until(lambda: not self.current.running)

    async def command(self, line: str) -> None:
        """A `/command`."""
        await self.write(line)
        await self.press("enter")
        await self.pilot.pause()

    async def rows(self) -> None:
        """Waits for the list to be drawn."""
        await self.until(lambda: not self.main._rows_due)


class Calls:
    """How often something was called."""

    count = 0


@contextlib.contextmanager
def calls_of(owner: type, name: str) -> Iterator[Calls]:
    """Counts the calls of a method, which does its work all the same."""
    calls, method = Calls(), inspect.getattr_static(owner, name)
    inner = method.__func__ if isinstance(method, classmethod) else method

    def counted(*args: Any, **rest: Any) -> Any:
        calls.count += 1
        return inner(*args, **rest)

    setattr(owner, name, classmethod(counted) if isinstance(method, classmethod) else counted)
    try:
        yield calls
    finally:
        setattr(owner, name, method)


@contextlib.asynccontextmanager
async def opened(
    folder: Path,
    model: Any = "demo",
    *,
    store: FileStore | None = None,
    size: tuple[int, int] = (100, 30),
    resume: str | None = None,
    newest: bool = False,
    grace: float = 0.0,
    toasts: bool = False,
    **settings: Any,
) -> AsyncIterator[Opened]:
    """The app, with its store open. `grace` is how long, in seconds, letters are no answers to a question that appears;
    with `toasts` they are shown, which takes room and time."""
    agent = Agent(
        FakeModel(model) if isinstance(model, list) else model, store=store or FileStore(folder / "store"), **settings
    )
    places = Paths(folder / "config.toml", folder / "data", folder / "cache")
    app = FiresideApp(Config(), agent=agent, places=places, resume=resume, newest=newest)
    async with app.run_test(size=size, notifications=toasts) as pilot:
        it = Opened(app, pilot)
        app.main.chat.approval_bar.GRACE = grace  # type: ignore[misc]
        app.main.sidebar.GRACE = grace  # type: ignore[misc]
        await it.until(lambda: app.main.ready.is_set())
        await it.until(lambda: not any(w.group == "start" and not w.is_finished for w in app.workers))
        await it.rows()
        yield it
        assert app.conversations is not None
        await app.conversations.close(5)


async def talk(folder: Path, *said: str, id: str | None = None, store: FileStore | None = None) -> str:
    """Puts a conversation into the store; its id."""
    state = State(said[0], id=id)
    agent = Agent(FakeModel([f"answer to {text}" for text in said]), store=store or FileStore(folder / "store"))
    await agent.arun(state)
    for text in said[1:]:
        state.add_user_message(text)
        await agent.arun(state)
    return state.id
