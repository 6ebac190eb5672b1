"""Where lines break: text measured in the terminal's cells (wide, combining and joined characters)."""

from __future__ import annotations

import re

from rich.cells import cell_len, set_cell_size, split_graphemes

__all__ = ["cell_len", "fit", "fold_cuts", "is_simple", "wrap_cuts"]

# Characters of exactly one cell that join with nothing. Far more than ASCII, because answers are full of dashes,
# curly quotes, arrows and box drawing, and measuring one by one is slow.
_NOT_SIMPLE = re.compile(
    "[^\x20-\x7e\xa0-\xac\xae-\u02ff\u0370-\u0377\u037a-\u037f\u0384-\u038a\u038e-\u03a1\u03a3-\u0482\u048a-\u052f"
    "\u2010-\u2027\u2030-\u205e\u2190-\u21ff\u2200-\u22ff\u2500-\u25fc]"
)
# Never at the start of a line, never at the end of one (Chinese and Japanese).
_NO_START = frozenset("、。，．・：；？！ー）］｝」』】〉》’”,.;:?!)]}%…々ぁぃぅぇぉっゃゅょァィゥェォッャュョ")
_NO_END = frozenset("（［｛「『【〈《‘“([{")


def is_simple(text: str) -> bool:
    """Whether every character takes one cell on its own."""
    return _NOT_SIMPLE.search(text) is None


def fit(text: str, width: int) -> str:
    """`text` cut with "…" to at most `width` cells."""
    if cell_len(text) <= width:
        return text
    return set_cell_size(text, width - 1).rstrip() + "…" if width > 0 else ""


def fold_cuts(text: str, width: int) -> list[int]:
    """Where to break code: at the edge, whatever stands there."""
    if is_simple(text):
        return list(range(width, len(text), width))
    cuts: list[int] = []
    used = 0
    for start, _, cells in split_graphemes(text)[0]:
        if used + cells > width and used:
            cuts.append(start)
            used = 0
        used += cells
    return cuts


def wrap_cuts(text: str, width: int) -> list[int]:
    """Where to break prose: between words, between wide characters, inside a word only if no line could hold it."""
    if len(text) <= width and is_simple(text):
        return []
    return _wrap_simple(text, width) if is_simple(text) else _wrap_any(text, width)


def _wrap_simple(text: str, width: int) -> list[int]:
    cuts: list[int] = []
    pos, end = 0, len(text.rstrip(" "))
    indent = len(text) - len(text.lstrip(" "))
    while end - pos > width:
        cut = text.rfind(" ", pos, pos + width + 1)
        if cut <= pos or cut < indent:
            cut = pos + width
        else:
            cut += 1
            while cut < end and text[cut] == " ":  # spaces hang past the edge
                cut += 1
        cuts.append(cut)
        pos = cut
    return cuts


def _wrap_any(text: str, width: int) -> list[int]:
    cuts: list[int] = []
    used = since = 0  # cells in this line, and of those since the last place to break
    chance = row = 0  # that place, and where the line began
    last, wide = "", False
    for start, stop, cells in split_graphemes(text)[0]:
        char = text[start]
        blank = char == " " and stop - start == 1
        joint = (wide or cells == 2) and last and char not in _NO_START and last not in _NO_END
        if not blank and (last == " " or joint):
            chance, since = start, 0
        if used + cells > width and not blank:
            if chance > row:
                cuts.append(chance)
                row, used = chance, since
            if used + cells > width and start > row:  # no place to break: inside the word
                cuts.append(start)
                row, used = start, 0
            since = used
        used += cells
        since += cells
        last, wide = text[stop - 1] if stop - start == 1 else char, cells == 2
    return cuts
