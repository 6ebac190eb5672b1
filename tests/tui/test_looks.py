"""The looks of what is drawn line by line are what Textual's style sheet would make of the same variables."""

from __future__ import annotations

from pathlib import Path

import pytest
from fireside_tui.looks import Look, contrast
from fireside_tui.theme import THEMES
from fireside_tui.transcript.look import LOOKS as IN_TRANSCRIPT
from fireside_tui.widgets.row_list import LOOKS as IN_LIST
from rich.color import Color
from textual.app import App, ComposeResult
from textual.color import Color as Colour
from textual.selection import Selection
from textual.theme import BUILTIN_THEMES
from textual.widgets import Static

from tests.tui.app_support import opened

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


EVERYTHING = (
    "# Heading\n\nWords, **bold** and *em*, `code`, [a link](https://e.com).\n\n> quoted\n\n- item\n\n"
    "```python\n# comment\ndef name(x: int) -> str:\n    return 'text' + str(1)\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n"
)


@pytest.mark.parametrize("without", ["", "1"], ids=["colours", "NO_COLOR"])
async def test_selected_text_can_be_read_in_every_theme(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, without: str
) -> None:
    monkeypatch.setenv("NO_COLOR", without)
    if not without:
        monkeypatch.delenv("NO_COLOR")
    async with opened(tmp_path, [EVERYTHING], size=(100, 50)) as it:
        await it.send("Hi")
        transcript = it.main.chat.transcript
        for theme in [*THEMES, *BUILTIN_THEMES]:
            it.app.theme = theme
            await it.pilot.pause()
            await it.pilot.pause()
            plain = list(transcript._view)
            it.main.selections = {transcript: Selection(None, None)}
            await it.until(lambda: not transcript.busy)
            seen = 0
            for y, strip in enumerate(transcript._view):
                if strip == plain[y]:
                    continue
                old = {(s.text, s.style) for s in plain[y]}
                for text, style, _ in strip:
                    if (text, style) in old or not text.strip():
                        continue
                    assert style is not None
                    seen += 1
                    if without or style.color is None or style.color.is_default:  # the terminal's own, turned round
                        assert style.reverse, (theme, text)
                    else:
                        assert style.bgcolor is not None
                        pair = [Colour(*one.get_truecolor()) for one in (style.color, style.bgcolor)]
                        assert contrast(*pair) >= 4.5, (theme, text, pair)
            assert seen > 15, theme
            it.main.clear_selection()
