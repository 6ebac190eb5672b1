"""What a context is made of, one item a message, and the message that the model sees of it. It knows history alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from fireside.history import HistoryEntry
from fireside.messages import Block, Image, Message, Text, ToolCall, ToolResult

UNKNOWN_RESULT = (
    "(unknown: the run stopped before this result was saved, so the tool may or may not have run. "
    "Check whether it took effect before relying on it or running it again)"
)
CLEARED_RESULT = "(cleared: this result was removed to save space)"


@dataclass(slots=True)
class Partial:
    """What came of a reply before it was whole. `seen` and `attempt` name the request."""

    seq: int
    seen: int
    attempt: int
    blocks: dict[int, tuple[str, str]] = field(default_factory=dict)
    cut: bool = False

    @property
    def text(self) -> str:
        """Its words."""
        return "".join(words for kind, words in self.blocks.values() if kind == "text")


@dataclass(slots=True)
class Results:
    """The results of one turn, in the order of the calls. `cleared` are the entries that the model no longer sees."""

    seq: int
    results: tuple[tuple[ToolCall, HistoryEntry | None], ...]
    cleared: frozenset[int] = frozenset()


Item = HistoryEntry | Results | Partial


def message_of(item: Item) -> Message | None:
    """What the model sees of one item of the context."""
    if isinstance(item, Results):
        return Message("user", tuple(_result(call, entry, item.cleared) for call, entry in item.results))
    if isinstance(item, Partial):
        return Message("assistant", (Text(item.text.strip()),))
    match item.kind:
        case "user":
            return Message("user", item.blocks)
        case "notice":
            return Message("user", (Text(f"[notice] {item.text}"),))
        case "compact":
            return Message("user", (Text(f"[summary of the conversation so far]\n{item.text}"),))
        case "reply":
            return Message("assistant", item.blocks)
    return None


def messages_of(items: Iterable[Item]) -> Iterator[tuple[Message, HistoryEntry | None]]:
    """What the model sees of items; with each message the reply that it is, if it is one."""
    for item in items:
        if (message := message_of(item)) is not None:
            yield message, item if isinstance(item, HistoryEntry) and item.kind == "reply" else None


def _result(call: ToolCall, entry: HistoryEntry | None, cleared: frozenset[int]) -> Block:
    if entry is None:
        return ToolResult(call.id, (Text(UNKNOWN_RESULT),), True)
    if entry.seq in cleared:
        return ToolResult(call.id, (Text(CLEARED_RESULT),), entry.is_error)
    parts = tuple(block for block in entry.blocks if isinstance(block, Text | Image))
    return ToolResult(call.id, parts, entry.is_error)


__all__ = ["CLEARED_RESULT", "UNKNOWN_RESULT", "Item", "Partial", "Results", "message_of", "messages_of"]
