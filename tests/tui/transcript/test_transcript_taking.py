"""What one takes out of the transcript: links, what is found, selections, code blocks."""

from __future__ import annotations

import pytest
from fireside_tui.transcript import Item
from helpers_transcript import Chat, check, conversation, drawn, shown
from textual.content import Content
from textual.selection import Selection


async def test_only_web_links_can_be_chosen_and_their_target_is_shown():
    text = (
        "[good](https://good.example/x) [file](file:///etc/passwd) [mail](mailto:a@b.c) [js](javascript:alert(1)) "
        "<https://auto.example> https://bare.example/a_(b). [https://bank.example](https://evil.example) <b>html</b>"
    )
    app = Chat([Item("a", "assistant", text)])
    async with app.run_test(size=(300, 20)) as pilot:
        transcript = app.transcript
        await drawn(pilot, transcript)
        line = next(line for line in shown(transcript) if "good" in line)
        assert "(mailto:a@b.c)" in line
        assert "file:///etc/passwd" in line
        assert "https://bank.example (https://evil.example)" in line
        assert "<b>html</b>" in line
        y = shown(transcript).index(line)
        for word in ("good", "file", "mail", "js", "auto", "bare", "bank", "html"):
            x = line.index(word)
            await pilot.hover(transcript, offset=(x, y))
            if word == "good":
                assert isinstance(transcript.tooltip, Content)
                assert transcript.tooltip.plain == "https://good.example/x"
            await pilot.click(transcript, offset=(x, y))
        urls = [event[2] for event in app.seen if event[0] == "link"]
        assert urls == [
            "https://good.example/x",
            "https://auto.example",
            "https://bare.example/a_(b)",
            "https://evil.example",
        ]
        assert transcript.links("a") == dict(
            zip(
                urls,
                ("good", "https://auto.example", "https://bare.example/a_(b)", "https://bank.example"),
                strict=True,
            )
        )


async def test_padding_around_the_text_moves_nothing_under_the_mouse():
    class Padded(Chat):
        CSS = "Transcript { padding: 1 3; }"

    app = Padded([Item("a", "assistant", "see [it](https://e.com) and more"), *conversation(9)])
    async with app.run_test(size=(60, 20)) as pilot:
        transcript = app.transcript
        transcript.focus()
        await drawn(pilot, transcript)
        transcript.action_scroll_home()
        app.seen.clear()
        await pilot.click(transcript, offset=(3 + 2 + 4, 1 + 1))
        await pilot.click(transcript, offset=(3 + 2 + 3, 1 + 1))
        await pilot.pause()
        assert app.seen[0] == ("link", "a", "https://e.com")
        assert len(app.seen) == 2
        await pilot.click(transcript, offset=(3 + 2 + 8, 1 + 1), times=2)
        assert app.screen.get_selected_text() == "and"


async def test_find_marks_all_and_walks_around():
    items = [Item(str(i), "user" if i % 2 else "assistant", f"Needle in **message** {i}\n\nmore") for i in range(40)]
    items[7:7] = [Item("t", "tool", title="look()", detail="a hidden needle", folded=True)]
    app = Chat(items)
    async with app.run_test(size=(80, 20)) as pilot:
        transcript = app.transcript
        await drawn(pilot, transcript)
        assert transcript.find("needle") == 41
        hit = transcript._painter.style_of_mark("hit").bgcolor
        now = transcript._painter.style_of_mark("hit-now").bgcolor
        seen = set()
        for _ in range(41):
            assert transcript.find_next()
            marked = [
                "".join(s.text for s in strip if s.style and s.style.bgcolor == now) for strip in transcript._view
            ]
            assert "".join(marked).lower() == "needle"
            seen.add(transcript._hit)
        assert len(seen) == 41
        assert any(s.style and s.style.bgcolor == hit for strip in transcript._view for s in strip)
        assert not next(item for item in items if item.key == "t").folded
        last = transcript._hit
        assert transcript.find_next()
        assert transcript.find_previous()
        assert transcript._hit == last
        assert transcript.find("nowhere") == 0
        assert not transcript.find_next()
        transcript.clear_find()
        assert not any(s.style and s.style.bgcolor == hit for strip in transcript._view for s in strip)
        check(transcript)


async def test_selection_by_mouse_gives_the_text_without_drawings():
    text = (
        "A paragraph that is long enough to be wrapped over several rows of this narrow window.\n\n"
        "> quoted words that are wrapped as well here\n\n- item\n  - inner\n\n```python\nx = 1\nif x:\n    y = 2\n```\n\n"
        "| a | b |\n|---|---|\n| 1 | 2 |\n"
    )
    app = Chat([Item("u", "user", "hello"), Item("a", "assistant", text)])
    async with app.run_test(size=(40, 40)) as pilot:
        transcript = app.transcript
        await drawn(pilot, transcript)
        everything = transcript.get_selection(Selection(None, None))[0]
        assert everything == (
            "you\nhello\n\nclaude\n"
            "A paragraph that is long enough to be wrapped over several rows of this narrow window.\n\n"
            "quoted words that are wrapped as well here\n\n- item\n  - inner\n\nx = 1\nif x:\n    y = 2\n\na\tb\n1\t2\n"
        )
        rows = shown(transcript)
        top = next(y for y, row in enumerate(rows) if "A paragraph" in row)
        await pilot.mouse_down(transcript, offset=(4, top))
        await pilot.hover(transcript, offset=(8, top + 4))
        await pilot.mouse_up(transcript, offset=(8, top + 4))
        selected = app.screen.get_selected_text()
        assert selected.startswith("paragraph that is")
        assert "\n" in selected
        assert "▌" not in selected
        await pilot.resize_terminal(60, 40)
        await pilot.pause()
        assert app.screen.get_selected_text() == selected
        mark = app.screen.get_component_rich_style("screen--selection").bgcolor
        assert any(s.style and s.style.bgcolor == mark for strip in transcript._view for s in strip)


async def test_selecting_everything_in_thousands_of_messages_lays_out_little():
    app = Chat(conversation(5000))
    async with app.run_test(size=(80, 24)) as pilot:
        transcript = app.transcript
        await drawn(pilot, transcript)
        layouts = transcript.layouts
        text = transcript.get_selection(Selection(None, None))[0]
        assert "number 0\n" in text
        assert "number 4999" in text
        assert transcript.layouts - layouts < 60


async def test_a_selection_grows_while_the_edge_scrolls():
    app = Chat(conversation(60))
    async with app.run_test(size=(80, 24)) as pilot:
        transcript = app.transcript
        await drawn(pilot, transcript)
        await pilot.mouse_down(transcript, offset=(10, 10))
        await pilot.hover(transcript, offset=(10, 4))
        before = app.screen.selections[transcript]
        transcript.scroll_relative(y=-5, animate=False)
        await pilot.pause()
        after = app.screen.selections[transcript]
        assert after.end == before.end
        assert after.start.transpose < before.start.transpose
        await pilot.mouse_up(transcript, offset=(10, 4))


async def test_a_selection_that_ends_on_a_blank_row_takes_nothing_of_the_next_one():
    app = Chat([Item("a", "assistant", "one\n\ntwo\n\nthree")])
    async with app.run_test(size=(40, 12)) as pilot:
        transcript = app.transcript
        await drawn(pilot, transcript)
        for start, end, selected in (((2, 1), (5, 2), "one\n"), ((6, 2), (30, 3), "\ntwo"), ((2, 3), (2, 4), "two\n")):
            await pilot.mouse_down(transcript, offset=start)
            await pilot.hover(transcript, offset=end)
            await pilot.mouse_up(transcript, offset=end)
            assert app.screen.get_selected_text().strip("\n") == selected.strip("\n")


async def test_a_double_click_takes_the_word_and_a_triple_one_the_line():
    app = Chat([Item("a", "assistant", "one two three\n\nfour")])
    async with app.run_test(size=(40, 12)) as pilot:
        transcript = app.transcript
        await drawn(pilot, transcript)
        await pilot.click(transcript, offset=(7, 1), times=2)
        assert app.screen.get_selected_text() == "two"
        await pilot.click(transcript, offset=(7, 1), times=3)
        assert app.screen.get_selected_text() == "one two three"


async def test_code_blocks_are_given_as_they_were_written():
    app = Chat([Item("a", "assistant", "x\n\n```python\na\tb\n```\n\n- y\n\n  ~~~\n  z\n  ~~~\n")])
    async with app.run_test() as pilot:
        await pilot.pause()
        assert app.transcript.code_blocks("a") == ["a\tb\n", "z\n"]


LONG_LINES = {
    "words": "total = " + " + ".join(f"price_of(item_{n})" for n in range(40)),
    "wide": "name = '" + "日本語の文章" * 30 + "'",
    "no place to break": "blob = '" + "QUJD" * 2500 + "'",
    "indented": "        return " + ", ".join(f"value_{n}" for n in range(60)),
}


@pytest.mark.parametrize("line", LONG_LINES.values(), ids=LONG_LINES.keys())
@pytest.mark.parametrize("streamed", [False, True])
async def test_a_long_line_of_code_folds_with_a_mark_and_is_copied_whole_without_it(line, streamed):
    text = f"```python\nx = 1\n{line}\ny = 2\n```\n"
    app = Chat([Item("a", "assistant", "" if streamed else text)])
    async with app.run_test(size=(80, 24)) as pilot:
        transcript = app.transcript
        if streamed:
            for start in range(0, len(text), 700):
                transcript.append("a", text[start : start + 700])
                await drawn(pilot, transcript)
        await pilot.resize_terminal(80, 200)
        await drawn(pilot, transcript)
        check(transcript)
        rows = shown(transcript)
        first, end = rows.index("    x = 1") + 1, rows.index("    y = 2")
        folded = rows[first:end]
        assert len(folded) > 2
        assert folded[0].startswith("    ")
        assert all(row.startswith("  ↪ ") for row in folded[1:])
        # a blank at the end of a row can't be seen; all else is there, once and in its order
        assert "".join(row[4:] for row in folded).replace(" ", "") == line.replace(" ", "")

        assert transcript.get_selection(Selection(None, None))[0] == f"claude\nx = 1\n{line}\ny = 2\n"
        assert transcript.code_blocks("a") == [f"x = 1\n{line}\ny = 2\n"]
        for place in ((6, first), (2, first + 1), (6, first + 2), (77, end - 1)):  # on the text, the mark, beside it
            await pilot.click(transcript, offset=place, times=3)
            assert app.screen.get_selected_text() == line
        await pilot.mouse_down(transcript, offset=(4, first))
        await pilot.hover(transcript, offset=(77, end - 1))
        await pilot.mouse_up(transcript, offset=(77, end - 1))
        assert app.screen.get_selected_text() == line
