"""Markdown tokens to rows: headings, lists, quotes, code, rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fireside_tui.transcript.highlight import language_of
from fireside_tui.transcript.inline import inline, parser
from fireside_tui.transcript.rows import Rows
from fireside_tui.transcript.runs import Run
from fireside_tui.transcript.table_rows import table_rows

if TYPE_CHECKING:
    from markdown_it.token import Token

_BULLETS = "•◦▪"


def markdown_rows(
    rows: Rows, source: str, env: dict[str, Any], *, head: str = "", number: int = 0, tail: list[Run] | None = None
) -> None:
    """Lays `source` out; `head` was put in front of it only to open what it is in."""
    _Walk(rows, head, number, tail or []).run(parser().parse(head + source, env), source)


class _Walk:
    def __init__(self, rows: Rows, head: str, number: int, tail: list[Run]) -> None:
        self.rows = rows
        self.skip = head.count("\n")  # blocks that end before this line are the head's own
        self.number = number
        self.tail = tail
        self.prefix: list[Run] = []
        self.marker: list[Run] = []  # the bullets that the next row begins with
        self.levels: list[int] = []  # the next number of each open list; -1 for bullets
        self.heading = ""
        self.quotes = 0

    def run(self, tokens: list[Token], source: str) -> None:
        self.source = source
        last = max((i for i, token in enumerate(tokens) if token.type == "inline"), default=-1)
        i = 0
        while i < len(tokens):
            token = tokens[i]
            kind = token.type
            own = token.map is None or token.map[1] > self.skip
            if kind == "table_open":
                close = next(j for j in range(i, len(tokens)) if tokens[j].type == "table_close")
                table_rows(self.rows, tokens[i:close], self.taken_prefix())
                i = close
            elif kind == "inline":
                if own:
                    self.inline(token, i == last)
            elif kind in ("fence", "code_block"):
                if own:
                    self.code(token)
            elif kind == "hr":
                self.rows.row([*self.rows.prefix, *self.taken_prefix(), Run("─" * self.room(), ("rule",), drawn=True)])
                self.rows.newline()
            elif kind == "html_block":
                if own:
                    self.wrap([Run(token.content.rstrip("\n").expandtabs(4), (*self.rows.base, "html"))])
            else:
                self.container(token)
            i += 1
        if self.tail:  # a chunk whose first line turned out to be no paragraph
            self.rows.wrap(self.tail)

    def container(self, token: Token) -> None:
        kind = token.type
        if kind in ("bullet_list_open", "ordered_list_open"):
            start = int(token.attrs.get("start", 1))
            self.levels.append((self.number or start) if kind[0] == "o" else -1)
            self.number = 0
        elif kind in ("bullet_list_close", "ordered_list_close"):
            self.levels.pop()
        elif kind == "list_item_open":
            number = self.levels[-1]
            text = f"{number}. " if number >= 0 else _BULLETS[min(len(self.levels), 3) - 1] + " "
            self.levels[-1] += number >= 0
            if token.map is not None and token.map[0] < self.skip:  # its bullet stands in an earlier chunk
                self.prefix = [*self.prefix, Run(" " * len(text))]
            else:
                self.marker = [*self.marker, Run(text, (*self.rows.base, "bullet"))]
        elif kind == "list_item_close":
            if self.marker:
                self.wrap([])
            self.prefix = self.prefix[:-1]
        elif kind == "blockquote_open":
            self.open_marker()
            self.prefix = [*self.prefix, Run("▌ ", ("quote",), drawn=True)]
            self.quotes += 1
        elif kind == "blockquote_close":
            self.prefix = self.prefix[:-1]
            self.quotes -= 1
        elif kind == "heading_open":
            self.heading = "h" + token.tag[1]
        elif kind == "heading_close":
            self.heading = ""

    def open_marker(self) -> None:
        """A bullet before something that cannot stand beside it gets its own row."""
        if self.marker:
            self.wrap([])

    def room(self) -> int:
        used = sum(len(run.text) for run in self.rows.prefix + self.prefix)
        return max(3, self.rows.width - used)

    def taken_prefix(self) -> list[Run]:
        self.open_marker()
        return [run._replace(drawn=True) for run in self.prefix]

    def inline(self, token: Token, last: bool) -> None:
        base = self.rows.base
        if self.heading:
            base = (*base, self.heading)
        elif self.quotes:
            base = (*base, "quoted")
        runs = inline(token, base)
        if self.tail:
            runs = [*self.tail, *runs]
            self.tail = []
        if self.rows.hold and last and self.source[-1:] in (" ", "\n"):
            runs.append(Run(" ", base))  # the parser takes the space off on which the paragraph was cut
        self.wrap(runs, last=last)

    def wrap(self, runs: list[Run], last: bool = False) -> None:
        """Rows of text. The first is indented by text (a nested list stays one when copied), the others by drawing."""
        marker = self.marker
        hang = [*self.prefix, *(Run(" " * len(run.text)) for run in marker)]
        quiet = [run._replace(drawn=True) for run in hang]
        first = [*self.prefix, *marker]
        self.marker = []
        self.rows.wrap(runs or [Run("")], quiet, first, hang=quiet, last=last)
        if marker:
            self.prefix = hang

    def code(self, token: Token) -> None:
        prefix = self.taken_prefix()
        opened = token.map is not None and token.map[0] >= self.skip
        language = language_of("```" + token.info) if token.type == "fence" else ""
        hold, self.rows.hold = self.rows.hold, False
        self.rows.code(token.content.rstrip("\n"), language, prefix, label=opened)
        self.rows.hold = hold
