"""`SearchIndex`: full text over a store, in one file that can be thrown away. It knows the library, not the screen.

The index holds a copy of the words for its snippets; what is true stands in the store alone. A file that is damaged, or of
another version, is made again; a folder that cannot be written gives an index in memory.
"""

from __future__ import annotations

import contextlib
import os
import re
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from fireside.history import HistoryEntry

if TYPE_CHECKING:
    from fireside import Record, SavedState, Store

T = TypeVar("T")
VERSION = 1
LONGEST = 20_000
"""How many characters of a tool's result are indexed."""
TITLE_SEQ = -1

SCHEMA = f"""
CREATE TABLE conversation (id TEXT PRIMARY KEY, mark TEXT NOT NULL, begun TEXT NOT NULL, last INTEGER NOT NULL,
                           title TEXT NOT NULL);
CREATE TABLE entry (rowid INTEGER PRIMARY KEY, id TEXT NOT NULL, seq INTEGER NOT NULL, at TEXT NOT NULL, text TEXT NOT NULL);
CREATE INDEX entry_id ON entry (id);
CREATE VIRTUAL TABLE words USING fts5 (text, content='entry', tokenize='unicode61 remove_diacritics 2');
PRAGMA user_version = {VERSION};
"""

# Scripts that put no blank between words: each character is indexed as a word, and a query for several is a phrase.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
_SPREAD = re.compile(f"(?<=[{_UNSPACED}])(?=\\w)|(?<=\\w)(?=[{_UNSPACED}])")
_JOIN = re.compile(f"(?<=[{_UNSPACED}])\x1f|\x1f(?=[{_UNSPACED}])")
_CONTROLS = re.compile("[\x00-\x08\x0e-\x1f]")
_OPEN, _CLOSE = "\x02", "\x03"


@dataclass(frozen=True, slots=True)
class Hit:
    """A conversation that was found, by its best place.

    `seq` is that of the entry, -1 where it is the title; `snippet` is one line of it, and `marks` are the ranges in the
    snippet that matched. All of it is outside text: pass it through `safe_text`.
    """

    id: str
    title: str
    snippet: str
    seq: int
    at: datetime
    marks: tuple[tuple[int, int], ...] = ()


class SearchIndex:
    """The index of one store. Its calls block, so an app makes them on a thread; they may come from any.

    `cache_path` is the file (`config.paths().search_index(place)`). The store has to have the sync `list` and `read`.
    """

    def __init__(self, cache_path: str | os.PathLike[str], store: Store) -> None:
        self._path = Path(cache_path)
        self._store = store
        self._guard = threading.RLock()
        self._db: sqlite3.Connection | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes the file; the next call opens it again."""
        with self._guard:
            if self._db is not None:
                self._db.close()
                self._db = None

    def update(self, progress: Callable[[int, int], object] | None = None) -> int:
        """Takes in what has changed in the store since the last time; how many conversations that were.

        `progress(done, of)` is called after each; what it raises ends the update, and what is done stays. Raises what
        the store's `list` raises; a conversation that can't be read is left for the next time.
        """
        rows = self._store.list()
        return self._tried(lambda db: self._update(db, rows, progress))

    def search(self, query: str, limit: int = 50) -> list[Hit]:
        """The conversations that hold all words of the query in one place, best first. It never raises for a query.

        Case and accents do not count, and the last word may be the start of one. `update` comes before it.
        """
        asked = match_of(query)
        return self._tried(lambda db: list(self._hits(db, asked, limit))) if asked and limit > 0 else []

    # -- the file

    def _tried(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Does the work; once more with a fresh file where the old one is damaged, and in memory where that fails too."""
        with self._guard:
            for _ in range(2):
                try:
                    return work(self._open(str(self._path)))
                except (sqlite3.DatabaseError, OSError) as error:
                    if isinstance(error, sqlite3.OperationalError) and "locked" in str(error):
                        raise
                    self.close()
                    for suffix in ("", "-wal", "-shm"):
                        with contextlib.suppress(OSError):
                            os.unlink(f"{self._path}{suffix}")
            return work(self._open(":memory:"))

    def _open(self, place: str) -> sqlite3.Connection:
        if self._db is not None:
            return self._db
        if place != ":memory:":
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            os.close(os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600))  # the words of conversations are private
        self._db = db = sqlite3.connect(place, timeout=5, isolation_level=None, check_same_thread=False)
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = NORMAL")
        with _written(db):
            if db.execute("PRAGMA user_version").fetchone()[0] != VERSION:
                for name in ("words", "entry", "conversation"):
                    db.execute(f"DROP TABLE IF EXISTS {name}")
                for statement in SCHEMA.split(";"):
                    db.execute(statement)
        return db

    # -- taking in

    def _update(
        self, db: sqlite3.Connection, rows: list[SavedState], progress: Callable[[int, int], object] | None
    ) -> int:
        known: dict[str, str] = dict(db.execute("SELECT id, mark FROM conversation"))
        changed = [row for row in rows if known.get(row.id) != _mark(row)]
        gone = known.keys() - {row.id for row in rows}
        if gone:
            with _written(db):
                for state_id in gone:
                    _forget(db, state_id)
        for done, row in enumerate(changed, 1):
            try:
                record = self._store.read(row.id)
            except Exception:  # whatever a store raises; the next update tries again
                record = None
            if record is not None:
                self._take(db, row, record)
            if progress is not None:
                progress(done, len(changed))
        return len(changed) + len(gone)

    def _take(self, db: sqlite3.Connection, row: SavedState, record: Record) -> None:
        begun = row.created_at.isoformat()
        with _written(db):
            old = db.execute("SELECT begun, last FROM conversation WHERE id = ?", (row.id,)).fetchone()
            if old is not None and old[0] != begun:  # deleted and made again under its id
                _forget(db, row.id)
                old = None
            last = old[1] if old else TITLE_SEQ
            _forget(db, row.id, seq=TITLE_SEQ)
            _add(db, row.id, TITLE_SEQ, row.updated_at.isoformat(), row.title)
            for seq, at, text in _texts(record.entries, last):
                _add(db, row.id, seq, at, text)
            db.execute(
                "INSERT OR REPLACE INTO conversation VALUES (?, ?, ?, ?, ?)",
                (row.id, _mark(row), begun, record.next_seq - 1, _storable(row.title)),
            )

    # -- finding

    def _hits(self, db: sqlite3.Connection, asked: str, limit: int) -> Iterator[Hit]:
        found: dict[str, int] = {}  # the best place of each conversation
        for rowid, state_id in db.execute(
            "SELECT words.rowid, entry.id FROM words JOIN entry ON entry.rowid = words.rowid "
            "WHERE words MATCH ? ORDER BY rank",
            (asked,),
        ):
            found.setdefault(state_id, rowid)
            if len(found) == limit:
                break
        for rowid in found.values():
            row = db.execute(
                "SELECT entry.id, title, seq, at, snippet(words, 0, ?, ?, '…', 16) FROM words "
                "JOIN entry ON entry.rowid = words.rowid JOIN conversation ON conversation.id = entry.id "
                "WHERE words MATCH ? AND words.rowid = ?",
                (_OPEN, _CLOSE, asked, rowid),
            ).fetchone()
            if row is not None:
                state_id, title, seq, at, marked = row
                snippet, marks = _unmarked(marked)
                yield Hit(state_id, title, snippet, seq, datetime.fromisoformat(at), marks)


def match_of(query: str) -> str:
    """The query in FTS5's language: all words, the last one as the start of a word; empty where there are none.

    >>> match_of('log-in ?! "tes*')
    '"log-in" AND "tes*" *'
    """
    words = [word for word in _storable(query).replace('"', " ").split() if any(map(str.isalnum, word))]
    phrases = [f'"{_SPREAD.sub(" ", word)}"' for word in words]
    if phrases and query[-1:].strip():
        phrases[-1] += " *"
    return " AND ".join(phrases)


@contextlib.contextmanager
def _written(db: sqlite3.Connection) -> Iterator[None]:
    db.execute("BEGIN IMMEDIATE")
    with db:  # commits, or rolls back where it fails
        yield


def _mark(row: SavedState) -> str:
    """What changes whenever there is something new to find. A rename does not move `updated_at`."""
    return f"{row.updated_at.isoformat()} {row.turn} {row.status == 'running'} {_storable(row.title)}"


def _texts(entries: Iterable[dict[str, Any]], last: int) -> Iterator[tuple[int, str, str]]:
    """What can be found, of the entries behind the place `last`: place, time, text."""
    streamed: dict[tuple[int, int], list[str]] = {}
    for raw in entries:
        try:
            entry = HistoryEntry.from_json(raw)
            kind, text = entry.kind, entry.text
            if kind == "partial_reply":
                pieces = streamed.setdefault((entry.content["seen"], entry.content["attempt"]), [])
                pieces.append(text)
                text = "".join(pieces) if entry.content.get("cut") else ""
            elif kind not in ("user", "reply", "tool_result"):
                continue
        except (KeyError, TypeError, ValueError, AttributeError):
            continue  # damaged: the rest can be found
        if entry.seq > last and text.strip():
            yield entry.seq, entry.at.isoformat(), text[:LONGEST] if kind == "tool_result" else text


def _storable(text: str) -> str:
    return _CONTROLS.sub("\ufffd", text.encode("utf-8", "replace").decode())


def _add(db: sqlite3.Connection, state_id: str, seq: int, at: str, text: str) -> None:
    spread = _SPREAD.sub("\x1f", _storable(text))
    cursor = db.execute("INSERT INTO entry (id, seq, at, text) VALUES (?, ?, ?, ?)", (state_id, seq, at, spread))
    db.execute("INSERT INTO words (rowid, text) VALUES (?, ?)", (cursor.lastrowid, spread))


def _forget(db: sqlite3.Connection, state_id: str, seq: int | None = None) -> None:
    where, args = ("id = ?", [state_id]) if seq is None else ("id = ? AND seq = ?", [state_id, seq])
    db.execute(f"INSERT INTO words (words, rowid, text) SELECT 'delete', rowid, text FROM entry WHERE {where}", args)
    db.execute(f"DELETE FROM entry WHERE {where}", args)
    if seq is None:
        db.execute("DELETE FROM conversation WHERE id = ?", args)


def _unmarked(marked: str) -> tuple[str, tuple[tuple[int, int], ...]]:
    """A snippet on one line, and the ranges in it that were between the marks."""
    text, marks, start = "", [], 0
    line = _JOIN.sub("", re.sub(f"{_CLOSE}(\x1f?){_OPEN}", r"\1", marked))
    for piece in re.split(f"([{_OPEN}{_CLOSE}])", re.sub(r"\s+", " ", line.replace("\x1f", ""))):
        if piece == _OPEN:
            start = len(text)
        elif piece == _CLOSE:
            marks.append((start, len(text)))
        else:
            text += piece
    return text, tuple(marks)


__all__ = ["Hit", "SearchIndex"]
