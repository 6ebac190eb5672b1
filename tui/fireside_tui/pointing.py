"""What the mouse points at: never a widget that is gone, and in a drag never another one than where it began."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.errors import NoWidget
from textual.screen import Screen
from textual.widget import Widget

if TYPE_CHECKING:
    from typing import Any


def is_gone(widget: Widget | None) -> bool:
    """Whether a widget was taken from the screen."""
    return widget is not None and not widget.is_attached


def see_what_is_there(screen: Screen[Any], x: int, y: int) -> None:
    """Brings the screen's map in line before a mouse event is handed on.

    A widget that is removed stays on the map until the screen is laid out, a moment later. Textual (8.2.8) takes it for
    one that is there, and fails for its missing parent: the second click on a toast ended the app (Textualize/textual#6643).
    """
    state = screen._select_state
    if state is not None and (is_gone(state.start.content_widget) or is_gone(state.start.container)):
        screen.clear_selection()
    try:
        widget, _ = screen.get_widget_at(x, y)
    except NoWidget:
        return
    if is_gone(widget):
        screen._refresh_layout()
