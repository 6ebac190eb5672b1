"""Rows to strips: what is painted, and what the mouse is told lies under it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from rich.cells import split_graphemes
from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.filter import LineFilter
from textual.strip import Strip
from textual.widget import Widget

from fireside_tui.transcript.cells import cell_len, is_simple
from fireside_tui.transcript.look import LOOKS
from fireside_tui.transcript.runs import Names, Row

#: Columns left of the text: the cursor's bar and a blank; and one at the right, before the scrollbar.
GUTTER, MARGIN = 2, 1


class Mark(NamedTuple):
    """Characters of a row that look otherwise: found, or selected."""

    start: int
    end: int
    name: str


class Painter:
    """Holds the styles of one theme; a strip is made for rows on the screen only (each owns seven caches, and thousands
    of them make garbage collection slow)."""

    def __init__(self, widget: Widget) -> None:
        self.widget = widget
        self.styles: dict[Names, Style] = {}
        self._filters: Sequence[LineFilter] | None = None
        self._ground: Color | None = None

    def forget(self) -> None:
        """Another theme."""
        self.styles.clear()
        self._filters = self._ground = None

    @property
    def ground(self) -> Color:
        """The colour behind it all."""
        if self._ground is None:
            self._ground = self.widget.background_colors[1]
        return self._ground

    def finished(self, segments: list[Segment], width: int) -> Strip:
        """A strip as the app's filters leave it (the last net for control characters is one, no colours another)."""
        if self._filters is None:
            self._filters = self.widget.get_line_filters()
        for line_filter in self._filters:
            segments = line_filter.apply(segments, self.ground)
        return Strip(segments, width)

    def blank(self, width: int) -> Strip:
        """An empty row."""
        return self.finished([Segment(" " * width, self.base)], width)

    @property
    def base(self) -> Style:
        """The look of an empty cell (kept: Textual computes it anew each time, for every row of every draw)."""
        style = self.styles.get(())
        if style is None:
            style = self.styles[()] = self.widget.rich_style
        return style

    def style(self, names: Names) -> Style:
        """The look of a run."""
        style = self.styles.get(names)
        if style is None:
            style = self.base
            for name in names:
                style += self.part(name)
            self.styles[names] = style
        return style

    def part(self, name: str) -> Style:
        """The look that one name stands for."""
        if name == "selected":
            return self.widget.screen.get_component_rich_style("screen--selection")
        look = LOOKS.get(name)
        return look.style(self.widget.app.theme_variables, self.ground) if look else Style.null()

    def strip(self, row: Row, width: int, marks: list[Mark], gutter: str) -> Strip:
        """The row as it is painted."""
        base = self.base
        segments = [Segment("▎ ", self.style((gutter,))) if gutter else Segment("  ", base)]
        used = 0
        room = width - GUTTER - MARGIN
        for text, names, _, x in row.pieces:
            style = self.style(names)
            used += cell_len(text)
            if x < 0 or not marks:
                segments.append(Segment(text, style))
                continue
            size = len(text)
            inside = [mark for mark in marks if mark.start < x + size and mark.end > x]
            cuts = {0, size}
            for mark in inside:
                cuts |= {max(0, mark.start - x), min(size, mark.end - x)}
            ordered = sorted(cuts)
            for a, b in pairwise(ordered):
                look = style
                for mark in inside:
                    if mark.start <= x + a and mark.end >= x + b:
                        look += self.style_of_mark(mark.name)
                segments.append(Segment(text[a:b], look))
        if row.fill and used < room:
            segments.append(Segment(" " * (room - used), self.style(row.fill)))
            used = room
        if used > room:
            segments = list(Strip(segments, GUTTER + used).crop(0, width - MARGIN).adjust_cell_length(width, base))
        else:
            segments.append(Segment(" " * (room - used + MARGIN), base))
        return self.finished(segments, width)

    def style_of_mark(self, name: str) -> Style:
        """What a mark changes in the look under it."""
        names = ("\0", name)  # apart from the look of a run
        style = self.styles.get(names)
        if style is None:
            style = self.styles[names] = self.part(name)
        return style

    @staticmethod
    def under_mouse(row: Row, y: int) -> Strip:
        """The row as Textual's selection reads it: segments with an "offset" each, drawings standing for the text that
        follows them (Textual counts on inside a segment, so they go one by one). A selection takes in the place where it
        ends: that of a blank row above all text lies before the first character."""
        out: list[Segment] = []
        follows = [piece.x for piece in row.pieces]
        nearest = start = row.start if row.start or any(x >= 0 for x in follows) else -1
        for i in range(len(follows) - 1, -1, -1):
            if follows[i] < 0:
                follows[i] = nearest
            nearest = follows[i]
        pieces = [(" " * GUTTER, -1, follows[0] if follows else start)]
        pieces += [(piece.text, piece.x, x) for piece, x in zip(row.pieces, follows, strict=True)]
        for text, x, near in pieces:
            if x < 0:
                out += [Segment(char, Style.from_meta({"offset": (near, y)})) for char in text]
            elif is_simple(text):
                out.append(Segment(text, Style.from_meta({"offset": (x, y)})))
            else:  # joined characters are one place
                for a, b, _ in split_graphemes(text)[0]:
                    out.append(Segment(text[a:b], Style.from_meta({"offset": (x + a, y)})))
        end = max([piece.x + len(piece.text) for piece in row.pieces if piece.x >= 0], default=start)
        out.append(Segment("", Style.from_meta({"offset": (end, y)})))
        return Strip(out)

    @staticmethod
    def place_at(row: Row, x: int) -> int:
        """The character of the block's text under column `x`, or -1."""
        at = GUTTER
        for piece in row.pieces:
            for a, _, cells in split_graphemes(piece.text)[0]:
                at += cells
                if GUTTER <= x < at:
                    return piece.x + a if piece.x >= 0 else -1
        return -1

    @staticmethod
    def piece_at(row: Row, x: int) -> str:
        """The link under column `x`, or ""."""
        at = GUTTER
        for piece in row.pieces:
            at += cell_len(piece.text)
            if x < at:
                return piece.href if x >= GUTTER else ""
        return ""
