"""`FindLine`: what is being looked for in the conversation, which place one is at, and the keys that go on."""

from __future__ import annotations

from rich.cells import cell_len
from textual.content import Content
from textual.events import Click

from fireside_tui.commands import BY_NAME, key_name
from fireside_tui.safe_text import safe_line
from fireside_tui.widgets.lines import Line, carry_out, clickable, clicked

KEYS = (("find_next", "next"), ("find_back", "back"), ("stop", "ends"))


class FindLine(Line):
    """Stands below the transcript while places are marked; nothing lies over them."""

    DEFAULT_CSS = """
    FindLine { display: none; padding: 0 2; color: $text-warning; }
    FindLine.-shown { display: block; }
    """

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._query, self._which, self._of = "", 0, 0

    def say(self, query: str, which: int, of: int) -> None:
        """Shows place `which` of `of`; without a query, nothing."""
        self._query, self._which, self._of = query, which, of
        self.set_class(bool(query), "-shown")
        self.draw()

    def draw(self) -> None:
        """Where one is; the words that are looked for and the keys, as far as they fit."""
        if not self._query or not self.room:
            return
        where = f"{self._which} of {self._of}" if self._which else f"{self._of} place{'s' * (self._of != 1)}"
        keys: list[Content] = []
        for name, word in KEYS:
            key = key_name(BY_NAME[name].keys[0])
            words = Content.assemble((key, "$footer-key-foreground"), (f" {word}", "$text-muted"))
            keys.append(words.stylize(clickable(name)))
        room = self.room - cell_len(where) - 2
        while keys and sum(cell_len(key.plain) + 2 for key in keys) > room:
            keys.remove(keys[1] if len(keys) > 2 else keys[-1])
        shown = Content("  ").join(keys)
        left = room - cell_len(shown.plain) - 5
        query = f"“{safe_line(self._query, left)}” " if left > 2 else ""
        gap = self.room - cell_len(query) - cell_len(where) - cell_len(shown.plain)
        self.update(Content.assemble(query, where, " " * max(1, gap), shown))

    def on_click(self, event: Click) -> None:
        """A click on a key is the key."""
        if command := clicked(event):
            carry_out(self, command)
