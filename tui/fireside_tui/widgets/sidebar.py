"""`Sidebar`: the list of conversations, its filter, and the line below that asks or offers."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import ClassVar, Self

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.geometry import Region
from textual.message import Message
from textual.timer import Timer
from textual.widgets import Input, Static

from fireside_tui.conversations import Listed, Titles
from fireside_tui.safe_text import safe_line
from fireside_tui.widgets.lines import Line
from fireside_tui.widgets.pane import Pane
from fireside_tui.widgets.row_list import RowList


class Filter(Input):
    """Narrows the list to titles that hold all its words."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Back", show=False),
    ]

    class Left(Message):
        """The filter is left."""

    def __init__(self, changed: Callable[[], None], *, id: str | None = None) -> None:
        super().__init__(placeholder="/ filter", id=id, select_on_focus=False)
        self._changed = changed

    def watch_value(self) -> None:
        """Says so at once: with a message, the rows would stand on the screen a frame later than the letter."""
        self._changed()

    def refresh(self, *regions: Region, repaint: bool = True, layout: bool = False, recompose: bool = False) -> Self:
        """Draws it again. It is one line whatever stands in it: Textual would lay the whole screen out at each letter."""
        return super().refresh(*regions, repaint=repaint, recompose=recompose)

    def action_leave(self) -> None:
        """Clears the filter and leaves it."""
        self.value = ""
        self.post_message(self.Left())


PATIENCE = 0.7
"""Seconds after which the list says that it is being read."""
READING = "Reading the list …"


class SidebarTitle(Line):
    """How many there are. It is one line whatever it says, so nothing is laid out for it."""

    def say(self, words: str) -> None:
        """Says something else."""
        if words != self._words:
            self._words = words
            self.refresh()

    _words = "Conversations"

    def render(self) -> Content:
        """The words."""
        return Content(self._words)


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
    }
    """

    GRACE: ClassVar[float] = 0.3
    """Seconds in which a yes waits for what follows it."""

    def __init__(self, answered: Callable[[bool], None], *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._answered = answered  # no message: the next key may be at hand
        self._titles = Titles([])
        self._asking = 0
        self._whole = False  # whether all conversations were shown once
        self.asking = False
        """Whether the line below waits for y or n."""
        self._asked = 0.0
        self._yes: Timer | None = None  # a yes that came too soon

    def on_mount(self) -> None:
        """Mostly the list is there before one misses it."""
        self.set_timer(PATIENCE, self._still_reading)

    def compose(self) -> ComposeResult:
        """Title, filter, list, the line below."""
        yield SidebarTitle(id="sidebar-title")
        yield Filter(self._on_filter, id="filter")
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

    def show(self, items: list[Listed], trouble: str = "", asking: int = 0, whole: bool = True) -> None:
        """Shows these conversations, as far as the filter lets them through; `asking` is how many wait for an answer.

        They are counted when they are all there, which is `whole`.
        """
        self._titles, self._whole = Titles(items), whole or bool(trouble)
        self.rows.empty = trouble or self._nothing()
        self._asking = asking
        self._filtered()

    def _filtered(self, *, from_top: bool = False) -> None:
        every, shown = self._titles.items, self._titles.with_words(self.filter.value)
        self.rows.show(shown, from_top=from_top)
        title = "Conversations"
        if every and self._whole:
            title += f"  {len(every):,}" if len(shown) == len(every) else f"  {len(shown):,} of {len(every):,}"
        self.query_one(SidebarTitle).say(title + (f" · {self._asking} ask" if self._asking else ""))

    def _on_filter(self) -> None:
        self.rows.empty = self._nothing()
        self._filtered(from_top=True)

    def _nothing(self) -> str:
        """Why no row is there, if none is."""
        if not self._whole:
            return READING
        some = self._titles.items and self.filter.value
        return "No title has these words\nEnter searches the texts" if some else "No conversations yet"

    def _still_reading(self) -> None:
        if not self._whole and not self.rows.lines:
            self.rows.empty = READING
            self.rows.refresh()

    # -- the line below

    def ask(self, question: str) -> None:
        """Asks for y or n."""
        self.asking, self._asked = True, monotonic()
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

    def take_key(self, event: events.Key) -> None:
        """While it asks, y is yes, and any other key is no.

        A yes that comes with the question, faster than one reads, counts once nothing follows it: what is pasted where
        the terminal does not say so comes as keys too, and its letters must delete nothing.
        """
        yes = event.key in ("y", "Y")
        if self._yes is not None:
            self.answer(not (event.is_printable or event.key in ("enter", "tab")))
        elif yes and monotonic() - self._asked < self.GRACE:
            self._yes = self.set_timer(self.GRACE, lambda: self.answer(True))
        else:
            self.answer(yes)

    def answer(self, yes: bool) -> None:
        """Answers what it asks, if it asks."""
        if self._yes is not None:
            self._yes.stop()
            self._yes = None
        if self.asking:
            self.asking = False
            self._answered(yes)
