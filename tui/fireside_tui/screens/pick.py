"""`Pick`: choose one of several; typing narrows them down."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, NamedTuple

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from fireside_tui.safe_text import safe_line
from fireside_tui.screens.modal import Modal


class Choice(NamedTuple):
    """One of several: `value` is given back, `label` and `note` are shown."""

    value: str
    label: str
    note: str = ""


class Pick(Modal[str | None]):
    """Gives the chosen value, or `None`. With `free`, what was typed may be chosen as well; `verb` says what Enter does."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,ctrl+c", "dismiss(None)", "Close", show=False),
        Binding("down", "move(1)", show=False, priority=True),
        Binding("up", "move(-1)", show=False, priority=True),
    ]
    DEFAULT_CSS = """
    Pick { align: center middle; background: $background 60%; }
    Pick > Vertical { width: 64; max-width: 96%; height: auto; max-height: 80%; border: round $border; background: $surface;
        padding: 0 1; }
    Pick #pick-title { height: 1; text-style: bold; color: $text-primary; }
    Pick Input, Pick Input:focus { height: 1; border: none; padding: 0; background: $surface; }
    Pick OptionList { height: auto; max-height: 16; border: none; background: $surface; padding: 0; margin: 1 0 0 0; }
    Pick #pick-hint { color: $text-muted; height: auto; margin: 1 0 0 0; }
    Pick #pick-none { color: $text-muted; height: auto; display: none; }
    """

    def __init__(
        self,
        title: str,
        choices: Sequence[Choice],
        *,
        current: str = "",
        free: bool = False,
        verb: str = "takes it",
    ) -> None:
        super().__init__()
        self._title, self._choices, self._now, self._free = title, list(choices), current, free
        self._empty = "Nothing fits"
        self._keys = f"↑ ↓ choose · Enter {verb} · Esc cancels"

    def compose(self) -> ComposeResult:
        """Title, filter, choices."""
        with Vertical():
            yield Static(Content(safe_line(self._title)), id="pick-title", markup=False)
            yield Input(placeholder="type to narrow down", id="pick-filter")
            yield OptionList(id="pick-options", markup=False)
            yield Static(Content(self._empty), id="pick-none", markup=False)
            yield Static(self._keys, id="pick-hint", markup=False)

    def on_mount(self) -> None:
        """All choices, the present one marked."""
        self._show("")

    def add(self, choices: Sequence[Choice]) -> None:
        """More choices, when they come later; one that is there already is told anew, in its place."""
        later = {choice.value: choice for choice in choices}
        self._choices = [later.pop(choice.value, choice) for choice in self._choices]
        self._choices += later.values()
        if self.is_mounted:
            at = self.query_one(OptionList).highlighted
            self._show(self.query_one(Input).value, on=self._shown[at].value if at is not None else "")

    def note(self, words: str) -> None:
        """Says why there are no more."""
        self._empty = words
        if self.is_mounted:
            below = self.query_one("#pick-none", Static)
            below.update(Content(safe_line(words, 60)))
            below.display = True

    @on(Input.Changed)
    def _on_typed(self, event: Input.Changed) -> None:
        self._show(event.value)

    def _show(self, typed: str, *, on: str = "") -> None:
        """The choices that fit; the cursor is on the value `on`, else on the present one."""
        words = typed.lower().split()
        fits = [c for c in self._choices if all(w in f"{c.label} {c.value} {c.note}".lower() for w in words)]
        if self._free and typed.strip() and typed.strip() not in [choice.value for choice in fits]:
            fits.append(Choice(typed.strip(), typed.strip(), "as it is written"))
        options = self.query_one(OptionList)
        options.clear_options()
        options.add_options([Option(self._line(choice), id=f"o{n}") for n, choice in enumerate(fits)])
        self._shown = fits
        values = [choice.value for choice in fits]
        at = next((values.index(value) for value in (on, self._now) if value in values), 0)
        options.highlighted = at if fits else None
        self.query_one("#pick-none", Static).display = not fits

    def _line(self, choice: Choice) -> Content:
        mark = "● " if choice.value == self._now else "  "
        label = safe_line(choice.label, 56)
        note = f"  {safe_line(choice.note, max(0, 56 - len(label)))}" if choice.note else ""
        return Content.assemble((mark, "$text-primary"), label, (note, "$text-muted"))

    def action_move(self, by: int) -> None:
        """Up and down without leaving the filter."""
        options = self.query_one(OptionList)
        options.action_cursor_down() if by > 0 else options.action_cursor_up()

    @on(Input.Submitted)
    def _on_return(self) -> None:
        at = self.query_one(OptionList).highlighted
        if at is not None:
            self.dismiss(self._shown[at].value)

    @on(OptionList.OptionSelected)
    def _on_option(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(self._shown[event.option_index].value)
