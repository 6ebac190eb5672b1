"""`Welcome`: what stands in the chat before anything was said."""

from __future__ import annotations

from textual.content import Content
from textual.events import Click
from textual.widgets import Static

from fireside_tui.widgets.lines import carry_out, clickable, clicked

FLAME = ("  (", " ) )", "( ((", " ))_)")


class Welcome(Static):
    """A greeting, the first keys, and what is missing for an answer."""

    DEFAULT_CSS = """
    Welcome { height: 1fr; padding: 1 2; content-align: center middle; color: $foreground; }
    """

    def on_click(self, event: Click) -> None:
        """A click carries the words out."""
        if command := clicked(event):
            carry_out(self, command)

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__("", id=id, markup=False)
        self._missing = ""

    def say(self, missing: str) -> None:
        """Greets; `missing` says what is missing for an answer, in one line."""
        self._missing = missing
        self.draw()

    def on_resize(self) -> None:
        """As much as fits."""
        self.draw()

    def draw(self) -> None:
        """The greeting."""
        missing = self._missing
        width, height = self.size.width - 4, self.size.height - 2
        lines: list[Content] = []
        if height >= 12:
            lines += [Content(line).stylize("$text-primary") for line in FLAME]
            lines.append(Content(""))
        lines += [Content("What would you like to talk about?").stylize("bold"), Content("")]
        if missing:
            lines += [Content(missing).stylize("$text-warning"), Content("")]
            lines.append(_offer("demo", "/demo", "offline: no key, no network"))
            lines.append(_offer("server", "/server", "a server of your own"))
        else:
            lines.append(_hint("Enter", "sends"))
            lines.append(_hint("Ctrl+J", "breaks the line"))
            lines.append(_hint("Ctrl+O", "goes to the list and back"))
            lines.append(_hint("F1", "shows all keys"))
        if width < 36:
            lines = [line for line in lines[:1] if line.plain]
        if height < len(lines):
            lines = [line for line in lines if line.plain.strip()][: max(1, height)]
        self.update(Content("\n").join(lines), layout=False)


def _hint(key: str, words: str) -> Content:
    return Content.assemble((f"{key:<8}", "bold $footer-key-foreground"), f"  {words:<26}")


def _offer(command: str, slash: str, words: str) -> Content:
    return Content.assemble((f"{slash:<8}", "bold $footer-key-foreground"), f"  {words}").stylize(clickable(command))
