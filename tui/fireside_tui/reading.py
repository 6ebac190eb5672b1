"""A conversation as a person reads it, top to bottom: what was said, the calls with their results, and notes.

It is made from the history alone, for `show` and for the exports. It knows the library's public names, not the screen.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeAlias

from fireside_tui.no_key import for_a_person
from fireside_tui.safe_text import safe_line

if TYPE_CHECKING:
    from fireside.history import HistoryEntry
    from fireside.messages import Block, ToolCall
    from fireside.state import State


@dataclass(slots=True)
class Call:
    """A tool call and, once it is there, its result."""

    call: ToolCall
    result: HistoryEntry | None = None

    @property
    def outcome(self) -> str:
        """`"done"`, `"failed"`, `"unknown: may have run"` or `"no result"`."""
        if self.result is None:
            return "no result"
        if self.result.text.startswith(UNKNOWN):
            return "unknown: may have run"
        return "failed" if self.result.is_error else "done"


def other_name(model: Any) -> str:
    """The name of a model that is none of Claude's, made harmless; empty for one of Claude's, and where there is none."""
    return "" if "claude" in str(model or "claude").lower() else safe_line(str(model), 40)


def was_stopped(entry: HistoryEntry) -> bool:
    """Whether an entry is the end of a run that a person, or a signal, stopped; not one that broke off by itself."""
    return entry.kind == "stop" and bool(entry.content.get("cut")) and not entry.closing


@dataclass(slots=True)
class Said:
    """One message: of `"you"` or `"claude"`. `cut` is why a reply is not whole."""

    who: str
    at: datetime
    parts: list[Block | Call] = field(default_factory=list)
    model: str = ""
    cut: str = ""

    @property
    def name(self) -> str:
        """Who said it: `"you"`, `"claude"`, or the model where it is none of Claude's."""
        return self.who if self.who == "you" else other_name(self.model) or self.who

    @property
    def end(self) -> str:
        """What is said below a reply that is not whole; empty for one that is."""
        return self.cut if self.cut in ("", COMING) else f"cut off: {self.cut}"

    @property
    def text(self) -> str:
        """Its words alone."""
        from fireside.messages import Text

        return "".join(part.text for part in self.parts if isinstance(part, Text))


@dataclass(slots=True)
class Note:
    """What happened between the messages; `kind` is the entry's. `body` is longer text that belongs to it."""

    kind: str
    at: datetime
    text: str
    body: str = ""


Passage: TypeAlias = Said | Note

COMING = "still coming"
UNKNOWN = "(unknown: the run stopped"
"""How the result of a call begins that may have run."""
WHOLE = ("end_turn", "tool_use", "stop_sequence", "pause_turn")


def read(state: State) -> list[Passage]:
    """The conversation in order."""
    reader = _Reader(state)
    for entry in state.history:
        reader.take(entry)
    reader.end_partial(COMING if state.status == "running" else "stopped")
    return reader.passages


class _Reader:
    def __init__(self, state: State) -> None:
        self.passages: list[Passage] = []
        self.calls: dict[tuple[str, int], Call] = {}
        self.partial: tuple[int, int] | None = None
        self.streamed: dict[int, tuple[str, str]] = {}
        self.partial_at: datetime | None = None
        self.model = ""  # that answers in this run
        self.late: list[Said] = []  # said while a reply streamed: they stand after it
        self.checkpoints = {checkpoint.seq: checkpoint.message for checkpoint in state.checkpoints}

    def take(self, entry: HistoryEntry) -> None:
        """Takes one entry in. What is damaged is left out, as the fold does."""
        step = getattr(self, f"_{entry.kind}", None)
        if step is None:
            return
        try:
            step(entry)
        except (KeyError, TypeError, ValueError, AttributeError):
            return

    def _user(self, entry: HistoryEntry) -> None:
        said = Said("you", entry.at, list(entry.read_blocks()))
        (self.late if self.streamed else self.passages).append(said)

    def _reply(self, entry: HistoryEntry) -> None:
        from fireside.messages import ToolCall

        content = entry.content
        self.partial, self.streamed = None, {}
        parts: list[Block | Call] = []
        for block in entry.read_blocks():
            if isinstance(block, ToolCall):
                call = self.calls[block.id, block.n] = Call(block)
                parts.append(call)
            else:
                parts.append(block)
        reason = content.get("stop_reason", "")
        self.passages.append(
            Said("claude", entry.at, parts, content.get("model", ""), "" if reason in WHOLE else reason)
        )
        self.end_partial()

    def _partial_reply(self, entry: HistoryEntry) -> None:
        content = entry.content
        asked = (content["seen"], content["attempt"])
        if asked != self.partial:
            self.partial, self.streamed, self.partial_at = asked, {}, entry.at
        for n, kind, words in content.get("delta", ()):
            self.streamed[n] = (kind, self.streamed.get(n, (kind, ""))[1] + words)
        if content.get("void"):
            self.partial, self.streamed = None, {}

    def end_partial(self, cut: str = "stopped") -> None:
        """What streamed and never became a whole reply stands as it is."""
        from fireside.messages import Text, Thinking

        if self.partial_at is not None and any(words.strip() for _, words in self.streamed.values()):
            parts = [Text(words) if kind == "text" else Thinking(words) for kind, words in self.streamed.values()]
            self.passages.append(Said("claude", self.partial_at, list(parts), self.model, cut))
        self.partial, self.streamed = None, {}
        self.passages += self.late
        self.late = []

    def _run_start(self, entry: HistoryEntry) -> None:
        self.end_partial()
        self.model = str(entry.content["agent"].get("model") or "")

    def _tool_result(self, entry: HistoryEntry) -> None:
        if entry.call is not None and (call := self.calls.get((entry.call.id, entry.call.n))):
            call.result = entry

    def _notice(self, entry: HistoryEntry) -> None:
        self.passages.append(Note("notice", entry.at, entry.text))

    def _human(self, entry: HistoryEntry) -> None:
        self.passages.append(
            Note("human", entry.at, f"asked: {entry.content['question']}", str(entry.content["answer"]))
        )

    def _ask(self, entry: HistoryEntry) -> None:
        text = f"side question: {entry.content['prompt']}"
        self.passages.append(Note("ask", entry.at, text, str(entry.content["answer"])))

    def _compact(self, entry: HistoryEntry) -> None:
        self.passages.append(Note("compact", entry.at, "the model's memory begins here, with a summary", entry.text))

    def _checkpoint(self, entry: HistoryEntry) -> None:
        self.passages.append(Note("checkpoint", entry.at, f"checkpoint: {entry.text}"))

    def _restore(self, entry: HistoryEntry) -> None:
        self.end_partial()
        if "before" in entry.content:
            self.passages.append(Note("restore", entry.at, "went back to before an earlier message"))
            return
        name = self.checkpoints.get(entry.content["checkpoint"], "")
        self.passages.append(Note("restore", entry.at, f"went back to the checkpoint: {name}"))

    def _error(self, entry: HistoryEntry) -> None:
        self.end_partial("an error")
        self.passages.append(Note("error", entry.at, for_a_person(entry.text)))

    def _stop(self, entry: HistoryEntry) -> None:
        self.end_partial("stopped" if was_stopped(entry) else "the program ended")
        content = entry.content
        if not content.get("end") and content.get("answer") is not None:
            answer = content["answer"]
            import json

            body = answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False, indent=2)
            self.passages.append(Note("finish", entry.at, "finished", body))


__all__ = ["Call", "Note", "Passage", "Said", "read"]
