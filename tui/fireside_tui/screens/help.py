"""`Help`: all keys and commands, from their declarations, and the signs of the list."""

from __future__ import annotations

import textwrap
from itertools import groupby
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from fireside_tui.commands import COMMANDS, Command, key_name
from fireside_tui.pointing import OneWidget
from fireside_tui.widgets.row_list import MEANINGS

LEFT = 23
"""The column in which the words begin."""
WRITING = (
    ("Enter", "sends the message"),
    ("Ctrl+J, Shift+Enter", "breaks the line (Shift+Enter where the terminal passes it on)"),
    ("↑ in an empty box", "brings back what you wrote before"),
    ("Tab, Shift+Tab", "goes round: filter, list, messages, box"),
    ("PgUp, PgDn", "scroll the conversation"),
    ("j, k on a message", "the next one, the one before"),
    ("/word", "a command; a space before it makes it a message"),
)


class Help(OneWidget[None], ModalScreen[None]):
    """F1."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,f1,q,ctrl+c,enter", "dismiss(None)", "Close", show=False),
    ]
    DEFAULT_CSS = """
    Help { align: center middle; background: $background 60%; }
    Help > VerticalScroll { width: 84; max-width: 98%; height: auto; max-height: 94%; border: round $border; background: $surface;
        padding: 0 2; scrollbar-size-vertical: 1; border-title-color: $text-primary; border-subtitle-color: $text-muted; }
    Help Static { height: auto; }
    """

    def compose(self) -> ComposeResult:
        """One text to scroll."""
        with VerticalScroll() as scroll:
            scroll.border_title = Content("Keys and commands")
            scroll.border_subtitle = Content("↑ ↓ scroll · Esc closes")
            yield Static("", id="help-text", markup=False)

    def on_resize(self) -> None:
        """The lines are wrapped for the width there is."""
        self.call_after_refresh(self._draw)

    def _draw(self) -> None:
        text = self.query_one("#help-text", Static)
        text.update(self._text(max(24, text.content_size.width - 2)))

    def _text(self, width: int) -> Content:
        lines: list[Content] = [_head("Writing")]
        lines += [_line(keys, "", words, width) for keys, words in WRITING]
        for group, commands in groupby(COMMANDS, key=lambda command: command.group):
            lines += [Content(""), _head(group)]
            lines += [_of(command, width) for command in commands]
        lines += [Content(""), _head("Signs in the list")]
        lines += [_line(sign, "", words, width) for sign, words in MEANINGS.items()]
        return Content("\n").join(lines)


def _of(command: Command, width: int) -> Content:
    keys = ", ".join(dict.fromkeys(map(key_name, command.keys)))
    slash = f"/{command.slash_name}" if command.slash else ""
    return _line(keys, slash, command.help, width)


def _head(words: str) -> Content:
    return Content(words).stylize("bold $text-primary")


def _line(keys: str, slash: str, words: str, width: int) -> Content:
    left = "  ".join(part for part in (keys, slash) if part)
    room = width - LEFT
    wrapped = textwrap.wrap(words, room) if room >= 16 else [words]
    return Content.assemble((f"{left:<{LEFT}}", "$text-accent"), ("\n" + " " * LEFT).join(wrapped))
