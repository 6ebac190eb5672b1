"""Where a text that never ends may be cut, decided by what stands before the cut alone."""

from __future__ import annotations

import re

#: A chunk holds at most so many lines and (about) so many characters; the open one is laid out on every draw.
LINES, CHARS = 12, 4000
#: A table's first chunk holds more rows, for it sets the columns; then fewer, for a row costs more than a line.
FIRST_ROWS, ROWS = 50, 8
#: A list item's first line up to its text. With a tab, or with code as its first block, an item is not cut.
ITEM_LEAD = re.compile(r" {0,3}(?:[-*+]|\d{1,9}[.)]) {1,4}(?=\S)")
# An unfinished line shorter than this may still turn out to be a bullet, a number, a rule or a fence.
_CLEAR = 20
_WORD = re.compile(r"(?<=[ \n])(?=[^\W\d_])")
_LETTER = re.compile(r"[^\W_]")


def stable_end(text: str, start: int, end: int) -> int:
    """The end of a paragraph without a last line that may yet turn out not to belong to it."""
    if end <= start or text[end - 1] == "\n":
        return end
    line = text.rfind("\n", start, end) + 1
    return end if line <= start or end - line >= _CLEAR else line


def paragraph_cuts(text: str, start: int, end: int) -> list[int]:
    """Cuts of a very long paragraph: between words where no inline markup is open, before a letter (so that the rest is
    not read as a list or a heading)."""
    cuts = []
    while end - start > CHARS:
        start = _good_cut(text, start)
        cuts.append(start)
    return cuts


def _good_cut(text: str, start: int) -> int:
    limit = start + CHARS
    places = [match.start() for match in _WORD.finditer(text, limit - 400, limit)]
    for place in reversed(places):
        part = text[start:place]
        if part.count("`") % 2 == part.count("*") % 2 == 0 and part.count("[") == part.count("]"):
            return place
    return places[-1] if places else _char_cut(text, limit)


def _char_cut(text: str, limit: int) -> int:
    """A place inside a word that parts no joined characters."""
    for place in range(limit, limit - 100, -1):
        if _LETTER.match(text, place) and text[place - 1] != "\u200d":
            return place
    return limit


def line_chunks(text: str, start: int, end: int, mid: bool) -> list[tuple[int, int, bool]]:
    """Chunks (start, end, begins inside a line) of text that is shown line by line."""
    chunks: list[tuple[int, int, bool]] = []
    first = a = start
    lines = 0
    while a < end:
        stop = text.find("\n", a, end)
        b = end if stop < 0 else stop + 1
        if lines and (lines >= LINES or b - first > CHARS):
            chunks.append((first, a, mid))
            first, lines, mid = a, 0, False
        while (stop if stop >= 0 else end) - a > CHARS:
            cut = _char_cut(text, a + CHARS)
            chunks.append((a, cut, mid))
            first = a = cut
            mid = True
        lines += 1
        a = b
    if first < end:
        chunks.append((first, end, mid))
    return chunks
