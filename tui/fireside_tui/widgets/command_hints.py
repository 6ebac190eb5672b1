"""`CommandHints`: the commands that a `/` in the composer may become."""

from __future__ import annotations

from textual.content import Content
from textual.events import Click
from textual.widgets import Static

from fireside_tui.commands import slash_commands
from fireside_tui.widgets.lines import carry_out, clickable, clicked

MOST = 7


class CommandHints(Static):
    """Shown over the composer while a `/command` is being written; Tab takes the first one."""

    DEFAULT_CSS = """
    CommandHints {
        height: auto; max-height: 8; padding: 0 2; background: $surface; color: $text-muted; display: none;
        text-wrap: nowrap; text-overflow: ellipsis;
    }
    CommandHints.-shown { display: block; }
    """

    def on_click(self, event: Click) -> None:
        """A click carries the words out."""
        if command := clicked(event):
            carry_out(self, command)

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__("", id=id, markup=False)
        self.first: str | None = None
        """What Tab makes of it."""

    def offer(self, text: str) -> None:
        """Shows what a text may become; nothing for a message."""
        word = text[1:]
        fits = (text.startswith("/") and "\n" not in text and word.replace("-", "").isalpha()) or text == "/"
        found = slash_commands(word) if fits else []
        self.first = f"/{found[0].slash_name}" if found else None
        if not found and not self.has_class("-shown"):
            return  # an update lays the whole screen out, and this is called for each letter
        self.set_class(bool(found), "-shown")
        lines = []
        names = [f"/{it.slash_name}" + (f" {it.argument}" if it.argument else "") for it in found[:MOST]]
        column = max(map(len, names), default=0)
        for command, name in zip(found, names, strict=False):
            words = Content.assemble((f"{name:<{column}}  ", "bold $text-primary"), command.help)
            lines.append(words.stylize(clickable(command.name)))
        if len(found) > MOST:
            lines.append(Content(f"… {len(found) - MOST} more"))
        self.update(Content("\n").join(lines))
