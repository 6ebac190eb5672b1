"""`Search`: words in all conversations, through the full-text index."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option
from textual.worker import get_current_worker

from fireside_tui.safe_text import safe, safe_line
from fireside_tui.screens.modal import Modal
from fireside_tui.search import Hit, SearchIndex


class Found(NamedTuple):
    """A hit that was chosen, and the words that found it."""

    hit: Hit
    words: str


class Search(Modal[Found | None]):
    """Gives the hit that was chosen. The index is brought up to date on a thread while one types."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,ctrl+c,ctrl+f", "dismiss(None)", "Close", show=False),
        Binding("down", "move(1)", show=False, priority=True),
        Binding("up", "move(-1)", show=False, priority=True),
    ]
    DEFAULT_CSS = """
    Search { align: center top; background: $background 60%; }
    Search > Vertical { width: 90%; max-width: 100; height: auto; max-height: 90%; margin: 1 0 0 0; border: round $border;
        background: $surface; padding: 0 1; }
    Search Input, Search Input:focus { height: 1; border: none; padding: 0; background: $surface; }
    Search OptionList { height: auto; max-height: 22; border: none; background: $surface; padding: 0; margin: 1 0 0 0; }
    Search #search-state { height: 1; color: $text-muted; }
    """

    def __init__(self, index: SearchIndex, words: str = "") -> None:
        super().__init__()
        self._index, self._words = index, words
        self._hits: list[Hit] = []
        self._asked, self._found = "", ""  # the words that are looked for, and those that found the hits
        self._return = False  # Enter came before the hits

    def compose(self) -> ComposeResult:
        """Words, what was found, how far it is."""
        with Vertical():
            yield Input(self._words, placeholder="search all conversations", id="search-words", select_on_focus=False)
            yield OptionList(id="search-hits", markup=False)
            yield Static("", id="search-state", markup=False)

    def on_mount(self) -> None:
        """The index takes in what is new."""
        self._update_index()
        self._look_for(self._words)

    @work(thread=True, exit_on_error=False, group="index")
    def _update_index(self) -> None:
        worker = get_current_worker()

        def progress(done: int, of: int) -> None:
            if worker.is_cancelled:
                raise _LeftError
            if of > 20 and done % 20 == 0:
                self.app.call_from_thread(self._say, f"reading {done:,} of {of:,} conversations …")

        try:
            changed = self._index.update(progress)
        except _LeftError:
            return
        except Exception as error:
            self.app.call_from_thread(self._say, f"The index can't be brought up to date: {error}")
            return
        if changed and not worker.is_cancelled:
            self.app.call_from_thread(self._again)

    def _again(self) -> None:
        if self.is_attached:
            self._look_for(self.query_one(Input).value)

    def _say(self, words: str) -> None:
        if self.is_attached:
            self.query_one("#search-state", Static).update(Content(safe_line(words, 80)))

    @on(Input.Changed)
    def _on_typed(self, event: Input.Changed) -> None:
        self._look_for(event.value)

    def _look_for(self, words: str) -> None:
        self._asked, self._return = words, False
        if words.strip():  # the index may be busy with what is new
            self._say("Searching …")
        self._find(words)

    @work(thread=True, exclusive=True, exit_on_error=False, group="search")
    def _find(self, words: str) -> None:
        worker = get_current_worker()
        try:
            hits = self._index.search(words) if words.strip() else []
        except Exception as error:
            self.app.call_from_thread(self._say, f"The index can't be searched: {error}")
            return
        if not worker.is_cancelled:
            self.app.call_from_thread(self._show, words, hits)

    def _show(self, words: str, hits: list[Hit]) -> None:
        if not self.is_attached:
            return
        self._hits, self._found = hits, words
        options = self.query_one(OptionList)
        options.clear_options()
        options.add_options([Option(self._line(hit)) for hit in hits])
        options.highlighted = 0 if hits else None
        found = f"{len(hits)} conversation{'s' * (len(hits) != 1)}" if hits else "Nothing found"
        self._say(found if words.strip() else "Words, in any order")
        if self._return:
            self._on_return()

    @staticmethod
    def _line(hit: Hit) -> Content:
        snippet = Content(safe(hit.snippet).replace("\n", " "))
        if len(snippet.plain) == len(hit.snippet):
            for start, end in hit.marks:
                snippet = snippet.stylize("bold $text-accent", start, end)
        title = Content(safe_line(hit.title, 70)).stylize("bold")
        when = Content(f"  {hit.at.astimezone():%Y-%m-%d}").stylize("$text-muted")
        return Content.assemble(title, when, "\n  ", snippet)

    def action_move(self, by: int) -> None:
        """Up and down without leaving the words."""
        options = self.query_one(OptionList)
        options.action_cursor_down() if by > 0 else options.action_cursor_up()

    @on(Input.Submitted)
    def _on_return(self) -> None:
        self._return = self._asked != self._found
        if self._return:
            return
        at = self.query_one(OptionList).highlighted
        if at is not None and at < len(self._hits):
            self.dismiss(Found(self._hits[at], self._found))

    @on(OptionList.OptionSelected)
    def _on_option(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(Found(self._hits[event.option_index], self._found))


class _LeftError(Exception):
    """The screen was closed."""
