"""What is put into the transcript: at once, above, at the end; and what of it is drawn again."""

from __future__ import annotations

import pytest
from fireside_tui.transcript import Item
from helpers_transcript import Chat, check, conversation, drawn, mixed, shown


async def test_heading_stands_once_over_a_turn():
    items = [
        Item("u", "user", "Why?", label="14:02"),
        Item("t", "thinking", "hm", title="thought for 4 s", folded=True, label="claude-sonnet-5"),
        Item("a", "assistant", "Let me look."),
        Item("c", "tool", title='read_file(path="x")', state="done · 2.1 kB", detail="result", folded=True),
        Item("b", "assistant", "Because."),
    ]
    app = Chat(items)
    async with app.run_test(size=(60, 24)) as pilot:
        await drawn(pilot, app.transcript)
        assert [line for line in shown(app.transcript) if line] == [
            "  you" + " " * 48 + "14:02",
            "  Why?",
            "  claude" + " " * 35 + "claude-sonnet-5",
            "  ▸ thought for 4 s",
            "  Let me look.",
            '  ▸ read_file(path="x")' + " " * 22 + "done · 2.1 kB",
            "  Because.",
        ]


async def test_loading_shows_the_end_and_lays_out_only_what_is_near():
    app = Chat()
    async with app.run_test(size=(80, 24)) as pilot:
        transcript = app.transcript
        transcript.load(conversation(10_000))
        await drawn(pilot, transcript)
        assert transcript.following
        assert "number 9999" in " ".join(shown(transcript))
        assert transcript.layouts < 60
        assert transcript.parses < 10
        assert len(transcript.roll.docs) < 10
        check(transcript)


async def test_a_draw_takes_all_deltas_at_once():
    app = Chat(conversation(3))
    async with app.run_test(size=(80, 24)) as pilot:
        transcript = app.transcript
        await drawn(pilot, transcript)
        transcript.add(Item("new", "assistant"))
        await drawn(pilot, transcript)
        draws, parses, layouts = transcript.draws, transcript.parses, transcript.layouts
        for word in ["one "] * 500:
            transcript.append("new", word)
        await drawn(pilot, transcript)
        assert transcript.draws - draws <= 2
        assert transcript.parses - parses <= 2
        assert transcript.layouts - layouts <= 4
        assert transcript.items[-1].text == "one " * 500


@pytest.mark.parametrize("scrolled", [False, True])
async def test_what_is_put_above_moves_nothing_in_view(scrolled):
    items = conversation(40)
    app = Chat(items[20:])
    async with app.run_test(size=(80, 24)) as pilot:
        transcript = app.transcript
        await drawn(pilot, transcript)
        if scrolled:
            transcript.action_page_up()
            transcript.action_page_up()
            transcript.set_cursor("30")
            await drawn(pilot, transcript)
        before = shown(transcript)
        transcript.prepend(items[:20])
        await drawn(pilot, transcript)
        assert shown(transcript) == before
        assert transcript.items == items
        assert transcript.following is not scrolled
        check(transcript)
        with pytest.raises(ValueError, match="same key"):
            transcript.prepend([Item("0", "user", "again")])
        assert transcript.items == items
        transcript.action_scroll_home()
        await drawn(pilot, transcript)
        assert "Heading 0" in " ".join(shown(transcript))
        check(transcript)


async def test_a_heading_that_what_is_put_above_makes_needless_goes():
    app = Chat([Item("b", "assistant", "Two.")])
    async with app.run_test(size=(40, 10)) as pilot:
        transcript = app.transcript
        await drawn(pilot, transcript)
        transcript.prepend([Item("a", "assistant", "One.")])
        await drawn(pilot, transcript)
        assert [line for line in shown(transcript) if line] == ["  claude", "  One.", "  Two."]
        check(transcript)


async def test_a_stream_that_splits_a_line_end_shows_one():
    app = Chat([Item("a", "assistant")])
    async with app.run_test(size=(40, 12)) as pilot:
        transcript = app.transcript
        for piece in ("one\r", "\n\r", "\ntwo\r"):
            transcript.append("a", piece)
            await drawn(pilot, transcript)
        assert [line for line in shown(transcript) if line] == ["  claude", "  one", "  two"]
        assert transcript.items[0].text == "one\r\n\r\ntwo\r"


async def test_a_megabyte_comes_in_by_slices_and_ends_at_its_end():
    app = Chat(conversation(2))
    async with app.run_test(size=(80, 24)) as pilot:
        transcript = app.transcript
        await drawn(pilot, transcript)
        transcript.load([Item("m", "assistant", mixed(200_000) + "\n\nthe very end")])
        assert transcript.parses < 5
        await drawn(pilot, transcript)
        assert "the very end" in shown(transcript)[-1]
        check(transcript)


async def test_a_row_that_only_moves_keeps_what_the_terminal_is_sent():
    app = Chat(conversation(3))
    async with app.run_test(size=(80, 24)) as pilot:
        transcript = app.transcript
        await drawn(pilot, transcript)
        whole = transcript.region.size.region
        before = transcript.render_lines(whole)
        transcript.add(Item("new", "assistant", "One line."))
        await drawn(pilot, transcript)
        after = transcript.render_lines(whole)
        assert len(before) == len(after) == whole.height
        moved = next(n for n, strip in enumerate(before) if strip is after[0])
        assert 0 < moved < 6
        assert all(a is b for a, b in zip(before[moved:], after, strict=False))


async def test_mistakes_are_said_in_words():
    app = Chat(conversation(2))
    async with app.run_test() as pilot:
        await pilot.pause()
        with pytest.raises(KeyError, match="add it before"):
            app.transcript.append("none", "x")
        with pytest.raises(ValueError, match="same key"):
            app.transcript.load([Item("a", "user"), Item("a", "user")])
        with pytest.raises(ValueError, match="already"):
            app.transcript.add(Item("a", "user"))
        with pytest.raises(ValueError, match="cannot be changed"):
            app.transcript.change("a", kind="user")
