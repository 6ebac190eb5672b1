"""`RowList`: the rows of the sidebar, drawn line by line, so that ten thousand cost no more than twenty.

A widget for each row would be slow from a thousand rows on, and `OptionList` takes 0.24 s to show all again after a filter.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widget import Widget

from fireside_tui import clock
from fireside_tui.conversations import Listed, Row, by_day, row_of
from fireside_tui.looks import Look
from fireside_tui.safe_text import safe_line
from fireside_tui.widgets.bar import HasBar

SIGNS: dict[str, tuple[str, str]] = {
    "running": ("◐", "running"),
    "approval": ("?", "asks"),
    "failed": ("!", "failed"),
    "interrupted": ("!", "failed"),
    "limit": ("!", "failed"),
    "unsaved": ("!", "failed"),
    "draft": ("✎", "draft"),
}
"""The sign before a title, and its colour, by status."""

MEANINGS = {
    "◐": "running",
    "?": "waits for your answer",
    "!": "failed or interrupted",
    "●": "an unread answer",
    "✎": "an unsent draft",
}

LOOKS = {
    "heading": Look("text-muted", "bold"),
    "row": Look("foreground", ground="surface"),
    "open": Look("text-primary", "bold"),
    "cursor": Look("block-cursor-foreground", ground="block-cursor-background"),
    "cursor-off": Look(ground="panel"),
    "hover": Look(ground="panel"),
    "running": Look("text-accent", "bold"),
    "asks": Look("text-warning", "bold"),
    "failed": Look("text-error", "bold"),
    "unread": Look("primary", "bold"),
    "draft": Look("text-muted"),
    "empty": Look("text-muted"),
}

KEPT = 1_000
"""So many drawn rows are kept."""


class RowList(HasBar, ScrollView, can_focus=True):
    """Conversations by day. `show` gives it rows; the cursor stays on its conversation."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "Up", show=False),
        Binding("down,j", "move(1)", "Down", show=False),
        Binding("pageup", "page(-1)", "Page up", show=False),
        Binding("pagedown", "page(1)", "Page down", show=False),
        Binding("home,g", "edge(False)", "First", show=False),
        Binding("end,G", "edge(True)", "Last", show=False),
    ]

    class Picked(Message):
        """A row was clicked."""

        def __init__(self, id: str) -> None:
            super().__init__()
            self.id = id

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.lines: list[str | Listed] = []
        self.open_id: str | None = None
        self.empty = ""
        """What stands there when there are no rows."""
        self._cursor: int | None = None
        self._placed = False  # whether the cursor was put where it is, and is not just on the first row
        self._hover: int | None = None
        self._styles: dict[str, Style] = {}
        self._strips: dict[tuple[str, str, str, bool, int, int], Strip] = {}

    # -- what is shown

    def show(self, items: Sequence[Listed], *, from_top: bool = False) -> None:
        """Shows these conversations, which are in order; `from_top` puts the cursor on the first one."""
        if not self._placed and self.app.focused is not self:  # what came first stands in the middle of what came later
            self._cursor = None
        old, place = self.cursor_id, self._cursor or 0
        self.lines = by_day(items, clock.now())
        found = self._place_of(old) if old is not None and not from_top else None
        self._cursor = found if found is not None else self._nearest(0 if from_top else place)
        size = Size(self.scrollable_content_region.width, len(self.lines))
        if size != self.virtual_size:
            # by hand: Textual would lay out the whole screen, at each letter of the filter
            self.set_reactive(Widget.virtual_size, size)
            self._scroll_update(size)
        if from_top:
            self.scroll_home(animate=False)
        self.refresh()

    @property
    def rows(self) -> list[Row]:
        """The rows, without the headings: all of them are made."""
        return [row_of(line) for line in self.lines if not isinstance(line, str)]

    @property
    def cursor_row(self) -> Row | None:
        """The row that the cursor is on."""
        item = self._at(self._cursor)
        return row_of(item) if item is not None else None

    @property
    def cursor_id(self) -> str | None:
        """The conversation that the cursor is on."""
        item = self._at(self._cursor)
        return item.id if item is not None else None

    def set_cursor(self, id: str) -> None:
        """Puts the cursor on a conversation, if it is there."""
        self._go(self._place_of(id))

    def neighbour(self, id: str) -> str | None:
        """The conversation below another one, else the one above it."""
        place = self._place_of(id)
        if place is None:
            return None
        for by in (1, -1):
            if (item := self._at(self._beside(place, by))) is not None:
                return item.id
        return None

    def _at(self, place: int | None) -> Listed | None:
        """What stands at a place, unless it is a heading or nothing."""
        if place is None or not 0 <= place < len(self.lines):
            return None
        line = self.lines[place]
        return None if isinstance(line, str) else line

    def _beside(self, place: int, by: int) -> int:
        """The next place below (1) or above (-1) that is no heading; it may be outside."""
        place += by
        while 0 <= place < len(self.lines) and isinstance(self.lines[place], str):
            place += by
        return place

    def _place_of(self, id: str) -> int | None:
        """Where a conversation stands."""
        if (item := self._at(self._cursor)) is not None and item.id == id:
            return self._cursor
        return next((n for n, line in enumerate(self.lines) if not isinstance(line, str) and line.id == id), None)

    def set_open(self, id: str | None) -> None:
        """Marks the conversation that is on the screen."""
        if id != self.open_id:
            self.open_id = id
            self.refresh()

    # -- moving

    def _nearest(self, place: int) -> int | None:
        """The place of the row at or after a place, else the last one before it."""
        n: int
        for n in (*range(place, len(self.lines)), *range(min(place, len(self.lines)) - 1, -1, -1)):
            if not isinstance(self.lines[n], str):
                return n
        return None

    def _go(self, place: int | None) -> None:
        if place is None or not 0 <= place < len(self.lines):
            return
        self._cursor, self._placed = place, True
        above = place
        while above and isinstance(self.lines[above - 1], str):
            above -= 1
        self.scroll_to_region(Region(0, above, 1, place - above + 1), animate=False, force=True)
        self.refresh()

    def action_move(self, by: int) -> None:
        """One row up or down."""
        place = self._beside(self._cursor if self._cursor is not None else -1, by)
        if place < 0:
            self.scroll_home(animate=False)
        self._go(place)

    def action_page(self, by: int) -> None:
        """A page up or down."""
        place = max(0, min(len(self.lines) - 1, (self._cursor or 0) + by * max(1, self.size.height - 1)))
        self._go(self._nearest(place))

    def action_edge(self, last: bool) -> None:
        """To the first or the last row."""
        self._go(self._nearest(len(self.lines) - 1 if last else 0))

    def on_resize(self) -> None:
        """The cursor's row stays in view: what is done to it is asked about."""
        if self.has_focus:
            self._go(self._cursor)

    # -- the mouse

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """The row under the mouse is lit."""
        place = event.y + round(self.scroll_y)
        hover = place if self._at(place) is not None else None
        if hover != self._hover:
            self._hover = hover
            self.refresh()

    def on_leave(self) -> None:
        """No row is under the mouse."""
        self._hover = None
        self.refresh()

    def on_click(self, event: events.Click) -> None:
        """A click opens a row."""
        place = event.y + round(self.scroll_y)
        if (item := self._at(place)) is not None:
            self._go(place)
            self.post_message(self.Picked(item.id))

    # -- drawing

    def notify_style_update(self) -> None:
        """The theme has changed: the new styles are there a moment later only."""
        super().notify_style_update()
        self._clear_styles()
        self.call_next(self._forget_styles)

    def _forget_styles(self) -> None:
        self._clear_styles()
        self.refresh()

    def _clear_styles(self) -> None:
        self._styles.clear()
        self._strips.clear()

    def on_focus(self) -> None:
        """The cursor is bright."""
        self.refresh()

    def on_blur(self) -> None:
        """The cursor is dim."""
        self.refresh()

    def _style(self, name: str) -> Style:
        style = self._styles.get(name)
        if style is None:
            style = self._styles[name] = LOOKS[name].style(self.app.theme_variables, self.background_colors[1])
        return style

    def render_lines(self, crop: Region) -> list[Strip]:
        """Its lines, as they go to the terminal.

        Not by Textual's own way through the styles, which makes of each line a line of the same looks five more times:
        here are no border, padding or opacity to add.
        """
        width, filters, background = self.size.width, self.get_line_filters(), self.background_colors[1]
        lines = []
        for y in crop.line_range:
            line = self.render_line(y)
            for filter in filters:
                line = line.apply_filter(filter, background)
            lines.append(line if crop.column_span == (0, width) else line.crop(crop.x, crop.right))
        return lines

    def render_line(self, y: int) -> Strip:
        """One line, as wide as the list with its scrollbar."""
        width = self.size.width
        place = y + round(self.scroll_y)
        base = self._style("row")
        if not self.lines and self.empty and y < 5:
            words = ["", *self.empty.split("\n")]
            text = words[y] if y < len(words) else ""
            return self._filled([Segment(f" {safe_line(text, width - 1)}", base + self._style("empty"))], width, base)
        if place >= len(self.lines):
            return Strip.blank(width, base)
        line = self.lines[place]
        if isinstance(line, str):
            return self._filled([Segment(f" {line}", base + self._style("heading"))], width, base)
        return self._row(row_of(line), place, width, base)

    def _row(self, row: Row, place: int, width: int, base: Style) -> Strip:
        """A row. One that looks like one that was there before is that one, with all that Textual has made of it."""
        if place == self._cursor:
            behind = "cursor" if self.has_focus else "cursor-off"
        else:
            behind = "hover" if place == self._hover else ""
        is_open = row.id == self.open_id
        sign, colour = SIGNS.get(row.status, ("", ""))
        if not sign and row.unread:
            sign, colour = "●", "unread"
        elif not sign and row.draft and not is_open:  # what is being written is seen anyway
            sign, colour = "✎", "draft"
        look = (row.title, sign, behind, is_open, width, self.scrollable_content_region.width)
        strip = self._strips.get(look)
        if strip is None:
            if len(self._strips) >= KEPT:
                self._strips.clear()
            strip = self._strips[look] = self._drawn(*look, colour, base)
        return strip

    def _drawn(
        self, title: str, sign: str, behind: str, is_open: bool, width: int, room: int, colour: str, base: Style
    ) -> Strip:
        base = base + self._style(behind) if behind else base
        lit = behind == "cursor"  # its background is bright: the sign takes the text's colour
        sign_style = base if lit or not colour else base + self._style(colour)
        title_style = base + self._style("open") if is_open and not lit else base
        bar = Segment("▌" if is_open else " ", base if lit or not is_open else base + self._style("unread"))
        text = safe_line(title, max(0, room - 4))
        return self._filled([bar, Segment(f"{sign or ' '} ", sign_style), Segment(text, title_style)], width, base)

    @staticmethod
    def _filled(segments: list[Segment], width: int, style: Style) -> Strip:
        """A line of that width."""
        room = width - sum(cell_len(segment.text) for segment in segments)
        if room < 0:
            return Strip(segments).crop(0, width)
        return Strip([*segments, Segment(" " * room, style)], width)
