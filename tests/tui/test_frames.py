"""What a frame costs, counted: widgets that did not change are neither painted nor laid out."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from textual._styles_cache import StylesCache
from textual.screen import Screen

from tests.tui.app_support import Gate, opened, talk


@pytest.fixture
def painted(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often Textual painted widgets of each class, and laid the screen out."""
    counts: Counter[str] = Counter()
    paint, lay = StylesCache.render_widget, Screen._refresh_layout

    def counted(cache: StylesCache, widget: Any, crop: Any) -> Any:
        counts[type(widget).__name__] += 1
        return paint(cache, widget, crop)

    def laid(screen: Screen[Any], *args: Any, **rest: Any) -> None:
        counts["layouts"] += 1
        lay(screen, *args, **rest)

    monkeypatch.setattr(StylesCache, "render_widget", counted)
    monkeypatch.setattr(Screen, "_refresh_layout", laid)
    return counts


async def test_an_answer_that_streams_paints_only_itself(tmp_path: Path, painted: Counter[str]) -> None:
    gate = Gate()
    async with opened(tmp_path, gate, size=(120, 36)) as it:
        await it.send("Hi", answered=False)
        await gate.is_asked("Hi")
        transcript = it.main.chat.transcript
        await it.until(lambda: not transcript.busy)
        for n in range(3):  # the screen is at rest
            it.current.streamed("text", f"begin {n}\n\n")
            await it.until(lambda: not transcript.busy)
        painted.clear()
        draws = transcript.draws
        for n in range(20):
            it.current.streamed("text", f"line {n}\n\n")
            await it.until(lambda: not transcript.busy)
        assert transcript.draws - draws >= 20
        assert painted["layouts"] == 0
        # the box is asked for its lines in each frame, which it keeps
        rest = {name: count for name, count in painted.items() if name not in ("ScrollBar", "Composer")}
        assert sum(rest.values()) <= 6, rest  # the clock of the run's line, say
        gate.let_on("Hi")


async def test_a_letter_lays_nothing_out_and_paints_little(tmp_path: Path, painted: Counter[str]) -> None:
    id = await talk(tmp_path, "Hi", "more")
    async with opened(tmp_path, [], resume=id, size=(120, 36)) as it:
        await it.press("a")
        painted.clear()
        await it.press(*"bcdefghij")
        await it.pilot.pause()
        assert it.box == "abcdefghij"
        assert painted["layouts"] == 0
        rest = {name: count for name, count in painted.items() if name not in ("Composer", "ScrollBar")}
        assert sum(rest.values()) <= 3, rest


async def test_another_theme_and_another_size_paint_all_anew(tmp_path: Path) -> None:
    async with opened(tmp_path, [], size=(100, 30)) as it:

        def grounds() -> set[str]:
            found = set()
            for y in range(it.app.size.height):
                for x in range(0, it.app.size.width, 7):
                    style = it.app.screen.get_style_at(x, y)
                    found.add(str(style.bgcolor and style.bgcolor.name))
            return found

        dark = grounds()
        it.app.theme = "fireside-light"
        await it.pilot.pause()
        await it.pilot.pause()
        assert not dark & grounds()
        await it.pilot.resize_terminal(60, 20)
        await it.pilot.pause()
        heading = it.main.query_one("#heading")
        assert [strip.cell_length for strip in heading.render_lines(heading.outer_size.region)] == [60]
