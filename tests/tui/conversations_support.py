"""What the tests of the conversations share: a model with a gate, a full disk, a listener."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from fireside import Agent, FileStore
from fireside_tui.conversations import Conversation, Conversations, Listener
from fireside_tui.device import Device


class Gate:
    """A model that streams some words and then waits until it is let on."""

    name = "gate"

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.go = asyncio.Event()
        self.requests: list[Any] = []

    async def stream(self, request: Any) -> AsyncIterator[Any]:
        from fireside import Reply, Text
        from fireside.models import Delta

        self.requests.append(request)
        yield Delta("text", "half ", 0)
        self.asked.set()
        await self.go.wait()
        yield Delta("text", "done", 0)
        yield Reply((Text("half done"),))

    async def models(self) -> list[Any]:
        return []


class FullDisk(FileStore):
    """A store whose writes fail while `full` is set."""

    full = False

    def write(self, *args: Any, **rest: Any) -> None:
        if self.full:
            raise OSError(28, "No space left on device")
        super().write(*args, **rest)


class Heard(Listener):
    """Notes what it hears."""

    def __init__(self) -> None:
        self.entries: list[str] = []
        self.text = ""
        self.reloads = 0

    def on_entry(self, conversation: Conversation, entry: Any) -> None:
        self.entries.append(entry.kind)

    def on_stream(self, conversation: Conversation, kind: str, text: str) -> None:
        self.text += text

    def on_reload(self, conversation: Conversation) -> None:
        self.reloads += 1


def all_of(tmp_path: Path, model: Any, *, store: FileStore | None = None, **settings: Any) -> Conversations:
    store = store or FileStore(tmp_path / "store")
    return Conversations(store, Agent(model, **settings), Device(tmp_path / "device.json"))


async def saved_kinds(conversations: Conversations, id: str) -> list[str]:
    record = await conversations.store.aread(id)
    return [entry["kind"] for entry in record.entries] if record else []
