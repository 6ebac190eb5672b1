"""`Message` and its blocks, `Reply`, `Usage`: what is said, and its JSON form. This room knows no other."""

from __future__ import annotations

import base64
import mimetypes
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

Json: TypeAlias = Any
"""A value that JSON can hold."""

Role = Literal["user", "assistant"]


@dataclass(frozen=True, slots=True)
class Text:
    """Words."""

    text: str

    def to_json(self) -> dict[str, Json]:
        """`{"type": "text", "text": …}`."""
        return {"type": "text", "text": plain_str(self.text)}


@dataclass(frozen=True, slots=True)
class Thinking:
    """What the model thought. It goes back to the provider byte for byte, and only with its `signature`.

    `redacted` is the provider's own sealed form, in place of `text`.
    """

    text: str = ""
    signature: str | None = None
    redacted: str | None = None

    def to_json(self) -> dict[str, Json]:
        """`{"type": "thinking", …}`, with the fields that are there."""
        out: dict[str, Json] = {"type": "thinking"}
        if self.redacted is not None:
            out["redacted"] = self.redacted
        else:
            out["text"] = self.text
        if self.signature is not None:
            out["signature"] = self.signature
        return out


@dataclass(frozen=True, slots=True)
class Image:
    """A picture: `data` in base64, `media_type` such as `"image/png"`."""

    data: str
    media_type: str

    @classmethod
    def from_file(cls, path: str | Path) -> Image:
        """The picture in a file (PNG, JPEG, GIF or WebP). Raises `ValueError` for another kind, `OSError` as usual."""
        kind = mimetypes.guess_type(str(path))[0]
        if kind not in ("image/png", "image/jpeg", "image/gif", "image/webp"):
            raise ValueError(f"{path} is not a PNG, JPEG, GIF or WebP picture")
        return cls(base64.b64encode(Path(path).read_bytes()).decode("ascii"), kind)

    def to_json(self) -> dict[str, Json]:
        """`{"type": "image", "media_type": …, "data": …}`."""
        return {"type": "image", "media_type": self.media_type, "data": self.data}


@dataclass(frozen=True, slots=True)
class ToolCall:
    """The model asks for a tool. `n` is its place among the calls of its reply.

    `unreadable` holds the arguments as they came where they are not a JSON object; `args` is then empty.
    """

    id: str
    name: str
    args: dict[str, Json] = field(default_factory=dict)
    n: int = 0
    unreadable: str | None = None

    def to_json(self) -> dict[str, Json]:
        """`{"type": "tool_call", "id": …, "name": …, "args": …}`; `n` follows from the place."""
        out = {"type": "tool_call", "id": self.id, "name": self.name, "args": self.args}
        if self.unreadable is not None:
            out["unreadable"] = self.unreadable
        return out


class _CallInTheMaking:
    """A `ToolCall` until it is whole: see `call_from_json`."""

    __slots__ = ToolCall.__slots__

    def __init__(self, id: str, name: str, args: dict[str, Json], n: int, unreadable: str | None) -> None:
        self.id, self.name, self.args, self.n, self.unreadable = id, name, args, n, unreadable


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool gave, for the call with the id `call_id`."""

    call_id: str
    content: tuple[Text | Image, ...]
    is_error: bool = False

    def to_json(self) -> dict[str, Json]:
        """`{"type": "tool_result", "call": …, "content": […], "is_error": …}`."""
        return {
            "type": "tool_result",
            "call": self.call_id,
            "content": [block.to_json() for block in self.content],
            "is_error": self.is_error,
        }


@dataclass(frozen=True, slots=True)
class Unknown:
    """A block of a kind that this version does not know. It is kept, and never sent."""

    data: dict[str, Json]

    def to_json(self) -> dict[str, Json]:
        """`{"type": "unknown", "data": …}`."""
        return {"type": "unknown", "data": self.data}


Block: TypeAlias = Text | Thinking | Image | ToolCall | ToolResult | Unknown


def block_from_json(raw: Mapping[str, Json], n: int = 0) -> Block:
    """The block that `to_json` wrote; `n` is the place of a tool call among those of its reply.

    Raises `KeyError`, `TypeError` or `ValueError` where it is not what `to_json` writes.
    """
    match raw["type"]:
        case "text":
            return Text(word(raw["text"]))
        case "thinking":
            signature, redacted = raw.get("signature"), raw.get("redacted")
            for seal in (signature, redacted):
                word(seal or "")
            return Thinking(word(raw.get("text", "")), signature, redacted)
        case "tool_call":
            return call_from_json(raw, n)
        case "image":
            return Image(word(raw["data"]), word(raw["media_type"]))
        case "tool_result":
            parts = tuple(block_from_json(part) for part in raw["content"])
            return ToolResult(raw["call"], parts, raw["is_error"])  # type: ignore[arg-type]
        case "unknown":
            return Unknown(raw["data"])
        case _:
            return Unknown(dict(raw))


def call_from_json(raw: Mapping[str, Json], n: int) -> ToolCall:
    """The tool call that `to_json` wrote; `n` is its place among those of its reply. Raises as `block_from_json`.

    It is made as an instance of a plain class and becomes a `ToolCall` when its values are in: the constructor of a frozen
    class takes four times as long, and a load makes thousands.
    """
    id, name, args = raw["id"], raw["name"], raw["args"]
    if type(args) is not dict or type(id) is not str or type(name) is not str:
        raise TypeError("the arguments of a call are a dict, its id and its name are str")
    made: Any = _CallInTheMaking(id, name, args, n, raw.get("unreadable"))
    made.__class__ = ToolCall
    return made  # type: ignore[no-any-return]


def plain_str(text: str) -> str:
    """The very text, of a `StrEnum`'s member or another `str` with a class of its own: it is what JSON makes of it."""
    return text if type(text) is str else str.__str__(text)


def word(value: Json) -> str:
    """The value, which has to be a `str`. Raises `TypeError` for anything else."""
    if type(value) is not str:
        raise TypeError(f"a str is needed here, not {type(value).__name__}")
    return value


def blocks_from_json(raw: list[Json]) -> tuple[Block, ...]:
    """The blocks of one message, with the tool calls numbered in order."""
    out: list[Block] = []
    calls = 0
    for item in raw:
        out.append(block_from_json(item, calls))
        calls += item["type"] == "tool_call"
    return tuple(out)


@dataclass(frozen=True, slots=True)
class Message:
    """One message as the model sees it."""

    role: Role
    content: tuple[Block, ...]

    @property
    def text(self) -> str:
        """Its words alone, without thinking, calls and results."""
        return "".join(block.text for block in self.content if isinstance(block, Text))

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The tool calls in it."""
        return tuple(block for block in self.content if isinstance(block, ToolCall))

    def to_json(self) -> dict[str, Json]:
        """`{"role": …, "content": […]}`."""
        return {"role": self.role, "content": [block.to_json() for block in self.content]}


class Usage(NamedTuple):
    """Tokens, requests and cost. `cost` is in US dollars; `None` where no price is known.

    (A tuple, since a frozen dataclass takes four times as long to make, and a list of conversations makes 10,000.)
    """

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    requests: int = 0
    cost: float | None = None

    def __add__(self, other: Usage) -> Usage:  # type: ignore[override]
        input, output, cache_read, cache_write, requests, cost = self
        more_input, more_output, more_read, more_written, more_requests, more = other
        total = more if cost is None else cost if more is None else cost + more
        return tuple.__new__(
            Usage,
            (
                input + more_input,
                output + more_output,
                cache_read + more_read,
                cache_write + more_written,
                requests + more_requests,
                total,
            ),
        )

    @property
    def context(self) -> int:
        """How many tokens of the context window a request with this usage took, its answer included."""
        return self.input + self.output + self.cache_read + self.cache_write

    def to_json(self) -> dict[str, Json]:
        """The fields that differ from their defaults."""
        out: dict[str, Json] = {name: value for name in _TOKENS if (value := getattr(self, name))}
        if self.cost is not None:
            out["cost"] = self.cost
        return out

    @classmethod
    def from_json(cls, raw: Mapping[str, Json]) -> Usage:
        """The inverse of `to_json`; fields that it does not know are ignored."""
        get = raw.get
        tokens = get("input", 0), get("output", 0), get("cache_read", 0), get("cache_write", 0)
        return tuple.__new__(cls, (*tokens, get("requests", 0), get("cost")))


_TOKENS = ("input", "output", "cache_read", "cache_write", "requests")


@dataclass(frozen=True, slots=True)
class Reply:
    """A whole answer of a model: `stop_reason` is the provider's own word, such as `"end_turn"`."""

    content: tuple[Block, ...]
    stop_reason: str = "end_turn"
    usage: Usage = field(default_factory=lambda: Usage(requests=1))
    model: str = ""
    request_id: str | None = None

    @property
    def text(self) -> str:
        """Its words alone."""
        return "".join(block.text for block in self.content if isinstance(block, Text))

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """Its tool calls."""
        return tuple(block for block in self.content if isinstance(block, ToolCall))
