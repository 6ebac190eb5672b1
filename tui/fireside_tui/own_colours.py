"""NO_COLOR: the terminal's own two colours, with bold, dim, underlined and reversed text in place of all others."""

from __future__ import annotations

from functools import lru_cache

from rich.color import Color as RichColor
from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.filter import LineFilter

STANDS_OUT = 0.1
"""From this difference in brightness on (of 1), a ground is seen to be another one: the cursor's, a selection's."""
STANDS_BACK = 0.65
"""Grey text that differs less than this from its ground is meant to stand back."""
GREY = 48
"""The parts of a grey differ by no more than this (of 255)."""


@lru_cache(4096)
def _own(style: Style, background: Color) -> Style:
    ground = _triplet(style.bgcolor) or (background.r, background.g, background.b)
    reverse = bool(style.reverse) or abs(_brightness(ground) - background.brightness) >= STANDS_OUT
    ink = _triplet(style.color)
    back = ink is not None and max(ink) - min(ink) <= GREY and abs(_brightness(ink) - _brightness(ground)) < STANDS_BACK
    dim = not reverse and (bool(style.dim) or back)
    return Style(
        bold=style.bold, italic=style.italic, underline=style.underline, strike=style.strike, reverse=reverse, dim=dim,
        link=style.link, meta=style.meta or None,
    )  # fmt: skip


def _triplet(color: RichColor | None) -> tuple[int, int, int] | None:
    """Red, green and blue; nothing for the terminal's own, of which nobody knows them."""
    if color is None or color.is_default:
        return None
    red, green, blue = color.get_truecolor()
    return red, green, blue


def _brightness(rgb: tuple[int, int, int]) -> float:
    red, green, blue = rgb
    return (red * 299 + green * 587 + blue * 114) / 255_000


class OwnColours(LineFilter):
    """Stands in place of Textual's filters for NO_COLOR, which paint all in 24-bit greys: dark on a light terminal."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """The segments without colours."""
        return [
            Segment(text, style if style is None or control else _own(style, background), control)
            for text, style, control in segments
        ]
