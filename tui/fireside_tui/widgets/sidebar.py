"""`Sidebar`: the list of conversations, its filter, and the line below that asks or offers."""

from __future__ import annotations

from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, Static

from fireside_tui.conversations import Row
from fireside_tui.safe_text import safe_line
from fireside_tui.widgets.pane import Pane
from fireside_tui.widgets.row_list import RowList


class Filter(Input):
    """Narrows the list to titles that hold all its words."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Back", show=False),
        Binding("down", "into_list", "To the list", show=False),
    ]

    class Left(Message):
        """The filter is left; `cleared` says that all rows are to be shown again."""

        def __init__(self, cleared: bool) -> None:
            super().__init__()
            self.cleared = cleared

    def action_leave(self) -> None:
        """Clears the filter and leaves it."""
        self.value = ""
        self.post_message(self.Left(True))

    def action_into_list(self) -> None:
        """Goes on in the filtered list."""
        self.post_message(self.Left(False))


class Sidebar(Pane, Vertical):
    """The conversations at the left."""

    DEFAULT_CSS = """
    Sidebar {
        width: 30; background: $surface; padding: 0;
        #sidebar-title { height: 1; padding: 0 1; color: $text-muted; text-style: bold; }
        Filter, Filter:focus { height: 1; border: none; padding: 0 1; background: $surface; color: $foreground; }
        Filter:focus { background: $panel; }
        RowList { height: 1fr; background: $surface; scrollbar-size-vertical: 1; scrollbar-background: $surface;
            scrollbar-background-hover: $surface; scrollbar-background-active: $surface; overflow-x: hidden; }
        #sidebar-below { height: auto; padding: 0 1; color: $text-muted; display: none; }
        &.-asks #sidebar-below { display: block; background: $warning-muted; color: $text-warning; }
        &.-offers #sidebar-below { display: block; }
        .rows--heading { color: $text-muted; text-style: bold; }
        .rows--row { color: $foreground; background: $surface; }
        .rows--open { color: $text-primary; text-style: bold; }
        .rows--cursor { background: $block-cursor-background; color: $block-cursor-foreground; }
        .rows--cursor-off { background: $panel; }
        .rows--hover { background: $panel; }
        .rows--running { color: $text-accent; text-style: bold; }
        .rows--asks { color: $text-warning; text-style: bold; }
        .rows--failed { color: $text-error; text-style: bold; }
        .rows--unread { color: $primary; text-style: bold; }
        .rows--draft { color: $text-muted; }
        .rows--empty { color: $text-muted; }
    }
    """

    class Answered(Message):
        """The person answered what the line below asked."""

        def __init__(self, yes: bool) -> None:
            super().__init__()
            self.yes = yes

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._all: list[Row] = []
        self._shown: tuple[list[Row], str] | None = None
        self.asking = False
        """Whether the line below waits for y or n."""

    def compose(self) -> ComposeResult:
        """Title, filter, list, the line below."""
        yield Static("Conversations", id="sidebar-title", markup=False)
        yield Filter(placeholder="/ filter", id="filter", select_on_focus=False)
        yield RowList(id="rows")
        yield Static("", id="sidebar-below", markup=False)

    @property
    def rows(self) -> RowList:
        """The list."""
        return self.query_one(RowList)

    @property
    def filter(self) -> Filter:
        """The filter."""
        return self.query_one(Filter)

    def show(self, rows: list[Row], trouble: str = "") -> None:
        """Shows these conversations, as far as the filter lets them through."""
        self._all = rows
        self.rows.empty = trouble or ("No conversations yet" if not self.filter.value else "No title has these words")
        self._filtered()
        waiting = sum(row.status == "approval" for row in rows)
        title = f"Conversations  {len(rows):,}" if rows else "Conversations"
        self.query_one("#sidebar-title", Static).update(Content(title + (f" · {waiting} ask" if waiting else "")))

    def _filtered(self) -> None:
        words = self.filter.value.lower().split()
        rows = [row for row in self._all if all(word in row.title.lower() for word in words)] if words else self._all
        self.rows.show(rows)

    @on(Input.Changed, "#filter")
    def _on_filter(self) -> None:
        self.rows.empty = "No title has these words\nEnter searches the texts" if self._all else "No conversations yet"
        self._filtered()
        self.rows.action_edge(False)

    # -- the line below

    def ask(self, question: str) -> None:
        """Asks for y or n."""
        self.asking = True
        self._below(f"{question}\ny yes · n no", "-asks")

    def offer(self, words: str) -> None:
        """Says what one can do now; empty says nothing."""
        self.asking = False
        self._below(words, "-offers" if words else "")

    def _below(self, words: str, how: str) -> None:
        self.set_class(how == "-asks", "-asks")
        self.set_class(how == "-offers", "-offers")
        width = max(4, self.size.width - 2)
        self.query_one("#sidebar-below", Static).update(
            Content("\n".join(safe_line(line, width) for line in words.split("\n")))
        )

    def on_key(self, event: events.Key) -> None:
        """While it asks, y is yes, and anything else is no."""
        if self.asking and self.rows.has_focus and event.key not in ("tab", "shift+tab"):
            event.stop()
            event.prevent_default()
            self.asking = False
            self.post_message(self.Answered(event.key in ("y", "Y")))
