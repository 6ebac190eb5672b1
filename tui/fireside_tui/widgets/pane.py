"""`Steady`: what is painted stays painted; `Pane`: the containers of the screen, which are steady."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from textual.geometry import Region
from textual.strip import Strip

if TYPE_CHECKING:
    from textual.widget import Widget
else:
    Widget = object  # a widget's style sheet comes from the first of its bases that is one


class Steady(Widget):
    """Stands before a widget that seldom changes: its lines are kept until something of it does. Textual asks for all lines
    of all widgets around the one that changed, in each frame, and colours and filters them anew."""

    _kept: tuple[object, list[Strip]] | None = None

    def _set_dirty(self, *regions: Region) -> None:
        self._kept = None
        super()._set_dirty(*regions)

    def notify_style_update(self) -> None:
        """Also the colour under it may be another one."""
        self._kept = None
        super().notify_style_update()

    def render_lines(self, crop: Region) -> list[Strip]:
        """The lines, as they were if nothing changed."""
        key = (crop, self.size)
        if self._kept is None or self._kept[0] != key:
            self._kept = None  # painting it may make it dirty
            lines = self.paint(crop)
            self._kept = (key, lines)
        return self._kept[1]

    def paint(self, crop: Region) -> list[Strip]:
        """The lines anew."""
        return super().render_lines(crop)


class Pane(Steady):
    """Stands before a container that draws nothing but its background."""

    async def painted(self) -> None:
        """Waits until what was told is on the screen: what begins in a thread before that would hold it up."""
        done = asyncio.Event()
        self.call_after_refresh(done.set)
        await done.wait()
