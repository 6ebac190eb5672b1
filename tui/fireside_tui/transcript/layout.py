"""One block of an item to its rows at a width. The theme is not in it: rows hold style names."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from fireside_tui.transcript.blocks import Block
from fireside_tui.transcript.cells import cell_len, fit, wrap_cuts
from fireside_tui.transcript.doc import Doc
from fireside_tui.transcript.highlight import ROOT, State, highlight, language_of, ready
from fireside_tui.transcript.inline import parser
from fireside_tui.transcript.markdown_rows import markdown_rows
from fireside_tui.transcript.rows import Rows
from fireside_tui.transcript.runs import Row, Run
from fireside_tui.transcript.table_rows import table_rows, table_widths

if TYPE_CHECKING:
    from markdown_it.token import Token

#: So many chunks of code are read again at once to know the highlighter's state; more are read in the background.
CATCH_UP = 2


class Laid:
    """A block's rows, and what they were made from."""

    __slots__ = ("block", "found", "goes_on", "plain", "rows", "sure", "tail", "taken", "version")

    def __init__(self, block: Block, rows: Rows, taken: list[Run], goes_on: str, sure: bool, version: int) -> None:
        self.block = block
        self.rows = rows.rows or [Row([], 0)]
        self.plain = "".join(rows.plain)
        self.tail = rows.tail
        self.taken = taken
        self.goes_on = goes_on
        self.version = version
        self.sure = sure
        """Whether the highlighter was there, and its state at the block's start known."""
        self.found: tuple[object, list[tuple[int, int]]] | None = None

    @property
    def joined(self) -> bool:
        """Whether the text goes on in the next block without a line end."""
        return self.goes_on == "line"


def state_before(doc: Doc, b: int) -> State | None:
    """The highlighter's state at the start of code block `b`; None if it is not there yet, or if too many chunks before
    it are unread."""
    if not ready(language_of(doc.blocks[b].head)):
        return None
    first = b
    while doc.blocks[first].part and (known(doc, first - 1) is None):
        first -= 1
        if b - first > CATCH_UP:
            return None
    state = known(doc, first - 1) if doc.blocks[first].part else ROOT
    for i in range(first, b):
        state = read_on(doc, i, state or ROOT)
    return state or ROOT


def known(doc: Doc, b: int) -> State | None:
    """The highlighter's state at the end of code block `b`, if it was read."""
    entry = doc.lexed.get(b)
    return entry[1] if entry is not None and entry[0] == doc.blocks[b] else None


def read_on(doc: Doc, b: int, state: State) -> State:
    """Reads code block `b` for the state at its end only."""
    block = doc.blocks[b]
    state = highlight(doc.text[block.start : block.end], language_of(block.head), state)[1]
    doc.lexed[b] = (block, state)
    return state


def goes_on(doc: Doc, b: int) -> str:
    """What of block `b` goes on in the next one: a "line", a "table", or nothing."""
    after = doc.blocks[b + 1] if b + 1 < len(doc.blocks) else None
    if after is None or b < doc.pre:
        return ""
    if after.chain:
        return "line"
    return "table" if after.kind == "table" and after.part else ""


def lay(doc: Doc, b: int, width: int, taken: list[Run]) -> Laid:
    """Lays block `b` out. `taken`: the last row of the chunk before it, which it goes on with."""
    block = doc.blocks[b]
    item = doc.item
    source = doc.text[block.start : block.end]
    more = goes_on(doc, b)
    joined = more == "line"
    inner = item.kind in ("thinking", "tool") and block.kind not in ("heading", "fold", "state")
    bar = [Run("│ ", ("bar",), drawn=True)] if inner else []
    rows = Rows(width, bar, ("thought",) if item.kind == "thinking" and inner else ())
    if block.gap:
        rows.row(bar)
    rows.hold = joined and doc.blocks[b + 1].flows
    sure = True
    kind = block.kind
    if kind == "heading":
        name, label = block.head.split("\n", 1)
        rows.line([Run(name, (name,))], [Run(label, ("label",), drawn=True)])
    elif kind == "fold":
        fold_line(rows, block.head, item.kind)
    elif kind == "rule":
        rule(rows, block.head)
    elif kind == "blank":
        rows.row([])
        rows.newline()
    elif kind == "state":
        rows.wrap([Run("▪ ", ("alarm",), drawn=True), Run(block.head, ("alarm",))])
    elif kind == "plain":
        plain(rows, source, item.kind, taken, block.chain == 0 and block.start == 0)
    elif kind == "html":
        rows.wrap([*taken, Run(source.removesuffix("\n").expandtabs(4), (*rows.base, "html"))], last=True)
    elif kind == "code":
        state = state_before(doc, b)
        sure = state is not None
        end = rows.code(
            source, language_of(block.head), tail=taken, state=state or ROOT, label=not (block.part or block.chain)
        )
        if sure:
            doc.lexed[b] = (block, end)
    elif kind == "table" and (block.part or more):
        table(rows, doc, block, source)
    else:
        markdown_rows(rows, source, doc.env, head=block.head, number=block.number, tail=taken)
    if joined and not rows.hold and rows.plain and rows.plain[-1] == "\n":  # a cut inside a line is no line end
        rows.plain.pop()
        rows.length -= 1
    return Laid(block, rows, taken, more, sure and rows.sure, doc.version)


def fold_line(rows: Rows, head: str, kind: str) -> None:
    """A tool call or thinking as one line, its state at the right."""
    title, state = head.split("\n", 1)
    sign, words = title[:2], title[2:]
    name, paren, rest = words.partition("(")
    look = {"running": "running", "waiting": "running", "done": "label"}.get(
        state.split(" ", 1)[0], "alarm" if state else "label"
    )
    left = [Run(sign, ("fold",), drawn=True)]
    if kind == "tool":
        left += [Run(name, ("call",)), Run(paren + rest, ("arguments",))]
    else:
        left.append(Run(words, ("thought",)))
        look = "label"
    rows.line(left, [Run(state, (look,))])


def rule(rows: Rows, words: str) -> None:
    """A line across, its words in the middle; words that are too long for it go on below."""
    width = max(1, rows.width - 6)
    cuts = [0, *wrap_cuts(words, width), len(words)]
    for start, end in pairwise(cuts):
        line = words[start:end]
        shown = fit(line.rstrip(), width)
        room = max(0, rows.width - cell_len(shown) - (2 if shown else 0))
        side, right = room // 2, room - room // 2
        left_edge, right_edge = ("─" * side + " ", " " + "─" * right) if shown else ("─" * side, "─" * right)
        pieces = [Run(left_edge, ("rule",), drawn=True), Run(shown, ("rule",)), Run(right_edge, ("rule",), drawn=True)]
        rows.row(pieces)
        if end < len(words):
            rows.plain.append(" ")  # one line in what is copied and found
            rows.length += 1
    rows.newline()


def plain(rows: Rows, source: str, kind: str, taken: list[Run], first: bool) -> None:
    """Text that is not Markdown: what a person wrote, a tool's result, a notice."""
    sign = {"notice": ("· ", "notice"), "error": ("✗ ", "error")}.get(kind)
    names = {"notice": ("notice",), "error": ("error",), "tool": ("result",)}.get(kind, ("said",))
    if sign is None:
        rows.text(source, names, [], taken)
        return
    hang = [Run("  ", drawn=True)]
    lead = [Run(sign[0], (sign[1],), drawn=True)] if first else hang
    source = source.removesuffix("\n") if not rows.hold else source
    rows.wrap([*taken, Run(source.expandtabs(4), names)], hang, lead, last=True)


def table(rows: Rows, doc: Doc, block: Block, source: str) -> None:
    """A chunk of a long table, with the columns that the first one needs."""
    a, b = block.lead if block.part else (block.start, block.end)
    tokens: list[Token] = parser().parse(block.head + source, doc.env)
    close = next((i for i, token in enumerate(tokens) if token.type == "table_close"), None)
    if close is None:
        markdown_rows(rows, source, doc.env)
        return
    table_rows(rows, tokens[:close], [], doc.table_widths(a, b, table_widths), head=not block.part)
