"""The mouse: no click, on whatever vanishes under it, ends the app."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from textual.events import MouseDown, MouseMove, MouseUp
from textual.widget import Widget
from textual.widgets import OptionList
from textual.widgets._toast import Toast

from tests.tui.app_support import Opened, opened, talk

MOUSE = (MouseDown, MouseMove, MouseUp)


async def mouse(it: Opened, kind: type[Any], x: int, y: int) -> None:
    """A mouse event, as the terminal's driver hands it to the app, and at once."""
    moved = (x - it.app.mouse_position.x, y - it.app.mouse_position.y)
    event = kind(None, x, y, *moved, 0 if kind is MouseMove else 1, False, False, False, x, y)
    await it.app.on_event(event)


async def without_layout(widget: Widget) -> None:
    """Removes a widget, and comes back before the screen is laid out without it."""
    screen = widget.screen
    with_layout, screen._refresh_layout = screen._refresh_layout, lambda *_, **__: None  # type: ignore[method-assign]
    try:
        await widget.remove()
    finally:
        screen._refresh_layout = with_layout  # type: ignore[method-assign]


async def test_a_click_where_a_toast_just_was_goes_to_what_is_there_now(tmp_path: Path) -> None:
    id = await talk(tmp_path, "Hi")
    async with opened(tmp_path, [], resume=id, toasts=True) as it:
        for _ in range(3):
            it.main.say("Something")
            await it.until(lambda: it.main.query(Toast) and it.main.query(Toast).last().region.height)
            toast = it.main.query(Toast).last()
            x, y = toast.region.x + 2, toast.region.y + 1
            assert toast.parent is not None
            await without_layout(toast.parent)  # type: ignore[arg-type]
            assert toast.parent is None
            for kind in (MouseDown, MouseUp, MouseMove, MouseDown, MouseMove, MouseUp):
                await mouse(it, kind, x, y)
            assert it.app._mouse_down_widget is not toast
            await it.pilot.pause()
            it.app.clear_notifications()
        assert it.app.is_running


async def test_a_drag_whose_widget_vanishes_ends_with_it(tmp_path: Path) -> None:
    async with opened(tmp_path, []) as it:
        for moved in (False, True):
            it.main.warn("Something that stands over the chat")
            await it.pilot.pause()
            bar = it.main.query_one("#message-bar")
            x, y = bar.region.x + 3, bar.region.y
            await mouse(it, MouseDown, x, y)
            if moved:
                await mouse(it, MouseMove, x + 3, y)
            await without_layout(bar)
            for step in range(3):
                await mouse(it, MouseMove, x + step, y + step)
            await mouse(it, MouseUp, x + 2, y + 2)
            assert it.app.screen.get_selected_text() in (None, "")
            await it.pilot.pause()
            await it.main.chat.mount(type(bar)(id="message-bar"), after="#heading")


@pytest.mark.parametrize("command", ["model", "theme", "rename", "search", "help", "palette"])
async def test_clicks_in_a_box_that_closes_under_them_harm_nothing(tmp_path: Path, command: str) -> None:
    id = await talk(tmp_path, "Hi")
    async with opened(tmp_path, [], resume=id) as it:
        for _ in range(2):
            it.main.action_command(command)
            await it.until(lambda: len(it.app.screen_stack) == 3)
            await it.pilot.pause()
            found = it.app.screen.query(OptionList)
            region = (found.first() if found else it.app.screen.children[0]).region
            place = (region.x + 3, region.y)
            for _ in range(3):
                for kind in (MouseDown, MouseUp, MouseMove):
                    await mouse(it, kind, *place)
                await asyncio.sleep(0)
            if len(it.app.screen_stack) == 3:
                it.app.screen.dismiss(None)
            for _ in range(20):
                for kind in MOUSE:
                    await mouse(it, kind, *place)
                await asyncio.sleep(0)
            await it.until(lambda: len(it.app.screen_stack) == 2)
            assert it.app.is_running


async def drag(it: Opened, start: tuple[int, int], end: tuple[int, int]) -> None:
    await mouse(it, MouseDown, *start)
    x, y = start
    while (x, y) != end:
        x += (end[0] > x) - (end[0] < x)
        y += (end[1] > y) - (end[1] < y)
        await mouse(it, MouseMove, x, y)
    await it.pilot.pause()


LONG = "\n\n".join(f"line {n}" for n in range(200))


@pytest.mark.parametrize("where", ["above", "below"])
async def test_a_drag_out_of_the_transcript_selects_to_its_edge_and_scrolls_there(tmp_path: Path, where: str) -> None:
    id = await talk(tmp_path, "first words", LONG)
    async with opened(tmp_path, [LONG], resume=id) as it:
        await it.send("again")
        transcript = it.main.chat.transcript
        transcript.scroll_relative(y=-100, animate=False)
        await it.until(lambda: not transcript.busy)
        region = transcript.region
        rows = [strip.text.strip("▎ ") for strip in transcript._view]
        at = next(y for y, row in enumerate(rows) if row.startswith("line") and y > 8)
        outside = (it.main.query_one("#heading") if where == "above" else it.main.chat.composer).region
        top = transcript.roll.top()
        await drag(it, (region.x + 4, region.y + at), (region.x + 10, outside.y))
        up = where == "above"
        await it.until(lambda: transcript.roll.top() < top - 9 if up else transcript.roll.top() > top + 9)
        assert list(it.main.selections) == [transcript]
        await mouse(it, MouseUp, region.x + 10, outside.y)
        await it.pilot.pause()
        after = transcript.roll.top()
        rows = [strip.text.strip("▎ ") for strip in transcript._view]
        selected = (it.main.get_selected_text() or "").split("\n")
        edge = [row for row in rows if row][0 if up else -1]
        assert selected[0 if up else -1] in (edge, "")
        assert edge in selected
        assert len(selected) < 300  # not all of it
        assert "first words" not in selected
        assert it.main._auto_select_scroll_timer is None  # it stands still once the button is up
        assert transcript.roll.top() == after


async def test_a_drag_that_begins_where_there_is_no_text_selects_nothing(tmp_path: Path) -> None:
    id = await talk(tmp_path, "Hi")
    async with opened(tmp_path, [], resume=id) as it:
        region = it.main.chat.transcript.region
        list_ = it.main.sidebar.rows.region
        await drag(it, (list_.x + 4, list_.bottom - 2), (region.x + 5, region.y + 3))
        assert not it.main.get_selected_text()


async def test_a_drag_into_what_lies_over_the_transcript_keeps_to_the_transcript(tmp_path: Path) -> None:
    id = await talk(tmp_path, "Hi")
    async with opened(tmp_path, [], resume=id, toasts=True) as it:
        it.main.say("Something else")
        await it.until(lambda: it.main.query(Toast) and it.main.query(Toast).last().region.height)
        toast, region = it.main.query(Toast).last().region, it.main.chat.transcript.region
        await drag(it, (region.x + 2, region.y + 4), (toast.x + 4, toast.y + 1))
        assert "Something" not in (it.main.get_selected_text() or "")
