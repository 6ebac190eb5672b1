"""`Ask`: one question, answered with a line or with several."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Input, Static, TextArea

from fireside_tui.safe_text import safe_line
from fireside_tui.screens.modal import Modal
from fireside_tui.widgets.composer import NEWLINE_KEYS, clean_paste


class Lines(TextArea):
    """Several lines, with the keys of the composer: Enter is done, Ctrl+J breaks the line."""

    def __init__(self, text: str, done: Callable[[], None], *, placeholder: str, id: str) -> None:
        super().__init__(text, id=id, soft_wrap=True, placeholder=Content(placeholder))
        self._done = done
        self.move_cursor(self.document.end)

    async def _on_key(self, event: events.Key) -> None:
        if event.key != "enter" and event.key not in NEWLINE_KEYS:
            await super()._on_key(event)
            return
        event.prevent_default()
        event.stop()
        if event.key == "enter":
            self._done()  # no message: a key behind it would still change the text
        else:
            self.insert("\n")

    async def _on_paste(self, event: events.Paste) -> None:
        event.prevent_default()
        event.stop()
        self.replace(clean_paste(event.text), *self.selection)


class Ask(Modal[str | None]):
    """Gives what was written, or `None`.

    `verb` says in the box what Enter does. With `lines` the answer may have several lines, with `replace` what is typed
    takes the place of the `value`. `check` gives what is wrong with an answer, which is then not taken, or "".
    """

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
    Ask #ask-wrong { height: auto; color: $text-error; display: none; }
    Ask #ask-hint { height: auto; color: $text-muted; }
    """

    def __init__(
        self,
        title: str,
        value: str = "",
        *,
        verb: str = "goes on",
        placeholder: str = "",
        lines: bool = False,
        replace: bool = False,
        check: Callable[[str], str] = lambda answer: "",
    ) -> None:
        super().__init__()
        self._title, self._value, self._placeholder, self._lines = title, value, placeholder, lines
        self._replace, self._check = replace, check
        self._keys = f"Enter {verb} · {'Ctrl+J breaks the line · ' if lines else ''}Esc cancels"

    def compose(self) -> ComposeResult:
        """Question, answer, what is wrong with it, keys."""
        with Vertical():
            yield Static(Content(safe_line(self._title)), id="ask-title", markup=False)
            if self._lines:
                yield Lines(self._value, self.action_done, placeholder=self._placeholder, id="ask-text")
            else:
                yield Input(
                    self._value, placeholder=self._placeholder, id="ask-line", select_on_focus=self._replace
                )  # fmt: skip
            yield Static("", id="ask-wrong", markup=False)
            yield Static(self._keys, id="ask-hint", markup=False)

    @on(Input.Submitted)
    def _on_return(self, event: Input.Submitted) -> None:
        self._take(event.value)

    def action_done(self) -> None:
        """What was written is the answer."""
        self._take(self.query_one(TextArea).text if self._lines else self.query_one(Input).value)

    def _take(self, answer: str) -> None:
        wrong = self.query_one("#ask-wrong", Static)
        words = self._check(answer)
        wrong.display = bool(words)
        wrong.update(Content(safe_line(words)))
        if not words:
            self.dismiss(answer)
