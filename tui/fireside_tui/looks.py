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
