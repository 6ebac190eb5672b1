"""What an MCP server says, in fireside's words: names of tools, content of results. It needs no `mcp` package."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from typing import Any

from fireside.messages import Image, Json, Text
from fireside.requests import tool_name
from fireside.tools import content_of

LONGEST_NAME = 128
"""Characters that the API takes in the name of a tool."""

PICTURES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})


def names_of(server: str, tools: Iterable[str]) -> dict[str, str]:
    """Under which name the model gets to know each tool of a server, sorted by that name.

    What the API refuses in a name is mended; where two would be the same then, the mended ones are told apart by a hash
    of what the server calls them, so that a name does not depend on what else the server offers in which order.

    >>> names_of("files", ["read", "files.read"])
    {'files.read': 'files__files_read', 'read': 'files__read'}
    """
    whole = {tool: f"{server}__{tool}" for tool in tools}
    mended = {tool: tool_name(name) for tool, name in whole.items()}
    made = list(mended.values())
    for tool, name in mended.items():
        if name != whole[tool] and (made.count(name) > 1 or len(whole[tool]) > LONGEST_NAME):
            mark = "_" + hashlib.sha256(tool.encode("utf-8", "surrogatepass")).hexdigest()[:8]
            mended[tool] = name[: LONGEST_NAME - len(mark)] + mark
    return dict(sorted(mended.items(), key=lambda item: item[1]))


def content(blocks: Iterable[Any], structured: Json) -> Json:
    """The content of a result. Structured content counts where no words say it: a server is to give it in both forms."""
    parts = [_part(block) for block in blocks]
    if structured is not None and not any(isinstance(part, Text) for part in parts):
        parts.insert(0, Text(json.dumps(structured, ensure_ascii=False)))
    return content_of(parts[0].text if len(parts) == 1 and isinstance(parts[0], Text) else parts or None)


def words_of(blocks: Iterable[Any], structured: Json) -> str:
    """The words of a result that is an error: it takes words alone."""
    said = "\n".join(part.text for block in blocks if isinstance(part := _part(block), Text))
    return said or ("" if structured is None else json.dumps(structured, ensure_ascii=False))


def _part(block: Any) -> Text | Image:
    match block.type:
        case "text":
            return Text(block.text)
        case "image":
            return _data(block.data, block.mime_type, "a picture")
        case "audio":
            return _data(block.data, block.mime_type, "a sound")
        case "resource_link":
            told = " ".join(filter(None, [block.title or block.name, f"<{block.uri}>", block.description]))
            return Text(f"(a link: {told})")
        case "resource":
            resource = block.resource
            if (text := getattr(resource, "text", None)) is not None:
                return Text(f"{resource.uri}:\n{text}")
            return _data(resource.blob, resource.mime_type or "", f"the file {resource.uri}")
    return Text(f"(something of the kind {block.type!r}, which can't be shown)")


def _data(data: str, kind: str, what: str) -> Text | Image:
    if kind in PICTURES:
        return Image(data, kind)
    told = f", {kind}" if kind else ""
    return Text(f"({what}{told}, {len(data) * 3 // 4} bytes, which can't be shown)")
