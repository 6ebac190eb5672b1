"""The Messages API's JSON: a request into its body, a stream's events into a reply. No network, no SDK."""

from __future__ import annotations

import json
from collections.abc import Iterator

from fireside.messages import (
    Block,
    Image,
    Json,
    Message,
    Reply,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Unknown,
    Usage,
)
from fireside.models.base import Delta, ModelInfo
from fireside.models.known import EFFORTS
from fireside.models.prices import cost
from fireside.requests import Request, ToolSpec

MAX_TOKENS = 64_000
"""How long an answer may be, thinking included, unless the request says so or the model has a lower limit."""
MAX_TOKENS_UNKNOWN = 8_192
"""The same for a model of which nothing is known."""
_CACHE = {"type": "ephemeral"}


# -- a request


def body_of(request: Request, model: str, info: ModelInfo | None) -> dict[str, Json]:
    """The body of a streaming request; `info` is what is known of the model, if anything is.

    At most three cache marks: on what is the same in each request (the system prompt, or else the tools), and on the
    last two messages of the user, so that what the last request wrote is found.
    """
    limit = request.max_tokens or MAX_TOKENS_UNKNOWN
    if info is not None and info.max_output:
        limit = min(request.max_tokens or MAX_TOKENS, info.max_output)
    messages = [_message(message) for message in request.messages]
    body: dict[str, Json] = {"model": model, "max_tokens": limit, "stream": True, "messages": messages}
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
        if not request.system:
            body["tools"][-1]["cache_control"] = _CACHE
    if request.system:
        body["system"] = [{"type": "text", "text": request.system, "cache_control": _CACHE}]
    for message in [message for message in messages if message["role"] == "user"][-2:]:
        message["content"][-1]["cache_control"] = _CACHE
    effort, thinking = _depth(request, info, limit)
    if effort:
        body["output_config"] = {"effort": effort}
    if thinking:
        body["thinking"] = thinking
    return body


_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode


def encoded(body: dict[str, Json]) -> bytes:
    """A body as it is sent. One message after the other, so that other threads get their turns between them: a long
    conversation takes a tenth of a second."""
    rest = {key: value for key, value in body.items() if key != "messages"}
    messages = ",".join([_encode(message) for message in body["messages"]])
    return f'{_encode(rest)[:-1]},"messages":[{messages}]}}'.encode()


def _depth(request: Request, info: ModelInfo | None, limit: int) -> tuple[str | None, dict[str, Json] | None]:
    """The effort and the thinking to ask for: nothing that the model is known to refuse, nothing unasked that it may."""
    effort, wanted = request.effort, request.thinking
    accepted = info.thinking if info is not None else ()
    if effort and info is not None:
        lower = EFFORTS[: EFFORTS.index(effort) + 1] if effort in EFFORTS else ()
        effort = next((word for word in reversed(lower) if word in info.efforts), None)
    if wanted is None and "adaptive" in accepted:
        wanted = "adaptive"
    if wanted == "disabled" and accepted and "disabled" not in accepted and "between_tools" in accepted:
        wanted = "between_tools"
    if wanted is None or (accepted and wanted not in accepted):
        return effort, None
    if wanted == "adaptive":
        return effort, {"type": "adaptive", "display": "summarized"}  # some models show no thoughts unless asked to
    if wanted == "enabled":
        return effort, {"type": "enabled", "budget_tokens": max(1024, min(16_000, limit // 2))}
    if effort in ("xhigh", "max"):
        effort = "high"  # the API: no more than that without thinking
    return effort, {"type": wanted}


def without_thinking(body: dict[str, Json]) -> dict[str, Json]:
    """The body without what the model thought before."""
    messages = [
        {**message, "content": [block for block in message["content"] if not block["type"].endswith("thinking")]}
        for message in body["messages"]
    ]
    return {**body, "messages": messages}


def has_thinking(body: dict[str, Json]) -> bool:
    """Whether the body has anything that `without_thinking` leaves out."""
    return any(block["type"].endswith("thinking") for message in body["messages"] for block in message["content"])


def _message(message: Message) -> dict[str, Json]:
    return {"role": message.role, "content": [_block(block) for block in message.content]}


def _block(block: Block) -> dict[str, Json]:
    match block:
        case Text():
            return {"type": "text", "text": block.text}
        case ToolCall():
            return {"type": "tool_use", "id": block.id, "name": block.name, "input": block.args}
        case ToolResult():
            content = [_block(part) for part in block.content]
            result: dict[str, Json] = {"type": "tool_result", "tool_use_id": block.call_id, "content": content}
            return {**result, "is_error": True} if block.is_error else result
        case Image():
            source = {"type": "base64", "media_type": block.media_type, "data": block.data}
            return {"type": "image", "source": source}
        case Thinking(redacted=None):
            return {"type": "thinking", "thinking": block.text, "signature": block.signature}
        case Thinking():
            return {"type": "redacted_thinking", "data": block.redacted}
    raise TypeError(f"a request holds no {type(block).__name__}")


def _tool(tool: ToolSpec) -> dict[str, Json]:
    described = {"description": tool.description} if tool.description.strip() else {}
    return {"name": tool.name, **described, "input_schema": tool.schema}


# -- a reply


class _Part:
    """A block as it streams: what it began as, and the pieces that came after."""

    __slots__ = ("pieces", "signature", "start")

    def __init__(self, start: dict[str, Json]) -> None:
        self.start = start
        self.pieces: list[str] = []
        self.signature = ""


class ReplyReader:
    """Takes the events of a stream one by one. What it does not know it passes over."""

    def __init__(self, model: str, request_id: str | None = None) -> None:
        self._model = model
        self._request_id = request_id
        self._parts: dict[int, _Part] = {}
        self._stop_reason: str | None = None
        self._usage: dict[str, int] = {}

    def take(self, event: Json) -> Iterator[Delta]:
        """What one event adds for who watches."""
        if not isinstance(event, dict):
            return
        match event.get("type"):
            case "message_start":
                self._count((event.get("message") or {}).get("usage"))
            case "content_block_start":
                yield from self._begin(event["index"], event.get("content_block") or {})
            case "content_block_delta":
                yield from self._more(event["index"], event.get("delta") or {})
            case "message_delta":
                self._stop_reason = (event.get("delta") or {}).get("stop_reason") or self._stop_reason
                self._count(event.get("usage"))

    def _count(self, usage: Json) -> None:
        for name, tokens in (usage or {}).items():
            if isinstance(tokens, int):
                self._usage[name] = tokens

    def _begin(self, index: int, block: dict[str, Json]) -> Iterator[Delta]:
        self._parts[index] = part = _Part(block)
        kind = block.get("type")
        if kind == "tool_use":
            yield Delta("call", str(block.get("name")), index)
        elif kind in ("text", "thinking") and block.get(kind):
            part.pieces.append(block[kind])
            yield Delta(kind, block[kind], index)
        if kind == "thinking":
            part.signature = block.get("signature") or ""

    def _more(self, index: int, delta: dict[str, Json]) -> Iterator[Delta]:
        match delta.get("type"):
            case "text_delta":
                part = self._part(index, "text")
                part.pieces.append(delta["text"])
                if delta["text"]:
                    yield Delta("text", delta["text"], index)
            case "thinking_delta":
                part = self._part(index, "thinking")
                part.pieces.append(delta["thinking"])
                if delta["thinking"]:
                    yield Delta("thinking", delta["thinking"], index)
            case "signature_delta":
                self._part(index, "thinking").signature += delta["signature"]
            case "input_json_delta":
                self._part(index, "tool_use").pieces.append(delta["partial_json"])

    def _part(self, index: int, kind: str) -> _Part:
        """The block of that index; a server may leave out to say that it began."""
        return self._parts.setdefault(index, _Part({"type": kind}))

    @property
    def stop_reason(self) -> str | None:
        """Why the model stopped; `None` while it has not."""
        return self._stop_reason

    def reply(self) -> Reply | None:
        """The whole reply; `None` where the stream ended without a stop reason, so that it was cut off."""
        if self._stop_reason is None:
            return None
        blocks: list[Block] = []
        calls = 0
        for _, part in sorted(self._parts.items()):
            block = _finished(part, calls)
            calls += isinstance(block, ToolCall)
            blocks.append(block)
        return Reply(tuple(blocks), self._stop_reason, self.usage, self._model, self._request_id)

    @property
    def usage(self) -> Usage:
        """What the request took so far."""
        counted = self._usage.get
        usage = Usage(
            counted("input_tokens", 0),
            counted("output_tokens", 0),
            counted("cache_read_input_tokens", 0),
            counted("cache_creation_input_tokens", 0),
            requests=1,
        )
        return usage._replace(cost=cost(self._model, usage))


def _finished(part: _Part, n: int) -> Block:
    start = part.start
    words = "".join(part.pieces)
    match start.get("type"):
        case "text":
            return Text(words)
        case "thinking":
            return Thinking(words, part.signature or None)
        case "redacted_thinking":
            return Thinking(redacted=start.get("data") or "")
        case "tool_use":
            id, name = str(start.get("id") or f"call_{n}"), str(start.get("name") or "")
            args = _arguments(words) if words.strip() else start.get("input") or {}
            if isinstance(args, dict):
                return ToolCall(id, name, args, n)
            return ToolCall(id, name, {}, n, words)
    return Unknown(start)


def _arguments(words: str) -> Json:
    """The JSON value; `None` where it is none."""
    try:
        return json.loads(words, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None


def _refuse(constant: str) -> Json:
    raise ValueError(f"{constant} is not JSON")
