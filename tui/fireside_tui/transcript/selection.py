"""What is selected, as text: without drawings, wrapped lines whole again, thousands of messages at once.

A place in a selection is logical, y = item << 20 | block and x = character in the block's text: it stays right while
heights are corrected, text streams in and the window is resized.
"""

from __future__ import annotations

import re

from textual.geometry import Offset
from textual.selection import Selection

from fireside_tui.safe_text import safe
from fireside_tui.transcript.doc import heading
from fireside_tui.transcript.items import FOLDS, Item
from fireside_tui.transcript.roll import Roll

SHIFT = 20
#: Past so many characters, messages that are selected as a whole are copied as they were written (their Markdown):
#: laying out thousands of them to read their rows would take seconds.
LAID_OUT = 150_000
_WORD = re.compile(r"[\w./~+-]+|[^\w\s]+")
_BULLETS = str.maketrans("•◦▪", "---")


def logical(m: int, b: int) -> int:
    """The y of a block."""
    return m << SHIFT | b


def word_at(roll: Roll, m: int, b: int, x: int) -> Selection | None:
    """The word around character `x` of a block."""
    spans = (match.span() for match in _WORD.finditer(roll.lay(m, b).plain))
    return next((_within(m, b, start, b, end) for start, end in spans if start <= x < end), None)


def line_at(roll: Roll, m: int, b: int, x: int) -> Selection | None:
    """The line around character `x` of a block, also where so long a line goes on in the blocks around it."""
    first = last = b
    start = roll.lay(m, b).plain.rfind("\n", 0, x) + 1
    while start == 0 and first > 0 and roll.lay(m, first - 1).joined:
        first -= 1
        start = roll.lay(m, first).plain.rfind("\n") + 1
    end = roll.lay(m, b).plain.find("\n", x)
    while end < 0 and roll.lay(m, last).joined:
        last += 1
        end = roll.lay(m, last).plain.find("\n")
    if end < 0:
        end = len(roll.lay(m, last).plain)
    return _within(m, first, start, last, end) if (first, start) < (last, end) else None


def _within(m: int, first: int, start: int, last: int, end: int) -> Selection:
    return Selection(Offset(start, logical(m, first)), Offset(end, logical(m, last)))


def selected_text(roll: Roll, selection: Selection) -> str:
    """The text of a selection."""
    if not roll.items:
        return ""
    start, end = selection.start, selection.end
    first = (start.y >> SHIFT, start.y & ((1 << SHIFT) - 1)) if start else (0, 0)
    last = (end.y >> SHIFT, end.y & ((1 << SHIFT) - 1)) if end else (len(roll.items) - 1, 1 << SHIFT)
    whole = range(first[0] + 1, min(last[0], len(roll.items)))
    if start is None:
        whole = range(first[0], whole.stop)
    if end is None:
        whole = range(whole.start, len(roll.items))
    written = sum(len(roll.items[m].text) for m in whole) > LAID_OUT
    parts: list[str] = []
    for m in range(first[0], min(last[0] + 1, len(roll.items))):
        if written and m in whole:
            parts.append(_as_written(roll.items[m], roll.items[m - 1] if m else None, bool(parts)))
        else:
            _add_item(roll, m, first, last, start, end, parts)
    return "".join(parts)


def _add_item(
    roll: Roll, m: int, first: tuple[int, int], last: tuple[int, int], start: Offset | None, end: Offset | None,
    parts: list[str],
) -> None:  # fmt: skip
    blocks = roll.doc(m).blocks
    for b in range(len(blocks)):
        if not first <= (m, b) <= last:
            continue
        laid = roll.lay(m, b)
        low = max(0, start.x) if start and (m, b) == first else 0
        high = end.x if end and (m, b) == last else len(laid.plain)
        text = laid.plain[low:high]
        if blocks[b].kind in ("md", "table"):
            text = "\n".join([_dashed(line.rstrip()) for line in text.split("\n")]) if not laid.joined else text
        parts.append(("\n" if blocks[b].gap and parts else "") + text)


def _dashed(line: str) -> str:
    """A list's bullet as it is written."""
    indent = len(line) - len(line.lstrip(" "))
    return line[:indent] + line[indent : indent + 1].translate(_BULLETS) + line[indent + 1 :]


def _as_written(item: Item, above: Item | None, gap: bool) -> str:
    if item.kind == "rule":
        return f"\n{item.title}\n"
    name = heading(item)
    if above is not None and heading(above) == name:
        name = ""
    text = item.title if item.kind in FOLDS and item.folded else "\n".join(filter(None, (item.text, item.detail)))
    lines = "\n".join(filter(None, (name, safe(text).rstrip("\n"))))
    return ("\n" if gap and name else "") + lines + "\n"
