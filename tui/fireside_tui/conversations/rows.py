"""`Row`: what the list shows of a conversation, and how rows are ordered and grouped. Knows neither store nor screen.

What a store lists stands for its row until the row is looked at: ten thousand rows are never made, only those on the screen.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from itertools import count
from operator import attrgetter
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from fireside import SavedState

Status = Literal[
    "new", "running", "approval", "waiting", "interrupted", "failed", "limit", "finished", "draft", "unsaved"
]
UNTITLED = "Untitled"


class Row(NamedTuple):
    """One conversation in the list. `here` says that it runs in this very window; `draft` that something unsent lies in it."""

    id: str
    title: str
    status: Status
    updated_at: datetime
    here: bool = False
    unread: bool = False
    pinned: bool = False
    draft: bool = False

    @classmethod
    def of_saved(cls, saved: SavedState) -> Row:
        """The row of what a store lists."""
        return cls(saved.id, saved.title or UNTITLED, saved.status, saved.updated_at)


Listed: TypeAlias = "SavedState | Row"
"""One conversation of the list: its row, or what the store says of it, of which the row is made once it is looked at."""

newest_first = attrgetter("updated_at")


def row_of(item: Listed) -> Row:
    """The row itself."""
    return item if isinstance(item, Row) else Row.of_saved(item)


def in_order(saved: Iterable[Listed], own: Iterable[Row] = ()) -> list[Listed]:
    """Pinned ones first, then the most recent ones first. `saved` is best in that order already, and has no pinned ones."""
    items: list[Listed] = [*saved]
    pinned: list[Listed] = []
    for row in own:
        (pinned if row.pinned else items).append(row)
    items.sort(key=newest_first, reverse=True)  # takes one look at each where few are out of their place
    pinned.sort(key=newest_first, reverse=True)
    return [*pinned, *items]


def numbered(title: str, titles: Iterable[str]) -> str:
    """The title of a fork: its original's, with the first number that none of the `titles` has, if one has the title.

    >>> numbered("The plan", ["The plan", "The plan (2)"])
    'The plan (3)'
    """
    plain, taken = re.sub(r" \(\d{1,3}\)$", "", title), {*titles}
    if title not in taken:
        return title
    return next(found for n in count(2) if (found := f"{plain} ({n})") not in taken)


def by_day(items: Sequence[Listed], now: datetime) -> list[str | Listed]:
    """The items of `in_order`, or some of them, with a blank and a heading before each group."""
    midnight = now.astimezone().replace(hour=0, minute=0, second=0, microsecond=0)
    pinned = next((n for n, item in enumerate(items) if not (isinstance(item, Row) and item.pinned)), len(items))
    ends = [("Pinned", pinned)]
    for name, days in (("Today", 0), ("Yesterday", 1), ("This week", 6), ("This month", 29)):
        bound = midnight - timedelta(days=days)
        ends.append((name, _first_before(items, bound, ends[-1][1])))
    ends.append(("Earlier", len(items)))
    lines: list[str | Listed] = []
    start = 0
    for name, end in ends:
        if end > start:
            lines += ["", name, *items[start:end]]
        start = end
    return lines


def _first_before(items: Sequence[Listed], bound: datetime, start: int) -> int:
    return bisect_left(items, True, start, key=lambda item: item.updated_at < bound)


class Titles:
    """The titles of a list, to be looked through at each key: each is lowered once."""

    def __init__(self, items: list[Listed]) -> None:
        self.items = items
        self._lowered: list[str] | None = None
        self._last: tuple[str, list[Listed], list[str]] | None = None

    def with_words(self, text: str) -> list[Listed]:
        """The items whose titles hold all words of the text. A text that grew is looked for in what was left by then."""
        words = text.lower().split()
        if not words:
            return self.items
        if self._last is not None and text.startswith(self._last[0]):
            _, items, titles = self._last
        else:
            items, titles = self.items, self._all_lowered()
        for word in words:
            places = [n for n, title in enumerate(titles) if word in title]
            items, titles = [items[n] for n in places], [titles[n] for n in places]
        self._last = text, items, titles
        return items

    def _all_lowered(self) -> list[str]:
        if self._lowered is None:
            self._lowered = [(item.title or UNTITLED).lower() for item in self.items]
        return self._lowered
