"""`Row`: what the list shows of a conversation, and how rows are ordered and grouped. Knows neither store nor screen."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from fireside import SavedState, State

Status = Literal[
    "new", "running", "approval", "waiting", "interrupted", "failed", "limit", "finished", "draft", "unsaved"
]


@dataclass(frozen=True, slots=True)
class Row:
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
        return cls(saved.id, saved.title or "Untitled", saved.status, saved.updated_at)

    @classmethod
    def of_state(cls, state: State) -> Row:
        """The row of an open conversation."""
        return cls(state.id, state.title or "Untitled", state.status, state.updated_at)


def in_order(rows: Iterable[Row]) -> list[Row]:
    """Pinned ones first, then the most recent ones first."""
    return sorted(rows, key=lambda row: (row.pinned, row.updated_at, row.id), reverse=True)


def by_day(rows: list[Row], now: datetime) -> list[str | Row]:
    """The rows with a heading before each group."""
    midnight = now.astimezone().replace(hour=0, minute=0, second=0, microsecond=0)
    bounds = [(midnight - timedelta(days=days)) for days in (0, 1, 6, 29)]
    names = ("Today", "Yesterday", "This week", "This month", "Earlier")
    out: list[str | Row] = []
    last = ""
    for row in rows:
        heading = "Pinned" if row.pinned else names[sum(row.updated_at < bound for bound in bounds)]
        if heading != last:
            out.append(heading)
            last = heading
        out.append(row)
    return out
