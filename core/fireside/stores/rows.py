"""What the stores on databases have in common: entries and labels as text, and what a list needs as columns.

It knows the contract. Entries are kept as the very JSON that FileStore writes, one a row.
"""

from __future__ import annotations

import json
import struct
from builtins import list as List
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from itertools import repeat
from operator import attrgetter
from typing import Any

from fireside.errors import ConflictError
from fireside.messages import Json, Usage
from fireside.stores import log as logs
from fireside.stores.quiet import no_gc
from fireside.stores.record import Record, SavedState, label_from_entries

Row = dict[str, Json]


def text_of(row: Row) -> str:
    """An entry or a label as JSON text that every database takes: no NUL, no lone surrogate stands in it as itself."""
    return logs.encode(row)[:-1].decode()


def new_entries(state_id: str, noted: int | None, entries: List[Row], stored: Iterable[bytes]) -> tuple[List[Row], int]:
    """The entries that are not stored, and the next place behind them, where `noted` is what the table says of it.

    `stored` are the texts of all that are; where the entries go on at that place they are not looked at. Raises
    `ConflictError` where another one is stored in the place of one.
    """
    if entries and entries[0]["seq"] == noted:
        return entries, entries[-1]["seq"] + 1
    found = parsed(stored)
    place = logs.next_place(found, noted)
    if not entries:
        return entries, place
    if entries[0]["seq"] > place:
        raise ConflictError(state_id, f"the store's next entry is {place}, not {entries[0]['seq']}")
    return logs.not_stored(state_id, found.rows, entries), max(place, entries[-1]["seq"] + 1)


def parsed(texts: Iterable[bytes]) -> logs.Parsed:
    """The entries in the texts of a State, in order."""
    data = bytearray()
    for text in texts:  # one by one, so that they are never all there beside what is made of them
        data += text
        data += b"\n"
    with no_gc():
        return logs.parse(data)


def record_of(texts: Iterable[bytes], snapshot: Row | None, noted: int | None) -> Record:
    """What `read` gives; `noted` is what the table says of the next entry's place."""
    found = parsed(texts)
    place = logs.next_place(found, noted)
    return Record(found.rows, snapshot, place, found.damaged + (place != noted))


def row_of(state_id: str, label: Row | None, texts: Callable[[], Iterable[bytes]], at: datetime) -> SavedState:
    """The row of a label; where it is lost or stale (`None`), that of the entries; `at` where nothing can be read."""
    for again in (False, True):
        try:
            if again:
                found = parsed(texts())
                label = label_from_entries(state_id, found.rows, found.next_seq)
            if label is not None and label.get("id") == state_id:
                return SavedState.from_label(label, running=True)
        except (KeyError, TypeError, ValueError, AttributeError):
            continue
    return SavedState(state_id, "", "", at, at, 0, None, "new", Usage())


def read_label(text: str | bytes | None) -> Row | None:
    """The label in its text; `None` where there is none."""
    try:
        label = json.loads(text or "null")
    except (ValueError, RecursionError):
        return None
    return label if isinstance(label, dict) else None


COLUMNS = (
    "id, task, title, created_at, updated_at, turn, stopped_by, status, "
    "input, output, cache_read, cache_write, requests, cost"
)
"""What a list reads: a label's values as columns, since 10,000 labels take longer to parse than to read."""


def columns_of(state_id: str, label: Row) -> tuple[Any, ...] | None:
    """The values of the `COLUMNS`; `None` where the label is not one, or has a text that a column can't hold."""
    try:
        row = SavedState.from_label(label, running=True)
        texts = (row.task, row.title, row.stopped_by or "", row.status)
        if row.id != state_id or any("\0" in text or not _encodes(text) for text in texts):
            return None
        u = row.usage
        times = row.created_at.isoformat(), row.updated_at.isoformat()
        tokens = (u.input, u.output, u.cache_read, u.cache_write, u.requests, u.cost)
        return (row.id, row.task, row.title, *times, row.turn, row.stopped_by, row.status, *tokens)
    except (KeyError, TypeError, ValueError, AttributeError):
        return None


def rows_from_columns(rows: Iterable[Sequence[Any]]) -> tuple[List[SavedState], List[str]]:
    """The rows of the `COLUMNS`, and the ids of those that are damaged.

    The tuples are made without their own `__new__`, which takes half of the time.
    """
    new, when = tuple.__new__, datetime.fromisoformat
    found, damaged = [], []
    for id, task, title, made, moved, turn, by, status, *usage in rows:
        try:
            times = when(made), when(moved)
        except (TypeError, ValueError):
            times = None
        if times is None or None in map(_zone, times) or type(task) is not str or type(title) is not str:
            damaged.append(id)
        else:
            found.append(new(SavedState, (id, task, title, *times, turn, by, status, new(Usage, usage))))
    return found, damaged


BRIEF = "id, task, title, created_at, updated_at, brief, counts"
"""What a list of many reads: of the columns, those that are texts by themselves, and all the others as two.

To fetch a value takes longer than to make something of it: 10,000 rows of these take two thirds of the time of the COLUMNS.
"""
_COUNTS, _COST = struct.Struct("<6q"), struct.Struct("<6qd")
_NOTHING = Usage()


def brief_of(columns: tuple[Any, ...]) -> tuple[str, bytes | None] | None:
    """`brief` and `counts` for values of the `COLUMNS`: the status and, behind a space, what stopped it; turn and usage.

    No counts where all are 0. `None` where a value does not fit.
    """
    *_, turn, by, status, input, output, cache_read, cache_write, requests, cost = columns
    numbers = (turn, input, output, cache_read, cache_write, requests)
    try:
        counts = _COUNTS.pack(*numbers) if cost is None else _COST.pack(*numbers, cost)
    except (struct.error, TypeError):
        return None
    if " " in status:
        return None
    return (status if by is None else f"{status} {by}"), (counts if any(numbers) or cost is not None else None)


def rows_from_brief(chunk: Iterable[Sequence[Any]]) -> Iterable[SavedState]:
    """The rows of some of `BRIEF`. Raises `ValueError`, `TypeError` or `struct.error` where one of them is damaged.

    Column by column, so that no line of Python runs for each row: that takes a fifth of the time off a list.
    """
    ids, tasks, titles, *times, briefs, counts = zip(*chunk, strict=True)
    made, moved = ([*map(datetime.fromisoformat, texts)] for texts in times)
    if None in map(_zone, made) or None in map(_zone, moved):
        raise ValueError("a time has no zone")
    for texts in (ids, tasks, titles):
        "".join(texts)  # raises TypeError where one is none
    ends = {pair: _end_of(*pair) for pair in {*zip(briefs, counts, strict=True)}}
    if len(ends) == 1:
        tails: Iterable[Iterable[Any]] = map(repeat, *ends.values())
    else:
        tails = zip(*map(ends.__getitem__, zip(briefs, counts, strict=True)), strict=True)
    return map(tuple.__new__, repeat(SavedState), zip(ids, tasks, titles, made, moved, *tails))  # noqa: B905  repeats


def _end_of(brief: str, counts: bytes | None) -> tuple[int, str | None, str, Usage]:
    """What stands behind the times of a row: turn, what stopped it, status, usage."""
    status, space, by = brief.partition(" ")
    turn, usage = 0, _NOTHING
    if counts is not None:
        turn, *tokens = (_COUNTS if len(counts) == _COUNTS.size else _COST).unpack(counts)
        usage = tuple.__new__(Usage, tokens if len(tokens) == len(Usage._fields) else (*tokens, None))
    return turn, by if space else None, status, usage


_zone = attrgetter("tzinfo")


def _encodes(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


__all__ = [
    "BRIEF",
    "COLUMNS",
    "brief_of",
    "columns_of",
    "new_entries",
    "parsed",
    "read_label",
    "record_of",
    "row_of",
    "rows_from_brief",
    "rows_from_columns",
    "text_of",
]
