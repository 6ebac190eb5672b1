"""`HistoryEntry`: one step of a conversation, to and from JSON; `History`: all of them. It knows messages alone.

An entry's JSON form has `seq`, `kind`, `turn`, `at` and, where they are there, `content`, `call` (the place of the
call among those of the last reply, its id and name), `is_error`, `closing` and `origin` (the first entry alone).

| kind | content |
|---|---|
| `user` | the text (`str`), or `{"text", "images"}` |
| `notice` | the text; or `{"text", "missing": [[first, last], …]}` where steps could not be read |
| `reply` | `{"blocks", "stop_reason", "usage", "model", "seen", "prefix", "request_id"}`: `seen` is the `seq` of the last entry that the model had seen, `prefix` a hash of what it answered |
| `partial_reply` | `{"seen", "attempt", "delta": [[block, "text" or "thinking", words], …]}`, with `cut` when it was stopped, `void` when it is asked for again |
| `tool_result` | the text, or a list of blocks; `call`, `is_error` |
| `approval` | `{"asked": [n, …]}` before the person is asked; `{"allowed", "reason"}` with `call` for each answer |
| `ask` | `{"prompt", "answer", "usage"}`: a side question |
| `human` | `{"question", "answer"}`: the model asked the person |
| `compact` | `{"summary", "kept": [seq, …], "by", "usage"}` |
| `clear` | `{"cleared": [seq, …]}`: tool results that the model no longer sees |
| `run_start` | `{"agent": {…}}`: what the Agent was |
| `stop` | `{"by": "finish", "answer"}` from `finish`; `{"end": true, "by"}` at the end of a run, with `error` (what failed) or `cut` (what stopped it) |
| `data` | `{"set": {…}, "removed": […]}` |
| `title` | `{"title", "by": "person" or "auto"}` |
| `checkpoint` | `{"message", "data"}` |
| `restore` | `{"checkpoint": seq, "message"}`, or `{"before": seq}` of a `user` entry |
| `error` | the exception's type and message |
"""  # noqa: E501

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, overload

from fireside.messages import Block, Json, Text, ToolCall, block_from_json, blocks_from_json, word

MALFORMED = (KeyError, TypeError, ValueError, AttributeError, IndexError)
"""What a damaged entry may raise where its content is read."""

VERSION = 1
"""The version of the format on disk. It stands in each label and in each first entry."""


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """One step of a conversation.

    `seq` is its place, `turn` the number of successful thinks before it, `at` the time (UTC). `content` depends on
    the `kind` (see the table of this module). `call` is the tool call that a result or an approval belongs to.
    `error` is the exception itself and lives in memory alone. A `closing` entry was made by the library when it
    found a run cut off; it does not count as activity.
    """

    seq: int
    kind: str
    turn: int
    at: datetime
    content: Any = None
    call: ToolCall | None = None
    is_error: bool = False
    error: BaseException | None = field(default=None, compare=False)
    closing: bool = False
    origin: dict[str, Json] | None = None

    @property
    def text(self) -> str:
        """What a person reads of it; empty for entries that say nothing, or hold what can't be read."""
        try:
            return self.read_text()
        except MALFORMED:
            return ""

    @property
    def blocks(self) -> tuple[Block, ...]:
        """The content of a `user`, `reply` or `tool_result` entry as blocks; empty for others, and where it can't be read."""
        try:
            return self.read_blocks()
        except MALFORMED:
            return ()

    def read_text(self) -> str:
        """`text`. Raises one of `MALFORMED` for an entry that can't be read."""
        content = self.content
        match self.kind:
            case "reply":
                return "".join(block["text"] for block in content["blocks"] if block["type"] == "text")
            case "partial_reply":
                return "".join(words for _, kind, words in content.get("delta", ()) if kind == "text")
            case "user" | "notice":
                return str(content if isinstance(content, str) else content["text"])
            case "compact":
                return str(content["summary"])
            case "title":
                return str(content["title"])
            case "checkpoint":
                return str(content["message"])
            case "tool_result" if isinstance(content, list):
                return "".join(part.get("text", "") for part in content)
        return content if isinstance(content, str) else ""

    def read_blocks(self) -> tuple[Block, ...]:
        """`blocks`. Raises one of `MALFORMED` for an entry that can't be read."""
        content = self.content
        if self.kind == "reply":
            return blocks_from_json(content["blocks"])
        if self.kind == "user":
            if isinstance(content, str):
                return (Text(content),)
            images = [block_from_json({**image, "type": "image"}) for image in content["images"]]
            return (*images, Text(word(content["text"]))) if content["text"] else tuple(images)
        if self.kind == "tool_result":
            return blocks_from_json(content) if isinstance(content, list) else (Text(word(content)),)
        return ()

    def to_json(self) -> dict[str, Json]:
        """The form that a store keeps."""
        out: dict[str, Json] = {
            "seq": self.seq,
            "kind": self.kind,
            "turn": self.turn,
            "at": f"{self.at.isoformat(timespec='microseconds')[:26]}Z",  # UTC; strftime takes three times as long
        }
        if self.origin is not None:
            out["origin"] = self.origin
        if self.content is not None:
            out["content"] = self.content
        if self.call is not None:
            out["call"] = {"n": self.call.n, "id": self.call.id, "name": self.call.name}
        if self.is_error:
            out["is_error"] = True
        if self.closing:
            out["closing"] = True
        return out

    @classmethod
    def from_json(
        cls, raw: Mapping[str, Json], call_of: Callable[[Mapping[str, Json]], ToolCall] | None = None
    ) -> HistoryEntry:
        """The inverse of `to_json`; `call_of` finds the whole call of a reference to one.

        Raises `KeyError`, `TypeError` or `ValueError` where `raw` is no entry.
        """
        get = raw.get
        seq, kind, turn, at = raw["seq"], raw["kind"], raw["turn"], datetime.fromisoformat(raw["at"])
        if type(seq) is not int or type(kind) is not str or type(turn) is not int or at.tzinfo is not UTC:
            raise ValueError("not a history entry")
        if (origin := get("origin")) is not None and type(origin["v"]) is not int:
            raise ValueError("an origin without its version")
        call = get("call")
        if call is not None:
            call = call_of(call) if call_of else ToolCall(call["id"], call["name"], {}, call["n"])
        made: Any = _InTheMaking(
            seq, kind, turn, at, get("content"), call, get("is_error", False), get("closing", False), origin
        )
        made.__class__ = cls
        return made  # type: ignore[no-any-return]


class _InTheMaking:
    """A `HistoryEntry` until its values are in: the constructor of a frozen class takes three times as long."""

    __slots__ = HistoryEntry.__slots__

    def __init__(
        self,
        seq: int,
        kind: str,
        turn: int,
        at: datetime,
        content: Any,
        call: ToolCall | None,
        is_error: bool,
        closing: bool,
        origin: dict[str, Json] | None,
    ) -> None:
        self.seq, self.kind, self.turn, self.at = seq, kind, turn, at
        self.content, self.call, self.is_error, self.error = content, call, is_error, None
        self.closing, self.origin = closing, origin


class History(Sequence[HistoryEntry]):
    """Every entry in order. It is read-only, and it grows with its State."""

    __slots__ = ("_entries",)

    def __init__(self, entries: list[HistoryEntry]) -> None:
        self._entries = entries

    @overload
    def __getitem__(self, index: int) -> HistoryEntry: ...
    @overload
    def __getitem__(self, index: slice) -> list[HistoryEntry]: ...
    def __getitem__(self, index: int | slice) -> HistoryEntry | list[HistoryEntry]:
        return self._entries[index]

    def __len__(self) -> int:
        return len(self._entries)

    def __repr__(self) -> str:
        return f"History({len(self._entries)} entries)"
