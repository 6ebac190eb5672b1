"""A tool call that asks: its card can't be spoofed, shows each argument, and says how to answer from anywhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from fireside import tool
from fireside.testing import FakeModel, tool_call
from fireside_tui.screens.call import Arguments, CallView
from fireside_tui.widgets.arguments import BAR, brief, whole

from tests.tui.app_support import Opened, opened

SPOOF = {"text": "hi\npath: notes.txt\n\n\n\n\n\n\n\nx", "path": "~/.ssh/authorized_keys"}


@tool
def write_file(text: str, path: str) -> str:
    """Writes a file."""
    return f"wrote {path}"


def lines_of(args: dict[str, Any], width: int = 60, room: int = 8) -> list[str]:
    return [line.plain for line in brief(args, width, room)]


async def asks(it: Opened) -> None:
    await it.until(lambda: it.current.approval is not None and it.main.chat.approval_bar.approval is not None)


def card(it: Opened) -> list[str]:
    return str(it.main.chat.approval_bar.content).split("\n")


async def test_no_value_looks_like_another_argument_and_the_real_one_is_seen(tmp_path: Path) -> None:
    model = FakeModel([tool_call("write_file", **SPOOF), "done"])
    async with opened(tmp_path, model, size=(80, 24), tools=[write_file]) as it:
        await it.send("go", answered=False)
        await asks(it)
        shown = card(it)
        assert [line for line in shown if line.startswith("path")] == ['path: "~/.ssh/authorized_keys"']
        assert any(line == "  │ path: notes.txt" for line in shown)
        assert all(f"{key} " in "   ".join(shown[-2:]) for key in "ynarv")
        assert len(shown) == it.main.chat.approval_bar.content_size.height
        await it.press("escape")


async def test_one_key_opens_all_of_a_call(tmp_path: Path) -> None:
    text = "\n".join(f"line {n}" for n in range(200))
    model = FakeModel([tool_call("write_file", text=text, path="p"), "done"])
    async with opened(tmp_path, model, tools=[write_file]) as it:
        await it.send("go", answered=False)
        await asks(it)
        assert any("more lines" in line for line in card(it))
        await it.press("v")
        await it.until(lambda: isinstance(it.app.screen, CallView) and it.app.screen.query_one(Arguments)._lines)
        view = it.app.screen.query_one(Arguments)
        assert [line.plain for line in view._lines][2:] == [f"{BAR}line {n}" for n in range(199)] or any(
            line.plain == f"{BAR}line 199" for line in view._lines
        )
        await it.press("end")
        await it.until(
            lambda: any("line 199" in strip.text for strip in map(view.render_line, range(view.size.height)))
        )
        await it.press("escape")
        await it.press("y")
        await it.until(lambda: it.current.state.answer == "done")


@pytest.mark.parametrize("width", [24, 46, 76])
@pytest.mark.parametrize(
    "value",
    [
        "x" * 500,
        "a\n" * 300,
        "漢" * 400,
        {"a": ["b" * 300]},
        "\x1b[2Jpath: x",
        "\u202epath: x",
        " " * 300,
        '"\npath: "x"',
    ],
)
def test_each_argument_has_its_name_and_a_beginning_and_fits(value: Any, width: int) -> None:
    from rich.cells import cell_len

    args = {"text": value, "path": "/etc/passwd", "mode": 5}
    for room in (3, 4, 8):
        lines = lines_of(args, width, room)
        assert len(lines) <= room
        assert all(cell_len(line) <= width for line in lines)
        assert 'path: "/etc/passwd"' in lines
        assert "mode: 5" in lines
        own = [line for line in lines if not line.startswith(BAR)]
        assert len(own) == 3
        assert lines[-1] != "text:"
    assert sum(not line.plain.startswith(BAR) for line in whole(args, width)) == 3


def test_what_is_hidden_is_told_with_how_much() -> None:
    (line,) = lines_of({"command": "rm " + "x" * 500 + " /home"}, 60, 1)
    assert line.startswith('command: "rm x')
    assert line.endswith('/home"')
    assert " more … " in line
    shown = lines_of({"text": "\n".join("abc" for _ in range(30))}, 60, 5)
    assert shown[-1] == "  │ … 27 more lines, 107 characters"


def test_more_arguments_than_lines_are_all_named() -> None:
    lines = lines_of({f"a{n}": "v" for n in range(9)}, 60, 4)
    assert len(lines) == 4
    assert lines[-1] == "… 6 more: a3, a4, a5, a6, a7, a8"


def test_a_name_that_is_none_is_quoted() -> None:
    assert lines_of({"path: /tmp/x\n": "v"})[0].startswith('"path: /tmp/x\\n": ')


async def test_who_is_writing_reading_or_in_the_list_is_told_how_to_answer_and_one_key_leads_there(
    tmp_path: Path,
) -> None:
    import asyncio

    go = asyncio.Event()

    @tool(read_only=True)
    async def look() -> str:
        """Looks."""
        await go.wait()
        return "seen"

    model = FakeModel([tool_call("look"), tool_call("write_file", **SPOOF), "done"])
    async with opened(tmp_path, model, size=(80, 24), tools=[look, write_file]) as it:
        keys = it.main.query_one("#keys")
        await it.send("go", answered=False)
        await it.until(lambda: "using look" in it.current.activity)
        assert "F2" not in str(keys.content)
        await it.write("and then")
        go.set()
        await asks(it)
        places = [it.main.chat.composer, it.main.sidebar.rows, it.main.sidebar.filter, it.main.chat.transcript]
        for place in places:
            it.main.go_to(place)
            await it.rows()
            await it.until(lambda: str(keys.content).startswith("F2 Answer"))
            assert it.status.startswith("waits for your answer: F2, then y, n, a or r")
            assert any("F2, then" in line for line in card(it))
            await it.press("f2")
            await it.until(lambda: it.main.chat.approval_bar.has_focus)
            await it.until(lambda: str(keys.content).startswith("y Yes"))
            assert "F2" not in it.status
        await it.press("y")
        await it.until(lambda: it.current.state.answer == "done")
        assert it.box == "and then"
        await it.rows()
        await it.until(lambda: "F2" not in str(keys.content))


async def test_the_key_leads_to_a_call_that_waits_in_another_conversation(tmp_path: Path) -> None:
    async with opened(tmp_path, FakeModel([tool_call("write_file", **SPOOF), "done"]), tools=[write_file]) as it:
        await it.press("f2")
        assert it.said == ["No tool call waits for an answer."]
        await it.send("go", answered=False)
        await asks(it)
        asking = it.current
        await it.press("ctrl+n")
        await it.until(lambda: it.current is not asking)
        await it.rows()
        await it.until(lambda: str(it.main.query_one("#keys").content).startswith("F2 Answer"))
        await it.press("f2")
        await it.until(lambda: it.current is asking and it.main.chat.approval_bar.has_focus)
        await it.press("n")
        await it.until(lambda: not it.current.running)
