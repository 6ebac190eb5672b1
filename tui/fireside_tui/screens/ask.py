"""`Ask`: one question, answered with a line or with several."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Input, Static, TextArea

from fireside_tui.safe_text import safe_line
from fireside_tui.screens.modal import Modal


class Ask(Modal[str | None]):
    """Gives what was written, or `None`. `lines` lets it have several lines: then Ctrl+S answers. `verb` says what that does."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,ctrl+c", "dismiss(None)", "Close", show=False),
        Binding("ctrl+s", "done", "Done", show=False, priority=True),
    ]
    DEFAULT_CSS = """
    Ask { align: center middle; background: $background 60%; }
    Ask > Vertical { width: 64; max-width: 96%; height: auto; max-height: 90%; border: round $border; background: $surface;
        padding: 0 1; }
    Ask #ask-title { height: auto; text-style: bold; color: $text-primary; }
    Ask Input, Ask Input:focus { height: 1; border: none; padding: 0; background: $surface; margin: 1 0; }
    Ask TextArea, Ask TextArea:focus { height: 10; border: none; padding: 0; background: $surface; margin: 1 0; }
    Ask #ask-hint { height: 1; color: $text-muted; }
    """

    def __init__(
        self, title: str, value: str = "", *, verb: str = "goes on", placeholder: str = "", lines: bool = False
    ) -> None:
        super().__init__()
        self._title, self._value, self._placeholder, self._lines = title, value, placeholder, lines
        self._keys = f"{'Ctrl+S' if lines else 'Enter'} {verb} · Esc cancels"

    def compose(self) -> ComposeResult:
        """Question, answer, keys."""
        with Vertical():
            yield Static(Content(safe_line(self._title)), id="ask-title", markup=False)
            if self._lines:
                yield TextArea(self._value, id="ask-text", soft_wrap=True, placeholder=Content(self._placeholder))
            else:
                yield Input(self._value, placeholder=self._placeholder, id="ask-line", select_on_focus=False)
            yield Static(self._keys, id="ask-hint", markup=False)

    @on(Input.Submitted)
    def _on_return(self, event: Input.Submitted) -> None:
        self.dismiss(event.value)

    def action_done(self) -> None:
        """What was written is the answer."""
        self.dismiss(self.query_one(TextArea).text if self._lines else self.query_one(Input).value)
