"""Find and search lead to the place itself: its row is on the screen, it is marked, and one is told where one is."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
from fireside import Agent, FileStore, State
from fireside.testing import FakeModel, tool_call
from fireside_tui.search import SearchIndex
from textual.widgets import OptionList, Static

from tests.tui.app_support import Opened, opened, talk

LONG = "\n\n".join(f"Paragraph {n} of many, with *some* words in it.\n\n- an item\n- another" for n in range(13_000))


def find_line(it: Opened) -> str:
    line = it.main.query_one("#find")
    return str(line.content) if line.display else ""


def rows(it: Opened) -> list[str]:
    return [strip.text.strip() for strip in it.main.chat.transcript._view]


def marked(it: Opened, name: str = "hit-now") -> str:
    """What is marked on the screen."""
    transcript = it.main.chat.transcript
    ground = transcript._painter.style_of_mark(name).bgcolor
    return " ".join(s.text for strip in transcript._view for s in strip if s.style and s.style.bgcolor == ground)


async def searched(it: Opened, words: str) -> None:
    await it.press("ctrl+f")
    await it.until(lambda: len(it.app.screen_stack) == 3)
    it.app.screen.query_one("#search-words").value = words
    await it.until(lambda: it.app.screen.query_one(OptionList).option_count)
    await it.press("enter")
    await it.until(lambda: len(it.app.screen_stack) == 2)


async def test_a_search_leads_to_the_row_of_the_hit_in_a_megabyte_and_marks_it(tmp_path: Path) -> None:
    at = LONG.index("Paragraph 9000 ")
    text = f"{LONG[:at]}Here the **Crème** and the walrus\nstand together.\n\n{LONG[at:]}"
    assert len(text) > 900_000
    state = State("the walrus of another message")
    await Agent(FakeModel([text]), store=FileStore(tmp_path / "store")).arun(state)
    async with opened(tmp_path, []) as it:
        await searched(it, "creme walrus stan")
        await it.until(lambda: it.main.chat.transcript.found and it.main.chat.transcript.found.which)
        assert it.current.id == state.id
        assert any("Here the Crème and the walrus" in row for row in rows(it))
        assert marked(it) == "Crème"
        assert marked(it, "hit") == "walrus stan"
        assert find_line(it).startswith("“creme walrus stan” 2 of 4 ")
        await it.press("f3")
        await it.until(lambda: find_line(it).startswith("“creme walrus stan” 3 of 4 "))
        assert marked(it) == "walrus"
        await it.press("shift+f3", "shift+f3")
        await it.until(lambda: " 1 of 4 " in find_line(it))
        assert any("of another message" in row for row in rows(it))


async def test_a_search_leads_to_a_tools_result(tmp_path: Path) -> None:
    async with opened(tmp_path, FakeModel([["words", tool_call("nothing", value="gnu")], "x"])) as it:
        await it.send("Hi")
        await it.press("ctrl+n")
        await searched(it, "no tool")
        await it.until(lambda: it.main.chat.transcript.found and it.main.chat.transcript.found.which)
        assert marked(it) == "no"
        assert marked(it, "hit").startswith("tool")


async def test_a_conversation_that_was_found_by_its_title_is_opened_without_marks(tmp_path: Path) -> None:
    async with opened(tmp_path, ["an answer"]) as it:
        await it.send("Hi")
        await it.command("/rename Walrus")
        await it.until(lambda: it.current.state.title == "Walrus")
        await it.press("ctrl+n")
        await searched(it, "walrus")
        await it.until(lambda: not it.current.empty)
        await it.pilot.pause()
        assert find_line(it) == ""


async def test_while_it_looks_it_says_so_and_an_enter_waits_for_the_hits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go = threading.Event()
    search = SearchIndex.search

    def slow(index: SearchIndex, query: str, limit: int = 50) -> Any:
        if query:
            assert go.wait(20)
        return search(index, query, limit)

    monkeypatch.setattr(SearchIndex, "search", slow)
    await talk(tmp_path, "a walrus")
    async with opened(tmp_path, []) as it:
        await it.press("ctrl+f")
        await it.until(lambda: len(it.app.screen_stack) == 3)
        state = it.app.screen.query_one("#search-state", Static)
        await it.until(lambda: str(state.content) == "Words, in any order")
        await it.press(*"walrus")
        assert str(state.content) == "Searching …"
        await it.press("enter")
        assert len(it.app.screen_stack) == 3
        go.set()
        await it.until(lambda: len(it.app.screen_stack) == 2)
        await it.until(lambda: marked(it) == "walrus")


@pytest.mark.parametrize("size", [(100, 30), (60, 20), (30, 10)])
async def test_find_tells_which_place_of_how_many_and_the_keys_that_go_on(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    id = await talk(tmp_path, *(f"a pear, and pear {n}" for n in range(9)))
    async with opened(tmp_path, [], resume=id, size=size) as it:
        await it.command("/find pear")
        await it.until(lambda: "36 of 36" in find_line(it))
        if size[0] >= 60:
            assert "F3 next" in find_line(it)
            assert "Esc ends" in find_line(it)
        assert len(find_line(it)) <= it.main.query_one("#find").content_size.width
        await it.press("f3")
        await it.until(lambda: "1 of 36" in find_line(it))
        await it.press("f3", "f3", "f3")
        await it.until(lambda: "4 of 36" in find_line(it))
        await it.press("shift+f3")
        await it.until(lambda: "3 of 36" in find_line(it))
        await it.command("/find-next")
        await it.until(lambda: "4 of 36" in find_line(it))
        assert it.said == []  # nothing lies over the places
        await it.press("escape")
        await it.until(lambda: find_line(it) == "")
        assert not marked(it)


async def test_what_is_not_there_is_said_and_takes_the_old_marks_away(tmp_path: Path) -> None:
    id = await talk(tmp_path, "a pear")
    async with opened(tmp_path, [], resume=id) as it:
        await it.press("f3")
        await it.until(lambda: it.said == ["/find and words look for them here."])
        await it.command("/find pear")
        await it.until(lambda: "of 2" in find_line(it))
        await it.command("/find [/] apple")
        await it.until(lambda: it.said[-1:] == ["“[/] apple” is not in this conversation."])
        assert find_line(it) == ""


async def test_another_conversation_has_no_marks(tmp_path: Path) -> None:
    id = await talk(tmp_path, "a pear")
    async with opened(tmp_path, [], resume=id) as it:
        await it.command("/find pear")
        await it.until(lambda: find_line(it))
        await it.press("ctrl+n")
        await it.until(lambda: not find_line(it))
