"""Whatever is shown and whatever is done: hostile text, no colours, the mouse in a stream, a thousand random acts."""

from __future__ import annotations

import random
import sys

import pytest
from fireside_tui.transcript import Item, highlight
from helpers_transcript import CORPUS, Chat, check, conversation, drawn, mixed, shown
from textual.selection import Selection

HOSTILE = "\x1b]52;c;aGk=\x07\x1b[2J\x9b31m\x00\x7f\x0b\x08\u202eabc\u2066\u200f\u061c\u2028\u0085"
HOSTILE += "\ud800\U000e0041 [red]x[/red] [/"


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


async def test_code_is_shown_where_the_highlighter_can_not_be_loaded(monkeypatch):
    monkeypatch.setitem(sys.modules, "pygments.lexers", None)
    monkeypatch.setattr(highlight, "_lexers", {})
    app = Chat([Item("a", "assistant", "```python\nx = 1\n```\n")])
    async with app.run_test(size=(60, 20)) as pilot:
        await drawn(pilot, app.transcript)
        assert "    x = 1" in shown(app.transcript)
        assert not highlight.loading()


def test_a_text_in_many_languages_makes_each_lexer_once():
    names = [f"no-language-{n}" for n in range(100)]
    for name in names:
        highlight.highlight("x = 1", name)
    assert all(highlight.ready(name) for name in names)


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
