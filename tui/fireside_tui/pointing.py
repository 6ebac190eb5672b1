"""What the mouse points at: never a widget that is gone, and in a drag never another one than where it began."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar

from textual.errors import NoWidget
from textual.events import Event, MouseDown
from textual.geometry import Offset, Region
from textual.screen import Screen
from textual.widget import Widget

T = TypeVar("T")

if TYPE_CHECKING:
    _Screen = Screen
else:

    class _Screen(Generic[T]):
        """No screen: a screen's style sheet comes from the first of its bases that is one."""


def is_gone(widget: Widget | None) -> bool:
    """Whether a widget was taken from the screen."""
    return widget is not None and not widget.is_attached


def see_what_is_there(screen: Screen[Any], x: int, y: int) -> None:
    """Brings the screen's map in line before a mouse event is handed on.

    A widget that is removed stays on the map until the screen is laid out, a moment later. Textual (8.2.8) takes it for
    one that is there, and fails for its missing parent: the second click on a toast ended the app (others met the same:
    agentscope-ai/QwenPaw#6008).
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


class OneWidget(_Screen[T]):
    """Stands before a screen: what is selected by mouse lies in the widget where the drag began.

    Textual takes in all that lies between both ends, so a drag that left the transcript took the rest of the conversation,
    and the heading. Here a drag that is outside goes on at the nearest edge, which scrolls.
    """

    def _forward_event(self, event: Event) -> None:
        super()._forward_event(event)
        state = self._select_state
        if isinstance(event, MouseDown) and state is not None and state.start.content_widget is None:
            self._select_state = None  # there is nothing to select; the drag would take in what lies around

    @property
    def _dragged(self) -> tuple[Widget, Region] | None:
        """The widget in which a drag began, and where it is seen."""
        state = self._select_state
        widget = state.start.content_widget if self._selecting and state is not None else None
        if widget is None or widget is self:
            return None
        try:
            seen = self.find_widget(widget).visible_region
        except NoWidget:
            return None
        area = widget.scrollable_content_region.intersection(seen)
        return (widget, area) if area else None

    def get_widget_and_offset_at(self, x: int, y: int) -> tuple[Widget | None, Offset | None]:
        """What lies under the mouse; in a drag, the nearest place of the widget where it began."""
        dragged = self._dragged
        if dragged is None:
            return super().get_widget_and_offset_at(x, y)
        widget, area = dragged
        if y < area.y:
            x, y = area.x, area.y
        elif y >= area.bottom:
            x, y = area.right - 1, area.bottom - 1
        found, offset = super().get_widget_and_offset_at(min(max(x, area.x), area.right - 1), y)
        if found is not widget:  # something lies over it
            state = self._select_state
            assert state is not None
            return widget, (state.end or state.start).content_offset
        return widget, offset

    def _check_auto_scroll(self, select_widget: Widget, mouse_coordinate: tuple[float, float], delta_y: float) -> None:
        dragged = self._dragged
        if dragged is not None:
            area = dragged[1]
            x, y = mouse_coordinate
            mouse_coordinate = min(max(x, area.x), area.right - 1), min(max(y, area.y), area.bottom - 1)
        super()._check_auto_scroll(select_widget, mouse_coordinate, delta_y)
