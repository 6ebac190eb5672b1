"""A bare Textual app of the parts that fireside's screen has, and nothing behind them: what the first frame costs at least."""

from __future__ import annotations

from rich.segment import Segment
from textual.app import App, ComposeResult
from textual.containers import Horizontal, Vertical
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widgets import OptionList, Static, TextArea


class Lines(ScrollView):
    """A view by lines, as the transcript is one."""

    def on_mount(self) -> None:
        self.virtual_size = Size(80, 100)

    def render_line(self, y: int) -> Strip:
        return Strip([Segment(f"line {y + round(self.scroll_y)}", self.rich_style)]).adjust_cell_length(self.size.width)


class Bare(App[None]):
    """The parts."""

    CSS = """
    OptionList { width: 34; height: 1fr; border: none; }
    #head, #status, #keys { height: 1; }
    Lines { height: 1fr; }
    TextArea { height: auto; min-height: 3; max-height: 12; border: round $border; }
    """

    def compose(self) -> ComposeResult:
        with Horizontal():
            yield OptionList(*(f"conversation {n}" for n in range(20)))
            with Vertical():
                yield Static("A heading", id="head")
                yield Lines()
                yield TextArea(placeholder="Write a message", soft_wrap=True)
                yield Static("status", id="status")
        yield Static("keys", id="keys")

    def on_mount(self) -> None:
        self.query_one(TextArea).focus()


if __name__ == "__main__":
    Bare().run()
