"""`Bar`: a scrollbar that is painted when its thumb looks different, and only where it does."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING, cast

from rich.color import Color
from rich.segment import Segment
from rich.style import Style
from textual.geometry import Region
from textual.scrollbar import ScrollBar, ScrollBarRender
from textual.strip import Strip

from fireside_tui.widgets.pane import Steady

if TYPE_CHECKING:
    from textual.widget import Widget
else:
    Widget = object  # a widget's style sheet comes from the first of its bases that is one


def thumb_of(height: int, total: float, position: float) -> tuple[int, int]:
    """Where a scrollbar's thumb begins and ends, in eighths of a cell, as Textual draws it; (0, 0): there is none."""
    if total <= height or not height:
        return 0, 0
    size = max(1.0, height * height / total)
    start = int((height - size) * position / (total - height) * 8)
    return start, start + ceil(size * 8)


class Bar(Steady, ScrollBar):
    """Textual's vertical scrollbar, without its way through the styles, which takes 3 ms in each frame."""

    def move(self, height: int, total: int, position: float) -> None:
        """Shows `height` of `total` lines from `position` on."""
        old = thumb_of(self.window_size, self.window_virtual_size, self.position)
        self.set_reactive(ScrollBar.window_virtual_size, total)
        self.set_reactive(ScrollBar.window_size, height)
        self.set_reactive(ScrollBar.position, position)
        new = thumb_of(height, total, position)
        for a, b in zip(old, new, strict=True):
            if a != b:
                first, last = min(a, b) // 8, max(a, b) // 8
                self.refresh(Region(0, first, self.size.width, last - first + 1))

    def paint(self, crop: Region) -> list[Strip]:
        """The lines, as Textual's own renderer makes them."""
        width, height = self.size
        shown = cast(ScrollBarRender, self.render())
        style = cast(Style, shown.style)
        bar = shown.render_bar(
            size=height,
            virtual_size=shown.virtual_size,
            window_size=shown.window_size,
            position=shown.position,
            thickness=width,
            back_color=style.bgcolor or Color.default(),
            bar_color=style.color or Color.default(),
        )
        filters, background = self.get_line_filters(), self.background_colors[1]
        lines: dict[int, Strip] = {}
        for segment in bar.segments:  # three or four, many times
            if id(segment) not in lines:
                line = Strip([*Segment.apply_style([segment], self.rich_style)], width)
                for filter in filters:
                    line = line.apply_filter(filter, background)
                lines[id(segment)] = line
        strips = [lines[id(segment)] for segment in bar.segments][crop.y : crop.bottom]
        return strips if crop.column_span == (0, width) else [strip.crop(crop.x, crop.right) for strip in strips]


class HasBar(Widget):
    """Stands before a widget that scrolls: its scrollbar is a `Bar`."""

    _vertical_scrollbar: Bar | None

    @property
    def vertical_scrollbar(self) -> Bar:
        """The vertical scrollbar; made when it is first asked for, as Textual does."""
        if self._vertical_scrollbar is None:
            self._vertical_scrollbar = bar = Bar(name="vertical", thickness=self.scrollbar_size_vertical)
            bar.display = False
            self.app._start_widget(self, bar)
        return self._vertical_scrollbar
