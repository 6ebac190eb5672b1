"""One item as blocks with their heights: its heading, its body (taken in by slices), what stands below it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fireside_tui.safe_text import JOINER, safe, safe_line, without_stray_joiners
from fireside_tui.transcript.blocks import START, Block, read_references, split, split_plain
from fireside_tui.transcript.items import ANSWER, FOLDS, Item
from fireside_tui.transcript.runs import Run
from fireside_tui.transcript.sums import Sums

#: So much source is split in one go; a longer text comes in by slices, so that no frame waits for it.
SLICE = 6_000


def estimate(text: str, start: int, end: int, width: int) -> int:
    """A guess at the rows of text[start:end]."""
    lines = text.count("\n", start, end) + (end > start and text[end - 1] != "\n")
    return max(1, lines + (end - start) // width)


def guess(item: Item, width: int) -> int:
    """A guess at an item's rows, without a look inside."""
    if item.kind == "rule":
        return 2
    if item.kind in FOLDS:
        return 1 if item.folded else 1 + estimate(item.text + item.detail, 0, len(item.text) + len(item.detail), width)
    return 2 + estimate(item.text, 0, len(item.text), width)


def heading(item: Item) -> str:
    """The name over an item."""
    return {"user": "you", "notice": "", "error": "", "rule": ""}.get(item.kind, safe_line(item.name, 40) or "claude")


class Doc:
    """An item's blocks. `refresh` brings them in line with the item."""

    def __init__(self, item: Item, above: Item | None) -> None:
        self.item = item
        self.above = above
        self.source = ""  # the item's text as it was taken in
        self.text = ""  # the same, safe: what the blocks point into
        self.fed = 0  # so much of it is split
        self.blocks: list[Block] = []
        self.pre = 0  # blocks before the body
        self.body: list[Block] = []
        self.done = 0  # blocks of the body that no later text can change
        self.resume = START  # the first one that it can
        self.heights = Sums()
        self.width = 0
        self.parses = 0
        self.env: dict[str, Any] = {}  # link reference definitions, as far as the text goes
        self.references: dict[str, Any] = {}  # those that no later text can change
        self.version = 0  # grows when a definition comes in: what was laid out before may hold its link
        self.tails: dict[int, tuple[Block, list[Run]]] = {}  # the last row of a chunk, which begins the next one
        self.widths: dict[tuple[int, int], list[int]] = {}  # what the columns of a table's first chunk need
        self.lexed: dict[int, tuple[Block, Any]] = {}  # the highlighter's state at the end of a chunk

    @property
    def whole(self) -> bool:
        """Whether all of the text is split."""
        return self.fed == len(self.text)

    @property
    def shown(self) -> bool:
        """Whether the body is on show."""
        return not (self.item.folded and self.item.kind in FOLDS) and self.item.kind != "rule"

    @property
    def hungry(self) -> bool:
        """Whether text that is on show waits to be split."""
        return self.shown and not self.whole

    @property
    def fold_block(self) -> int:
        """The index of the line that folds and unfolds, or of the first block."""
        return max(0, self.pre - 1)

    def take_text(self) -> None:
        """Takes in the item's text; what was only added to stays split."""
        item = self.item
        source = item.text
        if item.kind == "tool":
            source = "\n".join(part for part in (item.text, item.detail) if part)
        if source is self.source:
            return
        if source.endswith("\r"):  # may be one half of a CRLF
            source = source[:-1]
        source = source.rstrip(JOINER)  # what it joins is still to come
        if source.startswith(self.source) and self.source:
            last = self.text[-2:].lstrip(JOINER)  # may be what a joiner joins
            self.text += without_stray_joiners(last + safe(source[len(self.source) :]))[len(last) :]
        elif source != self.source:
            self.text = without_stray_joiners(safe(source))
            self.restart()
        self.source = source

    def restart(self) -> None:
        """Forgets all blocks: another text."""
        self.fed = self.done = 0
        self.body = []
        self.env, self.references = {}, {}
        self.version += 1
        self.tails.clear()
        self.lexed.clear()
        self.widths.clear()

    def table_widths(self, start: int, end: int, read: Callable[[str, dict[str, Any]], list[int]]) -> list[int]:
        """The columns of the table whose first chunk is text[start:end]."""
        widths = self.widths.get((start, end))
        if widths is None:
            widths = self.widths[start, end] = read(self.text[start:end], self.env)
        return widths

    def refresh(self, width: int, budget: int = SLICE) -> None:
        """Brings the blocks in line with the item, splitting at most `budget` more characters."""
        self.take_text()
        pre = self.lines_above()
        shown = self.shown
        if shown and (not self.whole or (not self.body and self.text)):
            self.feed(budget, self.body_gap(pre))
        body = self.body if shown else []
        post = self.lines_below()
        blocks = [*pre, *body, *post]
        keep = 0
        if width == self.width:
            for old, new in zip(self.blocks, blocks, strict=False):
                if old is not new and old != new:
                    break
                keep += 1
        heights = self.heights
        if keep == 0:
            heights = self.heights = Sums()
        while len(heights.values) > keep:
            heights.pop()
        self.blocks, self.pre, self.width = blocks, len(pre), width
        for block in blocks[keep:]:
            rows = estimate(self.text, block.start, block.end, width) if block.end else 1
            heights.append(rows + block.gap)

    def feed(self, budget: int, gap: bool) -> None:
        """Splits at most `budget` more characters."""
        end = min(len(self.text), self.fed + budget)
        if end < len(self.text) and (line := self.text.rfind("\n", self.fed, end)) > 0:
            end = line + 1
        self.parses += 1
        old = self.resume if self.done else START._replace(gap=gap)
        text = self.text if end == len(self.text) else self.text[:end]
        if self.item.kind in ("assistant", "thinking"):
            more, final = self.split(text, old)
        else:
            more, final = split_plain(self.text, old)
            end = len(self.text)
        del self.body[self.done :]
        self.body += more
        if final:
            self.done += final
            self.resume = more[final]
        self.fed = end

    def split(self, text: str, old: Block) -> tuple[list[Block], int]:
        """Blocks from `old` on. A definition counts for all of the text, and the first one with its name wins, so one that
        is not whole yet must not be kept."""
        env = {"references": dict(self.references)}
        more, final = split(text, old, env)
        found = env["references"]
        if found != self.env.get("references", {}):
            self.env = env
            self.version += 1
        if final and len(found) > len(self.references):
            kept = {"references": self.references}
            read_references(text[old.start : more[final].start], kept)
        return more, final

    # -- the lines around the body
    def body_gap(self, pre: list[Block]) -> bool:
        """A blank row parts two answers of one turn."""
        if pre or self.above is None:
            return False
        return self.item.kind == "assistant" and self.above.kind == "assistant"

    def lines_above(self) -> list[Block]:
        """Heading and fold line."""
        item, above = self.item, self.above
        gap = above is not None
        lines: list[Block] = []
        if item.kind == "rule":
            return [Block("rule", 0, 0, gap, safe_line(item.title))]
        if item.kind in ("notice", "error"):
            return [Block("blank", 0, 0)] if gap else []
        if not (item.kind in ANSWER and above is not None and above.kind in ANSWER):
            lines.append(Block("heading", 0, 0, gap, heading(item) + "\n" + safe_line(item.label)))
        if item.kind in FOLDS:
            title = safe_line(item.title) or ("thinking" if item.kind == "thinking" else "tool call")
            sign = "▸" if item.folded else "▾"
            apart = not lines and above is not None and above.kind == "assistant" and "\n\n" in above.text
            lines.append(Block("fold", 0, 0, apart, f"{sign} {title}\n{safe_line(item.state)}"))
        return lines

    def lines_below(self) -> list[Block]:
        """Where and why the text ends."""
        if self.item.state and self.item.kind not in FOLDS and self.item.kind != "rule":
            return [Block("state", 0, 0, False, safe_line(self.item.state))]
        return []
