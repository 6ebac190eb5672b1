"""The looks of what is drawn line by line are what Textual's style sheet would make of the same variables."""

from __future__ import annotations

import pytest
from fireside_tui.looks import Look
from fireside_tui.theme import THEMES
from fireside_tui.transcript.look import LOOKS as IN_TRANSCRIPT
from fireside_tui.widgets.row_list import LOOKS as IN_LIST
from rich.color import Color
from textual.app import App, ComposeResult
from textual.theme import BUILTIN_THEMES
from textual.widgets import Static

LOOKS = [*{**dict.fromkeys(IN_TRANSCRIPT.values()), **dict.fromkeys(IN_LIST.values())}]


def declared(look: Look) -> str:
    rules = [("color", look.colour and f"${look.colour}"), ("text-style", look.face)]
    rules.append(("background", look.ground and f"${look.ground}"))
    return "; ".join(f"{name}: {value}" for name, value in rules if value)


class Sheet(App[None]):
    """Each look as a style sheet has it."""

    CSS = "Screen { background: $background; }" + "\n".join(
        f"#look-{n} {{ {declared(look)}; }}" for n, look in enumerate(LOOKS)
    )

    def __init__(self, theme: str) -> None:
        super().__init__()
        for own in THEMES.values():
            self.register_theme(own)
        self.theme = theme

    def compose(self) -> ComposeResult:
        for n in range(len(LOOKS)):
            yield Static("words", id=f"look-{n}")


def seen(color: Color | None) -> object:
    return None if color is None or color.is_default else color.get_truecolor()


@pytest.mark.parametrize("theme", [*THEMES, *BUILTIN_THEMES])
async def test_a_look_is_what_the_style_sheet_says(theme):
    app = Sheet(theme)
    async with app.run_test():
        for n, look in enumerate(LOOKS):
            there = app.query_one(f"#look-{n}").rich_style
            here = look.style(app.theme_variables, app.screen.background_colors[1])
            if look.colour:
                assert seen(here.color) == seen(there.color), (look, theme)
            if look.ground and app.theme_variables[look.ground] != "transparent":
                assert seen(here.bgcolor) == seen(there.bgcolor), (look, theme)
            assert {word for word in ("bold", "italic", "underline", "strike") if getattr(here, word)} == {
                *look.face.split()
            }
