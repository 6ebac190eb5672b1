"""Looking for words in a transcript: every hit is marked where it is shown, and one can walk from one to the next."""

from __future__ import annotations

import re
import unicodedata
from functools import cache

from fireside_tui.transcript.items import Item, searched
from fireside_tui.transcript.layout import Laid
from fireside_tui.transcript.roll import Roll

Hit = tuple[int, int, int, int]

_TOKEN = re.compile(r"[^\W_]+")
#: From here on there are scripts that put no blank between words.
_UNSPACED = "\u0e00"


class Search:
    """One query, whatever its letters' case: a phrase as it is written, or `words` as the full-text index finds them."""

    def __init__(self, query: str, *, words: bool = False) -> None:
        self.query = query
        pattern = words_pattern(query) if words else ""
        self.pattern = re.compile(pattern or re.escape(query), re.IGNORECASE)
        self._counts: dict[str, tuple[int, int]] = {}  # of each item: how long its texts were, and the hits in them

    def count(self, roll: Roll) -> int:
        """Hits in the text of all items, folded or not, as it was written: nothing is laid out for it."""
        return sum(self._count(item) for item in roll.items)

    def _count(self, item: Item) -> int:
        texts = searched(item)
        size = sum(map(len, texts))
        known = self._counts.get(item.key)
        if known is None or known[0] != size:
            known = self._counts[item.key] = (size, sum(self.count_text(text) for text in texts if text))
        return known[1]

    def count_text(self, text: str, start: int = 0, end: int | None = None) -> int:
        """Hits in a text, or in a part of it."""
        return sum(1 for _ in self.pattern.finditer(text, start, len(text) if end is None else end))

    def ordinal(self, roll: Roll, hit: Hit) -> int:
        """Which one of all a hit is, from 1."""
        m, b, *_ = hit
        item, doc = roll.items[m], roll.doc(m)
        before = sum(self._count(one) for one in roll.items[:m])
        if doc.blocks[b].end:
            before += self.count_text(item.title) if item.kind == "tool" else 0
            before += self.count_text(doc.text, 0, doc.blocks[b].start)
        hits = self.in_block(roll, m, b)
        return before + (hits.index(hit) if hit in hits else 0) + 1

    def place(self, text: str, around: str) -> int:
        """Where in a text a hit is: in the part `around` of it, whose white space may be another one; else the first."""
        words = around.strip("… ").split()
        part = re.search(r"\s+".join(map(re.escape, words)), text) if words else None
        match = (self.pattern.search(text, part.start(), part.end()) if part else None) or self.pattern.search(text)
        return match.start() if match else 0

    def spans(self, laid: Laid) -> list[tuple[int, int]]:
        """The hits in a laid-out block."""
        if laid.found is None or laid.found[0] is not self:
            laid.found = (self, [match.span() for match in self.pattern.finditer(laid.plain)])
        return laid.found[1]

    def in_item(self, roll: Roll, m: int) -> bool:
        """Whether an item's texts hold the query."""
        return any(self.pattern.search(text) for text in searched(roll.items[m]) if text)

    def in_block(self, roll: Roll, m: int, b: int) -> list[Hit]:
        """Hits of one block; one whose source has none is not laid out."""
        doc = roll.doc(m)
        block = doc.blocks[b]
        source = block.head if not block.end else doc.text[block.start : block.end]
        if block.kind == "heading" or not self.pattern.search(source):
            return []
        return [(m, b, start, end) for start, end in self.spans(roll.lay(m, b))]


def words_pattern(query: str) -> str:
    """Any of the words of a query, whole, with any accents; the last one may go on. Empty where there are none.

    >>> [bool(re.search(words_pattern("creme tes"), text, re.I)) for text in ("Crème", "cremes", "a test", "detest")]
    [True, False, True, False]
    """
    parts = []
    words = [word for word in query.split() if any(map(str.isalnum, word))]
    for n, word in enumerate(words):
        tokens = _TOKEN.findall(word)
        spaced = tokens[0][0] < _UNSPACED
        whole = spaced and not (n == len(words) - 1 and query[-1:].strip())
        body = r"[\W_]+".join("".join(map(_any_accent, token)) for token in tokens)
        parts.append((r"(?<![^\W_])" if spaced else "") + body + (r"(?![^\W_])" if whole else ""))
    return "|".join(parts)


@cache
def _accented() -> dict[str, str]:
    """The letters that are a Latin one with accents, by that letter."""
    found: dict[str, str] = {}
    for code in (*range(0xC0, 0x250), *range(0x1E00, 0x1F00)):
        base = unicodedata.normalize("NFD", chr(code))[0]
        if base != chr(code):
            found[base.lower()] = found.get(base.lower(), "") + chr(code)
    return found


def _any_accent(letter: str) -> str:
    base = unicodedata.normalize("NFD", letter)[0].lower()
    others = _accented().get(base, "")
    return (f"[{re.escape(base)}{others}]" if others else re.escape(letter)) + "[\u0300-\u036f]*"
