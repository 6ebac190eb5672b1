"""The fold: entries, one after the other, become the values of a State. It knows history and the items of a context.

`apply` either takes an entry in whole or raises and changes nothing, so a loader can leave out what it can't replay.
Lists that a checkpoint may have remembered are replaced, never changed in place, but for appends.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import NamedTuple

from fireside.content import calls_in, must, usage_in
from fireside.history import VERSION, HistoryEntry
from fireside.items import Item, Partial, Results, messages_of
from fireside.messages import Json, Message, ToolCall, Usage


class Checkpoint(NamedTuple):
    """A point that a State can go back to: `message` is its name, `data` what the caller kept with it."""

    seq: int
    message: str
    data: Json
    at: datetime


class _Memory(NamedTuple):
    """What is remembered of a checkpoint, and of the point before a user message.

    `items` may have grown since; the first `length` are as they were.
    """

    items: list[Item]
    length: int
    data: dict[str, Json]
    finished: bool
    finish_answer: Json
    last_answer: str | None
    turn: int
    calls: tuple[ToolCall, ...]
    results: dict[int, HistoryEntry]
    waiting: list[HistoryEntry]
    answered: bool
    cut: Partial | None


class Fold:
    """The values of a conversation after the entries applied so far."""

    __slots__ = (
        "_memories", "_own_from", "agent", "answered", "approvals", "asked", "calls", "checkpoints", "created_at",
        "data", "finish_answer", "finished", "given_title", "items", "last_answer", "last_seq", "last_usage",
        "origin", "outcome", "partial", "results", "run_open", "stopped_by", "task", "title_by", "told_missing",
        "turn", "updated_at", "usage", "waiting",
    )  # fmt: skip

    def __init__(self) -> None:
        self.origin: dict[str, Json] | None = None
        self.items: list[Item] = []
        self.waiting: list[HistoryEntry] = []
        self.data: dict[str, Json] = {}
        self.calls: tuple[ToolCall, ...] = ()
        self.results: dict[int, HistoryEntry] = {}
        self.asked: set[int] = set()
        self.approvals: dict[int, bool | str] = {}
        self.partial: Partial | None = None
        self.finished = False
        self.finish_answer: Json = None
        self.last_answer: str | None = None
        self.answered = False
        self.stopped_by: str | None = None
        self.run_open = False
        self.outcome = "new"
        self.agent: dict[str, Json] | None = None
        self.turn = 0
        self.usage = Usage()
        self.last_usage = Usage()
        self.task: str | None = None
        self.given_title: str | None = None
        self.title_by: str | None = None
        self.created_at: datetime | None = None
        self.updated_at: datetime | None = None
        self.checkpoints: dict[int, Checkpoint] = {}
        self.told_missing: list[range] = []
        self.last_seq = -1
        self._memories: dict[int, _Memory] = {}
        self._own_from = 0

    # -- what is computed from the above

    @property
    def pending(self) -> tuple[ToolCall, ...]:
        """The calls of the last reply that have no result yet."""
        return tuple([call for call in self.calls if call.n not in self.results]) if self.calls else ()

    @property
    def unasked(self) -> tuple[ToolCall, ...]:
        """Pending calls that surely have not run: the person has not answered for all of the turn's calls."""
        open_questions = self.asked - self.approvals.keys() - self.results.keys()
        return tuple(call for call in self.pending if call.n in self.asked) if open_questions else ()

    def call_of(self, reference: Mapping[str, Json]) -> ToolCall:
        """The whole call of a reference in an entry."""
        n = reference["n"]
        if 0 <= n < len(self.calls) and self.calls[n].id == reference["id"]:
            return self.calls[n]
        return ToolCall(reference["id"], reference["name"], {}, n)

    def messages(self) -> Iterator[tuple[Message, HistoryEntry | None]]:
        """The context; with each message the reply that it is, if it is one."""
        return messages_of(self.items)

    # -- one step

    def apply(self, entry: HistoryEntry) -> None:
        """Takes one entry in. Raises, with nothing changed, what a malformed entry gives; `LookupError` for a kind
        that this version does not know."""
        if entry.origin is not None:  # whose history this is holds, whatever becomes of the entry
            self._take_origin(entry.origin)
        step = _STEPS.get(entry.kind)
        if step is None:
            raise LookupError(f"an entry of the unknown kind {entry.kind!r}")
        step(self, entry)
        if self.created_at is None:
            self.created_at = self.updated_at = entry.at
        self.last_seq = entry.seq

    def may_go_before(self, seq: int) -> bool:
        """Whether a user message stands at that place."""
        return seq in self._memories and seq not in self.checkpoints

    def take(self, entry: HistoryEntry) -> bool:
        """Takes one entry in, or skips it; whether it could be taken. Whatever a malformed one sets off stays here."""
        try:
            self.apply(entry)
        except Exception:
            self.last_seq = entry.seq
            return False
        return True

    def _take_origin(self, origin: dict[str, Json]) -> None:
        if origin["v"] > VERSION:
            raise ValueError(f"saved in format {origin['v']}, newer than this version of fireside can read ({VERSION})")
        if fork := origin.get("fork"):
            own_from, at = int(fork["seq"]) + 1, datetime.fromisoformat(fork["at"])
            must(isinstance(fork["id"], str) and at.tzinfo is not None)
            self._own_from = own_from
            self.created_at = self.updated_at = at
        self.origin = origin

    def _moved(self, entry: HistoryEntry) -> None:
        if not entry.closing and (self.updated_at is None or entry.seq >= self._own_from):
            self.updated_at = entry.at

    def _spend(self, entry: HistoryEntry, usage: Usage) -> None:
        if entry.seq >= self._own_from:
            self.usage += usage

    def _user(self, entry: HistoryEntry) -> None:
        text = entry.read_text()
        if type(entry.content) is not str:
            entry.read_blocks()  # a malformed picture raises here, before anything is changed
        self._memories[entry.seq] = self._memory()
        if self.task is None:
            self.task = text
        self._said(entry)
        self.finished, self.finish_answer = False, None
        if not self.run_open:
            self.outcome = "new"

    def _notice(self, entry: HistoryEntry) -> None:
        if isinstance(entry.content, dict):
            told = [range(first, last + 1) for first, last in entry.content["missing"]]
            must(all(0 <= places.start < places.stop <= entry.seq for places in told))  # it tells of what was before it
            self.told_missing += told
        else:
            must(isinstance(entry.content, str))
        self._said(entry)

    def _said(self, entry: HistoryEntry) -> None:
        if self.calls and self.pending:
            self.waiting.append(entry)
        else:
            if self.partial is not None:
                self._stand(self.partial)
            self.items.append(entry)
        if not entry.closing:
            self.answered = False
        self._moved(entry)

    def _stand(self, partial: Partial) -> None:
        """What was cut off stands as said, once a person writes on after it."""
        if not partial.text.strip():
            return
        for item in reversed(self.items):
            if item is partial:
                return
            if item.seq < partial.seq:
                break
        self.items.append(partial)

    def _reply(self, entry: HistoryEntry) -> None:
        content = entry.content
        calls = calls_in(content["blocks"])
        usage, seen = usage_in(content["usage"]), content["seen"]
        if type(seen) is not int:
            raise TypeError("the seq that a reply had seen is an int")
        text = "" if calls else entry.read_text()
        if self.calls and self.pending:  # damage: the results of the turn before are lost
            self._close_turn()
        self.partial = None
        later: list[HistoryEntry] = []
        if self.items and self.items[-1].seq > seen:
            later = self._take_later(seen)
        self.items.append(entry)
        self.calls = calls
        self.results, self.asked, self.approvals = {}, set(), {}
        if calls:
            if later:
                self.waiting = [*later, *self.waiting]
        else:
            self.items += later
            self.last_answer = text
        self.answered = not calls and not later
        self.turn = entry.turn + 1
        self.last_usage = usage
        if entry.seq >= self._own_from:
            self.usage += usage
        self._moved(entry)

    def _take_later(self, seen: int) -> list[HistoryEntry]:
        """Takes away what was added while a reply streamed, to go in behind it."""
        cut = len(self.items)
        while cut and self.items[cut - 1].seq > seen:
            cut -= 1
        later = [item for item in self.items[cut:] if isinstance(item, HistoryEntry)]
        self.items = self.items[:cut]
        return later

    def _partial_reply(self, entry: HistoryEntry) -> None:
        content = entry.content
        seen, attempt = content["seen"], content["attempt"]
        delta = [(int(n), str(kind), str(words)) for n, kind, words in content.get("delta", ())]
        partial = self.partial
        if partial is None or (partial.seen, partial.attempt) != (seen, attempt):
            if partial is not None and partial.seen == seen:
                self.items = [item for item in self.items if item is not partial]
            partial = self.partial = Partial(entry.seq, seen, attempt)
        for n, kind, words in delta:
            partial.blocks[n] = (kind, partial.blocks.get(n, (kind, ""))[1] + words)
        if content.get("cut"):
            partial.cut = True
        if content.get("void"):
            self.items = [item for item in self.items if item is not partial]
            self.partial = None

    def _tool_result(self, entry: HistoryEntry) -> None:
        call = entry.call
        must(call is not None)
        assert call is not None
        if type(entry.content) is not str:
            entry.read_blocks()  # malformed content raises here
        if call not in self.calls or call.n in self.results:
            raise LookupError("a result without its call")
        self.results = {**self.results, call.n: entry}
        self._moved(entry)
        if len(self.results) == len(self.calls):
            self._close_turn()

    def _close_turn(self) -> None:
        """All results are there: they go in, in the order of the calls, and what waited goes in behind them."""
        result_of = self.results.get
        results = tuple([(call, result_of(call.n)) for call in self.calls])
        known = [entry.seq for entry in self.results.values()]
        self.items.append(Results(max(known, default=self.last_seq), results))
        if self.waiting:
            self.items += self.waiting
            self.waiting = []
        self.calls, self.results = (), {}
        self.asked, self.approvals = set(), {}

    def _approval(self, entry: HistoryEntry) -> None:
        content = entry.content
        if "asked" in content:
            self.asked = self.asked | {int(n) for n in content["asked"]}
            return
        must(entry.call is not None)
        assert entry.call is not None
        allowed = bool(content["allowed"])
        self.approvals = {**self.approvals, entry.call.n: allowed or content.get("reason") or False}

    def _ask(self, entry: HistoryEntry) -> None:
        self._spend(entry, usage_in(entry.content["usage"]))

    def _human(self, entry: HistoryEntry) -> None:
        must(isinstance(entry.content, dict))

    def _compact(self, entry: HistoryEntry) -> None:
        content = entry.content
        must(isinstance(content["summary"], str))
        kept = set(content["kept"])
        usage = usage_in(content.get("usage") or {})
        self.items = [entry, *(item for item in self.items if item.seq in kept)]
        self.partial = None
        self.last_usage = Usage()
        self._spend(entry, usage)

    def _clear(self, entry: HistoryEntry) -> None:
        cleared = frozenset(entry.content["cleared"])
        self.items = [
            Results(item.seq, item.results, item.cleared | cleared) if isinstance(item, Results) else item
            for item in self.items
        ]

    def _run_start(self, entry: HistoryEntry) -> None:
        agent = entry.content["agent"]
        must(isinstance(agent, dict))
        self.agent = agent
        self.run_open, self.stopped_by = True, None

    def _stop(self, entry: HistoryEntry) -> None:
        content = entry.content
        by = content["by"]
        if not content.get("end"):
            self.finished, self.finish_answer = True, content.get("answer")
            if not self.run_open:
                self.stopped_by = "finish"
            return
        self.run_open = False
        self.stopped_by = by
        self.outcome = "failed" if content.get("error") else "limit" if by == "limit" else "waiting"

    def _data(self, entry: HistoryEntry) -> None:
        changed, removed = dict(entry.content["set"]), set(entry.content["removed"])
        self.data = {**{key: value for key, value in self.data.items() if key not in removed}, **changed}

    def _title(self, entry: HistoryEntry) -> None:
        title, by = str(entry.content["title"]), entry.content["by"]
        if by == "person" or self.title_by != "person":
            self.given_title, self.title_by = title, by

    def _checkpoint(self, entry: HistoryEntry) -> None:
        self.checkpoints[entry.seq] = Checkpoint(
            entry.seq, entry.content["message"], entry.content.get("data"), entry.at
        )
        self._memories[entry.seq] = self._memory()

    def _memory(self) -> _Memory:
        return _Memory(
            self.items, len(self.items), self.data, self.finished, self.finish_answer, self.last_answer, self.turn,
            self.calls, self.results, list(self.waiting), self.answered,
            self.partial if self.partial is not None and self.partial.cut else None,
        )  # fmt: skip

    def _restore(self, entry: HistoryEntry) -> None:
        place = entry.content["before" if "before" in entry.content else "checkpoint"]
        must((place in self.checkpoints) is ("before" not in entry.content))
        memory = self._memories[place]
        self.items = memory.items[: memory.length]
        self.data = memory.data
        self.finished, self.finish_answer, self.last_answer = memory.finished, memory.finish_answer, memory.last_answer
        self.turn, self.calls, self.results = memory.turn, memory.calls, memory.results
        self.waiting, self.answered = list(memory.waiting), memory.answered
        self.asked, self.approvals = set(), {}
        self.partial = memory.cut  # it stands once a person writes on, as it did there
        self.outcome = "waiting" if self.answered else "new"
        self.last_usage = Usage()

    def _error(self, entry: HistoryEntry) -> None:
        must(isinstance(entry.content, str))


_STEPS = {
    "user": Fold._user,
    "notice": Fold._notice,
    "reply": Fold._reply,
    "partial_reply": Fold._partial_reply,
    "tool_result": Fold._tool_result,
    "approval": Fold._approval,
    "ask": Fold._ask,
    "human": Fold._human,
    "compact": Fold._compact,
    "clear": Fold._clear,
    "run_start": Fold._run_start,
    "stop": Fold._stop,
    "data": Fold._data,
    "title": Fold._title,
    "checkpoint": Fold._checkpoint,
    "restore": Fold._restore,
    "error": Fold._error,
}


def shortened(text: str, length: int = 60) -> str:
    """The first line that says something, cut to `length` characters with an ellipsis."""
    line: str = next((line.strip() for line in text.split("\n") if line.strip()), "")
    return line if len(line) <= length else line[: length - 1].rstrip() + "…"


__all__ = ["Checkpoint", "Fold", "shortened"]
