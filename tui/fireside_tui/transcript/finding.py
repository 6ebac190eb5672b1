"""Find in a transcript: marks what is found, and walks from one place to the next, a slice of a long text at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import NamedTuple

from fireside_tui.transcript.actions import Actions, TranscriptMessage
from fireside_tui.transcript.items import FOLDS
from fireside_tui.transcript.search import Hit, Search


class Found(NamedTuple):
    """Where one is among the places that were found."""

    query: str
    which: int
    """The place on the screen, from 1; 0 before one went to any."""
    of: int


class Finder(Actions):
    """Finds, and says where it is."""

    class FindMoved(TranscriptMessage, namespace="transcript"):
        """Other words are looked for, another place is gone to, or the marks are gone."""

    @property
    def finding(self) -> bool:
        """Whether hits are marked."""
        return self._search is not None

    @property
    def found(self) -> Found | None:
        """Where one is, while hits are marked."""
        search = self._search
        if search is None:
            return None
        which = search.ordinal(self.roll, self._hit) if self._hit is not None else 0
        return Found(search.query, which, max(which, search.count(self.roll)))

    def find(self, query: str, *, words: bool = False) -> int:
        """Marks all hits of `query` (letters' case aside) and gives their number; "" clears. `words`: each of its words, in
        any order, as the search in all conversations finds them."""
        self._join()
        self._look_for(Search(query, words=words) if query else None)
        return self._search.count(self.roll) if self._search else 0

    def clear_find(self) -> None:
        """Takes the marks away."""
        self._look_for(None)

    def _look_for(self, search: Search | None) -> None:
        changed = search is not self._search
        self._search, self._hit = search, None
        self._redraw()
        if changed:
            self._tell()

    def _tell(self) -> None:
        self.post_message(self.FindMoved(self._self, self._cursor or ""))

    # -- from one to the next

    def find_next(self) -> bool:
        """Goes to the next hit, from the end on to the first; whether there is one."""
        return any(self._walk(1))

    def find_previous(self) -> bool:
        """Goes to the hit before."""
        return any(self._walk(-1))

    async def walk(self, step: int) -> bool:
        """As `find_next` (1) or `find_previous` (-1), while keys are answered in between."""
        await self.laid_out.wait()
        return await _in_slices(self._walk(step))

    async def seek(self, key: str, around: str) -> bool:
        """Goes to the hit in an item that stands in the text `around`, which may have its white space changed; else to the
        first one in it. Whether there is one."""
        await self.laid_out.wait()
        return await _in_slices(self._seek(key, around))

    def _walk(self, step: int) -> Iterator[bool]:
        """Each step is bounded work; true is the last one."""
        roll, search = self.roll, self._search
        if search is None or not roll.items or not roll.width:
            return
        self._join()
        here = self._here(step)
        count = len(roll.items)
        for n in range(count + 1):
            m = (here[0] + n * step) % count
            if not search.in_item(roll, m):
                continue
            self._unfold(m)
            for hit in self._hits(search, m, step, here if n == 0 else None):
                if search is not self._search or len(roll.items) != count:
                    return  # meanwhile it was looked for something else
                if hit is not None:
                    self._go(hit)
                    yield True
                    return
                yield False

    def _here(self, step: int) -> Hit:
        if self._hit is not None:
            return self._hit
        roll = self.roll
        if step < 0:  # from the end of the screen
            last = roll.screen(self._height)[-1]
            return (last[0], last[1], 1 << 60, 0)
        m, b, row = roll.anchor
        return (m, b, roll.rows(m, b)[row].start, -1)

    def _hits(self, search: Search, m: int, step: int, here: Hit | None) -> Iterator[Hit | None]:
        """The next hit of item `m`, from `here` on or from its end; None after each slice of it that had to be split."""
        roll = self.roll
        b = here[1] if here is not None else 0
        if step < 0 and here is None:
            while roll.more(m):
                yield None
            b = len(roll.doc(m).blocks) - 1
        while b >= 0:
            while b >= roll.settled(m) and roll.more(m):
                yield None
            if b >= len(roll.doc(m).blocks):
                return
            hits = search.in_block(roll, m, b)
            if here is not None:
                hits = [hit for hit in hits if (hit > here if step > 0 else hit < here)]
            if hits:
                yield hits[0 if step > 0 else -1]
                return
            b += step

    def _seek(self, key: str, around: str) -> Iterator[bool]:
        roll, search = self.roll, self._search
        if search is None or key not in roll.index or not roll.width:
            return
        self._join()
        m = roll.index[key]
        self._unfold(m)
        at = search.place(roll.doc(m).text, around)
        while roll.doc(m).fed <= at and roll.more(m):
            yield False
            if search is not self._search or roll.index.get(key) != m:
                return
        blocks = roll.doc(m).blocks
        b = next((b for b, block in enumerate(blocks) if block.start <= at < block.end), 0)
        before = search.count_text(roll.doc(m).text, blocks[b].start, at) if blocks and blocks[b].end else 0
        hits = search.in_block(roll, m, b) if blocks else []
        if hits:
            self._go(hits[min(before, len(hits) - 1)])
            yield True
            return
        self._hit = (m, b, -1, -1)
        yield from self._walk(1)

    def _unfold(self, m: int) -> None:
        item = self.roll.items[m]
        if item.folded and item.kind in FOLDS:
            self.fold(item.key, False)

    def _go(self, hit: Hit) -> None:
        self._hit = hit
        m, b, start, _ = hit
        rows = self.roll.rows(m, b)
        ends = [max([p.x + len(p.text) for p in row.pieces if p.x >= 0], default=row.start) for row in rows]
        self._show(m, b, next((i for i, end in enumerate(ends) if end > start), 0))
        self._redraw()
        self._tell()


async def _in_slices(steps: Iterator[bool]) -> bool:
    for there in steps:
        if there:
            return True
        await asyncio.sleep(0)
    return False
