"""Source text split into blocks, the unit of layout: no width, no colour, and no block without a bound on its size.

`split` is resumed where the text was still open, so a growing text costs what its open end costs. Whatever never ends
(a fence, a table, a quote, a list item, a paragraph, a line) is cut into chunks; a chunk is parsed again with `head`
put in front of it, which opens what it is in. The same text gives the same blocks, however it came in.
"""

from __future__ import annotations

import re
from functools import cache
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple

from fireside_tui.transcript.cuts import (
    CHARS,
    FIRST_ROWS,
    ITEM_LEAD,
    LINES,
    ROWS,
    line_chunks,
    paragraph_cuts,
    stable_end,
)

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

_QUOTE = re.compile(r" {0,3}>")
_FENCE = re.compile(r"^[ \t>]*(?:(?:[-+*]|\d+[.)])[ \t]+)*(?:```|~~~)", re.MULTILINE)
_INDENTED = re.compile(r"^(?: {4}|\t)", re.MULTILINE)
#: A quote or a list item is cut at the first of its own blocks past these many lines or characters.
CONTAINER_LINES, CONTAINER_CHARS = 40, 3000
#: So many chunks of one line flow into each other; then a short row is accepted, or the last would need them all.
FLOW = 16


@cache
def parser() -> MarkdownIt:
    """The parser of blocks alone, loaded on first use: the first frame needs none."""
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark").enable("table").disable("inline")


class Block(NamedTuple):
    """A piece of the source, `start` to `end`, that is laid out on its own."""

    kind: str
    """"md", "code", "html", "table", "plain"; or a line that is no source: "heading", "fold", "rule", "state"."""
    start: int
    end: int
    gap: bool = False
    """A blank row stands above it."""
    head: str = ""
    """Put in front of the source when it is parsed; the text itself of a line that is no source."""
    number: int = 0
    """The number of an ordered list's item."""
    part: int = 0
    """Which chunk of its fence or table it is."""
    chain: int = 0
    """How many cuts inside a line (or paragraph) led here; 0 for a block that begins a line."""
    lead: tuple[int, int] = (0, 0)
    """Where its table's first chunk is, which sets the widths of the columns."""
    opens: int = -1
    """Where the line is that opens its fence, for the first chunk: the parser starts again from there."""

    @property
    def flows(self) -> bool:
        """Whether its first row goes on where the last chunk's last row ended."""
        return self.chain % FLOW != 0


START = Block("md", 0, 0)
#: So much text is parsed between two keys.
AT_ONCE = 10_000


def split(text: str, resume: Block, env: dict[str, Any]) -> tuple[list[Block], int]:
    """The blocks of `text` from `resume` on, and how many of them no later text can change."""
    out: list[Block] = []
    done = 0
    at: Block | None = resume
    while at is not None:  # a cut inside a paragraph starts the parser anew, as it does when the text streams in
        splitter = _Splitter(text, at, env)
        at = splitter.run()
        done = len(out) + (len(splitter.out) if at is not None else splitter.final())
        out += splitter.out
    return out, done


def read_references(text: str, env: dict[str, Any]) -> None:
    """Puts the link definitions of `text` into `env`."""
    parser().parse(text, env)


def code_sources(text: str) -> list[str]:
    """The source of each block of code in `text`, as it was written."""
    return [token.content for token in parser().parse(text) if token.type in ("fence", "code_block")]


def has_code(text: str) -> bool:
    """Whether there is code in a text; of a long one it is only known whether it has fences."""
    if len(text) > AT_ONCE:
        return _FENCE.search(text) is not None
    return ("```" in text or "~~~" in text or _INDENTED.search(text) is not None) and bool(code_sources(text))


def split_plain(text: str, resume: Block) -> tuple[list[Block], int]:
    """Like `split`, for text that is shown as it is."""
    out: list[Block] = []
    chain = resume.chain
    for start, end, mid in line_chunks(text, resume.start, len(text), resume.chain > 0):
        if out:
            chain = chain + 1 if mid else 0
        out.append(Block("plain", start, end, resume.gap and not out, chain=chain))
    return out, max(0, len(out) - 1)


class _Splitter:
    def __init__(self, text: str, resume: Block, env: dict[str, Any]) -> None:
        if resume.opens >= 0:
            resume = resume._replace(start=resume.opens, head="", opens=-1)
        self.text, self.resume, self.head = text, resume, resume.head
        self.src = resume.head + text[resume.start :]
        self.offsets = [0, *accumulate(len(line) + 1 for line in self.src.split("\n"))]
        self.complete = self.src.count("\n")  # lines before this one have their newline
        self.skip = resume.head.count("\n")
        self.tokens = parser().parse(self.src, env)
        self.out: list[Block] = []
        self.lines: list[int] = []  # the line in `src` on which each block begins

    def at(self, line: int) -> int:
        """Where a line of `src` begins in the text."""
        if line >= len(self.offsets) - 1:
            return len(self.text)
        offset: int = self.offsets[line]
        return self.resume.start + max(0, offset - len(self.head))

    def line(self, line: int) -> str:
        return self.src[self.offsets[line] : self.offsets[line + 1]]

    def add(self, line: int, kind: str, start: int, end: int, gap: bool = True, **more: Any) -> None:
        block = Block(kind, start, end, gap, **more)
        if not self.out:  # goes on with what was open
            old = self.resume
            block = block._replace(gap=old.gap, head=old.head or block.head, chain=old.chain)
        self.out.append(block)
        self.lines.append(line)

    def final(self) -> int:
        # Markdown's blocks are decided line by line, so a block is final once a later one owns a complete line. Without
        # "complete", "1. a\n\n2" would freeze the list and "2. b" begin another.
        for i in range(len(self.out) - 1, 0, -1):
            if self.lines[i] < self.complete or self.out[i].chain:
                return i
        return 0

    def run(self) -> Block | None:
        """Fills `out`; a block to begin anew from, if a paragraph had to be cut."""
        tokens, i = self.tokens, 0
        number = self.resume.number
        while i < len(tokens):
            token = tokens[i]
            close = self.close(i)
            again = None
            kind = token.type
            if kind in ("paragraph_open", "heading_open"):
                again = self.paragraph(token, tokens[close + 1] if close + 1 < len(tokens) else None)
            elif kind == "fence":
                self.fence(token)
            elif kind == "table_open":
                again = self.table(token)
            elif kind in ("bullet_list_open", "ordered_list_open"):
                ordered = kind[0] == "o"
                number = (number or int(token.attrs.get("start", 1))) if ordered else 0
                i += 1
                while i < close and again is None:
                    end = self.close(i)
                    again = self.container(i, end, number)
                    number += ordered
                    i = end + 1
                number = 0
            elif kind == "blockquote_open":
                again = self.container(i, close, 0)
            elif kind == "html_block":
                self.pieces("html", token, self.head or self.line(self.map(token)[0]))
            elif kind == "code_block":
                self.pieces("md", token, "")
            else:
                begin, end = self.map(token)
                self.add(begin, "md", self.at(begin), self.at(end))
            if again is not None:
                return again
            number = 0
            i = close + 1
        return None

    def close(self, i: int) -> int:
        """The token that closes token `i`."""
        token = self.tokens[i]
        if token.nesting != 1:
            return i
        j = i + 1
        while not (self.tokens[j].level == token.level and self.tokens[j].nesting == -1):
            j += 1
        return j

    @staticmethod
    def map(token: Token) -> tuple[int, int]:
        begin, end = token.map or (0, 0)
        return begin, end

    # -- what may be long
    def paragraph(self, token: Token, after: Token | None) -> Block | None:
        begin, stop = self.map(token)
        start, end = self.at(begin), self.at(stop)
        reach = end
        if after is not None and after.type == "table_open" and self.map(after)[0] == stop:
            reach = self.at(stop + 1)  # the table's first line was a part of this paragraph until the second came
        if stable_end(self.text, start, reach) - start > CHARS:
            return self.cut_paragraph(begin, start, reach, token.markup + " " if token.markup[:1] == "#" else "")
        self.add(begin, "md", start, end)
        return None

    def cut_paragraph(self, line: int, start: int, end: int, head: str) -> Block:
        chain = self.resume.chain if not self.out else 0
        for cut in paragraph_cuts(self.text, start, stable_end(self.text, start, end)):
            self.add(line, "md", start, cut, chain == 0, head=head if chain else "", chain=chain)
            start, chain = cut, chain + 1
        return Block("md", start, end, head=head, chain=chain)

    def fence(self, token: Token) -> None:
        begin, stop = self.map(token)
        resumed = bool(self.head) and begin < self.skip
        opening = self.head if resumed else self.line(begin)
        content = token.content
        closed = stop - begin - 1 > content.count("\n") or stop < self.complete
        last = begin + 1 + content.count("\n") + (content != "" and not content.endswith("\n"))
        end = self.at(last) if closed else len(self.text)
        opens = -1 if resumed else self.at(begin)
        self.chunks("code", begin + 1, self.at(begin + 1), end, opening.split("\n", 1)[0] + "\n", opens)

    def pieces(self, kind: str, token: Token, head: str) -> None:
        """HTML and indented code."""
        begin, stop = self.map(token)
        line = max(begin, self.skip)
        self.chunks(kind, line, self.at(line), self.at(stop), head.split("\n", 1)[0] + "\n" if head else "")

    def chunks(self, kind: str, line: int, start: int, end: int, head: str, opens: int = -1) -> None:
        fresh = not self.out
        part = self.resume.part if fresh else 0
        chain = self.resume.chain if fresh else 0
        first = True
        pieces = line_chunks(self.text, start, end, chain > 0) or [(start, end, False)]
        if kind == "md":  # the rest of a line of indented code would be read as prose
            starts = [a for a, _, mid in pieces if not mid or a == start]
            pieces = [(a, b, False) for a, b in zip(starts, [*starts[1:], end], strict=True)]
        for a, b, mid in pieces:
            if not first:
                chain = chain + 1 if mid else 0
            # A line that goes on must not be taken for the end of the fence.
            opening = head + "x" if chain and kind == "code" else head
            shown = opening if kind == "code" or part else ""
            self.add(line, kind, a, b, first, head=shown, part=part, chain=chain, opens=opens)
            opens = -1
            line += self.text.count("\n", a, b)
            part += 1
            first = False

    def table(self, token: Token) -> Block | None:
        begin, stop = self.map(token)
        resumed = bool(self.head) and begin < self.skip
        start = self.at(begin)
        if not resumed and self.at(begin + 1) - 1 - start > CHARS:
            return self.cut_paragraph(begin, start, self.at(begin + 1), "")
        head = self.head if resumed else self.line(begin) + self.line(begin + 1)
        part, lead = (self.resume.part, self.resume.lead) if resumed else (0, (0, 0))
        line = first = 2 if resumed else begin
        row = 2 if resumed else begin + 2
        while True:
            end = row
            limit = ROWS if part else FIRST_ROWS
            while end < stop and end - row < limit and (end == row or self.at(end + 1) - self.at(row) <= CHARS):
                end += 1
            if part == 0:
                lead = (self.at(line), self.at(end))
            more = {"head": head, "lead": lead} if part else {}
            self.add(line, "table", self.at(line), self.at(end), line == first, part=part, **more)
            if end >= stop:
                return None
            line = row = end
            part += 1

    # -- list items and quotes
    def container(self, i: int, close: int, number: int) -> Block | None:
        begin, stop = self.map(self.tokens[i])
        resumed = bool(self.head) and begin < self.skip
        start, end = self.at(begin), self.at(stop)
        quote = self.tokens[i].type == "blockquote_open"
        gap = True if quote else not resumed and self.item_gap(begin)
        more: dict[str, Any] = {"number": number}
        lead = "" if quote else self.item_lead(begin)
        big = stop - begin > CONTAINER_LINES or end - start > CONTAINER_CHARS
        if not big or not (quote or lead):
            self.add(begin, "md", start, end, gap, **more)
            return None
        at_line, chain = (max(begin, self.skip), self.resume.chain if not self.out else 0)
        head = self.head if resumed else ""
        for line, where, opening, cut in self.container_cuts(i, close, quote, lead, at_line, start):
            if where > start:
                self.add(at_line, "md", start, where, gap, head=head, chain=chain, **more)
                gap = opening.endswith("\n\n") and self.blank_above(line) if not cut else False
            if cut:
                return Block("md", where, end, head=opening, chain=chain + 1, **more)
            start, at_line, head, chain = where, line, opening, 0
        self.add(at_line, "md", start, end, gap, head=head, chain=chain, **more)
        return None

    def container_cuts(
        self, i: int, close: int, quote: bool, lead: str, since: int, start: int
    ) -> list[tuple[int, int, str, bool]]:
        """Places to cut, each (line, offset, head, whether inside a paragraph); the last only may be inside one."""
        cuts: list[tuple[int, int, str, bool]] = []
        level = self.tokens[i].level
        base, inner = ("", "> ") if quote else (lead + "x\n\n", " " * len(lead))
        for token in self.tokens[i + 1 : close]:
            if token.map is None or token.nesting < 0 or token.type == "inline":
                continue
            own = token.level == level + 1 and not token.type.endswith("_list_open")
            if not own and not (token.type == "list_item_open" and token.level == level + 2):
                continue
            begin, stop = self.map(token)
            whole = self.line(begin) if begin < len(self.offsets) - 1 else ""
            if begin >= self.skip and begin > since and (not quote or _QUOTE.match(whole)):
                where = self.at(begin)
                if begin - since >= CONTAINER_LINES or where - start >= CONTAINER_CHARS:
                    cuts.append((begin, where, base, False))
                    since, start = begin, where
            if not own:
                continue
            if token.type == "fence":
                opening = base + inner + self.line(begin).strip().lstrip("> ") + "\n"
                if begin < self.skip:
                    opening = self.head
                for line in range(max(begin + 1, self.skip) + LINES, stop - 1, LINES):
                    if not quote or _QUOTE.match(self.line(line)):
                        cuts.append((line, self.at(line), opening, False))
                        since, start = line, self.at(line)
            elif token.type == "paragraph_open":
                a, b = self.at(max(begin, self.skip)), self.at(stop)
                if stable_end(self.text, a, b) - a > CHARS:
                    first = paragraph_cuts(self.text, a, stable_end(self.text, a, b))
                    if first:
                        cuts.append((begin, first[0], base + inner, True))
                        break
        return cuts

    def blank_above(self, line: int) -> bool:
        return line > 0 and not self.line(line - 1).strip(" \n>")

    def item_gap(self, line: int) -> bool:
        """Items stand together as in the source; a list stands apart from what is above it."""
        if self.blank_above(line) or not self.out:
            return True
        above = self.text[self.out[-1].start : self.out[-1].start + 12].lstrip(" ")
        return not (self.out[-1].end == self.at(line) and re.match(r"[-+*]|\d+[.)]", above))

    def item_lead(self, line: int) -> str:
        match = ITEM_LEAD.match(self.line(line))
        return match[0] if match else ""
