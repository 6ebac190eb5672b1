"""A look in the colours of the theme, for what is drawn line by line: no style sheet has to be read for it.

A style sheet with as many looks takes 10 ms to read, and the looks another 15 ms to find in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from rich.style import Style
from textual.color import Color


class Look(NamedTuple):
    """Variables of the theme (`"text-muted"`) and a face (`"bold italic"`); what is empty stays as it is underneath."""

    colour: str = ""
    face: str = ""
    ground: str = ""

    def style(self, variables: Mapping[str, str], ground: Color) -> Style:
        """The style for what lies on `ground`. `variables` are the theme's."""
        own = _colour(variables[self.ground], ground) if self.ground else None
        under = ground + own if own is not None else ground
        colour = under + _colour(variables[self.colour], under) if self.colour else None
        return Style.parse(self.face) + Style(
            color=colour.rich_color if colour is not None else None,
            bgcolor=own.rich_color if own is not None and own.a > 0 else None,
        )


def _colour(value: str, ground: Color) -> Color:
    """`"#e8935a"`, `"ansi_blue 50%"` or `"auto 60%"`, as a theme says it."""
    name, _, share = value.partition(" ")
    alpha = float(share.removesuffix("%")) / 100 if share else 1.0
    return ground.get_contrast_text(alpha) if name == "auto" else Color.parse(name).multiply_alpha(alpha)


READABLE = 4.5
"""The least contrast of text with what lies behind it (WCAG 2.2, 1.4.3)."""
_GREY = 0.15
"""So much more, since without colours (NO_COLOR) each of both becomes the nearest grey."""


def contrast(one: Color, other: Color) -> float:
    """How well two colours can be told apart, as WCAG counts: from 1 to 21.

    >>> round(contrast(Color.parse("white"), Color.parse("black")))
    21
    """
    low, high = sorted((_luminance(one), _luminance(other)))
    return (high + 0.05) / (low + 0.05)


def _luminance(colour: Color) -> float:
    parts = (part / 255 for part in colour.rgb)
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def selection(variables: Mapping[str, str]) -> dict[str, str]:
    """The theme's variables for selected text, which can be read whatever colour it had. `variables` are the theme's.

    Textual (8.2.8) has no colour for it but that of the text, and where a row is painted at once that is the ground's.
    """
    if variables["background"].startswith("ansi"):  # the terminal's own colours: nobody knows them
        return {"screen-selection-background": "ansi_bright_cyan", "screen-selection-foreground": "ansi_black"}
    background = Color.parse(variables["background"])
    ground = background.blend(Color.parse(variables["primary"]), 0.5, 1.0)
    text = Color.parse(variables["foreground"])
    if contrast(text, ground) < READABLE + _GREY:
        text = max((Color(255, 255, 255), Color(0, 0, 0)), key=lambda colour: contrast(colour, ground))
    for _ in range(20):  # a ground between black and white goes a little out of the way
        if contrast(text, ground) >= READABLE + _GREY:
            break
        ground = ground.darken(0.02) if text.brightness > 0.5 else ground.lighten(0.02)
    return {"screen-selection-background": ground.hex, "screen-selection-foreground": text.hex}
