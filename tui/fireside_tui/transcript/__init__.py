"""The chat pane's view: one widget that draws a conversation of any length. It knows plain items, no library."""

from __future__ import annotations

from fireside_tui.transcript.items import Item, Kind
from fireside_tui.transcript.view import Transcript


def warm_up() -> None:
    """Loads the parser and the highlighter, which the first text would wait for. To be called in a thread."""
    from fireside_tui.transcript import blocks, highlight, inline

    blocks.parser()
    inline.parser()
    highlight.highlight("x = 1", "python")


__all__ = ["Item", "Kind", "Transcript", "warm_up"]
