"""The scenes of the pictures and of the snapshot tests: a store with fixed conversations, a stopped clock, scripted models."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from fireside import Agent, FileStore, Reply, Text, tool
from fireside.models import Delta
from fireside.testing import FakeModel, tool_call
from fireside_tui import clock
from fireside_tui.app import FiresideApp
from fireside_tui.config import Config, Paths
from fireside_tui.widgets.narrator import Narrator
from textual.pilot import Pilot
from textual.widgets import Input, TextArea

NOW = datetime(2026, 3, 12, 14, 5, tzinfo=UTC)

QUESTION = "Why does `test_login` fail only on Mondays?"
THOUGHT = "A test that fails by weekday depends on the clock. I should look at how the fixture makes its date."
FOUND = """\
The fixture freezes the date at **last Sunday**, and the session lives for seven days:

```python
@pytest.fixture
def user(clock):
    clock.freeze(last_sunday())   # on a Monday that is only one day ago
    return login(lifetime=timedelta(days=7))
```

| Day     | Age of the session | Test  |
|---------|-------------------:|-------|
| Sunday  | 0 days             | green |
| Monday  | 8 days             | red   |

So on Mondays the session has *just* run out. Freeze a fixed date instead, and the test says the same each day."""
TITLES = (
    ("Fix the flaky login test", timedelta(minutes=3), "waiting"),
    ("Draft the release notes for 2.4", timedelta(minutes=40), "interrupted"),
    ("Plan for the Lisbon trip in May", timedelta(hours=3), "waiting"),
    ("Überraschung für Oma", timedelta(hours=5), "waiting"),
    ("SQL window functions, by example", timedelta(days=1), "waiting"),
    ("Rename the [billing] module?", timedelta(days=1, hours=2), "failed"),
    ("Letter to the landlord", timedelta(days=3), "waiting"),
    ("How do heat pumps work?", timedelta(days=4), "waiting"),
    ("Sourdough, second attempt", timedelta(days=20), "waiting"),
    ("Names for a small grey cat", timedelta(days=60), "waiting"),
)


def build_store(path: Path) -> FileStore:
    """A store with those conversations."""
    store = FileStore(path)
    for n, (title, ago, status) in enumerate(TITLES):
        end = NOW - ago
        id = f"talk{n}"
        entries = _login_test(end) if n == 0 else _short_talk(title, end, status)
        entries[0]["origin"] = {"v": 1, "id": id}
        for seq, entry in enumerate(entries):
            entry["seq"] = seq
        entries.append({"seq": len(entries), "kind": "title", "turn": 1, "at": _at(end),
                        "content": {"title": title, "by": "person"}})  # fmt: skip
        store.write(id, entries, None, create=True)  # the store makes the label itself
    return store


def _at(moment: datetime) -> str:
    return f"{moment:%Y-%m-%dT%H:%M:%S}.000000Z"


def _entry(kind: str, at: datetime, content: Any, turn: int = 0, **rest: Any) -> dict[str, Any]:
    return {"kind": kind, "turn": turn, "at": _at(at), "content": content, **rest}


def _reply(at: datetime, blocks: list[Any], seen: int, turn: int, tokens: int) -> dict[str, Any]:
    usage = {"input": tokens, "output": 300, "requests": 1, "cost": 0.0204}
    content = {
        "blocks": blocks,
        "stop_reason": "end_turn",
        "usage": usage,
        "model": "claude-sonnet-5-5",
        "seen": seen,
        "prefix": "",
    }
    return _entry("reply", at, content, turn)


def _text(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}


AGENT = {"name": None, "model": "claude-sonnet-5-5", "system": None, "tools": []}


def _login_test(end: datetime) -> list[dict[str, Any]]:
    call = {"type": "tool_call", "id": "c1", "name": "read_file", "args": {"path": "tests/test_login.py"}}
    source = "def test_login(user):\n    assert user.session.valid\n" * 40
    return [
        _entry("user", end - timedelta(minutes=2), QUESTION),
        _entry("run_start", end, {"agent": AGENT}),
        _reply(end, [{"type": "thinking", "text": THOUGHT}, _text("Let me look at the test first."), call], 1, 0, 9000),
        _entry("tool_result", end, source, 1, call={"n": 0, "id": "c1", "name": "read_file"}),
        _reply(end, [_text(FOUND)], 3, 1, 12_000),
        _entry("stop", end, {"end": True, "by": "is_answered"}, 2),
    ]  # fmt: skip


def _short_talk(title: str, end: datetime, status: str) -> list[dict[str, Any]]:
    entries = [_entry("user", end, title), _entry("run_start", end, {"agent": AGENT})]
    if status == "failed":
        error = "OverloadedError: the API is overloaded"
        return [
            *entries,
            _entry("error", end, error, is_error=True),
            _entry("stop", end, {"end": True, "by": None, "error": error}),
        ]
    if status == "interrupted":
        return entries
    answer = _reply(end, [_text(f"Gladly: {title}.")], 1, 0, 900)
    return [*entries, answer, _entry("stop", end, {"end": True, "by": "is_answered"}, 1)]


@contextlib.contextmanager
def stopped_clock() -> Iterator[None]:
    """The clock stands at `NOW`, in UTC, and what is said live is said at 14:05."""
    real, told, zone = clock.now, Narrator.time, os.environ.get("TZ")
    blinks = [(TextArea, "_toggle_cursor_blink_visible"), (Input, "_toggle_cursor")]
    blinking = [(cls, name, getattr(cls, name)) for cls, name in blinks]
    for cls, name in blinks:  # a blinking cursor would be in one picture and not in the next
        setattr(cls, name, lambda self: None)
    clock.now = lambda: NOW
    Narrator.time = lambda self, moment: "14:05" if moment > NOW else told(self, moment)  # type: ignore[method-assign]
    os.environ["TZ"] = "UTC"
    time.tzset()
    try:
        yield
    finally:
        clock.now = real
        for cls, name, blink in blinking:
            setattr(cls, name, blink)
        Narrator.time = told  # type: ignore[method-assign]
        if zone is None:
            del os.environ["TZ"]
        else:
            os.environ["TZ"] = zone
        time.tzset()


class Streaming:
    """A model that stops in the middle of its answer, for a picture."""

    name = "claude-sonnet-5-5"

    def __init__(self) -> None:
        self.half = asyncio.Event()
        self.go_on = asyncio.Event()

    async def stream(self, request: Any) -> AsyncIterator[Any]:
        """Half an answer, then a wait."""
        yield Delta("thinking", "Two cities, one week.", 0)
        half = (
            "A week is enough for both, by train:\n\n1. **Lisbon**, four days: Alfama, Belém, a ferry to Cacilhas\n2. "
        )
        for word in half.split(" "):
            yield Delta("text", f"{word} " if word else " ", 1)
        self.half.set()
        await self.go_on.wait()
        yield Reply((Text(half),))

    async def models(self) -> list[Any]:
        """None."""
        return []


@tool(destructive=True)
def write_file(path: str, text: str) -> str:
    """Writes a file."""
    return "written"


Act = Callable[[FiresideApp, Pilot[int]], Awaitable[None]]


@dataclass(frozen=True)
class Scene:
    """A picture: how the app is opened, and what is done in it first."""

    name: str
    act: Act
    talks: bool = True
    agent: Callable[[], Agent] | None = lambda: Agent("claude-sonnet-5-5", base_url="http://127.0.0.1:9")
    theme: str = ""

    def app(self, folder: Path) -> FiresideApp:
        """The app of this scene."""
        store = build_store(folder / "store") if self.talks else FileStore(folder / "store")
        agent = self.agent().copy(store=store) if self.agent else None
        places = Paths(folder / "config.toml", folder / "data", folder / "cache")
        return FiresideApp(Config(theme=self.theme, save_partial_every=0, store=store.path), agent=agent, places=places)


async def until(holds: Callable[[], bool]) -> None:
    """Waits, while the app goes on, until something holds."""
    async with asyncio.timeout(20):
        while not holds():  # noqa: ASYNC110  the app sets no event for it
            await asyncio.sleep(0.01)


def working(app: FiresideApp, group: str) -> bool:
    """Whether a worker of this group is at work."""
    return any(worker.group == group and not worker.is_finished for worker in app.workers)


async def ready(app: FiresideApp, pilot: Pilot[int]) -> None:
    """The store is open and its list is shown."""
    await until(lambda: app.main.ready.is_set() and not working(app, "start"))
    await drawn(app, pilot)


async def drawn(app: FiresideApp, pilot: Pilot[int]) -> None:
    """All that is due is on the screen."""
    await pilot.pause()
    await until(lambda: not (app.main._rows_due or app.main.chat.transcript.busy))
    await pilot.pause()


async def opened(app: FiresideApp, pilot: Pilot[int]) -> None:
    """The first conversation, from its end."""
    await ready(app, pilot)
    await app.main.open("talk0")
    await drawn(app, pilot)


async def _welcome(app: FiresideApp, pilot: Pilot[int]) -> None:
    await ready(app, pilot)


async def _from_its_start(app: FiresideApp, pilot: Pilot[int]) -> None:
    await opened(app, pilot)
    app.main.chat.transcript.action_scroll_home()
    await drawn(app, pilot)


async def _streaming(app: FiresideApp, pilot: Pilot[int]) -> None:
    await ready(app, pilot)
    app.main.chat.composer.put("Lisbon and Porto in one week?")
    await pilot.press("enter")
    model = app.main.current.agent.model  # type: ignore[union-attr]
    await model.half.wait()  # type: ignore[attr-defined]
    await drawn(app, pilot)


async def _approval(app: FiresideApp, pilot: Pilot[int]) -> None:
    await ready(app, pilot)
    app.main.chat.approval_bar.GRACE = 0.0
    app.main.chat.composer.put("Freeze the date in the fixture, please.")
    await pilot.press("enter")
    await until(lambda: app.main.current is not None and app.main.current.approval is not None)
    await drawn(app, pilot)


async def _filter(app: FiresideApp, pilot: Pilot[int]) -> None:
    await opened(app, pilot)
    await pilot.press("ctrl+o", "slash", *"the")
    await drawn(app, pilot)


async def _delete(app: FiresideApp, pilot: Pilot[int]) -> None:
    await opened(app, pilot)
    await pilot.press("ctrl+o", "down", "down", "d")
    await drawn(app, pilot)


async def _undo(app: FiresideApp, pilot: Pilot[int]) -> None:
    await _delete(app, pilot)
    await pilot.press("y")
    await until(lambda: bool(app.main.conversations.deleted))
    await drawn(app, pilot)


async def _help(app: FiresideApp, pilot: Pilot[int]) -> None:
    await opened(app, pilot)
    await pilot.press("f1")
    await drawn(app, pilot)


async def _slash(app: FiresideApp, pilot: Pilot[int]) -> None:
    await opened(app, pilot)
    await pilot.press("/", "c")
    await drawn(app, pilot)


async def _drawer(app: FiresideApp, pilot: Pilot[int]) -> None:
    await opened(app, pilot)
    await pilot.press("ctrl+o")
    await drawn(app, pilot)


async def _model(app: FiresideApp, pilot: Pilot[int]) -> None:
    await opened(app, pilot)
    app.main.action_command("model")
    await pilot.pause()
    await until(lambda: not working(app, "models"))
    await drawn(app, pilot)


def _asks() -> Agent:
    call = tool_call("write_file", path="tests/conftest.py", text="clock.freeze(date(2026, 3, 8))\n")
    return Agent(FakeModel([["I will change one line.", call], "Done."], name="claude-sonnet-5-5"), tools=[write_file])


SCENES = (
    Scene("first-run", _welcome, talks=False, agent=None),
    Scene("welcome", _welcome),
    Scene("conversation", _from_its_start),
    Scene("conversation-end", opened),
    Scene("streaming", _streaming, agent=lambda: Agent(Streaming())),
    Scene("approval", _approval, agent=_asks),
    Scene("filter", _filter),
    Scene("delete", _delete),
    Scene("undo", _undo),
    Scene("help", _help),
    Scene("commands", _slash),
    Scene("drawer", _drawer),
    Scene("model", _model, agent=lambda: Agent(FakeModel(name="claude-sonnet-5-5"))),
    Scene("light", _from_its_start, theme="fireside-light"),
)
BY_NAME = {scene.name: scene for scene in SCENES}
