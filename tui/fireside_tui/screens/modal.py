"""`Modal`: a screen over the main one. What is typed before its box is there comes into it all the same."""

from __future__ import annotations

from typing import TypeVar

from textual import events
from textual.screen import ModalScreen
from textual.widgets import Input

T = TypeVar("T")


class Modal(ModalScreen[T]):
    """A screen that asks or shows something."""

    _early = ""

    def on_key(self, event: events.Key) -> None:
        """A key that no box got yet."""
        if self.focused is None and event.is_printable and event.character:
            event.stop()
            self._early += event.character

    def on_descendant_focus(self) -> None:
        """The box is there."""
        early, self._early = self._early, ""
        if early and isinstance(self.focused, Input):
            self.focused.insert_text_at_cursor(early)
