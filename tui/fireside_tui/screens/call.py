"""`CallView`: a tool call with all of its arguments, to scroll through before one answers."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, ClassVar

from rich.segment import Segment
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.geometry import Size
from textual.screen import ModalScreen
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.style import Style

from fireside_tui.safe_text import safe_line
from fireside_tui.widgets.arguments import whole

if TYPE_CHECKING:
    from fireside import ToolCall


class Arguments(ScrollView, can_focus=True):
    """The lines. Only those on the screen are drawn: an argument may be a whole file."""

    DEFAULT_CSS = """
    Arguments { background: $surface; color: $foreground; border: round $border; padding: 0 1; scrollbar-size-vertical: 1;
        overflow-x: hidden; border-title-color: $text-primary; border-subtitle-color: $text-muted; }
    """

    def __init__(self, call: ToolCall) -> None:
        super().__init__()
        self._call = call
        self._lines: list[Content] = []
        self.border_title = Content(safe_line(call.name, 60))
        self.border_subtitle = Content("↑ ↓ scroll · Esc closes")

    def on_resize(self) -> None:
        """The lines are wrapped for the width there is."""
        width = self.scrollable_content_region.width
        self._lines = whole(self._call.args, max(12, width))
        self.virtual_size = Size(width, len(self._lines))
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """One line."""
        place, width = y + round(self.scroll_y), self.scrollable_content_region.width
        if place >= len(self._lines):
            return Strip.blank(width, self.rich_style)
        colours = partial(Style.parse, variables=self.app.theme_variables)
        segments = [
            Segment(text, style.rich_style)
            for text, style in self._lines[place].render(self.visual_style, end="", parse_style=colours)
        ]
        return Strip(segments).adjust_cell_length(width, self.rich_style)


class CallView(ModalScreen[None]):
    """All of a call."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,v,ctrl+c,enter", "dismiss(None)", "Close", show=False),
    ]
    DEFAULT_CSS = """
    CallView { align: center middle; background: $background 60%; }
    CallView > Arguments { width: 96%; height: 90%; }
    """

    def __init__(self, call: ToolCall) -> None:
        super().__init__()
        self._call = call

    def compose(self) -> ComposeResult:
        """The arguments."""
        yield Arguments(self._call)
