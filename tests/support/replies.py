"""The words of a script for the server: what an answer is made of, and the ways in which it can go wrong."""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]
STATUS_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    504: "timeout_error",
    529: "overloaded_error",
}


def pieces(text: str | Sequence[str], size: int) -> list[str]:
    """Cuts `text` into chunks of `size` characters; a sequence is chunks already."""
    if not isinstance(text, str):
        return list(text)
    return [text[i : i + size] for i in range(0, len(text), size)]


@dataclass(frozen=True)
class Text:
    """A text block, sent in chunks of `chunk` characters (or in the given pieces), `delay` seconds before each."""

    text: str | Sequence[str]
    chunk: int = 16
    delay: float = 0.0


@dataclass(frozen=True)
class Thinking:
    """A thinking block; the server signs it. `signature` overrides that, and None sends no signature at all."""

    text: str | Sequence[str]
    chunk: int = 16
    delay: float = 0.0
    signature: str | None = "computed"


@dataclass(frozen=True)
class Redacted:
    """A redacted_thinking block; its data is sealed by the server."""

    hidden: str = "hidden"


@dataclass(frozen=True)
class ToolUse:
    """A tool call. `id` is made up if it isn't given; `raw` replaces the input's JSON in a stream (cut off, broken)."""

    name: str
    input: Json = field(default_factory=dict)
    id: str | None = None
    raw: str | None = None
    chunk: int = 16
    delay: float = 0.0


@dataclass(frozen=True)
class UnknownBlock:
    """A block of a kind that nobody has heard of."""

    start: Json = field(default_factory=lambda: {"type": "brand_new_block", "x": 1})
    deltas: Sequence[Json] = ({"type": "brand_new_delta", "y": 2},)


@dataclass(frozen=True)
class Event:
    """A stream event of any kind, sent between the blocks."""

    type: str = "brand_new_event"
    data: Json = field(default_factory=lambda: {"foo": 1})


@dataclass(frozen=True)
class RawBytes:
    """Bytes put into the body of the stream as they are (broken JSON, broken UTF-8, half an event)."""

    data: bytes = b'event: content_block_delta\ndata: {"type": "content_block_de\n\n'


Block = str | Text | Thinking | Redacted | ToolUse | UnknownBlock | Event | RawBytes


@dataclass(frozen=True)
class ErrorEvent:
    """An `error` event in a stream that began well, after `after` chunks."""

    type: str = "overloaded_error"
    message: str = "Overloaded"
    after: int = 2


@dataclass(frozen=True)
class Disconnect:
    """The connection is reset (RST) after `after` chunks."""

    after: int = 2


@dataclass(frozen=True)
class Fin:
    """The connection is closed (FIN) after `after` chunks, in the middle of the HTTP body."""

    after: int = 2


@dataclass(frozen=True)
class Truncated:
    """The HTTP body ends as it should after `after` chunks, but without `message_stop`."""

    after: int = 2


class Hold:
    """A request that the server holds: without an answer, or in the middle of one.

    `reached` is set when the server holds it, `gone` when the client has hung up meanwhile; `release()` lets the answer
    go on, now or as soon as it comes here. All three may be used from any thread.
    """

    def __init__(self) -> None:
        self.reached = threading.Event()
        self.gone = threading.Event()
        self._lock = threading.Lock()
        self._released = False
        self._waiting: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []

    def release(self) -> None:
        with self._lock:
            self._released = True
            for loop, event in self._waiting:
                with contextlib.suppress(RuntimeError):  # the server has stopped meanwhile
                    loop.call_soon_threadsafe(event.set)

    async def wait(self, reader: asyncio.StreamReader, ping: Callable[[], Any] | None, every: float | None) -> bool:
        """Waits, in the server, until it is released (True) or the client has hung up (False)."""
        waiter = (asyncio.get_running_loop(), asyncio.Event())
        with self._lock:
            self._waiting.append(waiter)
            if self._released:
                waiter[1].set()
        self.reached.set()
        released = asyncio.ensure_future(waiter[1].wait())
        hung_up = asyncio.ensure_future(reader.read(1))
        try:
            while True:
                done, _ = await asyncio.wait({released, hung_up}, timeout=every, return_when=asyncio.FIRST_COMPLETED)
                if done:
                    break
                if ping:
                    await ping()
            if released in done:
                return True
            self.gone.set()
            return False
        except ConnectionError:
            self.gone.set()
            return False
        finally:
            with self._lock:
                self._waiting.remove(waiter)
            for task in (released, hung_up):
                task.cancel()
            await asyncio.gather(released, hung_up, return_exceptions=True)


@dataclass(frozen=True)
class Stall:
    """Silence after `after` chunks, until `hold` is released; `ping_every` seconds a ping is sent meanwhile."""

    hold: Hold = field(default_factory=Hold)
    after: int = 2
    ping_every: float | None = None


Fault = ErrorEvent | Disconnect | Fin | Truncated | Stall


class Say:
    """One answer of the model: its blocks in order (a str is a text block), and how it ends.

    `stop_reason` is "tool_use" if there is a tool call, else "end_turn"; `usage` is merged over the counted one.
    Without blocks the reply is empty: `content` is [].
    """

    def __init__(
        self, *blocks: Block, stop_reason: str | None = None, usage: Json | None = None, fault: Fault | None = None
    ) -> None:
        self.blocks = [Text(b) if isinstance(b, str) else b for b in blocks]
        calls = any(isinstance(b, ToolUse) for b in self.blocks)
        self.stop_reason = stop_reason or ("tool_use" if calls else "end_turn")
        self.usage = usage or {}
        self.fault = fault

    def content(self, sign: Callable[[str], str], seal: Callable[[str], str], omit_thinking: bool) -> list[Json]:
        """The finished content blocks."""
        made: list[Json] = []
        for block in self.blocks:
            match block:
                case Text():
                    made.append({"type": "text", "text": "".join(block.text), "citations": None})
                case Thinking():
                    text = "" if omit_thinking else "".join(block.text)
                    signature = sign(text) if block.signature == "computed" else block.signature or ""
                    made.append({"type": "thinking", "thinking": text, "signature": signature})
                case Redacted():
                    made.append({"type": "redacted_thinking", "data": seal(block.hidden)})
                case ToolUse():
                    call_id = block.id or f"toolu_{uuid.uuid4().hex[:24]}"
                    made.append({"type": "tool_use", "id": call_id, "name": block.name, "input": block.input})
                case UnknownBlock():
                    made.append(dict(block.start))
        return made

    def events(self, content: list[Json]) -> list[tuple[str, Json, float, bool] | bytes]:
        """The stream of the blocks: (event, data, delay before it, whether it counts as a chunk), or raw bytes."""
        made: list[tuple[str, Json, float, bool] | bytes] = []
        finished = iter(enumerate(content))

        def whole(block: Any, start: Json, deltas: list[Json], index: int) -> None:
            delay = getattr(block, "delay", 0.0)
            made.append(("content_block_start", {"index": index, "content_block": start}, 0.0, False))
            for delta in deltas:
                made.append(("content_block_delta", {"index": index, "delta": delta}, delay, True))
            made.append(("content_block_stop", {"index": index}, 0.0, False))

        for block in self.blocks:
            if isinstance(block, RawBytes):
                made.append(block.data)
                continue
            if isinstance(block, Event):
                made.append((block.type, block.data, 0.0, False))
                continue
            index, end = next(finished)
            match block:
                case Text():
                    chunks = [{"type": "text_delta", "text": t} for t in pieces(block.text, block.chunk)]
                    whole(block, {**end, "text": ""}, chunks, index)
                case Thinking():
                    chunks = [{"type": "thinking_delta", "thinking": t} for t in pieces(block.text, block.chunk)]
                    if not end["thinking"]:
                        chunks = []
                    if end["signature"]:
                        chunks.append({"type": "signature_delta", "signature": end["signature"]})
                    whole(block, {**end, "thinking": "", "signature": ""}, chunks, index)
                case ToolUse():
                    text = json.dumps(end["input"]) if block.raw is None else block.raw
                    chunks = [{"type": "input_json_delta", "partial_json": t} for t in ["", *pieces(text, block.chunk)]]
                    whole(block, {**end, "input": {}}, chunks, index)
                case UnknownBlock():
                    whole(block, end, list(block.deltas), index)
                case _:
                    whole(block, end, [], index)
        return made


@dataclass(frozen=True)
class HttpError:
    """An error in place of an answer, in the API's own JSON; `type` follows from `status` if it isn't given."""

    status: int
    type: str | None = None
    message: str = "This error is in the script."
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def body(self) -> Json:
        kind = self.type or STATUS_TYPES.get(self.status, "api_error")
        return {"type": "error", "error": {"type": kind, "message": self.message}}


@dataclass(frozen=True)
class Html:
    """A page from something between the client and the API."""

    status: int = 502
    page: str = "<html><body><h1>502 Bad Gateway</h1></body></html>"


@dataclass(frozen=True)
class Held:
    """No byte of an answer until `hold` is released; then `reply`."""

    hold: Hold
    reply: Reply | None = None


Reply = str | Say | HttpError | Html | Held | Callable[[Json], Any]
