"""The cursor over the messages is there as soon as its keys are, and the footer shows what works on the message under it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from fireside.testing import FakeModel, tool_call
from fireside_tui.transcript.blocks import code_sources, has_code
from fireside_tui.transcript.inline import has_links, links_of

from tests.tui.app_support import Opened, calls_of, opened, talk


def footer(it: Opened) -> list[str]:
    """The keys of the place, without those that always work."""
    return re.split(r"  +", str(it.main.query_one("#keys").content).split("Ctrl+A")[0].strip())


async def on(it: Opened, key: str) -> list[str]:
    it.main.chat.transcript.set_cursor(key)
    await it.pilot.pause()
    return footer(it)


async def test_who_goes_to_the_messages_sees_the_cursor_at_once_and_nothing_moves(tmp_path: Path) -> None:
    id = await talk(tmp_path, "Hi", "line\n" * 60)
    async with opened(tmp_path, [], resume=id, size=(120, 24)) as it:
        transcript = it.main.chat.transcript
        transcript.scroll_relative(y=-8, animate=False)
        await it.until(lambda: not transcript.busy)
        before = transcript.roll.anchor
        await it.press("shift+tab")
        assert transcript.has_focus
        assert transcript.cursor == transcript.items[transcript.roll.screen(transcript._height)[-1][0]].key
        assert transcript.roll.anchor == before
        assert any(strip.text.startswith("▎") for strip in transcript._view)
        assert "c Copy" in footer(it)


async def test_the_footer_shows_what_works_on_the_message_under_the_cursor(tmp_path: Path) -> None:
    answers = [
        ["Plain words.", tool_call("nothing", value="x")],
        "See https://e.com and\n\n```py\nx = 1\n```\n",
    ]
    async with opened(tmp_path, FakeModel(answers), size=(120, 36)) as it:
        await it.send("Hi")
        it.main.chat.reload()
        await it.press("shift+tab")
        items = {item.kind: item.key for item in reversed(it.main.chat.transcript.items)}
        last = it.main.chat.transcript.items[-1].key
        assert await on(it, items["user"]) == ["c Copy", "e Edit", "f Fork", "o Pager"]
        assert await on(it, items["assistant"]) == ["c Copy", "f Fork", "o Pager"]
        assert await on(it, last) == ["c Copy", "b Copy code", "f Fork", "o Pager", "l Links"]
        assert (await on(it, items["tool"]))[0] == "Enter Unfold"
        assert not {"b Copy code", "e Edit", "l Links"} & set(footer(it))
        await it.press("enter")
        assert footer(it)[0] == "Enter Fold"
        it.main.action_command("message_unfold")
        await it.pilot.pause()
        assert footer(it)[0] == "Enter Unfold"


async def test_the_cursor_finds_another_message_when_its_own_goes(tmp_path: Path) -> None:
    id = await talk(tmp_path, "Hi")
    async with opened(tmp_path, [], resume=id) as it:
        transcript = it.main.chat.transcript
        it.main.go_to(transcript)
        await it.until(lambda: transcript.cursor)
        gone = transcript.cursor
        transcript.remove(gone)
        await it.until(lambda: transcript.cursor not in (None, gone))


async def test_a_move_of_the_cursor_parses_no_long_text(tmp_path: Path) -> None:
    long = "words and https://e.com\n\n" * 40_000
    async with opened(tmp_path, [long], size=(120, 36)) as it:
        await it.send("Hi")
        transcript = it.main.chat.transcript
        from markdown_it import MarkdownIt

        with calls_of(MarkdownIt, "parse") as parses:
            assert transcript.abilities(transcript.items[-1].key) >= {"text", "links"}
            assert parses.count == 0


@pytest.mark.parametrize(
    "text",
    [
        "words", "```\nx\n```", "~~~\nx\n~~~", "a `b` c", "- x\n\n      code\n", "- ```\n  x\n  ```", "> ```\n> x\n> ```",
        "    code", "para\n    no code", "[a](https://b.c)", "[a](file:///b)", "`https://in.code`", "https://b.c", "no://x",
        "1. ~~~\n   x",
    ],
)  # fmt: skip
def test_what_a_short_text_has_is_known_and_a_long_ones_fences_are_seen(text: str) -> None:
    assert has_code(text) == bool(code_sources(text))
    assert has_links(text) == bool(links_of(text))
    if ("```" in text or "~~~" in text) and code_sources(text):
        assert has_code("words\n\n" * 3000 + text)
