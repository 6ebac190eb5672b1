"""The way back to one client: whole answers, streams of events, and the faults that befall them. Knows no rules."""

from __future__ import annotations

import asyncio
import json
import socket
import struct
import uuid
from collections.abc import Mapping

from .replies import STATUS_TYPES, Disconnect, ErrorEvent, Fault, Fin, HttpError, Json, Say, Stall, Truncated


class Answer:
    """The way back to one client."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer
        self.request_id = f"req_{uuid.uuid4().hex[:24]}"

    async def send(self, status: int, kind: str, data: bytes, headers: Mapping[str, str]) -> bool:
        lines = {"content-type": kind, "request-id": self.request_id, "content-length": str(len(data)), **headers}
        head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
        self.writer.write(f"HTTP/1.1 {status} -\r\n{head}\r\n".encode() + data)
        await self.writer.drain()
        return True

    async def json(self, status: int, value: Json, headers: Mapping[str, str] | None = None) -> bool:
        return await self.send(status, "application/json", json.dumps(value).encode(), headers or {})

    async def page(self, status: int, page: str) -> bool:
        return await self.send(status, "text/html", page.encode(), {})

    async def error(self, error: HttpError) -> bool:
        return await self.json(error.status, {**error.body, "request_id": self.request_id}, error.headers)

    async def whole(self, message: Json, fault: Fault | None) -> bool:
        """The answer to a request without `stream`; a fault falls on all of it."""
        match fault:
            case ErrorEvent():
                statuses = [status for status, name in STATUS_TYPES.items() if name == fault.type]
                return await self.error(HttpError((statuses or [500])[0], fault.type, fault.message))
            case Stall():
                if not await fault.hold.wait(self.reader, None, None):
                    return False
            case Disconnect():
                return self.reset()
            case Fin() | Truncated():
                return False
        return await self.json(200, message)

    async def stream(self, message: Json, say: Say) -> bool:
        self.writer.write(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ncache-control: no-cache\r\n"
            b"transfer-encoding: chunked\r\nrequest-id: " + self.request_id.encode() + b"\r\n\r\n"
        )
        usage = message["usage"]
        begun = {**message, "content": [], "stop_reason": None, "usage": {**usage, "output_tokens": 1}}
        await self.event("message_start", {"message": begun})
        await self.event("ping", {})
        chunks = 0
        fault = say.fault
        if fault and fault.after == 0:
            going_on = await self.fail(fault)
            if going_on is not None:
                return going_on
            fault = None
        for item in say.events(message["content"]):
            if isinstance(item, bytes):
                await self.chunk(item)
                continue
            kind, data, delay, counts = item
            if delay:
                await asyncio.sleep(delay)
            await self.event(kind, data)
            chunks += counts
            if fault and counts and chunks == fault.after:
                going_on = await self.fail(fault)
                if going_on is not None:
                    return going_on
                fault = None
        if fault:  # the answer had fewer chunks than that
            going_on = await self.fail(fault)
            if going_on is not None:
                return going_on
        await self.event(
            "message_delta", {"delta": {"stop_reason": message["stop_reason"], "stop_sequence": None}, "usage": usage}
        )
        await self.event("message_stop", {})
        return await self.end()

    async def fail(self, fault: Fault) -> bool | None:
        """Lets the fault happen; None when the answer goes on after it."""
        match fault:
            case ErrorEvent():
                error = HttpError(500, fault.type, fault.message).body["error"]
                await self.event("error", {"error": error, "request_id": self.request_id})
                return await self.end()
            case Disconnect():
                return self.reset()
            case Fin():
                return False
            case Truncated():
                return await self.end()
            case Stall():

                async def ping() -> None:
                    await self.event("ping", {})

                return None if await fault.hold.wait(self.reader, ping, fault.ping_every) else False

    async def event(self, kind: str, data: Json) -> None:
        await self.chunk(f"event: {kind}\ndata: {json.dumps({'type': kind, **data})}\n\n".encode())

    async def chunk(self, data: bytes) -> None:
        self.writer.write(b"%x\r\n%s\r\n" % (len(data), data))
        await self.writer.drain()
        await asyncio.sleep(0)

    async def end(self) -> bool:
        self.writer.write(b"0\r\n\r\n")
        await self.writer.drain()
        return True

    def reset(self) -> bool:
        """Hangs up with RST in place of FIN."""
        peer: socket.socket = self.writer.get_extra_info("socket")
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()
        return False
