"""Where one is in the transcript: scrolling, pages, the scrollbar, resizing, folding, the cursor."""

from __future__ import annotations

import asyncio

import pytest
from fireside_tui.transcript import Item
from fireside_tui.widgets.bar import thumb_of
from helpers_transcript import Chat, check, conversation, drawn, mixed, shown
from textual.scrollbar import ScrollBarRender
from textual.widgets import Input


async def test_a_scrollbar_that_looks_the_same_is_left_alone(monkeypatch):
    app = Chat(conversation(200))
    async with app.run_test(size=(80, 24)) as pilot:
        transcript = app.transcript
        await drawn(pilot, transcript)
        bar = transcript.vertical_scrollbar
        drew = []
        monkeypatch.setattr(bar, "refresh", lambda *regions: drew.append(1))
        position = bar.position
        for n in range(20):
            transcript.add(Item(f"new{n}", "assistant", "One line."))
            await drawn(pilot, transcript)
        assert len(drew) < 3
        assert bar.position >= position + 40  # what a drag is reckoned by is always true
        assert bar.window_virtual_size - bar.window_size == bar.position
        transcript.action_page_up()
        transcript.action_page_up()
        transcript.action_scroll_home()
        await drawn(pilot, transcript)
        assert drew
        assert bar.position == 0


@pytest.mark.parametrize("height", [1, 5, 20])
@pytest.mark.parametrize("total", [3, 21, 50, 1000, 99_999])
def test_the_thumb_is_where_textual_draws_it(height, total):
    for position in {0, 1, max(0, total - height) // 2, max(0, total - height)}:
        segments = list(ScrollBarRender.render_bar(height, total, height if height < total else 0, position).segments)
        start, end = thumb_of(height, total, position)
        body = [n for n, segment in enumerate(segments) if segment.style.meta.get("@mouse.down") == "grab"]
        if total <= height:
            assert (start, end, body) == (0, 0, [])
        else:
            assert body[0] == start // 8
            assert body[-1] in (end // 8, end // 8 - 1)


async def test_scrolled_up_nothing_moves_while_text_streams_in_and_a_mark_says_so():
    app = Chat(conversation(20))
    async with app.run_test(size=(80, 24)) as pilot:
        transcript = app.transcript
        await drawn(pilot, transcript)
        transcript.action_page_up()
        before = shown(transcript)
        transcript.add(Item("new", "assistant"))
        for piece in [mixed(3000)[i : i + 50] for i in range(0, 3000, 50)]:
            transcript.append("new", piece)
            await asyncio.sleep(0)
        await drawn(pilot, transcript)
        assert not transcript.following
        assert shown(transcript)[:-1] == before[:-1]
        assert "new text below" in shown(transcript)[-1]
        x = transcript.scrollable_content_region.width - 5
        await pilot.click(transcript, offset=(x, transcript.size.height - 1))
        await drawn(pilot, transcript)
        assert transcript.following
        assert "new text below" not in shown(transcript)[-1]


async def test_the_end_is_followed_again_once_one_is_back():
    app = Chat(conversation(20))
    async with app.run_test(size=(80, 24)) as pilot:
        transcript = app.transcript
        await drawn(pilot, transcript)
        transcript.focus()
        await pilot.press("pageup", "pageup")
        assert not transcript.following
        transcript.append("19", "\n\nthe very end")
        await drawn(pilot, transcript)
        assert "the very end" not in " ".join(shown(transcript))
        await pilot.press("pagedown", "pagedown", "pagedown")
        assert transcript.following
        assert "the very end" in " ".join(shown(transcript))


async def test_pages_overlap_by_one_row_and_come_back():
    app = Chat(conversation(60))
    async with app.run_test(size=(80, 24)) as pilot:
        transcript = app.transcript
        await drawn(pilot, transcript)
        pages = [shown(transcript)]
        for _ in range(15):
            transcript.action_page_up()
            pages.append(shown(transcript))
            assert pages[-1][-1] == pages[-2][0]
        for page in pages[-2:0:-1]:
            transcript.action_page_down()
            assert shown(transcript) == page
        transcript.scroll_up(animate=False)
        await pilot.pause()
        assert shown(transcript)[1:] == pages[1][:-1]


async def test_resize_and_theme_keep_the_place():
    app = Chat(conversation(60))
    async with app.run_test(size=(100, 30)) as pilot:
        transcript = app.transcript
        await drawn(pilot, transcript)
        transcript.scroll_to(y=200, animate=False)
        await pilot.pause()
        before = shown(transcript)
        await pilot.resize_terminal(60, 30)
        await pilot.pause()
        await pilot.resize_terminal(100, 30)
        await pilot.pause()
        assert shown(transcript) == before
        look = transcript._view[5]
        app.theme = "textual-light"
        await drawn(pilot, transcript)
        assert shown(transcript) == before
        assert transcript._view[5] != look


async def test_unfolding_keeps_the_line_in_place():
    items = conversation(6)
    items[3:3] = [Item("t", "tool", title="look()", state="done", detail="line\n" * 50, folded=True)]
    app = Chat(items)
    async with app.run_test(size=(80, 30)) as pilot:
        transcript = app.transcript
        await drawn(pilot, transcript)
        transcript.set_cursor("t", show=True)
        y = next(i for i, line in enumerate(shown(transcript)) if "look()" in line)
        await pilot.click(transcript, offset=(6, y))
        await drawn(pilot, transcript)
        assert "▾ look()" in shown(transcript)[y]
        assert "│ line" in shown(transcript)[y + 1]
        transcript.focus()
        await pilot.press("enter")
        await drawn(pilot, transcript)
        assert "▸ look()" in shown(transcript)[y]


async def test_folding_what_one_reads_goes_to_its_line():
    app = Chat([Item("u", "user", "q"), Item("t", "thinking", "deep thought\n\n" * 80), *conversation(9)])
    async with app.run_test(size=(80, 20)) as pilot:
        transcript = app.transcript
        await drawn(pilot, transcript)
        transcript.scroll_to(y=60, animate=False)
        await pilot.pause()
        assert "deep thought" in " ".join(shown(transcript))
        transcript.fold_all("thinking", True)
        await drawn(pilot, transcript)
        assert "▸ thinking" in shown(transcript)[0]
        check(transcript)


async def test_unfolding_the_last_item_shows_its_beginning():
    app = Chat([*conversation(4), Item("t", "tool", title="look()", detail="line\n" * 50, folded=True)])
    async with app.run_test(size=(80, 20)) as pilot:
        transcript = app.transcript
        await drawn(pilot, transcript)
        transcript.fold("t", False)
        await drawn(pilot, transcript)
        assert "▾ look()" in " ".join(shown(transcript))
        check(transcript)


async def test_cursor_walks_over_messages_and_shows_them():
    app = Chat([Item("r", "rule", title="begins here"), *conversation(30)])
    async with app.run_test(size=(80, 20)) as pilot:
        transcript = app.transcript
        transcript.focus()
        await drawn(pilot, transcript)
        assert transcript.cursor == "29"
        for _ in range(12):
            await pilot.press("k")
        assert transcript.cursor == "17"
        assert any("▎" in line for line in shown(transcript))
        transcript.move_cursor(-100)
        assert transcript.cursor in ("0", "17")
        transcript.move_cursor(100)
        assert transcript.cursor == "29"
        await pilot.pause()
        assert app.seen[-1] == ("cursor", "29")
        check(transcript)


async def test_the_cursors_bar_shines_while_the_transcript_has_the_focus_and_no_longer():
    app = Chat(conversation(4))
    async with app.run_test(size=(80, 20)) as pilot:
        transcript = app.transcript
        transcript.focus()
        await drawn(pilot, transcript)
        transcript.set_cursor("3")
        for focused, look in ((transcript, "cursor"), (app.query_one(Input), "cursor-off")) * 2:
            focused.focus()
            await drawn(pilot, transcript)
            bars = [segment.style for strip in transcript._view for segment in strip if segment.text == "▎ "]
            assert bars
            assert set(bars) == {transcript._painter.style((look,))}


async def test_the_end_is_followed_through_any_sizes_while_text_streams_in():
    app = Chat([*conversation(4), Item("s", "assistant")])
    sizes = [(30, 8), (200, 60), (30, 8), (100, 30), (30, 8), (20, 4), (200, 60), (60, 20), (30, 8)]
    async with app.run_test(size=(100, 30)) as pilot:
        transcript = app.transcript
        await drawn(pilot, transcript)
        for n, (width, height) in enumerate(sizes):
            transcript.append("s", mixed(300) + f"\n\nend {n}")
            await pilot.resize_terminal(width, height)
            if n % 2:
                await drawn(pilot, transcript)
            assert transcript.following, (n, width, height)
        await drawn(pilot, transcript)
        check(transcript)
        assert f"end {n}" in " ".join(shown(transcript))


class Hidden(Chat):
    """The transcript is shown when it is told to, as with the first message of a conversation."""

    def compose(self):
        for widget in super().compose():
            widget.display = False
            yield widget


async def test_who_comes_before_anything_has_a_place_gets_it_a_moment_later():
    app = Hidden(conversation(20, "a walrus"))
    async with app.run_test(size=(80, 24)) as pilot:
        transcript = app.transcript
        await pilot.pause()
        assert not transcript.laid_out.is_set()
        assert transcript.find("walrus")
        going = asyncio.create_task(transcript.walk(-1))
        await asyncio.sleep(0)
        assert not going.done()
        transcript.display = True
        app.screen.set_focus(transcript)
        assert transcript.cursor is None
        assert await going
        await drawn(pilot, transcript)
        assert transcript.cursor is not None
        assert "walrus" in " ".join(shown(transcript))
