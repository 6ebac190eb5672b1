"""What the containers of the screen share: they draw nothing but their background."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from textual.geometry import Region
from textual.strip import Strip

if TYPE_CHECKING:
    from textual.widget import Widget
else:
    Widget = object  # a widget's style sheet comes from the first of its bases that is one


class Pane(Widget):
    """Stands before a container without border and content: all its lines are one line, and Textual asks for all of them
    in each frame."""

    def render_lines(self, crop: Region) -> list[Strip]:
        """The one line, as often as it is asked for."""
        return super().render_lines(Region(crop.x, 0, crop.width, 1)) * crop.height

    async def painted(self) -> None:
        """Waits until what was told is on the screen: what begins in a thread before that would hold it up."""
        done = asyncio.Event()
        self.call_after_refresh(done.set)
        await done.wait()
