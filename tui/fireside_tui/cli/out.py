"""How the commands write: harmless text, aligned columns, times as a person says them, colours where they are wanted."""

from __future__ import annotations

import json
import os
import shutil
import sys
import textwrap
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import click

from fireside_tui.fences import next_fence
from fireside_tui.safe_text import safe

COLOURS = {"running": "green", "approval": "magenta", "interrupted": "yellow", "failed": "red", "limit": "yellow"}
"""What stands out among the statuses."""


def write(text: str, *, end: str = "\n") -> None:
    """Writes text that is harmless already, with its colours where stdout is a terminal that wants them."""
    click.echo(text + end, nl=False, color=coloured())


def write_json(value: Any) -> None:
    """One line of JSON, in ASCII: exact, and harmless in any terminal."""
    click.echo(json.dumps(value))


def coloured() -> bool:
    """Whether stdout is a terminal, and nobody asked for it to be plain."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def width() -> int | None:
    """How many cells a line has; `None` where stdout is no terminal, so nothing needs to be cut."""
    return max(shutil.get_terminal_size().columns, 20) if sys.stdout.isatty() else None


def dim(text: str) -> str:
    """What matters less."""
    return click.style(text, dim=True)


def bold(text: str) -> str:
    """What matters more."""
    return click.style(text, bold=True)


def short_ids(ids: Sequence[str], least: int = 8) -> dict[str, str]:
    """For each id a start of it that no other id has; an id of up to 12 characters stays whole."""
    order = sorted(ids)
    short: dict[str, str] = {}
    for n, id in enumerate(order):
        near = [order[i] for i in (n - 1, n + 1) if 0 <= i < len(order)]
        same = max((_same_start(id, other) for other in near), default=0)
        short[id] = id if len(id) <= 12 else id[: max(least, same + 1)]
    return short


def _same_start(one: str, other: str) -> int:
    return next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def ago(then: datetime, now: datetime | None = None) -> str:
    """How long ago it was: `"just now"`, `"5 min ago"`, `"3 h ago"`, `"2 days ago"`, then the date.

    >>> ago(datetime(2026, 1, 1, 12, 0, tzinfo=UTC), datetime(2026, 1, 1, 12, 5, tzinfo=UTC))
    '5 min ago'
    """
    seconds = ((now or datetime.now(UTC)) - then).total_seconds()
    if -60 < seconds < 60:
        return "just now"
    if 0 < seconds < 3600:
        return f"{seconds // 60:.0f} min ago"
    if 0 < seconds < 24 * 3600:
        return f"{seconds // 3600:.0f} h ago"
    if 0 < seconds < 7 * 24 * 3600:
        days = seconds // (24 * 3600)
        return "1 day ago" if days == 1 else f"{days:.0f} days ago"
    return f"{then.astimezone():%Y-%m-%d}"


def indented(text: str, by: str = "  ") -> str:
    """Harmless text with each line moved in."""
    return "\n".join(f"{by}{line}".rstrip() for line in safe(text).strip("\n").split("\n"))


def wrapped(text: str) -> str:
    """Prose broken between words where it is wider than the terminal; code, tables and what is piped stay as they are."""
    if width() is None:
        return text
    lines, fence = [], ""
    for line in text.split("\n"):
        fence, code = next_fence(line, fence)
        lines.append(line if code or line.startswith(("|", "    ")) else folded(line))
    return "\n".join(lines)


def folded(line: str, hang: str = "") -> str:
    """One line broken between words where it is wider than the terminal; those that follow begin with `hang`."""
    room = width()
    if room is None or len(line) <= room:
        return line
    return textwrap.fill(
        line, room, subsequent_indent=hang, break_long_words=False, break_on_hyphens=False, replace_whitespace=False
    )


def size(count: int) -> str:
    """A number of characters as a person says it: `"812"`, `"2.1 k"`, `"3.4 M"`."""
    if count < 1000:
        return str(count)
    return f"{count / 1e3:.1f} k" if count < 1_000_000 else f"{count / 1e6:.1f} M"


def plural(count: int, word: str) -> str:
    """`"1 turn"`, `"2 turns"`."""
    return f"{count} {word}" if count == 1 else f"{count} {word}s"
