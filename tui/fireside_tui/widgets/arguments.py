"""The arguments of a tool call as lines of text. Knows no widget.

A value is quoted as in JSON, or stands line by line behind a bar: whatever a model writes into it, it can't look like
another argument.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from rich.cells import cell_len, chop_cells
from textual.content import Content

from fireside_tui.safe_text import safe, safe_line, without_stray_joiners

BAR = "  │ "
NAME = "$text-accent"
MUTED = "$text-muted"


def brief(args: Mapping[str, Any], width: int, room: int) -> list[Content]:
    """All arguments in at most `room` lines: each with its name and at least the beginning of its value, short ones first.

    What is left out is told, with how much it is.
    """
    named = sorted(args.items(), key=lambda item: not _is_short(item[0], item[1], width))
    if len(named) > room:
        shown, rest = named[: max(0, room - 1)], named[max(0, room - 1) :]
        names = ", ".join(_name(name, width) for name, _ in rest)
        more = safe_line(f"… {len(rest)} more: {names}", width)
        return [*(_in_one_line(name, value, width) for name, value in shown), Content(more).stylize(MUTED)]
    lines: list[Content] = []
    spare, left = room - len(named), sum(not _is_short(name, value, width) for name, value in named)
    for name, value in named:
        if _is_short(name, value, width):
            lines.append(_in_one_line(name, value, width))
            continue
        block = _block(value, width, spare // left)
        left -= 1
        spare -= len(block)
        lines += [_head(name, width), *block] if block else [_in_one_line(name, value, width)]
    return lines


def whole(args: Mapping[str, Any], width: int) -> list[Content]:
    """All arguments with all of their values, long lines wrapped."""
    lines: list[Content] = []
    for name, value in args.items():
        if _is_short(name, value, width):
            lines.append(_in_one_line(name, value, width))
        else:
            lines += [_head(name, width), *(_barred(piece) for piece in _pieces(_plain(value), width - len(BAR)))]
    return lines


def _quoted(value: object) -> str:
    return safe_line(json.dumps(value, ensure_ascii=False, default=str))


def _plain(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str, indent=2)
    return without_stray_joiners(safe(text)).expandtabs(4)


def _name(name: str, width: int) -> str:
    return safe_line(name if re.fullmatch(r"[\w.-]+", name) else _quoted(name), max(8, width // 2))


def _head(name: str, width: int) -> Content:
    return Content.assemble((_name(name, width), NAME), ":")


def _barred(text: str) -> Content:
    return Content.assemble((BAR, MUTED), text)


def _is_short(name: str, value: object, width: int) -> bool:
    """Whether all of it is seen in one line."""
    if isinstance(value, str) and (len(value) > width or "\n" in value):
        return False
    return cell_len(f"{_name(name, width)}: {_quoted(value)}") <= width


def _in_one_line(name: str, value: object, width: int) -> Content:
    """Its name and as much of the value as fits: its beginning, and its end where there is room for both."""
    head = _head(name, width)
    room = width - head.cell_length - 1
    text = _quoted(value)
    if cell_len(text) <= room:
        return Content.assemble(head, " ", text)
    raw = value if isinstance(value, str) else text
    part = _quoted if isinstance(value, str) else safe_line
    room -= len(f" … {len(raw):,} more … ")
    end = part(raw[-n:]) if (n := _fits(raw[::-1], room // 3, lambda t: part(t[::-1]))) and room >= 24 else ""
    n = n if end else 0
    m = max(1, _fits(raw, room - cell_len(end), part))
    told = f" … {len(raw) - m - n:,} more{' … ' if end else ''}"
    return Content.assemble(head, " ", part(raw[:m]), (told, MUTED), end)


def _fits(text: str, width: int, form: Any) -> int:
    """How many of the first characters fit into a width, in that form."""
    count = max(0, min(len(text), width))
    while count and cell_len(form(text[:count])) > width:
        count -= 1
    return count


def _block(value: object, width: int, room: int) -> list[Content]:
    """A long value behind its bar, in at most `room` lines; none where they would not show more than one line does."""
    if room < 2:
        return []
    text = _plain(value)
    pieces = [*islice(_pieces(text, width - len(BAR)), room + 1)]
    if len(pieces) <= room:
        return [_barred(piece) for piece in pieces]
    shown, at = pieces[: room - 1], 0
    for piece in shown:
        at += len(piece)
        at += text[at : at + 1] == "\n"
    lines = text.count("\n", at) + 1
    told = f"… {lines:,} more line{'s' if lines > 1 else ''}, {len(text) - at:,} characters"
    return [*map(_barred, shown), Content.assemble((BAR + safe_line(told, width - len(BAR)), MUTED))]


def _pieces(text: str, width: int) -> Iterator[str]:
    """The lines of a text, wrapped."""
    width = max(4, width)
    for line in text.split("\n"):
        if not line:
            yield ""
        while line_part := line[:width]:
            first = (chop_cells(line_part, width) or [line_part])[0] or line_part
            yield first
            line = line[len(first) :]
