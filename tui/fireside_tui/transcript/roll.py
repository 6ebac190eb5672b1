"""The long roll of rows: which rows are at which place, laid out only near where one looks. Knows no Textual.

The truth about the place is `anchor`, (item, block, row) of the top row. Lines are counted by guesses until they are laid
out, so a corrected guess can move the scrollbar's thumb but never what is on the screen.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterable

from fireside_tui.transcript import layout
from fireside_tui.transcript.blocks import Block
from fireside_tui.transcript.doc import Doc, guess
from fireside_tui.transcript.highlight import ROOT, language_of, load, ready
from fireside_tui.transcript.items import FOLDS, Item
from fireside_tui.transcript.layout import Laid
from fireside_tui.transcript.runs import Row, Run
from fireside_tui.transcript.sums import Sums

Place = tuple[int, int, int]

CACHE_ROWS, CACHE_DOCS = 2000, 256


class Roll:
    """Items, their blocks, and the rows near the place."""

    def __init__(self) -> None:
        self.items: list[Item] = []
        self.index: dict[str, int] = {}
        self.width = 0
        self.sums = Sums()
        self.docs: OrderedDict[str, Doc] = OrderedDict()
        self.laid: OrderedDict[tuple[str, int], Laid] = OrderedDict()
        self.laid_rows = 0
        self.anchor: Place = (0, 0, 0)
        self.following = True
        self.unsure: set[str] = set()  # items with code that waits for the highlighter's state
        self.hungry: set[str] = set()  # items with text that waits to be split
        self.layouts = self.parses = 0

    # -- the model
    def load(self, items: Iterable[Item]) -> None:
        """These items instead of all others, from their end."""
        self.items = list(items)
        self.index = {item.key: i for i, item in enumerate(self.items)}
        if len(self.index) != len(self.items):
            raise ValueError("two items have the same key; give each its own")
        self.docs.clear()
        self.drop_rows()
        self.unsure.clear()
        self.hungry.clear()
        self.anchor, self.following = (0, 0, 0), True
        self.guess_all()

    def guess_all(self) -> None:
        """Counts all lines anew, by guesses where nothing is laid out."""
        self.sums = Sums([guess(item, self.width or 80) for item in self.items])
        for key, doc in self.docs.items():
            if doc.width == self.width:
                self.sums.set(self.index[key], doc.heights.total)

    def add(self, item: Item) -> None:
        """An item below the others."""
        if item.key in self.index:
            raise ValueError(f"there is an item with the key {item.key!r} already; give each its own")
        self.index[item.key] = len(self.items)
        self.items.append(item)
        self.sums.append(guess(item, self.width or 80))

    def prepend(self, items: Iterable[Item]) -> None:
        """Items above the others; the place stays."""
        new = list(items)
        if not new:
            return
        if self.items:
            self.forget(self.items[0].key)  # it may need no heading now
        old = len(self.items)
        self.items[:0] = new
        self.index = {item.key: i for i, item in enumerate(self.items)}
        if len(self.index) != len(self.items):
            del self.items[: len(new)]
            self.index = {item.key: i for i, item in enumerate(self.items)}
            raise ValueError("two items have the same key; give each its own")
        self.guess_all()
        m, b, row = self.anchor
        if old:
            self.anchor = (m + len(new), b, row)
            self.settle()

    def remove(self, m: int) -> None:
        """Takes an item out."""
        item = self.items.pop(m)
        del self.index[item.key]
        for i in range(m, len(self.items)):
            self.index[self.items[i].key] = i
        self.forget(item.key)
        if m < len(self.items):  # it may need a heading now
            self.forget(self.items[m].key)
        self.guess_all()
        a, b, row = self.anchor
        if a > m:
            self.anchor = (a - 1, b, row)
        elif a == m:
            self.anchor = (m, 0, 0)
        self.settle()

    def forget(self, key: str) -> None:
        """Drops all that was computed from an item."""
        self.docs.pop(key, None)
        self.unsure.discard(key)
        self.hungry.discard(key)
        for place in [place for place in self.laid if place[0] == key]:
            self.laid_rows -= len(self.laid.pop(place).rows)

    def drop_rows(self) -> None:
        """Drops all rows."""
        self.laid.clear()
        self.laid_rows = 0

    # -- layout
    def doc(self, m: int) -> Doc:
        """The blocks of item `m`, in line with its text and the width."""
        item = self.items[m]
        doc = self.docs.get(item.key)
        if doc is None:
            doc = self.docs[item.key] = Doc(item, self.items[m - 1] if m else None)
            if len(self.docs) > CACHE_DOCS:
                gone = self.docs.popitem(last=False)[0]
                self.unsure.discard(gone)
                self.hungry.discard(gone)
        else:
            self.docs.move_to_end(item.key)
        if doc.width != self.width:
            self.refresh(m, doc)
        return doc

    def refresh(self, m: int, doc: Doc) -> None:
        """Brings a doc, and the sums, in line with its item."""
        before = doc.parses
        if doc.width != self.width:
            doc.tails.clear()
        doc.refresh(self.width)
        self.parses += doc.parses - before
        (self.hungry.add if doc.hungry else self.hungry.discard)(doc.item.key)
        self.sums.set(m, doc.heights.total)

    def lay(self, m: int, b: int) -> Laid:
        """Block `b` of item `m`, laid out."""
        doc = self.doc(m)
        block = doc.blocks[b]
        place = (doc.item.key, b)
        laid = self.laid.get(place)
        taken = self.tail(m, b - 1) if block.flows else []
        if laid is not None and self.fresh(doc, b, laid, taken):
            self.laid.move_to_end(place)
            return laid
        if laid is not None:
            self.laid_rows -= len(laid.rows)
        laid = layout.lay(doc, b, self.width, taken)
        self.layouts += 1
        if not laid.sure:
            self.unsure.add(doc.item.key)
        if laid.joined and laid.tail:
            doc.tails[b] = (block, laid.tail)
        self.laid[place] = laid
        self.laid.move_to_end(place)
        self.laid_rows += len(laid.rows)
        while self.laid_rows > CACHE_ROWS and len(self.laid) > 1:
            self.laid_rows -= len(self.laid.popitem(last=False)[1].rows)
        doc.heights.set(b, len(laid.rows))
        self.sums.set(m, doc.heights.total)
        return laid

    @staticmethod
    def fresh(doc: Doc, b: int, laid: Laid, taken: list[Run]) -> bool:
        """Whether laid-out rows are still right."""
        block = doc.blocks[b]
        same = laid.block == block and (laid.version == doc.version or block.kind not in ("md", "table"))
        return same and laid.taken == taken and laid.goes_on == layout.goes_on(doc, b)

    def tail(self, m: int, b: int) -> list[Run]:
        """The last row of block `b`, which the next one goes on with."""
        doc = self.doc(m)
        entry = doc.tails.get(b)
        if entry is not None and entry[0] == doc.blocks[b]:
            return entry[1]
        return self.lay(m, b).tail

    def rows(self, m: int, b: int) -> list[Row]:
        """The rows of a block."""
        return self.lay(m, b).rows

    def feed(self) -> None:
        """Splits one more slice of a long text."""
        key = next(iter(self.hungry))
        doc = self.docs.get(key)
        if doc is None:
            self.hungry.discard(key)
        else:
            self.refresh(self.index[key], doc)

    def more(self, m: int) -> bool:
        """Splits one more slice of item `m`; whether there was one."""
        doc = self.doc(m)
        if not doc.hungry:
            return False
        self.refresh(m, doc)
        return True

    def settled(self, m: int) -> int:
        """So many blocks of item `m` no later slice changes."""
        doc = self.doc(m)
        return doc.pre + doc.done if doc.hungry else len(doc.blocks)

    def take(self, key: str) -> None:
        """Takes in what was added to an item, or changed in it."""
        m = self.index[key]
        doc = self.docs.get(key)
        if doc is None:
            self.sums.set(m, guess(self.items[m], self.width or 80))
        else:
            self.refresh(m, doc)

    def code_step(self) -> bool:
        """Reads one more chunk of code whose highlighting waits for it; whether rows changed."""
        load()
        key = next(iter(self.unsure))
        m = self.index.get(key)
        doc = self.docs.get(key)
        if m is None or doc is None:
            self.unsure.discard(key)
            return False
        state = ROOT
        for b, block in enumerate(doc.blocks):
            if block.kind != "code":
                continue
            if not block.part:
                state = ROOT
            have = layout.known(doc, b)
            if have is None and not ready(language_of(block.head)):
                return False
            if have is None:
                layout.read_on(doc, b, state)
                return False
            state = have
        self.unsure.discard(key)
        stale = [place for place, laid in self.laid.items() if place[0] == key and not laid.sure]
        for place in stale:
            self.laid_rows -= len(self.laid.pop(place).rows)
        return bool(stale)

    # -- places, in real rows
    def settle(self) -> None:
        """Makes the anchor a row that there is."""
        m, b, row = self.anchor
        if not self.items:
            self.anchor = (0, 0, 0)
            return
        if m >= len(self.items):
            m = len(self.items) - 1
            b = row = 1 << 30
        blocks = self.doc(m).blocks
        if not blocks:
            self.anchor = self.onward(m, 0, 0) or self.back(m, 0, 1)
            return
        if b >= len(blocks):
            b, row = len(blocks) - 1, 1 << 30
        self.anchor = (m, b, max(0, min(row, len(self.rows(m, b)) - 1)))

    def onward(self, m: int, b: int, row: int) -> Place | None:
        """The place `row` rows below the start of block (m, b); None past the end."""
        while m < len(self.items):
            while b < len(self.doc(m).blocks):
                count = len(self.rows(m, b))
                if row < count:
                    return m, b, row
                row -= count
                b += 1
            m, b = m + 1, 0
        return None

    def back(self, m: int, b: int, rows: int) -> Place:
        """The place `rows` rows above the start of block (m, b); the beginning if there are not so many."""
        first = (m, b)
        while rows > 0:
            if b == 0:
                if m == 0:
                    break
                m -= 1
                b = len(self.doc(m).blocks)
                continue
            b -= 1
            rows -= len(self.rows(m, b))
            first = (m, b)
        if rows > 0:
            return self.onward(0, 0, 0) or (0, 0, 0)
        return (*first, -rows)

    def end(self, height: int) -> Place:
        """The top row when the end is at the bottom."""
        last = len(self.items) - 1
        return self.back(last, len(self.doc(last).blocks), height)

    def move(self, delta: int) -> None:
        """So many rows down (up if negative)."""
        m, b, row = self.anchor
        if delta < 0:
            self.following = False
            self.anchor = self.back(m, b, -delta - row) if row < -delta else (m, b, row + delta)
            return
        place = self.onward(m, b, row + delta)
        if place is None:
            self.following = True
        else:
            self.anchor = place

    def jump(self, y: int, following: bool) -> None:
        """To line `y`, by guesses: for the scrollbar's thumb only."""
        self.following = following
        m, rest = self.sums.find(y)
        b, row = self.doc(m).heights.find(rest) if self.doc(m).blocks else (0, 0)
        self.anchor = (m, b, row)
        self.settle()

    def top(self) -> int:
        """The anchor's line, by guesses."""
        m, b, row = self.anchor
        return self.sums.before(m) + self.doc(m).heights.before(b) + row

    def screen(self, height: int) -> list[tuple[int, int, Row]]:
        """The rows on the screen, with the block that each is from."""
        if not self.items or height <= 0:
            return []
        out: list[tuple[int, int, Row]] = []
        for _ in range(2):
            if self.following:
                self.anchor = self.end(height)
            m, b, row = self.anchor
            out.clear()
            while len(out) < height and m < len(self.items):
                if b < len(self.doc(m).blocks):
                    out += [(m, b, line) for line in self.rows(m, b)[row:]]
                    row, b = 0, b + 1
                else:
                    m, b, row = m + 1, 0, 0
            if len(out) >= height or self.following:
                break
            self.following = True  # past the end: the end is pinned to the bottom
        return out[:height]

    # -- width and folding, staying in place
    def resize(self, width: int, mark: int | None) -> int | None:
        """A new width. `mark` is the character that the top row began with before a first resize; gives it back."""
        if not self.items:
            self.width = width
            return None
        m, b, row = self.anchor
        if mark is None and self.width and not self.following:
            mark = self.rows(m, b)[row].start if row else -1
        self.width = width
        self.drop_rows()
        self.guess_all()
        for key, doc in list(self.docs.items()):
            self.refresh(self.index[key], doc)
        if not self.following and mark is not None:
            starts = [line.start for line in self.rows(m, b)]
            self.anchor = (m, b, max(0, bisect_right(starts, mark) - 1))
        return mark

    def fold(self, m: int, folded: bool) -> None:
        """Folds or unfolds; the anchor stays, or goes to the line that unfolds again."""
        item = self.items[m]
        if item.kind not in FOLDS or item.folded == folded:
            return
        item.folded = folded
        doc = self.docs.get(item.key)
        if doc is None:
            self.sums.set(m, guess(item, self.width or 80))
            return
        a, b, _ = self.anchor
        self.refresh(m, doc)
        if a == m and b > doc.fold_block:
            self.anchor = (m, doc.fold_block, 0)

    def block_at(self, m: int, b: int) -> Block | None:
        """A block, if there is one."""
        if m < len(self.items) and b < len(self.doc(m).blocks):
            return self.doc(m).blocks[b]
        return None
