"""What leaves the house: JSON holds everything exactly, Markdown can be read and nothing in it breaks out."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from fireside import Agent, FileStore, Reply, Text
from fireside.messages import Image
from fireside.models import Delta
from fireside.state import State
from fireside_tui.export import export, file_name, to_json, to_markdown
from fireside_tui.reading import Call, Note, Said, read
from markdown_it import MarkdownIt

NASTY = "a\x1b]52;c;aGk=\x07b [bold]x[/] \u202e \x00 \ud800 ```\n</details><!-- \n~~~\n# no heading\r\nlast"


def reply(state: State, *blocks: Any, stop: str = "end_turn") -> None:
    content = {"blocks": list(blocks), "stop_reason": stop, "usage": {}, "model": "m", "seen": state.history[-1].seq}
    state._append("reply", content)


def text(words: str) -> dict[str, str]:
    return {"type": "text", "text": words}


@pytest.fixture
def talk() -> State:
    """One of everything."""
    state = State("Why does *it* fail?", id="talk")
    call = {"type": "tool_call", "id": "c1", "name": "read_file", "args": {"path": "a```b"}}
    reply(state, {"type": "thinking", "text": "hmm"}, text("Let me look."), call, stop="tool_use")
    state._append("tool_result", "line\n````\nline", call=state.pending_calls[0])
    seen = state.history[-1].seq
    state._append("partial_reply", {"seen": seen, "attempt": 1, "delta": [[0, "text", "Beca"]]})
    state._append("partial_reply", {"seen": seen, "attempt": 1, "void": True})
    state._append("partial_reply", {"seen": seen, "attempt": 2, "delta": [[0, "text", "Because "]]})
    reply(state, text("Because of X."))
    state.add_user_message("", Image("aGk=", "image/png"))
    seen = state.history[-1].seq
    state._append("partial_reply", {"seen": seen, "attempt": 1, "delta": [[0, "text", "It st"]]})
    state._append("partial_reply", {"seen": seen, "attempt": 1, "delta": [[0, "text", "ops"]], "cut": True})
    state._append("error", "OSError: no network", is_error=True)
    state.rename("A *talk*")
    return state


def test_reading_joins_calls_with_results_and_keeps_only_what_stands(talk: State) -> None:
    items = read(talk)
    said = [(item.who, item.text, item.cut) if isinstance(item, Said) else item.text for item in items]
    assert said == [
        ("you", "Why does *it* fail?", ""),
        ("claude", "Let me look.", ""),
        ("claude", "Because of X.", ""),
        ("you", "", ""),
        ("claude", "It stops", "an error"),
        "OSError: no network",
    ]
    calls = [part for item in items if isinstance(item, Said) for part in item.parts if isinstance(part, Call)]
    assert [(call.call.name, call.outcome) for call in calls] == [("read_file", "done")]


def test_reading_survives_a_damaged_entry(talk: State) -> None:
    talk._entries[1] = talk._entries[1].__class__(1, "reply", 0, talk.created_at, {"nothing": "here"})
    assert [item.text for item in read(talk) if isinstance(item, Said)][:2] == ["Why does *it* fail?", "Because of X."]


def test_json_is_the_state_and_its_title_exactly() -> None:
    state = State(NASTY, id="nasty", data={"k": [1, "\udfff"]})
    state.record_data()
    whole = to_json(state)
    assert whole.isascii()
    assert not any(char < " " and char != "\n" for char in whole)
    assert json.loads(whole) == {"title": state.title, **state.to_json()}


def test_markdown_says_who_and_when_and_folds_calls_and_thinking(talk: State) -> None:
    shown = to_markdown(talk)
    assert shown.startswith("# A \\*talk\\*\n\n`talk` · begun ")
    assert shown.count("## You · ") == 2
    assert "> Why does *it* fail?" in shown
    assert "<details><summary>Thinking</summary>\n\n> hmm\n\n</details>" in shown
    assert "<details><summary>Tool call: read_file, done</summary>" in shown
    assert "`````\nline\n````\nline\n`````" in shown, "the fence is longer than any inside"
    assert "*(picture: image/png, 3 bytes)*" in shown
    assert "It stops\n\n*(cut off: an error)*" in shown
    assert "Beca\n" not in shown


@pytest.mark.parametrize(
    "nasty", [NASTY, "```\nopen", "~~~~ x\n```\n~~~", "<!-- open", "> ```\nx", "- ~~~\n  y", "<pre>"]
)
def test_nothing_in_a_message_swallows_the_next_one(nasty: str) -> None:
    state = State(nasty)
    reply(state, {"type": "thinking", "text": nasty}, text(nasty))
    state.add_user_message("the next")
    reply(state, text("the end"))
    shown = to_markdown(state)
    shown.encode()
    assert not set(shown) & set("\x1b\x07\x00\u202e\r")
    tokens = MarkdownIt().parse(shown)
    headings = [
        tokens[n + 1].content for n, token in enumerate(tokens) if token.type == "heading_open" and token.tag == "h2"
    ]
    assert [heading.split(" · ")[0] for heading in headings if " · " in heading] == ["You", "m"] * 2
    assert "<!--" not in shown.replace("`", "") or "<!--" not in MarkdownIt().render(shown)


def test_code_is_left_as_it_is_in_markdown() -> None:
    state = State("hi")
    reply(state, text("Use `List<int>` or\n```c\n#include <stdio.h>\n```\nsee <https://x.org>, not <b>"))
    shown = to_markdown(state)
    assert "Use `List<int>` or" in shown
    assert "#include <stdio.h>" in shown
    assert "see <https://x.org>, not &lt;b>" in shown


def test_file_names_are_harmless() -> None:
    for title in ("../../etc/passwd", "a/b\\c:d*e?", "\x1b[2J", "日本語 の 話", "x" * 500, "CON", "-rf"):
        name = file_name(State(title, id="i" * 20), "md")
        assert name.endswith(".md")
        assert not set(name) & set('/\\:*?"<>| \x1b')
        assert not name.startswith(("-", "."))
        assert len(name.encode()) < 255
    assert file_name(State(id="abc"), "json") == "conversation-abc.json"


def test_another_format_is_refused() -> None:
    with pytest.raises(ValueError, match="'md' or 'json'"):
        export(State("x"), "pdf")  # type: ignore[arg-type]


def test_notes_between_the_messages() -> None:
    state = State("one")
    checkpoint = state.checkpoint("before")
    reply(state, text("two"))
    state.restore(checkpoint)
    state.start_from("a summary")
    state.finish({"sum": 3})
    notes = [(note.kind, note.body) for note in read(state) if isinstance(note, Note)]
    assert notes == [
        ("checkpoint", ""),
        ("restore", ""),
        ("compact", "a summary"),
        ("finish", '{\n  "sum": 3\n}'),
    ]
    assert "The model's memory begins here" in to_markdown(state).replace("&#x27;", "'")


async def test_a_reply_that_is_being_written_is_not_said_to_be_cut_off(tmp_path: Path) -> None:
    seen: list[str] = []

    class Slow:
        name = "slow"

        async def stream(self, request: Any) -> AsyncIterator[Any]:
            yield Delta("text", "one ", 0)
            while not any(entry.kind == "partial_reply" for entry in state.history):
                await asyncio.sleep(0.01)
                yield Delta("text", "more ", 0)
            seen.append(export(state, "md"))
            yield Reply((Text("one"),))

        async def models(self) -> list[Any]:
            return []

    state = State("Hi")
    await Agent(Slow(), store=FileStore(tmp_path), save_partial_every=0.001).arun(state)
    assert "*(still coming)*" in seen[0]
    assert "cut off" not in seen[0]
    assert "still coming" not in export(state, "md")
