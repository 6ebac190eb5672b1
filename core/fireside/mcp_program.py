"""`Program`: an MCP server that is a program of its own: its start, its lines, its end. It knows the settings.

The `mcp` package has a transport of its own for this. It holds a run's end back for up to six seconds where a program
does not end by itself, and drops answers that hold half a character, so that their calls hang; hence this one.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
import os
import re
import signal
from collections.abc import Callable
from typing import Any, Self

import anyio
import anyio.lowlevel
from mcp.client.stdio import get_default_environment
from mcp.shared.message import SessionMessage
from mcp.types import jsonrpc_message_adapter

from fireside.mcp import MCPServer
from fireside.requests import sound

END_ITSELF, END_ON_SIGTERM, END_ON_SIGKILL = 1.0, 0.5, 1.0
"""How many seconds a program gets to end when its input has ended, after SIGTERM, and after SIGKILL."""

LAST_ANSWERS = 0.3
"""How many seconds what a program wrote last may take to arrive, once it has ended."""
LAST_WORDS = 4096
"""How many bytes are kept of what a program says beside the protocol."""
LAST_LINES = 12

_COLOURS = re.compile(r"\x1b(\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)?)")

_Read = Any  # MemoryObjectReceiveStream[SessionMessage | Exception]


class Program(asyncio.SubprocessProtocol):
    """The program of a server, as a transport for the `mcp` package. `on_lost` is called when it can't answer any more."""

    def __init__(self, server: MCPServer, on_lost: Callable[[], None]) -> None:
        self._server = server
        self._on_lost = on_lost
        self._line = bytearray()
        self._said = bytearray()
        self._by_itself = self._ending = False
        self._exited = asyncio.Event()
        self._gone = asyncio.Event()  # and all that it wrote was read

    @property
    def last_words(self) -> str:
        """How it ended, where it did so by itself, and the last lines that it said beside the protocol."""
        code = self._transport.get_returncode() if self._by_itself else None
        ended = "" if code is None else f" ({_ended_with(code)})"
        text = _COLOURS.sub("", self._said.decode(errors="replace"))
        text = "".join(c if c.isprintable() or c in "\n\t" else "" for c in text)
        lines = [line.rstrip() for line in text.split("\n") if line.strip()][-LAST_LINES:]
        return ended + ("; the last that it said:\n" + "\n".join(f"  {line}" for line in lines) if lines else "")

    async def __aenter__(self) -> tuple[_Read, Any]:
        self._send, self._read = anyio.create_memory_object_stream[SessionMessage | Exception](math.inf)
        server = self._server
        try:
            with anyio.CancelScope(shield=True):  # a cancellation in the middle would leave a program behind
                self._transport, _ = await asyncio.get_running_loop().subprocess_exec(
                    lambda: self,
                    *server.command,
                    env={**get_default_environment(), **server.env},
                    cwd=server.cwd,
                    start_new_session=True,  # Ctrl+C in the terminal is ours; and its children end with it
                )
        except BaseException:
            self._close_streams()
            raise
        self._stdin: Any = self._transport.get_pipe_transport(0)
        return self._read, _Writer(self._stdin)

    async def __aexit__(self, *_: object) -> None:
        try:
            with anyio.CancelScope(shield=True):
                await self._end()
        except asyncio.CancelledError:  # the loop itself is closed
            self._signal(signal.SIGKILL)
            raise
        finally:
            self._transport.close()
            self._close_streams()

    async def _end(self) -> None:
        self._ending = True
        self._stdin.close()  # what is written still goes out
        if not await _within(END_ITSELF, self._exited):
            self._signal(signal.SIGTERM)
            if not await _within(END_ON_SIGTERM, self._exited):
                self._signal(signal.SIGKILL)
                await _within(END_ON_SIGKILL, self._exited)
        await _within(0.1, self._gone)  # else a child of it holds the pipes
        self._transport.close()
        await _within(0.1, self._gone)

    def _signal(self, number: signal.Signals) -> None:
        if self._transport.get_returncode() is None:  # else the number may be another's by now
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._transport.get_pid(), number)

    def _close_streams(self) -> None:
        self._send.close()
        self._read.close()

    # -- what asyncio tells

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        """Something came on stdout (1) or stderr (2)."""
        if fd == 2:
            self._beside(data)
            return
        self._line += data
        if b"\n" in data:
            *lines, rest = self._line.split(b"\n")
            self._line = rest
            for line in lines:
                self._heard(bytes(line))

    def _heard(self, line: bytes) -> None:
        message = _message(line)
        if message is None:
            self._beside(line + b"\n")  # a banner, a log: no reason to end
            return
        with contextlib.suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            self._send.send_nowait(SessionMessage(message))

    def _beside(self, data: bytes) -> None:
        self._said += data
        del self._said[:-LAST_WORDS]

    def pipe_connection_lost(self, fd: int, error: Exception | None) -> None:
        """It closed a pipe; without stdin or stdout there is nothing to be had from it."""
        if fd != 2:
            self._by_itself = self._by_itself or not self._ending
            self._lose()

    def process_exited(self) -> None:
        """It ended. What it wrote last may still come; a child that holds its pipes open must not keep anybody waiting."""
        self._exited.set()
        self._by_itself = self._by_itself or not self._ending
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(
                self._transport.get_pid(), signal.SIGTERM
            )  # its children; at once, while the number is surely its own
        asyncio.get_running_loop().call_later(LAST_ANSWERS, self._lose)

    def _lose(self) -> None:
        self._send.close()
        self._on_lost()

    def connection_lost(self, error: Exception | None) -> None:
        """It ended, and its pipes are closed."""
        self._gone.set()


class _Writer:
    """The way to the program's stdin."""

    def __init__(self, pipe: Any) -> None:
        self._pipe = pipe

    async def send(self, message: SessionMessage) -> None:
        """One message, one line."""
        await anyio.lowlevel.checkpoint()
        if self._pipe.is_closing():
            raise anyio.BrokenResourceError
        text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
        self._pipe.write(text.encode() + b"\n")

    async def aclose(self) -> None:
        """The program's end closes it."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        return None


def _message(line: bytes) -> Any:
    """The message in a line; `None` where it is none."""
    if not line.lstrip().startswith(b"{"):  # a program that prints all the time must not take all the time
        return None
    try:
        return jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValueError:
        pass
    try:  # half a character makes it invalid for pydantic, but the call still waits for its answer
        return jsonrpc_message_adapter.validate_python(sound(json.loads(line)), by_name=False)
    except (ValueError, RecursionError):
        return None


def _ended_with(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"


async def _within(seconds: float, event: asyncio.Event) -> bool:
    """Whether it happens in that time."""
    with anyio.move_on_after(seconds):
        await event.wait()
    return event.is_set()
