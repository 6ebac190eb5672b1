"""The chat pane's view: one widget that draws a conversation of any length. It knows plain items, no library."""

from __future__ import annotations

from fireside_tui.transcript.items import Item, Kind
from fireside_tui.transcript.view import Transcript

__all__ = ["Item", "Kind", "Transcript"]
