"""`Bar` against the scrollbar that it stands for."""

from __future__ import annotations

from pathlib import Path

import pytest
from fireside_tui.widgets.bar import Bar
from textual.geometry import Region
from textual.scrollbar import ScrollBar
from textual.widget import Widget

from tests.tui.app_support import calls_of, opened, talk


def drawn(bar: Bar) -> set[int]:
    """The rows that are to be drawn again."""
    return {y for region in bar._exchange_repaint_regions() for y in region.line_range}


async def test_it_looks_as_textuals_own_and_what_changes_is_drawn(tmp_path: Path) -> None:
    id = await talk(tmp_path, *(f"question {n}\n\nand more" for n in range(20)))
    async with opened(tmp_path, resume=id) as it:
        bar = it.main.chat.transcript.vertical_scrollbar
        height = bar.size.height
        whole = Region(0, 0, 1, height)
        before = bar.paint(whole)
        for total in (height, height + 1, 2 * height, 977, 40_000):
            for position in {0, 1, 7, total // 3, total - height - 1, total - height}:
                if not 0 <= position <= total - height:
                    continue
                drawn(bar)
                bar.move(height, total, position)
                lines = bar.paint(whole)
                assert lines == Widget.render_lines(bar, whole)
                changed = {y for y in range(height) if lines[y] != before[y]}
                assert changed <= drawn(bar)
                before = lines
        assert bar.paint(Region(0, 3, 1, 4)) == before[3:7]


async def test_it_is_painted_once_while_nothing_of_it_changes(tmp_path: Path) -> None:
    id = await talk(tmp_path, *(f"question {n}\n\nand more" for n in range(20)))
    async with opened(tmp_path, resume=id) as it:
        assert it.main.chat.transcript.vertical_scrollbar.display
        with calls_of(Bar, "paint") as painted:
            await it.press(*"some words")
            await it.pilot.pause()
            assert painted.count == 0
            it.main.chat.transcript.action_page_up()
            await it.pilot.pause()
            assert painted.count > 0


async def test_a_click_below_the_thumb_is_a_page(tmp_path: Path) -> None:
    id = await talk(tmp_path, *(f"question {n}\n\nand more" for n in range(20)))
    async with opened(tmp_path, resume=id) as it:
        transcript = it.main.chat.transcript
        transcript.scroll_home(animate=False)
        await it.pilot.pause()
        assert transcript.scroll_y == 0
        bar = transcript.vertical_scrollbar
        await it.pilot.click(bar, offset=(0, bar.size.height - 1))
        await it.until(lambda: transcript.scroll_y > 0)


@pytest.mark.parametrize("name", ["sidebar", "chat"])
async def test_both_scrolling_widgets_have_one(tmp_path: Path, name: str) -> None:
    async with opened(tmp_path) as it:
        widget = it.main.sidebar.rows if name == "sidebar" else it.main.chat.transcript
        assert type(widget.vertical_scrollbar) is Bar
        assert widget.vertical_scrollbar in widget.query(ScrollBar) or widget.vertical_scrollbar.parent is widget
