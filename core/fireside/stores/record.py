"""What a store holds of a State, and what a list shows of it. It knows the fold and the label."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from operator import itemgetter
from typing import NamedTuple

from fireside.fold import Fold, shortened
from fireside.history import VERSION, HistoryEntry
from fireside.label import Status, born_of, label_of
from fireside.messages import Json, Usage


@dataclass(slots=True)
class Record:
    """What a store holds of one State.

    `entries` are history entries as dicts, in order; `snapshot` is the label, or `None` where it is lost. `next_seq` is the
    place of the next entry: more than the last one's `seq` + 1 where what lies behind can't be read. `damaged` is how many
    pieces could not be read; they stay in the store.
    """

    entries: list[dict[str, Json]]
    snapshot: dict[str, Json] | None = None
    next_seq: int = -1
    damaged: int = 0

    def __post_init__(self) -> None:
        if self.next_seq < 0:
            last = max((seq for raw in self.entries if isinstance(seq := raw.get("seq"), int)), default=-1)
            self.next_seq = last + 1


class SavedState(NamedTuple):
    """What a list shows of a conversation, without loading it. Times are UTC.

    (A tuple, since a frozen dataclass takes five times as long to make, and a list makes 10,000.)
    """

    id: str
    task: str
    title: str
    created_at: datetime
    updated_at: datetime
    turn: int
    stopped_by: str | None
    status: Status
    usage: Usage

    @property
    def finished(self) -> bool:
        """Whether its task was finished, and not opened again."""
        return self.status == "finished"

    @classmethod
    def from_label(cls, label: dict[str, Json], *, running: bool = False) -> SavedState:
        """The row of a label; `running` says whether somebody holds the State's lock.

        Raises `KeyError`, `TypeError` or `ValueError` for what is no label.
        """
        status = label.get("status", "new")
        if status == "running" and not running:
            status = "interrupted"
        task = label.get("task", "")
        title = label.get("title") or shortened(task)
        made, moved = (datetime.fromisoformat(label[name]) for name in ("created_at", "updated_at"))
        if not isinstance(task, str) or not isinstance(title, str) or made.tzinfo is None or moved.tzinfo is None:
            raise ValueError("a text is none, or a time has no zone")
        return cls(
            label["id"],
            task,
            title,
            made,
            moved,
            label["turn"],
            label.get("stopped_by"),
            status,
            Usage.from_json(label.get("usage") or {}),
        )


def as_it_runs(rows: Iterable[SavedState], runs: Callable[[str], bool]) -> list[SavedState]:
    """The rows of a list, newest first; `runs` says whether somebody holds a State's lock."""
    out = [*rows]
    if "running" in map(_status, out):
        out = [
            row._replace(status="interrupted") if row.status == "running" and not runs(row.id) else row for row in out
        ]
    out.sort(key=_updated_at, reverse=True)
    return out


_updated_at, _status = (itemgetter(SavedState._fields.index(name)) for name in ("updated_at", "status"))


def newer(label: dict[str, Json] | None) -> bool:
    """Whether a label was written in a newer format than this version reads."""
    return label is not None and type(v := label.get("v")) is int and v > VERSION


def same_state(state_id: str, stored: dict[str, Json] | None, label: dict[str, Json] | None) -> None:
    """Raises `LookupError` where the State that is stored was begun at another time than the one that is being saved: that
    one was deleted, and must not go on in one that got its id since."""
    if None not in (born := born_of(stored), now := born_of(label)) and born != now:
        raise LookupError(f"the State {state_id!r} was deleted, and another one has its id now")


def label_from_entries(state_id: str, entries: Iterable[dict[str, Json]], next_seq: int) -> dict[str, Json]:
    """Computes a label again from the entries, where it is lost or stale."""
    fold = Fold()
    for raw in entries:
        try:
            fold.apply(HistoryEntry.from_json(raw, fold.call_of))
        except Exception:  # damaged or unknown: a list shows what the rest says
            continue
    return label_of(state_id, fold, next_seq)


__all__ = ["Record", "SavedState", "as_it_runs", "label_from_entries", "newer", "same_state"]
