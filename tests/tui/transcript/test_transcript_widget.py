"""The widget in a small app: keys, mouse, folding, find, selection, staying in place."""

from __future__ import annotations

import asyncio
import random

import pytest
from fireside_tui.transcript import Item, Transcript, highlight
from fireside_tui.widgets.bar import thumb_of
from helpers_transcript import CORPUS, mixed
from textual.app import App, ComposeResult
from textual.content import Content
from textual.scrollbar import ScrollBarRender
from textual.selection import Selection
from textual.widgets import Input

HOSTILE = "\x1b]52;c;aGk=\x07\x1b[2J\x9b31m\x00\x7f\x0b\x08\u202eabc\u2066\u200f\u061c\u2028\u0085"
HOSTILE += "\ud800\U000e0041 [red]x[/red] [/"


class Chat(App):
    def __init__(self, items=()):
        super().__init__()
        self.first = list(items)
        self.seen = []

    def compose(self) -> ComposeResult:
        yield Transcript(self.first)
        yield Input()

    @property
    def transcript(self) -> Transcript:
        return self.query_one(Transcript)

    def on_transcript_link_chosen(self, message):
        self.seen.append(("link", message.key, message.url))

    def on_transcript_cursor_moved(self, message):
        self.seen.append(("cursor", message.key))

    def on_transcript_fold_changed(self, message):
        self.seen.append(("fold", message.key, message.folded))


def conversation(count: int, text: str = "") -> list[Item]:
    return [
        Item(str(i), "assistant" if i % 2 else "user", text or f"{mixed(400)} number {i}", label="14:02")
        for i in range(count)
    ]


def shown(transcript: Transcript) -> list[str]:
    return [strip.text.rstrip() for strip in transcript._view]


async def drawn(pilot, transcript: Transcript) -> None:
    await pilot.pause()
    for _ in range(2000):
        if not transcript.busy:
            break
        await asyncio.sleep(0.002)
    await pilot.pause()
    assert not transcript.busy


def check(transcript: Transcript) -> None:
    """What must hold at any time."""
    roll = transcript.roll
    height = transcript.scrollable_content_region.height
    width = transcript.scrollable_content_region.width
    assert roll.sums.total == sum(roll.sums.values)
    assert len(transcript._view) == height
    assert all(strip.cell_length == width for strip in transcript._view)
    assert roll.laid_rows == sum(len(laid.rows) for laid in roll.laid.values())
    if roll.items:
        m, b, row = roll.anchor
        if roll.doc(m).blocks:
            assert row < len(roll.rows(m, b))
        for key, doc in roll.docs.items():
            assert len(doc.heights.values) == len(doc.blocks)
            assert roll.sums.values[roll.index[key]] == doc.heights.total
        if roll.following:
            assert transcript.scroll_y == transcript.max_scroll_y
    for strip in transcript._view:
        assert strip.text.isprintable() or all(c.isprintable() or ord(c) >= 0xA0 for c in strip.text)


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


async def test_code_is_shown_before_its_lexer_is_there_and_coloured_then():
    app = Chat()
    async with app.run_test(size=(60, 20)) as pilot:
        transcript = app.transcript
        text = "```tcl\nset one 1\n```\n\n- a list\n\n  ```fortran\n  integer :: two\n  ```\n"
        transcript.load([Item("a", "assistant", text)])
        assert not highlight._lexers.keys() & {"tcl", "fortran"}
        await drawn(pilot, transcript)
        assert "integer :: two" in "\n".join(shown(transcript))
        looks = {segment.text.strip(): segment.style for strip in transcript._view for segment in strip}
        assert looks["1"].color != looks["tcl"].color
        assert looks["integer"] != looks["two"]


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
        assert [e for e in app.seen if e[0] == "fold"] == [("fold", "t", False), ("fold", "t", True)]


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
        assert transcript.cursor is None
        await pilot.press("k")
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
        assert transcript.links("a") == urls


async def test_padding_around_the_text_moves_nothing_under_the_mouse():
    class Padded(Chat):
        CSS = "Transcript { padding: 1 3; }"

    app = Padded([Item("a", "assistant", "see [it](https://e.com) and more"), *conversation(9)])
    async with app.run_test(size=(60, 20)) as pilot:
        transcript = app.transcript
        await drawn(pilot, transcript)
        transcript.action_scroll_home()
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


async def test_a_double_click_takes_the_word_and_a_triple_one_the_line():
    app = Chat([Item("a", "assistant", "one two three\n\nfour")])
    async with app.run_test(size=(40, 12)) as pilot:
        transcript = app.transcript
        await drawn(pilot, transcript)
        await pilot.click(transcript, offset=(7, 1), times=2)
        assert app.screen.get_selected_text() == "two"
        await pilot.click(transcript, offset=(7, 1), times=3)
        assert app.screen.get_selected_text() == "one two three"


async def test_the_mouse_is_safe_while_text_streams_in():
    """Textual #6643: a press on a widget that streaming had just replaced ended the app. Here nothing is replaced."""
    rnd = random.Random(3)
    app = Chat([*conversation(3), Item("t", "tool", "x\n" * 20), Item("s", "assistant")])
    text = mixed(2400)
    async with app.run_test(size=(60, 20)) as pilot:
        transcript = app.transcript
        await drawn(pilot, transcript)
        for i in range(0, len(text), 80):
            transcript.append("s", text[i : i + 80])
            x, y = rnd.randrange(60), rnd.randrange(transcript.size.height)
            await rnd.choice([pilot.click, pilot.mouse_down, pilot.mouse_up, pilot.hover])(transcript, offset=(x, y))
        await drawn(pilot, transcript)
        check(transcript)
        assert transcript.items[-1].text == text


async def test_nothing_is_coloured_with_no_color(monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    app = Chat([Item("u", "user", "q"), Item("a", "assistant", mixed(900), state="stopped")])
    async with app.run_test(size=(60, 30)) as pilot:
        await drawn(pilot, app.transcript)
        for strip in app.screen._compositor.render_strips():
            for filter in app._filters:
                strip = strip.apply_filter(filter, app.transcript.background_colors[1])
            for segment in strip:
                for color in (segment.style.color, segment.style.bgcolor) if segment.style else ():
                    assert color is None or color.triplet is None or len(set(color.triplet)) == 1


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


async def test_hostile_text_reaches_no_strip():
    entity = "a &#x202e; b &#27;[2J &#x9b; &#8206; &#0; end"
    text = f"{HOSTILE}\n\n# {HOSTILE}\n- {HOSTILE}\n> {HOSTILE}\n\n```{HOSTILE}\n{HOSTILE}\n```\n"
    text += f"[x](http://{HOSTILE})\n\n{entity}\n\n| {HOSTILE} |\n|---|\n| {HOSTILE} |\n"
    kinds = ("user", "assistant", "thinking", "tool", "notice", "error", "rule")
    items = [
        Item(kind + str(n), kind, one, HOSTILE, HOSTILE, HOSTILE, HOSTILE)
        for n, one in enumerate((text, HOSTILE, ""))
        for kind in kinds
    ]
    app = Chat(items)
    bad = set("\x1b\x00\x07\x08\x0b\x7f\x85\x9b\u061c\u200e\u200f\u2028\u2029\U000e0041\ud800") | {
        chr(c) for c in (*range(0x202A, 0x202F), *range(0x2066, 0x206A))
    }
    async with app.run_test(size=(60, 30)) as pilot:
        transcript = app.transcript
        for query in ("", "abc"):
            transcript.find(query)
            transcript.action_scroll_home()
            while not transcript.following:
                await pilot.pause()
                for line in shown(transcript):
                    assert not bad & set(line)
                check(transcript)
                transcript.action_page_down()
        assert not bad & set(transcript.get_selection(Selection(None, None))[0])


@pytest.mark.parametrize("seed", range(2))
async def test_invariants_hold_through_any_use(seed):
    rnd = random.Random(seed)
    texts = list(CORPUS.values())
    app = Chat()
    serial = 0
    async with app.run_test(size=(100, 30)) as pilot:
        transcript = app.transcript

        def new() -> Item:
            nonlocal serial
            serial += 1
            kind = rnd.choice(["user", "assistant", "assistant", "thinking", "tool", "notice", "error", "rule"])
            return Item(str(serial), kind, rnd.choice(texts), "label", "title()", rnd.choice(["", "running", "done"]),
                        rnd.choice(["", "detail\n" * 30]), rnd.random() < 0.5)  # fmt: skip

        transcript.load([new() for _ in range(30)])
        for _ in range(70):
            keys = [item.key for item in transcript.roll.items]
            key = rnd.choice(keys) if keys else None
            act = rnd.randrange(18)
            if act < 3:
                transcript.scroll_to(y=rnd.randint(0, int(transcript.max_scroll_y)), animate=False)
            elif act == 3:
                transcript.scroll_relative(y=rnd.randint(-40, 40), animate=False)
            elif act == 4:
                rnd.choice([transcript.action_page_up, transcript.action_page_down])()
            elif act == 5:
                rnd.choice([transcript.action_scroll_home, transcript.action_scroll_end])()
            elif act == 6:
                await pilot.resize_terminal(rnd.randint(20, 140), rnd.randint(8, 50))
            elif act == 7:
                transcript.add(new())
            elif act in (8, 9, 10) and key:
                transcript.append(rnd.choice([key, keys[-1]]), rnd.choice(texts)[: rnd.randint(1, 400)])
            elif act == 11 and key:
                transcript.change(
                    key, text=rnd.choice(texts), state=rnd.choice(["", "stopped"]), folded=rnd.random() < 0.5
                )
            elif act == 12 and key:
                transcript.remove(key)
            elif act == 13 and key:
                transcript.fold(key, rnd.random() < 0.5)
            elif act == 14:
                transcript.fold_all(rnd.choice(["tool", "thinking"]), rnd.random() < 0.5)
            elif act == 15:
                transcript.find(rnd.choice(["a", "line", "x", "zzz", ""]))
                transcript.find_next()
                transcript.find_previous()
            elif act == 16:
                transcript.move_cursor(rnd.choice([-3, -1, 1, 3]))
            elif act == 17:
                x, y = rnd.randrange(transcript.size.width), rnd.randrange(transcript.size.height)
                await pilot.mouse_down(transcript, offset=(x, y))
                await pilot.hover(transcript, offset=(x // 2, y // 2))
                await pilot.mouse_up(transcript, offset=(x // 2, y // 2))
            if rnd.random() < 0.4:
                await drawn(pilot, transcript)
                check(transcript)
        await drawn(pilot, transcript)
        transcript.load([])
        await drawn(pilot, transcript)
        check(transcript)


async def test_code_blocks_are_given_as_they_were_written():
    app = Chat([Item("a", "assistant", "x\n\n```python\na\tb\n```\n\n- y\n\n  ~~~\n  z\n  ~~~\n")])
    async with app.run_test() as pilot:
        await pilot.pause()
        assert app.transcript.code_blocks("a") == ["a\tb\n", "z\n"]


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
