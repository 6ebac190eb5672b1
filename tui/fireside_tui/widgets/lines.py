"""The lines of the screen that only show: the chat's heading, its status, the keys, the message over it."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from textual.content import Content
from textual.events import Click
from textual.style import Style
from textual.visual import VisualType
from textual.widget import Widget
from textual.widgets import Static

from fireside_tui.commands import Command, key_name
from fireside_tui.safe_text import safe_line
from fireside_tui.widgets.pane import Steady


def fitting(parts: Sequence[str], width: int, between: str = " · ") -> str:
    """The parts that fit, the first ones being the most important ones."""
    kept: list[str] = []
    for part in parts:
        if part and cell_len(between.join([*kept, part])) <= width:
            kept.append(part)
    return between.join(kept) if kept or not parts else safe_line(parts[0], width)


def two_sides(left: str, right: str, width: int) -> str:
    """One line with something at each side; the right side goes first where both don't fit."""
    room = width - cell_len(right) - 2
    if not right or room < min(12, cell_len(left)):
        return safe_line(left, width)
    left = safe_line(left, room)
    return left + " " * (width - cell_len(left) - cell_len(right)) + right


def clickable(command: str) -> Style:
    """Marks words whose click carries out a command; `clicked` finds it again. No `@click`, which underlines."""
    return Style.from_meta({"command": command})


def clicked(event: Click) -> str | None:
    """The command whose words were clicked."""
    return event.style.meta.get("command")


def carry_out(widget: Widget, command: str) -> None:
    """Has the screen carry out a command that was clicked."""
    action = getattr(widget.screen, "action_command", None)
    if action is not None:
        action(command)


class Line(Steady, Static):
    """One line of plain text: outside text in it is shown, never obeyed."""

    DEFAULT_CSS = "Line { height: 1; width: 1fr; padding: 0 1; color: $text-muted; }"

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__("", id=id, markup=False)

    def update(self, content: VisualType = "", *, layout: bool = False) -> None:
        """Shows something else. One line stays one line, so the screen need not be laid out."""
        super().update(content, layout=layout)

    @property
    def room(self) -> int:
        """How many cells there are."""
        return max(0, self.content_size.width)

    def on_resize(self) -> None:
        """It is laid out again."""
        self.draw()

    def draw(self) -> None:
        """Lays the line out for its width."""


class ChatHeading(Line):
    """The title at the left, the model at the right."""

    DEFAULT_CSS = "ChatHeading { background: $surface; padding: 0 2; }"

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._title, self._model = "", ""

    def say(self, title: str, model: str) -> None:
        """Shows a title and a model."""
        self._title, self._model = title, model
        self.draw()

    def draw(self) -> None:
        """Both, as far as they fit."""
        model = safe_line(self._model, max(0, self.room // 2))
        text = two_sides(safe_line(self._title), model, self.room)
        content = Content(text)
        if model and text.endswith(model):
            cut = len(text) - len(model)
            content = content.stylize("bold $foreground", 0, cut)
        else:
            content = content.stylize("bold $foreground")
        self.update(content)


class StatusLine(Line):
    """What goes on, at the left; what it costs and whether it is saved, at the right.

    It is one line, but for trouble, which has to be read to its end: that takes as many lines as it needs.
    """

    DEFAULT_CSS = "StatusLine { padding: 0 2; }"

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._left, self._how, self._right = "", "", ()  # type: tuple[str, str, Sequence[str]]
        self._height = 1

    def say(self, left: str, how: str, right: Sequence[str]) -> None:
        """`left` in the colour `how` (`"error"`, `"accent"`, ""); `right` the parts, the most important ones first."""
        self._left, self._how, self._right = left, how, right
        self.draw()

    def draw(self) -> None:
        """As much as fits; what goes on is more important than what it costs."""
        *above, left = self._lines()
        room = self.room - cell_len(left) - 2
        right = fitting(self._right, room) if any(cell_len(part) <= room for part in self._right) else ""
        gap = self.room - cell_len(left) - cell_len(right)
        content = Content("\n".join([*above, left]))
        if self._how:
            content = content.stylize(f"$text-{self._how}")
        if len(above) + 1 != self._height:
            self._height = len(above) + 1
            self.styles.height = self._height
        self.set_class(self._how == "error", "-trouble")
        self.update(Content.assemble(content, " " * max(0, gap), right))

    def _lines(self) -> list[str]:
        """What goes on, wrapped where it is trouble: at most two fifths of the screen."""
        whole = safe_line(self._left)
        if self._how not in ("error", "warning") or self.room < 8 or cell_len(whole) <= self.room:
            return [safe_line(whole, self.room)]
        most = max(3, self.app.size.height * 2 // 5)
        lines = [line.plain.rstrip() for line in Content(whole[: most * self.room]).wrap(self.room)]
        if len(lines) > most or len(whole) > most * self.room:
            lines = [*lines[: most - 1], safe_line(" ".join(lines[most - 1 :]) + " …", self.room)]
        return lines


class KeyLine(Line):
    """The keys that mean something where the focus is; a click does the same."""

    DEFAULT_CSS = "KeyLine { background: $surface; }"

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._commands: tuple[Command, ...] = ()

    def on_click(self, event: Click) -> None:
        """A click on a key is the key."""
        if command := clicked(event):
            carry_out(self, command)

    def say(self, commands: Sequence[Command]) -> None:
        """Shows these commands, as far as they fit."""
        commands = tuple(command for command in commands if command.short)
        if commands != self._commands:
            self._commands = commands
            self.draw()

    def draw(self) -> None:
        """Whole words only."""
        parts: list[Content] = []
        used = 0
        for command in self._commands:
            key = key_name(command.keys[0])
            length = cell_len(f"{key} {command.short}") + (2 if parts else 0)
            if used + length > self.room:
                continue
            used += length
            words = Content.assemble((key, "$footer-key-foreground"), " ", command.short)
            parts.append(words.stylize(clickable(command.name)))
        self.update(Content("  ").join(parts))


class MessageBar(Static):
    """One message over the chat that stays until it is no longer true or is clicked away: a wrong setting, no key."""

    DEFAULT_CSS = """
    MessageBar { height: auto; max-height: 40vh; padding: 0 1; background: $warning-muted; color: $text-warning; display: none; }
    MessageBar.-shown { display: block; }
    """

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__("", id=id, markup=False)

    def say(self, words: str) -> None:
        """Shows a message; an empty one takes it away."""
        self.set_class(bool(words), "-shown")
        self.update(Content("\n".join(map(safe_line, words.split("\n")))))

    def on_click(self) -> None:
        """Away with it."""
        self.say("")
