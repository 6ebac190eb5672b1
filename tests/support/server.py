"""A strict Messages API on loopback: real HTTP and SSE, scripted answers, and a 400 for what the real one refuses.

It runs in a thread of its own, so tests, subprocesses and the app may all talk to it::

    with ApiServer() as api:
        api.reply("Hello")  # a str, a Say, an HttpError, ... (see replies.py); without one it echoes
        client = anthropic.Anthropic(base_url=api.url, api_key="any")
"""

from __future__ import annotations

import asyncio
import json
import threading
import time
import traceback
import uuid
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

from . import rules, signatures
from .answer import Answer
from .catalogue import MODELS
from .replies import Held, Hold, Html, HttpError, Json, Reply, Say, Stall
from .rules import RefusedError

MESSAGES = "/v1/messages"
COUNT = "/v1/messages/count_tokens"
When = str | Callable[[Json], bool] | None


@dataclass(frozen=True)
class Request:
    """One request as it came in; `at` is time.monotonic() of its arrival. `body` is {} if it was no JSON object."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: Json
    raw: bytes
    at: float

    @property
    def said(self) -> str:
        """The text of the last message ('' if it has none)."""
        return last_text(self.body)


@dataclass(frozen=True)
class Refusal:
    """A request that was refused for its own sake, not because the script says so."""

    message: str
    status: int
    type: str
    request: Request


def last_text(body: Json) -> str:
    """The text of a request's last message; of tool results, if it has no other."""
    messages = body.get("messages") or [{"content": ""}]
    blocks = signatures.as_blocks(messages[-1]["content"])
    own = "".join(b["text"] for b in blocks if b["type"] == "text")
    if own:
        return own
    results = [b for block in blocks for b in signatures.as_blocks(block.get("content"))]
    return "".join(b["text"] for b in results if b["type"] == "text")


def echo(body: Json) -> Say:
    """The answer to what is not in the script."""
    return Say(f"You said: {last_text(body)}")


class ApiServer:
    """The server; a context manager. Its settings may be changed while it runs.

    `key`: the only accepted API key (None: any). `default`: the reply when the script is empty.
    `thinking_display`: what becomes of thinking when the request doesn't say; "omitted" (the newest models' default)
    sends its signature alone. `models`: what `/v1/models` lists.
    `max_body_bytes` (413) and `max_prompt_tokens` (400 "prompt is too long", at about four characters a token).
    """

    def __init__(self, port: int = 0) -> None:
        self.url = ""
        self.key: str | None = None
        self.default: Reply = echo
        self.thinking_display = "summarized"
        self.models: list[Json] = list(MODELS)
        self.max_body_bytes = 32 * 1024 * 1024
        self.max_prompt_tokens: int | None = None
        self._port = port
        self._changed = threading.Condition()
        self._requests: list[Request] = []
        self._refusals: list[Refusal] = []
        self._script: deque[tuple[Reply, When]] = deque()
        self._errors: list[str] = []
        self._refusals_expected = False
        self._connections: set[asyncio.Task[None]] = set()
        self._thread: threading.Thread | None = None

    # the script

    def reply(self, *replies: Reply, when: When = None, times: int = 1) -> None:
        """Puts replies at the end of the script.

        A reply `when` (a part of the last message's text, or a function of the request's body) is kept for the first
        request that fits; others go to whoever asks next.
        """
        with self._changed:
            self._script.extend([(reply, when) for reply in replies] * times)

    def hold(self, reply: Reply | None = None, *, when: When = None) -> Hold:
        """Scripts a request that gets no byte of an answer until it is released; then `reply`, or the default."""
        hold = Hold()
        self.reply(Held(hold, reply), when=when)
        return hold

    def stall(
        self, *blocks: Any, after: int = 2, ping_every: float | None = None, when: When = None, **say: Any
    ) -> Hold:
        """Scripts an answer (as in Say) that falls silent after `after` chunks, until it is released."""
        hold = Hold()
        self.reply(Say(*blocks, fault=Stall(hold, after, ping_every), **say), when=when)
        return hold

    # what happened

    @property
    def requests(self) -> list[Request]:
        """All requests up to now."""
        with self._changed:
            return list(self._requests)

    @property
    def messages(self) -> list[Request]:
        """The requests for an answer (POST /v1/messages), refused ones too."""
        return [r for r in self.requests if r.method == "POST" and r.path.split("?")[0] == MESSAGES]

    @property
    def refusals(self) -> list[Refusal]:
        """What was refused up to now."""
        with self._changed:
            return list(self._refusals)

    def wait_for_messages(self, count: int, timeout: float = 10) -> list[Request]:
        """Waits until `count` requests for an answer have come in, and gives them."""
        with self._changed:
            came = self._changed.wait_for(lambda: len(self.messages) >= count, timeout)
        if not came:
            raise AssertionError(f"{len(self.messages)} of {count} requests came within {timeout} s")
        return self.messages

    def expect_refusals(self) -> None:
        """This test wants refusals: `check` lets them pass."""
        self._refusals_expected = True

    def check(self) -> None:
        """Raises AssertionError if a request was refused, or a function in the script failed."""
        assert not self._errors, "The server or a reply in its script failed:\n" + "\n".join(self._errors)
        refusals = [] if self._refusals_expected else self.refusals
        assert not refusals, "The API refused:\n" + "\n".join(f"{r.status} {r.message}" for r in refusals)

    # its life

    def start(self) -> Self:
        started = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(started,), name="api-server", daemon=True)
        self._thread.start()
        started.wait()
        if not self.url:
            self._thread.join()
            raise OSError(f"port {self._port} could not be opened")
        return self

    def stop(self) -> None:
        """Closes it and every connection, whatever is held."""
        if self._thread and self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stopped.set)
            self._thread.join()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _run(self, started: threading.Event) -> None:
        asyncio.run(self._serve(started))

    async def _serve(self, started: threading.Event) -> None:
        self._loop, self._stopped = asyncio.get_running_loop(), asyncio.Event()
        try:
            server = await asyncio.start_server(self._connection, "127.0.0.1", self._port)
            self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        except OSError:
            return
        finally:
            started.set()
        await self._stopped.wait()
        server.close()
        connections = list(self._connections)
        for task in connections:
            task.cancel()
        await asyncio.gather(*connections, return_exceptions=True)

    # HTTP

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task
        self._connections.add(task)
        try:
            while await self._one_request(reader, writer):
                pass
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        except asyncio.CancelledError:
            writer.transport.abort()
        finally:
            self._connections.discard(task)
            writer.close()

    async def _one_request(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Answers one request; False when the connection is to be closed."""
        line, *lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin1").split("\r\n")
        method, path, _ = line.split(" ", 2)
        pairs = (item.split(":", 1) for item in lines if item)
        headers = {name.strip().lower(): value.strip() for name, value in pairs}
        raw = await reader.readexactly(int(headers.get("content-length", 0)))
        refused = None
        body: Json = {}
        try:
            body = rules.parse(raw) if raw else {}
        except RefusedError as error:
            refused = error
        request = Request(method, path, headers, body, raw, time.monotonic())
        with self._changed:
            self._requests.append(request)
            self._changed.notify_all()
        answer = Answer(reader, writer)
        try:
            if refused and len(raw) <= self.max_body_bytes:
                self._check_headers(request)
                raise refused
            return await self._route(request, answer)
        except RefusedError as error:
            with self._changed:
                self._refusals.append(Refusal(error.message, error.status, error.type, request))
            return await answer.error(HttpError(error.status, error.type, error.message))
        except (ConnectionError, asyncio.IncompleteReadError):
            raise
        except Exception:
            self._errors.append(traceback.format_exc())
            return False

    def _check_headers(self, request: Request) -> None:
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        key = request.headers.get("x-api-key") or (token if scheme.lower() == "bearer" else "")
        if not key:
            raise RefusedError("x-api-key header is required", 401, "authentication_error")
        if self.key is not None and key != self.key:
            raise RefusedError("invalid x-api-key", 401, "authentication_error")
        if "anthropic-version" not in request.headers:
            raise RefusedError("anthropic-version: header is required")

    async def _route(self, request: Request, answer: Answer) -> bool:
        self._check_headers(request)
        path = urlsplit(request.path).path
        if len(request.raw) > self.max_body_bytes:
            raise RefusedError("Request exceeds the maximum size", 413, "request_too_large")
        if request.method == "GET" and path == "/v1/models":
            return await answer.json(200, self._list_models(parse_qs(urlsplit(request.path).query)))
        if request.method == "GET" and path.startswith("/v1/models/"):
            wanted = path.removeprefix("/v1/models/")
            found = [entry for entry in self.models if entry["id"] == wanted]
            if not found:
                return await answer.error(HttpError(404, message=f"model: {wanted}"))
            return await answer.json(200, found[0])
        if request.method == "POST" and path == COUNT:
            rules.check(request.body, counting=True)
            return await answer.json(200, {"input_tokens": prompt_tokens(request.body)})
        if request.method == "POST" and path == MESSAGES:
            return await self._answer(request.body, answer)
        raise RefusedError(f"{request.method} {path}", 404, "not_found_error")

    def _list_models(self, query: dict[str, list[str]]) -> Json:
        lifecycle = query.get("lifecycle", query.get("lifecycle[]", ["active", "deprecated"]))
        wanted = [entry for entry in self.models if entry["lifecycle"] in lifecycle]
        after = query.get("after_id")
        start = next((i + 1 for i, entry in enumerate(wanted) if after == [entry["id"]]), 0)
        limit = int(query.get("limit", ["20"])[0])
        data = wanted[start : start + limit]
        ends = {"first_id": data[0]["id"], "last_id": data[-1]["id"]} if data else {"first_id": None, "last_id": None}
        return {"data": data, "has_more": len(wanted) > start + limit, **ends}

    # an answer

    async def _answer(self, body: Json, answer: Answer) -> bool:
        rules.check(body)
        tokens = prompt_tokens(body)
        if self.max_prompt_tokens is not None and tokens > self.max_prompt_tokens:
            raise RefusedError(f"prompt is too long: {tokens} tokens > {self.max_prompt_tokens} maximum")
        reply = self._next(body)
        while True:
            if isinstance(reply, Held):
                if not await reply.hold.wait(answer.reader, None, None):
                    return False
                reply = self.default if reply.reply is None else reply.reply
            elif callable(reply):
                try:
                    reply = reply(body)
                except Exception:
                    self._errors.append(traceback.format_exc())
                    reply = HttpError(500, message="A reply in the script failed.")
            else:
                break
        if isinstance(reply, HttpError):
            return await answer.error(reply)
        if isinstance(reply, Html):
            return await answer.page(reply.status, reply.page)
        say = Say(reply) if isinstance(reply, str) else reply
        message = self._message(body, say, tokens)
        if body.get("stream"):
            return await answer.stream(message, say)
        return await answer.whole(message, say.fault)

    def _next(self, body: Json) -> Reply:
        said = last_text(body)
        with self._changed:
            for index, (reply, when) in enumerate(self._script):
                if when is None or (when in said if isinstance(when, str) else when(body)):
                    del self._script[index]
                    return reply
        return self.default

    def _message(self, body: Json, say: Say, tokens: int) -> Json:
        """The finished message, its thinking signed for the place where it will stand."""
        system, turns = body.get("system"), signatures.merge(body["messages"])
        content = say.content(
            sign=lambda text: signatures.sign(system, turns, text),
            seal=lambda hidden: signatures.seal(system, turns, hidden),
            omit_thinking=((body.get("thinking") or {}).get("display") or self.thinking_display) == "omitted",
        )
        usage = {
            "input_tokens": tokens,
            "output_tokens": max(1, len(json.dumps(content)) // 4),
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
            **say.usage,
        }
        return {
            "id": f"msg_{uuid.uuid4().hex[:24]}",
            "type": "message",
            "role": "assistant",
            "model": body["model"],
            "content": content,
            "stop_reason": say.stop_reason,
            "stop_sequence": None,
            "usage": usage,
        }


def prompt_tokens(body: Json) -> int:
    """About what a request costs: four characters a token."""
    counted = {name: body[name] for name in ("system", "tools", "messages") if body.get(name)}
    return max(1, len(json.dumps(counted, ensure_ascii=False)) // 4)
