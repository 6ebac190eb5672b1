"""`DemoModel`: offline, without a key. It streams what `demo_texts` holds, calls tools, and can be slow or long."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import AsyncIterator

from fireside.errors import ProviderError
from fireside.messages import Block, Json, Message, Reply, Text, Thinking, ToolCall, ToolResult, Usage
from fireside.models import demo_texts
from fireside.models.base import Delta, ModelInfo, StreamPart
from fireside.requests import Request, ToolSpec

DELAY = 0.02
"""Seconds between two pieces, unless the environment's `FIRESIDE_DEMO_DELAY` says otherwise."""
_SLOWER = 15

_PIECE = re.compile(r"\S+\s*|\s+")
_ASKS_FOR_TOOL = re.compile(r"\btools?\b|what time|what's the time|what is the time", re.IGNORECASE)


class DemoModel:
    """Answers at a readable pace, the same each time; its first answer says what it is and how to give a key.

    `delay` is the time between two pieces of a reply, in seconds. Some words in a message change the answer:
    `code`, `table`, `list`, `think`, `slow`, `long`, `use a tool` or `what time`, and `fail` alone.

    >>> import asyncio
    >>> from fireside.messages import Message, Text
    >>> from fireside.requests import Request
    >>> async def ask(text):
    ...     request = Request((Message("user", (Text(text),)),))
    ...     return [part async for part in DemoModel(delay=0).stream(request)]
    >>> "offline demo" in asyncio.run(ask("Hello"))[-1].text
    True
    """

    def __init__(self, name: str = "demo", *, delay: float | None = None) -> None:
        self.name = name
        self._delay = _delay_from_environment() if delay is None else delay

    async def stream(self, request: Request) -> AsyncIterator[StreamPart]:
        """Streams the answer to the last message. Raises `ProviderError` where that message is `fail`."""
        said = _said(request.messages[-1]) if request.messages else ""
        words = set(re.findall(r"[a-z]+", said.lower()))
        if words == {"fail"}:
            raise ProviderError("the demo failed, as it was asked to; say anything else to go on")
        delay = self._delay * (_SLOWER if "slow" in words else 1)
        content = _introduced(request, _answer(request, said, words))
        for n, block in enumerate(content):
            if isinstance(block, ToolCall):
                await asyncio.sleep(delay)
                yield Delta("call", block.name, n)
            elif isinstance(block, Text | Thinking):
                for piece in _PIECE.findall(block.text):
                    await asyncio.sleep(delay)
                    yield Delta("text" if isinstance(block, Text) else "thinking", piece, n)
        calls = any(isinstance(block, ToolCall) for block in content)
        yield Reply(content, "tool_use" if calls else "end_turn", _usage(request, content), self.name)

    async def models(self) -> list[ModelInfo]:
        """Itself alone."""
        return [ModelInfo(self.name, "Offline demo", 200_000, 64_000, thinking=("adaptive", "disabled"))]


def _delay_from_environment() -> float:
    try:
        delay = float(os.environ.get("FIRESIDE_DEMO_DELAY", DELAY))
    except ValueError:
        return DELAY
    return max(0.0, delay) if delay <= 60 else DELAY  # also where it is inf or nan


def _said(message: Message) -> str:
    return "\n".join(block.text for block in message.content if isinstance(block, Text))


def _introduced(request: Request, blocks: list[Block]) -> tuple[Block, ...]:
    """The first answer of a conversation says what it comes from, whatever it was asked."""
    if any(message.role == "assistant" for message in request.messages):
        return tuple(blocks)
    first = next(n for n, block in enumerate(blocks) if isinstance(block, Text))
    text = blocks[first].text  # type: ignore[union-attr]
    if text != demo_texts.FIRST:
        blocks[first] = Text(f"{demo_texts.INTRODUCTION}\n\n{text}")
    return tuple(blocks)


def _answer(request: Request, said: str, words: set[str]) -> list[Block]:
    blocks: list[Block] = [Thinking(demo_texts.THOUGHTS)] if "think" in words else []
    results = [block for block in request.messages[-1].content if isinstance(block, ToolResult)]
    if results and not said:
        return [*blocks, Text(_told(request, results))]
    earlier = sum(message.role == "assistant" for message in request.messages)
    if _ASKS_FOR_TOOL.search(said):
        if not request.tools:
            return [*blocks, Text(demo_texts.NO_TOOLS)]
        tool = _tool_for(said, request.tools)
        call = ToolCall(f"demo_call_{earlier}", tool.name, _arguments(tool.schema))
        return [*blocks, Text(f"I will ask the tool `{tool.name}`."), call]
    if "long" in words:
        return [*blocks, Text(demo_texts.long_answer())]
    for word, text in demo_texts.BY_WORD.items():
        if word in words:
            return [*blocks, Text(text)]
    if words & {"summary", "summarize", "summarise"}:
        return [*blocks, Text(_summary(request))]
    if not earlier:
        return [*blocks, Text(demo_texts.FIRST)]
    return [*blocks, Text(demo_texts.in_turn(earlier - 1, said))]


def _tool_for(said: str, tools: tuple[ToolSpec, ...]) -> ToolSpec:
    """The tool that is named; else one that tells the time; else one that needs no arguments; else the first."""
    named = [tool for tool in tools if tool.name in said]
    clocks = [tool for tool in tools if "time" in tool.name or "clock" in tool.name]
    simple = [tool for tool in tools if not tool.schema.get("required")]
    return [*named, *clocks, *simple, *tools][0]


def _arguments(schema: Json) -> dict[str, Json]:
    """The simplest arguments that the schema takes."""
    properties = schema.get("properties") or {}
    return {name: _example(properties.get(name) or {}) for name in schema.get("required") or ()}


def _example(schema: Json) -> Json:
    if "default" in schema:
        return schema["default"]
    if schema.get("enum"):
        return schema["enum"][0]
    match schema.get("type"):
        case "integer" | "number":
            return 1
        case "boolean":
            return False
        case "array":
            return []
        case "object":
            return {}
    return "demo"


def _told(request: Request, results: list[ToolResult]) -> str:
    names = {call.id: call.name for message in request.messages[-2:] for call in message.calls}
    parts = []
    for result in results:
        words = "\n".join(block.text for block in result.content if isinstance(block, Text)) or "(a picture)"
        verb = "failed" if result.is_error else "answered"
        quoted = "\n".join(f"> {line}" for line in words.splitlines()[:20])
        parts.append(f"The tool `{names.get(result.call_id, 'tool')}` {verb}:\n\n{quoted}")
    return "\n\n".join([*parts, "That is the whole round: a call, its result, and an answer that rests on it."])


def _summary(request: Request) -> str:
    lines = []
    for message in request.messages[:-1]:
        line = _said(message).strip().partition("\n")[0][:80] if message.role == "user" else ""
        if line and not line.startswith("["):
            lines.append(f"- {line}")
    return "\n".join(["The person said, in this order:", "", *(lines or ["- nothing yet"])])


def _usage(request: Request, content: tuple[Block, ...]) -> Usage:
    asked = sum(len(_said(message)) for message in request.messages)
    given = sum(len(block.text) for block in content if isinstance(block, Text | Thinking))
    return Usage(input=asked // 4 + 1, output=given // 4 + 1, requests=1)
