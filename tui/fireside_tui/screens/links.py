"""`Links`: a link, or several, to be opened or copied; the address is shown whole before anything is done with it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, NamedTuple

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from fireside_tui.safe_text import safe_line
from fireside_tui.screens.modal import Modal


class Chosen(NamedTuple):
    """An address, and what is done with it."""

    url: str
    copy: bool


class Links(Modal[Chosen | None]):
    """Gives the address that is opened or copied, or `None`. `links` are addresses with the words that stand for them."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,ctrl+c", "dismiss(None)", "Close", show=False),
        Binding("c", "copy", "Copy", show=False),
    ]
    DEFAULT_CSS = """
    Links { align: center middle; background: $background 60%; }
    Links > Vertical { width: 76; max-width: 96%; height: auto; max-height: 80%; border: round $border; background: $surface;
        padding: 0 1; }
    Links #links-title { height: 1; text-style: bold; color: $text-primary; }
    Links OptionList, Links OptionList:focus { height: auto; max-height: 50vh; border: none; background: $surface; padding: 0;
        margin: 1 0; }
    Links #links-keys { height: auto; color: $text-muted; }
    """

    def __init__(self, links: Mapping[str, str]) -> None:
        super().__init__()
        self._links = dict(links)

    def compose(self) -> ComposeResult:
        """Title, links, keys."""
        with Vertical():
            yield Static("Open this link?" if len(self._links) == 1 else "Links", id="links-title", markup=False)
            yield OptionList(*(Option(self._line(url, words)) for url, words in self._links.items()), markup=False)
            yield Static("Enter opens · c copies the address · Esc cancels", id="links-keys", markup=False)

    @staticmethod
    def _line(url: str, words: str) -> Content:
        words = safe_line(words, 70).strip()
        return Content.assemble((f"{words}\n", "bold") if words not in ("", url) else "", (url, "$text-accent"))

    def action_copy(self) -> None:
        """The address goes to the clipboard."""
        self._choose(self.query_one(OptionList).highlighted, copy=True)

    @on(OptionList.OptionSelected)
    def _on_option(self, event: OptionList.OptionSelected) -> None:
        self._choose(event.option_index, copy=False)

    def _choose(self, at: int | None, *, copy: bool) -> None:
        if at is not None:
            self.dismiss(Chosen(list(self._links)[at], copy))
