"""The tables of `SQLiteStore`: how they are made and brought up to date, and what is read from them. It knows rows.

A conversation is a row of `states` and its entries; a label is kept as its JSON and, for the list, as columns.
"""

from __future__ import annotations

import contextlib
import sqlite3
import struct
from builtins import list as List
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from fireside.messages import Json
from fireside.stores import tail
from fireside.stores.record import SavedState
from fireside.stores.rows import (
    BRIEF,
    COLUMNS,
    brief_of,
    columns_of,
    read_label,
    row_of,
    rows_from_brief,
    rows_from_columns,
    text_of,
)

FORMAT = 1
"""The version of the tables, kept as the file's `user_version`."""
OURS = 0x46495245  # "FIRE": the file's `application_id`

_TABLES = """
CREATE TABLE states (
    key INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    next_seq INTEGER NOT NULL,
    label TEXT,         -- what it says as JSON, and for how many entries:
    label_seq INTEGER,
    task TEXT, title TEXT, created_at TEXT, updated_at TEXT, turn INTEGER, stopped_by TEXT, status TEXT,
    input INTEGER, output INTEGER, cache_read INTEGER, cache_write INTEGER, requests INTEGER, cost REAL
);
CREATE TABLE entries (
    state INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    entry TEXT NOT NULL,
    PRIMARY KEY (state, seq)
) WITHOUT ROWID;
"""
NEXT_SEQ = "CASE typeof(next_seq) WHEN 'integer' THEN next_seq END"
"""The next `seq` of a State, as it was noted; NULL where that is no number, since a hand or damage changed it."""
_MORE = ("brief TEXT", "counts BLOB", "brief_seq INTEGER")
"""Columns that came later, for a fast list. An older fireside, which does not know them, leaves `brief_seq` behind."""
_SET_COLUMNS = ", ".join(f"{name} = ?" for name in (*COLUMNS.split(", ")[1:], "brief", "counts", "brief_seq"))
_NO_COLUMNS = (None,) * 16
_SHOWN = "brief_seq = next_seq AND created_at IS NOT NULL"


def make(db: sqlite3.Connection) -> None:
    """Makes the tables of a new file."""
    for statement in _TABLES.split(";\n"):
        db.execute(statement)
    db.execute(f"PRAGMA application_id = {OURS}")
    db.execute(f"PRAGMA user_version = {FORMAT}")


def set_label(db: sqlite3.Connection, key: int | None, state_id: str, label: dict[str, Json], next_seq: int) -> None:
    """Keeps a label, for so many entries."""
    columns = columns_of(state_id, label)
    brief = brief_of(columns) if columns else None
    shown: tuple[Any, ...] = (*columns[1:], *brief, next_seq) if columns and brief else _NO_COLUMNS
    db.execute(
        f"UPDATE states SET next_seq = ?, label = ?, label_seq = ?, {_SET_COLUMNS} WHERE key = ?",
        (next_seq, text_of(label), next_seq, *shown, key),
    )


def rows(db: sqlite3.Connection, at: datetime) -> List[SavedState]:
    """A row for each State, in no order; `at` where nothing of one can be read."""
    out, shown = _shown_rows(db)
    (count,) = db.execute("SELECT count(*) FROM states").fetchone()  # of an index: looking at each row takes longer
    if count > len(out):
        out += _other_rows(db, shown, at)
    return out


def _shown_rows(db: sqlite3.Connection) -> tuple[List[SavedState], str]:
    """The rows that can be had from columns, and the condition for them."""
    if lacks_columns(db):  # they could not be added: the file can only be read
        shown = "label_seq = next_seq AND created_at IS NOT NULL"
        found, damaged = rows_from_columns(db.execute(f"SELECT {COLUMNS} FROM states WHERE {shown}"))
        return ([], "FALSE") if damaged else (found, shown)
    try:
        return _brief_rows(db), _SHOWN
    except (ValueError, TypeError, AttributeError, struct.error, sqlite3.OperationalError) as error:
        if isinstance(error, sqlite3.OperationalError) and "decode" not in str(error):
            raise
        # one is damaged (a text that is no UTF-8 is an OperationalError): each by itself
        return [], "FALSE"


def _brief_rows(db: sqlite3.Connection) -> List[SavedState]:
    (kept,) = db.execute("PRAGMA cache_size").fetchone()
    db.execute("PRAGMA cache_size = 50")  # each page is looked at once: to keep them costs the memory's time
    try:
        found = db.execute(f"SELECT {BRIEF} FROM states WHERE {_SHOWN}")
        out: List[SavedState] = []
        while chunk := found.fetchmany(200):
            out += rows_from_brief(chunk)
        return out
    finally:
        db.execute(f"PRAGMA cache_size = {kept}")


def _other_rows(db: sqlite3.Connection, shown: str, at: datetime) -> List[SavedState]:
    """The rows that can't be had from columns, from their labels or entries."""
    columns = "key, CAST(id AS BLOB), CAST(label AS BLOB), label_seq = next_seq"
    out = []
    for key, id, label, fresh in db.execute(f"SELECT {columns} FROM states WHERE ({shown}) IS NOT TRUE").fetchall():
        known = read_label(label) if fresh else None
        with contextlib.suppress(UnicodeDecodeError):  # no id of ours: nothing could be done with the row
            out.append(row_of(id.decode(), known, lambda key=key: texts(db, key), at))  # type: ignore[misc]
    return out


def lacks_columns(db: sqlite3.Connection) -> bool:
    """Whether the columns that came later are missing."""
    return all(row[1] != "brief_seq" for row in db.execute("PRAGMA table_info(states)"))


def add_columns(db: sqlite3.Connection) -> None:
    """Adds the columns that came later, and fills them for what is there."""
    for column in _MORE:
        db.execute(f"ALTER TABLE states ADD COLUMN {column}")
    found = db.execute(
        f"SELECT key, next_seq, {COLUMNS} FROM states WHERE label_seq = next_seq AND created_at IS NOT NULL"
    )
    made = [(*brief, next_seq, key) for key, next_seq, *columns in found if (brief := brief_of(tuple(columns)))]
    db.executemany("UPDATE states SET brief = ?, counts = ?, brief_seq = ? WHERE key = ?", made)


def texts(db: sqlite3.Connection, key: int | None) -> Iterator[bytes]:
    """The entries of a State, as they are kept."""
    asked = "SELECT CAST(entry AS BLOB) FROM entries WHERE state = ? ORDER BY seq"
    return (text for (text,) in db.execute(asked, (key,)))


def last_texts(db: sqlite3.Connection, key: int) -> List[bytes]:
    """The last entries of a State, as they are kept: as many as `tail` looks at."""
    asked = "SELECT CAST(entry AS BLOB) FROM entries WHERE state = ? ORDER BY seq DESC LIMIT ?"
    out: List[bytes] = []
    size = 0
    for (text,) in db.execute(asked, (key, tail.END)):
        out.append(text)
        size += len(text)
        if size > tail.END_BYTES:
            break
    return out[::-1]


__all__ = [
    "FORMAT",
    "NEXT_SEQ",
    "OURS",
    "add_columns",
    "lacks_columns",
    "last_texts",
    "make",
    "rows",
    "set_label",
    "texts",
]
