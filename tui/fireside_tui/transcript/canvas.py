"""The canvas under the transcript: batches draws, paints the rows that changed, keeps the scrollbar true."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from time import monotonic
from typing import Any

from rich.segment import Segment
from rich.style import Style
from textual.events import Resize
from textual.geometry import Region, Size
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip
from textual.timer import Timer
from textual.widget import Widget

from fireside_tui.transcript.highlight import loading
from fireside_tui.transcript.items import Item
from fireside_tui.transcript.paint import GUTTER, MARGIN, Mark, Painter
from fireside_tui.transcript.roll import Roll
from fireside_tui.transcript.rows import NARROWEST
from fireside_tui.transcript.runs import Row
from fireside_tui.transcript.search import Hit, Search
from fireside_tui.transcript.selection import logical
from fireside_tui.widgets.bar import HasBar


def stretches(lines: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Ascending lines as stretches: the first line of each, and how many.

    >>> list(stretches([2, 3, 4, 9]))
    [(2, 3), (9, 1)]
    """
    first = end = -1
    for line in lines:
        if line != end:
            if end > first:
                yield first, end - first
            first = line
        end = line + 1
    if end > first:
        yield first, end - first


class Canvas(HasBar, ScrollView):
    """Draws the roll's rows; what is done with them is added by the classes above it."""

    #: At most 16 draws a second. They may take a sixteenth of the time, but for ten a second a quarter of it.
    MIN_INTERVAL, SHARE, FLUENT, MAX_SHARE = 0.06, 1 / 16, 0.1, 1 / 4
    #: Long texts are split, and code is read, for so long in one go (seconds).
    WORK = 0.02

    def __init__(
        self,
        items: Iterable[Item] = (),
        *,
        name: str | None = None,
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        super().__init__(name=name, id=id, classes=classes)
        self.roll = Roll()
        self.laid_out = asyncio.Event()
        """Set once it has a width, which is a moment after it is shown for the first time: before that nothing has a place."""
        self.draws = 0
        """Draws so far (for tests and measurements)."""
        self._pending: dict[str, list[str]] = {}  # streamed text, not yet joined
        self._painter = Painter(self)
        self._mark: int | None = None  # the character at the top before the first of a run of resizes
        self._view: list[Strip] = []
        self._rows: list[tuple[int, int, Row]] = []
        self._drawn: dict[Row, tuple[Any, Strip]] = {}  # strips of the rows on the screen
        self._look: object = None
        self._timer: Timer | None = None
        self._next_draw = 0.0
        self._news = self._more_below = False  # text came in; and it lies below what is in view
        self._cursor: str | None = None
        self._search: Search | None = None
        self._hit: Hit | None = None
        self.roll.load(items)

    # -- drawing: batched, then only the rows that differ
    @property
    def _height(self) -> int:
        return self.scrollable_content_region.height

    def _index(self, key: str) -> int:
        try:
            return self.roll.index[key]
        except KeyError:
            raise KeyError(f"no item {key!r} in the transcript") from None

    def _join(self) -> None:
        for key, pieces in self._pending.items():
            self.roll.items[self.roll.index[key]].text += "".join(pieces)
            if self.roll.width:
                self.roll.take(key)
        self._pending.clear()

    def _schedule(self) -> None:
        if self._timer is None and self.roll.width and self.is_running:
            # 0 would divide by zero in Timer
            self._timer = self.set_timer(max(0.001, self._next_draw - monotonic()), self._draw)

    def _draw(self) -> None:
        self._timer = None
        began = monotonic()
        self._join()
        self._redraw()
        self._work(began)
        if self._news and not self.roll.following and not self._more_below:
            self._more_below = True
            self._redraw()
        self._news = False
        self.draws += 1
        now = monotonic()
        self._next_draw = began + self._interval(now - began)
        if self.roll.hungry or self.roll.unsure:
            self._next_draw = now + self.WORK
            self._schedule()

    def _interval(self, took: float) -> float:
        """Seconds from a draw that took so many to the next one."""
        return max(self.MIN_INTERVAL, min(took / self.SHARE, self.FLUENT), took / self.MAX_SHARE)

    def _work(self, began: float) -> None:
        """Splits long texts and reads code ahead, for as long as a frame may take."""
        roll = self.roll
        worked = False
        while roll.hungry and monotonic() - began < self.WORK:
            roll.feed()
            worked = True
        while roll.unsure and not roll.hungry and not loading() and monotonic() - began < self.WORK:
            worked = roll.code_step() or worked
        if worked:
            roll.settle()
            self._redraw()

    @property
    def busy(self) -> bool:
        """Whether a draw is still to come."""
        return self._timer is not None

    def _redraw_all(self) -> None:
        if self.roll.width:
            self.roll.settle()
            self._redraw()
            if self.roll.hungry or self.roll.unsure:
                self._schedule()

    def _redraw(self) -> None:
        if not self.roll.width:
            return
        old = self._view
        self._compose_view()
        self._sync()
        if len(old) != len(self._view):
            self.refresh()
            return
        changed = [y for y, (a, b) in enumerate(zip(old, self._view, strict=True)) if a is not b and a != b]
        if changed:
            left, top, width = self.gutter.left, self.gutter.top, self.scrollable_content_region.width
            self.refresh(*[Region(left, top + y, width, height) for y, height in stretches(changed)])
        if self.roll.hungry or self.roll.unsure:
            self._schedule()

    def _compose_view(self) -> None:
        height, width = self._height, self.scrollable_content_region.width
        self._rows = rows = self.roll.screen(height)
        if self.roll.following:
            self._more_below = False
        selection = self.text_selection
        cursor = self.roll.index.get(self._cursor, -1) if self._cursor is not None else -1
        bar = "cursor" if self.has_focus else "cursor-off"
        drawn: dict[Row, tuple[Any, Strip]] = {}
        for m, b, row in rows:
            marks = self._marks(m, b, row, selection)
            state = (marks, bar if m == cursor and (row.pieces or b) else "", width)
            old = self._drawn.get(row)
            if old is not None and old[0] == state:
                drawn[row] = old
            else:
                drawn[row] = (state, self._painter.strip(row, width, marks, state[1]))
        self._drawn = drawn
        self._view = [strip for _, strip in drawn.values()]
        self._view += [self._painter.blank(width)] * (height - len(self._view))
        if self._more_below and self._view:
            self._view[-1] = self._with_chip(self._view[-1], width)

    def _marks(self, m: int, b: int, row: Row, selection: Selection | None) -> list[Mark]:
        marks: list[Mark] = []
        end = max([piece.x + len(piece.text) for piece in row.pieces if piece.x >= 0], default=row.start)
        low = min([piece.x for piece in row.pieces if piece.x >= 0], default=row.start)
        if self._search is not None:
            for a, z in self._search.spans(self.roll.lay(m, b)):
                if a < end and z > low:
                    marks.append(Mark(a, z, "hit-now" if (m, b, a, z) == self._hit else "hit"))
        if selection is not None and (span := selection.get_span(logical(m, b))) is not None:
            marks.append(Mark(span[0], span[1] if span[1] != -1 else 1 << 60, "selected"))
        return marks

    CHIP = " ↓ new text below "

    def _with_chip(self, strip: Strip, width: int) -> Strip:
        left = width - len(self.CHIP) - 1
        if left < 4:
            return strip
        chip = [Segment(self.CHIP, self._painter.style(("below",))), Segment(" ", self._painter.base)]
        return self._painter.finished([*strip.crop(0, left), *chip], width)

    def _sync(self) -> None:
        """Brings scroll_y and the scrollbar in line with the anchor: no layout, no repaint of the text."""
        height = self._height
        # virtual_size is Reactive(layout=True): assigning it would lay the whole screen out on every draw (3 ms).
        size = Size(self.scrollable_content_region.width, max(height, self.roll.sums.total))
        self.set_reactive(Widget.virtual_size, size)
        end = self.max_scroll_y
        y = end if self.roll.following or not self.roll.items else min(self.roll.top(), end)
        self.set_reactive(Widget.scroll_y, float(y))
        self.set_reactive(Widget.scroll_target_y, float(y))
        self.vertical_scrollbar.move(height, size.height, y)

    def render_line(self, y: int) -> Strip:
        """A line as places in the text: what Textual's selection asks for. What is painted is in `render_lines`."""
        if 0 <= y < len(self._rows):
            m, b, row = self._rows[y]
            return self._painter.under_mouse(row, logical(m, b))
        if self._rows:  # below the end
            m, b, _ = self._rows[-1]
            style = Style.from_meta({"offset": (len(self.roll.lay(m, b).plain), logical(m, b))})
            return Strip([Segment("", style)])
        return Strip.blank(self.size.width)

    def render_lines(self, crop: Region) -> list[Strip]:
        """The rows as they are. Textual's own road copies each of them four times in each frame, changed or not; here a
        row keeps its strip, and with it what the terminal is sent, for as long as it is on the screen."""
        if self._fit():  # a size that `Resize` has not told yet: else this frame would be empty
            self.roll.settle()
            self._compose_view()
            self._sync()
            self._schedule()
        left, top = self.gutter.left, self.gutter.top
        blank = self._painter.blank(self.outer_size.width)
        rows = ([blank] * top + self._view)[crop.y : crop.bottom]
        rows += [blank] * (crop.height - len(rows))
        if left:
            rows = [Strip.join([blank.crop(0, left), row]) for row in rows]
        if crop.x or crop.right < left + self.scrollable_content_region.width:
            rows = [row.crop(crop.x, crop.right) for row in rows]
        return rows

    # -- Textual's hooks
    def _scroll_to(self, x: float | None = None, y: float | None = None, **options: Any) -> bool:
        return super()._scroll_to(x, y, **{**options, "animate": False})  # an animation would aim at a stale guess

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Follows the scrollbar and the wheel: by real rows, or by guesses if the thumb was dragged far."""
        delta = round(new_value) - round(old_value)
        if not delta or not self.roll.items or not self.roll.width:
            return
        if self.roll.following and round(new_value) >= self.max_scroll_y:
            return  # at the end as before: a higher window moved it, nobody did
        self._mark = None
        if abs(delta) > 4 * max(1, self._height):
            self.roll.jump(round(new_value), round(new_value) >= self.max_scroll_y > 0)
        else:
            self.roll.move(delta)
        self._redraw()
        self._grow_selection()

    def on_resize(self, event: Resize) -> None:
        """Lays out anew; the row at the top keeps its text."""
        self._fit()
        self._redraw_all()

    def _fit(self) -> bool:
        """Takes the width that there is; whether it is another one."""
        width = max(NARROWEST, self.scrollable_content_region.width - GUTTER - MARGIN)
        if width == self.roll.width:
            return False
        self._join()
        self._mark = self.roll.resize(width, self._mark)
        self._drawn.clear()
        self.laid_out.set()
        return True

    def notify_style_update(self) -> None:
        """Takes a new theme, once its styles are there."""
        super().notify_style_update()
        look = (self.app.theme, self.rich_style)
        if look != self._look:  # also called for focus and hover, which change nothing here
            self._look = look
            self.call_next(self._restyle)

    def _restyle(self) -> None:
        self._painter.forget()
        self._drawn.clear()
        self._view = []
        self._redraw()

    def watch_has_focus(self, _has_focus: bool) -> None:
        """The cursor's bar shines, or is dimmed. (`on_focus` comes too early: `has_focus` still says what was before.)"""
        super().watch_has_focus(_has_focus)
        if self._cursor is not None:
            self._redraw()

    def _grow_selection(self) -> None:
        """The view moved under the mouse."""
