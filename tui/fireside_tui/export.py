"""Conversations out: Markdown for people, JSON for programs. It knows the library's public names, not the screen.

The JSON is exact: every entry, every character. The Markdown is harmless: what a terminal could act on is shown as a mark,
and nothing inside a message ends the block that it stands in.
"""

from __future__ import annotations

import html
import json
import re
from typing import TYPE_CHECKING, Literal

from fireside_tui.fences import next_fence
from fireside_tui.reading import Call, Note, Said, read
from fireside_tui.safe_text import safe, safe_line

if TYPE_CHECKING:
    from fireside.messages import Block
    from fireside.state import State

Format = Literal["md", "json"]

_TAG = re.compile(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)|(<)(?=[a-zA-Z/!?])(?!https?://|mailto:)")  # a code span, or a tag
NAMES = {"you": "You", "claude": "Claude"}


def export(state: State, format: Format) -> str:
    """The conversation as `"md"` or `"json"`; `ValueError` for another format."""
    if format == "md":
        return to_markdown(state)
    if format == "json":
        return to_json(state)
    raise ValueError(f"the format is 'md' or 'json', not {format!r}")


def to_json(state: State) -> str:
    """All of it, exactly: `state.to_json()` and the title. Only ASCII, so it survives any pipe and any terminal."""
    whole = state.to_json()
    return json.dumps({"id": whole.pop("id"), "title": state.title, **whole}, indent=2) + "\n"


def to_markdown(state: State) -> str:
    """The conversation to read: who said what and when, tool calls and thinking folded away."""
    items = read(state)
    models = dict.fromkeys(item.model for item in items if isinstance(item, Said) and item.model)
    facts = [
        f"`{state.id}`",
        f"begun {state.created_at:%Y-%m-%d %H:%M} UTC",
        *models,
        f"{state.turn} {'turn' if state.turn == 1 else 'turns'}",
    ]
    blocks = [f"# {_inline(state.title) or 'Untitled'}", " · ".join(facts)]
    for item in items:
        blocks += _said(item) if isinstance(item, Said) else _note(item)
    return safe("\n\n".join(blocks)) + "\n"


def file_name(state: State, format: Format) -> str:
    """A name for the file: the title in letters that every system takes, and the start of the id.

    >>> from fireside import State
    >>> file_name(State("What is ../../etc?", id="0123456789"), "md")
    'what-is-etc-01234567.md'
    """
    words = "-".join(re.findall(r"\w+", safe_line(state.title).lower()))[:48].strip("-_")
    return f"{words or 'conversation'}-{state.id[:8]}.{format}"


def _said(said: Said) -> list[str]:
    blocks = [f"## {NAMES.get(said.name, said.name)} · {said.at:%Y-%m-%d %H:%M}"]
    for part in said.parts:
        blocks += _call(part) if isinstance(part, Call) else _block(part, said.who)
    if said.end:
        blocks.append(f"*({_inline(said.end)})*")
    return blocks


def _block(block: Block, who: str) -> list[str]:
    from fireside.messages import Image, Text, Thinking, Unknown

    match block:
        case Text(text) if text.strip():
            # What a person typed is quoted: the quote's end closes whatever was left open in it.
            return [_quoted(text) if who == "you" else closed(text.strip("\n"))]
        case Thinking(text) if text.strip():
            return _details("Thinking", [_quoted(text)])
        case Thinking():
            return ["*(thinking, not shown by the provider)*"]
        case Image(data, media_type):
            return [f"*(picture: {_inline(media_type)}, {len(data) * 3 // 4:,} bytes)*"]
        case Unknown():
            return ["*(a block of a kind that this version does not know)*"]
    return []


def _call(call: Call) -> list[str]:
    from fireside.messages import Image

    raw = call.call.unreadable
    arguments = json.dumps(call.call.args, ensure_ascii=False, indent=2) if raw is None else raw
    inside = [fenced(arguments, "json" if raw is None else "")]
    if call.result is not None:
        inside += ["Result:", fenced(call.result.text)]
        if any(isinstance(block, Image) for block in call.result.blocks):
            inside.append("*(with a picture)*")
    return _details(f"Tool call: {call.call.name}, {call.outcome}", inside)


def _note(note: Note) -> list[str]:
    if note.kind == "compact":
        return ["---", *_details(note.text[:1].upper() + note.text[1:], [_quoted(note.body)])]
    if note.body:
        return _details(note.text, [_quoted(note.body)])
    return [f"*({_inline(note.text)})*"]


def _details(summary: str, blocks: list[str]) -> list[str]:
    return [f"<details><summary>{html.escape(_one_line(summary))}</summary>", *blocks, "</details>"]


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in _escaped(text).strip("\n").split("\n"))


def _escaped(text: str) -> str:
    """Without tags, outside of code: an unclosed comment or `</details>` would reach beyond its block."""
    out, fence = [], ""
    for line in text.replace("\r\n", "\n").split("\n"):
        fence, inside = next_fence(line, fence)
        out.append(line if inside else _TAG.sub(lambda match: "&lt;" if match[2] else match[0], line))
    return "\n".join(out)


def fenced(text: str, language: str = "") -> str:
    """A code block whose fence is longer than any in the text."""
    longest = max(map(len, re.findall(r"`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text.rstrip(chr(10))}\n{fence}"


def closed(text: str) -> str:
    """A message's own Markdown, with what it left open closed, so that it does not swallow what follows.

    >>> closed("Look:\\n~~~py\\nx = 1")
    'Look:\\n~~~py\\nx = 1\\n~~~'
    """
    fence = ""
    text = _escaped(text)
    for line in text.split("\n"):
        fence, _ = next_fence(line, fence)
    return f"{text}\n{fence}" if fence else text


def _inline(text: str) -> str:
    return re.sub(r"([\\`*_{}\[\]<>#|~])", r"\\\1", _one_line(text))


def _one_line(text: str) -> str:
    return " ".join(safe_line(text).split())


__all__ = ["Format", "export", "file_name", "to_json", "to_markdown"]
