"""The last net under the screen: takes control characters out of everything that any widget draws."""

from __future__ import annotations

from functools import lru_cache

from rich.cells import get_character_cell_size
from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

from fireside_tui.safe_text import UNSAFE


@lru_cache(1024)
def _mend(text: str) -> str:
    # What was measured as no cell is taken out, what was measured as one is replaced: the line keeps its width.
    text = UNSAFE.sub(lambda match: "\ufffd" if get_character_cell_size(match[0]) else "", text)
    return text.replace("\n", "").replace("\t", "")


class ControlFilter(LineFilter):
    """Add one to the app's filters: whatever a widget forgot to make safe then reaches no terminal.

    Textual itself passes ESC, OSC 52 and C1 in widget text on to the terminal (8.2.8). The door for text is
    `safe_text.safe`; this only catches what went round it.
    """

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """The segments without control characters (those that Textual itself sends as control stay)."""
        out = segments
        for i, (text, style, control) in enumerate(segments):
            if control or (text.isascii() and text.isprintable()):
                continue
            if UNSAFE.search(text) or "\n" in text or "\t" in text:
                if out is segments:
                    out = list(segments)
                out[i] = Segment(_mend(text), style, control)
        return out
