"""Looking for words in a transcript: every hit is marked where it is shown, and one can walk from one to the next."""

from __future__ import annotations

import re

from fireside_tui.transcript.items import searched
from fireside_tui.transcript.layout import Laid
from fireside_tui.transcript.roll import Roll

Hit = tuple[int, int, int, int]


class Search:
    """One query, whatever its letters' case."""

    def __init__(self, query: str) -> None:
        self.query = query
        self.pattern = re.compile(re.escape(query), re.IGNORECASE)

    def count(self, roll: Roll) -> int:
        """Hits in the text of all items, folded or not, as it was written: nothing is laid out for it."""
        find = self.pattern.findall
        return sum(len(find(text)) for item in roll.items for text in searched(item) if text)

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

    def hits(self, roll: Roll, m: int) -> list[Hit]:
        """All hits of an item, which is split to its end first."""
        doc = roll.doc(m)
        while doc.hungry:
            roll.refresh(m, doc)
        return [hit for b in range(len(doc.blocks)) for hit in self.in_block(roll, m, b)]
