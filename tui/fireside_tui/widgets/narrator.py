"""From the entries of a history to the items of a transcript: the same way for a loaded and for a live conversation."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, Protocol

from fireside import HistoryEntry, Image, Text, Thinking, ToolCall

from fireside_tui.conversations.approval import call_line
from fireside_tui.no_key import for_a_person
from fireside_tui.reading import UNKNOWN, other_name, was_stopped
from fireside_tui.safe_text import safe_line
from fireside_tui.transcript import Item

CUT_OFF = {
    "max_tokens": "cut off at the longest length",
    "refusal": "declined",
    "model_context_window_exceeded": "cut off: the context is full",
}

CUT, STOPPED = "cut off", "stopped"
"""An answer that broke off by itself, and one that a person stopped."""


class View(Protocol):
    """Where the items go."""

    def add(self, item: Item) -> None:
        """One more at the end."""

    def append(self, key: str, text: str) -> None:
        """More text of one."""

    def change(self, key: str, **fields: Any) -> None:
        """Other fields of one."""

    def remove(self, key: str) -> Any:
        """One less."""


class Gathered:
    """A view in memory, for a conversation that is loaded as a whole."""

    def __init__(self) -> None:
        self.items: dict[str, Item] = {}

    def add(self, item: Item) -> None:
        """One more at the end."""
        self.items[item.key] = item

    def append(self, key: str, text: str) -> None:
        """More text of one."""
        self.items[key].text += text

    def change(self, key: str, **fields: Any) -> None:
        """Other fields of one."""
        for name, value in fields.items():
            setattr(self.items[key], name, value)

    def remove(self, key: str) -> None:
        """One less."""
        self.items.pop(key, None)


LAST_PART = 150
"""So many entries are told before the first of them is shown; what is before them comes a moment later."""


def last_part(history: Sequence[HistoryEntry]) -> int:
    """Where the last part of a long history begins: at a run, which tells of nothing before it. 0: all is told at once."""
    for n in range(len(history) - LAST_PART, 0, -1):
        if history[n].kind == "run_start":
            return n
    return 0


class Narrator:
    """Tells a conversation. `take` each entry in order; `stream` what comes of a reply meanwhile."""

    def __init__(self, view: View, *, today: datetime, show_thinking: bool = False) -> None:
        self.view = view
        self.show_thinking = show_thinking
        self._today = today.astimezone().date()
        self._live: list[tuple[str, str]] = []  # kind and key of the items that stream
        self._pieces = 0
        self._tools: dict[tuple[str, int], str] = {}  # call → key
        self._partial: _Partial | None = None  # what a loaded history says of a reply that was not whole
        self._late: list[int] = []  # user messages that may have come while a reply streamed
        self._name = ""  # of the model that answers, where it is not Claude
        self._last_error = ""
        self._cut: str | None = None  # the item that ended before its reply was whole; why is told next
        self._passing: list[str] = []  # items that the next run takes away

    # -- a history

    @classmethod
    def of(
        cls, history: Sequence[HistoryEntry], *, live: bool, elsewhere: bool = False, **settings: Any
    ) -> tuple[Narrator, dict[str, Item]]:
        """A narrator that has told a loaded history, and what it told by key; `live`: its last reply is streaming now,
        `elsewhere`: in another process."""
        gathered = Gathered()
        narrator = cls(gathered, **settings)
        narrator.tell(history, live=live, elsewhere=elsewhere)
        return narrator, gathered.items

    def tell(self, entries: Iterable[HistoryEntry], *, live: bool, elsewhere: bool = False) -> None:
        """All entries of a loaded history, or of its last part."""
        for entry in entries:
            self.take(entry)
        if live:
            self._partial = None
        self._keep_partial("still coming" if elsewhere else CUT)

    # -- one entry

    def take(self, entry: HistoryEntry) -> None:
        """One more entry. What can't be told is left out: a kind that is not known here, and what is damaged."""
        step = getattr(self, f"_{entry.kind}", None)
        if step is not None:
            with contextlib.suppress(KeyError, TypeError, ValueError, AttributeError, IndexError):
                step(entry)

    def _user(self, entry: HistoryEntry) -> None:
        pictures = sum(isinstance(block, Image) for block in entry.blocks)
        shown = f"[{pictures} picture{'s' * (pictures > 1)}]" if pictures else ""
        text = "\n\n".join(part for part in (entry.text, shown) if part)
        if self._partial is not None:
            self._late.append(entry.seq)
        self.view.add(Item(str(entry.seq), "user", text, label=self.time(entry.at)))

    def _notice(self, entry: HistoryEntry) -> None:
        self.view.add(Item(str(entry.seq), "notice", entry.text))

    def _reply(self, entry: HistoryEntry) -> None:
        content = entry.content
        self._name = other_name(content.get("model"))
        self._partial = None
        cut = CUT_OFF.get(content["stop_reason"], "")
        items: list[Item] = []
        calls: list[ToolCall] = []
        for block in entry.blocks:
            if isinstance(block, Text | Thinking):
                kind = "assistant" if isinstance(block, Text) else "thinking"
                if items and items[-1].kind == kind:
                    items[-1].text += block.text
                elif block.text:
                    items.append(self._said(f"{entry.seq}.{len(items)}", kind, block.text))
            elif isinstance(block, ToolCall):
                calls.append(block)
        if cut:
            last = next((item for item in reversed(items) if item.kind == "assistant"), None)
            if last is not None:
                last.state = cut
        if not items and not calls:
            items = [Item(f"{entry.seq}.0", "notice", f"({cut or 'an empty reply'})")]
        self._place(entry, items)
        for call in calls:
            key = f"{entry.seq}.call{call.n}"
            self._tools[call.id, call.n] = key
            self.view.add(Item(key, "tool", title=call_line(call), state="waiting", folded=True, name=self._name))

    def _place(self, entry: HistoryEntry, items: list[Item]) -> None:
        live, self._live = self._live, []
        if [kind for kind, _ in live] == [item.kind for item in items]:
            for (_, key), item in zip(live, items, strict=True):  # what streamed is the reply: only its end is new
                self.view.change(key, text=item.text, state=item.state, title=item.title)
            return
        for _, key in live:
            self.view.remove(key)
        late, self._late = [str(seq) for seq in self._late if seq > entry.content["seen"]], []
        for item in items:
            self.view.add(item)
        self._move_behind(late)

    def _move_behind(self, late: list[str]) -> None:
        """Messages that came while a reply streamed stand after it."""
        if isinstance(self.view, Gathered):
            for item in [self.view.items.pop(key) for key in late if key in self.view.items]:
                self.view.add(item)

    def _partial_reply(self, entry: HistoryEntry) -> None:
        content = entry.content
        if self._live:  # it is on the screen already
            if content.get("void"):
                self.void()
            elif content.get("cut"):
                self._end_live()
            return
        if content.get("void"):
            self._partial = None
            return
        name = (content["seen"], content["attempt"])
        if self._partial is None or self._partial.name != name:
            self._partial = _Partial(entry.seq, name)
        self._partial.take(content)

    def _keep_partial(self, end: str = CUT) -> None:
        """What streamed and never became a reply stays to be read."""
        partial, self._partial = self._partial, None
        late, self._late = [str(seq) for seq in self._late], []
        if partial is None:
            return
        for n, (kind, text) in enumerate(partial.blocks):
            item = self._said(f"{partial.seq}.{n}", "assistant" if kind == "text" else "thinking", text)
            item.state = (CUT if partial.cut else end) if n == len(partial.blocks) - 1 else ""
            self.view.add(item)
            self._cut = item.key
        self._move_behind(late)

    def _tool_result(self, entry: HistoryEntry) -> None:
        call = entry.call
        key = self._tools.get((call.id, call.n)) if call else None
        if call is None or key is None:
            return
        text = entry.text or ("(a picture)" if entry.content else "")
        if entry.text.startswith(UNKNOWN):
            state = "unknown: may have run"
        elif entry.text.startswith("(denied"):
            state = "refused"
        elif entry.text.startswith(("(interrupted", "(aborted", "(not run")):
            state = "stopped"
        else:
            state = f"{'failed' if entry.is_error else 'done'} · {size_of(text)}"
        args = call.unreadable if call.unreadable is not None else _pretty(call.args)
        detail = f"{args}\n\n{text}" if args else text
        self.view.change(key, state=state, detail=detail)

    def _approval(self, entry: HistoryEntry) -> None:
        call = entry.call
        key = self._tools.get((call.id, call.n)) if call else None
        if key is not None:
            self.view.change(key, state="waiting" if entry.content.get("allowed") else "refused")

    def _ask(self, entry: HistoryEntry) -> None:
        self.view.add(
            Item(str(entry.seq), "notice", f"Asked aside: {entry.content['prompt']}\n{entry.content['answer']}")
        )

    def _human(self, entry: HistoryEntry) -> None:
        content = entry.content
        self.view.add(
            Item(str(entry.seq), "notice", f"Claude asked: {content['question']}\nAnswer: {content['answer']}")
        )

    def _compact(self, entry: HistoryEntry) -> None:
        self.view.add(Item(f"{entry.seq}.rule", "rule", title="Claude's memory begins here, with a summary"))
        self.view.add(Item(str(entry.seq), "thinking", entry.text, title="summary", folded=True))

    def _clear(self, entry: HistoryEntry) -> None:
        self.view.add(Item(str(entry.seq), "rule", title="older tool results are no longer in Claude's memory"))

    def _run_start(self, entry: HistoryEntry) -> None:
        self._keep_partial()
        self._cut = None
        self._name = other_name(entry.content["agent"]["model"])
        self._last_error = ""
        for key in self._passing:
            self.view.remove(key)
        self._passing = []

    def _stop(self, entry: HistoryEntry) -> None:
        self._end_live()
        self._keep_partial()
        content = entry.content
        if self._cut is not None and was_stopped(entry):
            self.view.change(self._cut, state=STOPPED)
        self._cut = None
        error = str(content.get("error") or "")
        if error and error != self._last_error:
            self._said_error(entry, error)
        if content.get("by") == "limit":
            self.view.add(Item(str(entry.seq), "notice", "Stopped at the limit of steps. Ctrl+R goes on."))

    def _error(self, entry: HistoryEntry) -> None:
        self._end_live()
        self._keep_partial()
        self._last_error = str(entry.content)
        self._said_error(entry, self._last_error)

    def _said_error(self, entry: HistoryEntry, words: str) -> None:
        name, _, text = words.partition(": ")
        ours = name.endswith("Error") and name.isidentifier() and text
        self.view.add(
            Item(f"{entry.seq}.error", "error", f"{for_a_person(text if ours else words)}\nCtrl+R asks again.")
        )

    def _checkpoint(self, entry: HistoryEntry) -> None:
        self.view.add(Item(str(entry.seq), "rule", title=f"checkpoint: {entry.text}"))

    def _restore(self, entry: HistoryEntry) -> None:
        if "before" in entry.content:
            title = "went back to an earlier message: Claude forgets it, and what came after"
        else:
            name = safe_line(str(entry.content.get("message", "")), 40)
            where = f"the checkpoint “{name}”" if name else "a checkpoint"
            title = f"went back to {where}: Claude forgets what came after"
        self.view.add(Item(str(entry.seq), "rule", title=title))

    # -- a reply that streams

    def stream(self, kind: str, text: str) -> None:
        """More of it."""
        shown = "assistant" if kind == "text" else "thinking"
        for key in self._passing:
            self.view.remove(key)
        self._passing = []
        if not self._live or self._live[-1][0] != shown:
            self._pieces += 1
            key = f"live{self._pieces}"
            self._live.append((shown, key))
            self.view.add(self._said(key, shown, ""))
        self.view.append(self._live[-1][1], text)

    def retry(self, words: str) -> None:
        """It is asked for again: what streamed is void."""
        self.void()
        self.passing("retry", words)

    def void(self) -> None:
        """Takes away what streamed."""
        for _, key in self._live:
            self.view.remove(key)
        self._live = []

    def passing(self, key: str, words: str) -> None:
        """A notice that the next words take away."""
        if key in self._passing:
            self.view.remove(key)
            self._passing.remove(key)
        self._passing.append(key)
        self.view.add(Item(key, "notice", words))

    def tool(self, call: ToolCall) -> None:
        """A tool begins to work."""
        if (key := self._tools.get((call.id, call.n))) is not None:
            self.view.change(key, state="running")

    def _end_live(self) -> None:
        if self._live:
            self._cut = self._live[-1][1]
            self.view.change(self._cut, state=CUT)
            self._live = []

    def _said(self, key: str, kind: str, text: str) -> Item:
        if kind == "thinking":
            return Item(key, "thinking", text, title="thought", folded=not self.show_thinking, name=self._name)
        return Item(key, "assistant", text, name=self._name)

    def time(self, moment: datetime) -> str:
        """When something was said, for a reader of today."""
        local = moment.astimezone()
        days = (self._today - local.date()).days
        if days <= 0:
            return f"{local:%H:%M}"
        return f"{local:%a %H:%M}" if days < 7 else f"{local:%Y-%m-%d %H:%M}"


class _Partial:
    """A reply that was not whole when it was saved."""

    def __init__(self, seq: int, name: tuple[int, int]) -> None:
        self.seq, self.name, self.cut = seq, name, False
        self.blocks: list[tuple[str, str]] = []

    def take(self, content: Any) -> None:
        for _, kind, words in content.get("delta", ()):
            if self.blocks and self.blocks[-1][0] == kind:
                self.blocks[-1] = (kind, self.blocks[-1][1] + words)
            else:
                self.blocks.append((kind, words))
        self.cut = self.cut or bool(content.get("cut"))


def size_of(text: str) -> str:
    """How much text that is.

    >>> size_of("abc"), size_of("x" * 2100)
    ('3 B', '2.1 kB')
    """
    size = len(text.encode("utf-8", "surrogatepass"))
    if size < 1000:
        return f"{size} B"
    return f"{size / 1000:.1f} kB" if size < 1_000_000 else f"{size / 1_000_000:.1f} MB"


def _pretty(args: dict[str, Any]) -> str:
    lines = []
    for name, value in args.items():
        text = value if isinstance(value, str) else repr(value)
        lines.append(f"{name}: {text}" if "\n" not in text else f"{name}:\n{text}")
    return "\n".join(lines)
