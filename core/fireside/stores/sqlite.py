"""`SQLiteStore`: every conversation in one SQLite file, through the standard library. It knows the store contract.

Write-ahead log, `synchronous=FULL`: one sync a write. Each thread has a connection of its own, none outlives a fork, and
the States' locks are files beside the database, held as FileStore holds them.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
import time
import weakref
from builtins import list as List
from collections.abc import Callable, Iterator
from datetime import UTC, datetime

from fireside.errors import Holder
from fireside.history import HistoryEntry
from fireside.ids import check_id
from fireside.messages import Json
from fireside.stores import sqlite_tables as tables
from fireside.stores import tail
from fireside.stores.base import Lock, NoLock, Store
from fireside.stores.disk import Disk
from fireside.stores.forks import leave_to_parent
from fireside.stores.lock import LockFolder
from fireside.stores.names import name_of
from fireside.stores.quiet import no_gc
from fireside.stores.record import Record, SavedState, as_it_runs, newer, same_state
from fireside.stores.rows import new_entries, parsed, read_label, record_of, text_of

Row = dict[str, Json]

_PATIENCE = 30.0  # seconds that a write waits for another one
_ASKED = f"SELECT key, {tables.NEXT_SEQ}, CAST(label AS BLOB) FROM states WHERE id = ?"
_MAGIC = b"SQLite format 3\0"


class _Connection:
    """The connection of one thread, in one process."""

    __slots__ = ("__weakref__", "db", "guard", "pid")

    def __init__(self) -> None:
        self.db: sqlite3.Connection | None = None
        self.guard = threading.Lock()  # held while it is used
        self.pid = 0

    def close(self, getpid: Callable[[], int] = os.getpid) -> None:  # at the interpreter's end, `os` may be gone
        db, self.db = self.db, None
        if db is not None and self.pid == getpid():
            db.close()

    def __del__(self) -> None:
        self.close()


_open: weakref.WeakSet[_Connection] = weakref.WeakSet()


def _before_fork() -> None:
    """Closes what is idle: SQLite must not be used, nor closed, in a child that was forked with it open."""
    for connection in list(_open):
        if connection.guard.acquire(blocking=False):
            try:
                connection.close()
            finally:
                connection.guard.release()


def _in_child() -> None:
    """What was in use by another thread is kept open for good: closing it would end the parent's transaction."""
    leave_to_parent([connection.db for connection in list(_open) if connection.db is not None])
    _open.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_child=_in_child)


class SQLiteStore(Store):
    """Keeps all States in the SQLite file `path`, which is made when it is first used, readable by its owner alone.

    `locks=False` goes without the lock files beside it, for a file system that has no locks.

    Raises `ValueError` for a file that another program or a newer fireside wrote, `sqlite3.DatabaseError` for one that is
    damaged; nothing is ever built over it.
    """

    def __init__(self, path: str | os.PathLike[str], *, locks: bool = True) -> None:
        self.path = os.path.abspath(os.fspath(path))
        if os.fspath(path) in ("", ":memory:"):
            raise ValueError("SQLiteStore needs a file: what is kept in memory does not survive the process")
        self._locks = LockFolder(f"{self.path}-locks", Disk().make_folders) if locks else None
        self._mine = threading.local()

    def __repr__(self) -> str:
        return f"SQLiteStore({self.path!r}{'' if self._locks else ', locks=False'})"

    def _place(self) -> object:
        return ("sqlite", os.path.normcase(os.path.realpath(self.path)))

    # -- locks

    def has_locks(self) -> bool:
        """Whether it was opened with locks."""
        return self._locks is not None

    def lock(self, state_id: str) -> Lock:
        """Takes the State's lock, at once or not at all: `StateInUseError`. It dies with the process that holds it."""
        return self._locks.lock(name_of(check_id(state_id)), state_id) if self._locks else NoLock()

    def _lock_for_write(self, state_id: str) -> Lock:
        return self._locks.lock(name_of(check_id(state_id)), state_id, brief=True) if self._locks else NoLock()

    def holder(self, state_id: str) -> Holder | None:
        """Who holds the State's lock; `None` where nobody does, or the store was opened without locks."""
        return self._locks.holder(name_of(check_id(state_id))) if self._locks else None

    # -- write and read

    def write(self, state_id: str, entries: List[Row], snapshot: Row | None, *, create: bool = False) -> None:
        """See `Store.write`. One transaction, one sync."""
        check_id(state_id)
        with self._transaction() as db:
            asked = f"SELECT key, {tables.NEXT_SEQ}, CAST(created_at AS BLOB) FROM states WHERE id = ?"
            found = db.execute(asked, (state_id,)).fetchone()
            if create:
                if found:
                    raise ValueError(f"there is a State {state_id!r} already")
                made = db.execute("INSERT INTO states (id, next_seq) VALUES (?, 0)", (state_id,))
                key, next_seq = made.lastrowid, entries[0]["seq"] if entries else 0
            elif found:
                key, next_seq, born = found
                same_state(state_id, born and {"created_at": born.decode(errors="replace")}, snapshot)
            else:
                raise LookupError(f"the store has no State {state_id!r}: it was deleted, or never saved")
            entries, next_seq = new_entries(state_id, next_seq, entries, tables.texts(db, key))
            db.executemany(
                "INSERT INTO entries VALUES (?, ?, ?)", [(key, entry["seq"], text_of(entry)) for entry in entries]
            )
            if snapshot is None:
                db.execute("UPDATE states SET next_seq = ? WHERE key = ?", (next_seq, key))
                return
            tables.set_label(db, key, state_id, snapshot, next_seq)

    def read(self, state_id: str) -> Record | None:
        """See `Store.read`."""
        check_id(state_id)
        with self._reading() as db:
            if db is None:
                return None
            found = db.execute(_ASKED, (state_id,)).fetchone()
            if found is None:
                return None
            key, next_seq, label = found
            return record_of(tables.texts(db, key), read_label(label), next_seq)

    def peek(self, state_id: str) -> List[HistoryEntry]:
        """See `Store.peek`: of many entries, the last ones."""
        check_id(state_id)
        with self._reading() as db:
            if db is None:
                return []
            key, next_seq, label = db.execute(_ASKED, (state_id,)).fetchone() or (0, None, None)
            if next_seq is None or next_seq < tail.LONG or newer(read_label(label)):
                return []
            last = parsed(tables.last_texts(db, key))
        return [] if last.damaged else tail.last_runs(last.rows)

    def list(self) -> List[SavedState]:
        """See `Store.list`."""
        with self._reading() as db, no_gc():
            if db is None:
                return []
            rows = tables.rows(db, datetime.fromtimestamp(os.stat(self.path).st_mtime, UTC))
        return as_it_runs(rows, lambda id: self._locks is not None and self.holder(id) is not None)

    def delete(self, state_id: str) -> None:
        """See `Store.delete`."""
        check_id(state_id)
        with self._reading() as db:
            if db is None or not db.execute("SELECT 1 FROM states WHERE id = ?", (state_id,)).fetchone():
                return
        lock = self.lock(state_id)
        try:
            with self._transaction() as db:
                db.execute("DELETE FROM entries WHERE state = (SELECT key FROM states WHERE id = ?)", (state_id,))
                db.execute("DELETE FROM states WHERE id = ?", (state_id,))
            if self._locks:
                self._locks.remove(name_of(state_id))
        finally:
            lock.release()

    def close(self) -> None:
        """Closes this thread's connection; those of other threads go with them. The store can be used on."""
        if own := getattr(self._mine, "connection", None):
            with own.guard:
                own.close()

    # -- connections

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._connected(create=True) as db:
            assert db is not None
            try:
                db.execute("BEGIN IMMEDIATE")
                yield db
                db.execute("COMMIT")
            except BaseException:
                if db.in_transaction:
                    with contextlib.suppress(sqlite3.Error):
                        db.execute("ROLLBACK")
                raise

    @contextlib.contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection | None]:
        """One view of the database for several questions; `None` where it was not made yet."""
        with self._connected(create=False) as db:
            if db is None:
                yield None
                return
            try:
                db.execute("BEGIN")
                yield db
            finally:
                if db.in_transaction:
                    db.execute("ROLLBACK")

    @contextlib.contextmanager
    def _connected(self, *, create: bool) -> Iterator[sqlite3.Connection | None]:
        own: _Connection | None = getattr(self._mine, "connection", None)
        if own is None or (own.db is not None and own.pid != os.getpid()):
            own = self._mine.connection = _Connection()
        with own.guard:
            try:
                if own.db is not None and not os.path.exists(self.path):
                    own.close()
                if own.db is None:
                    if not create and not os.path.exists(self.path):
                        yield None
                        return
                    own.pid = os.getpid()
                    own.db = self._connect()
                    _open.add(own)
                yield own.db
            except sqlite3.Error as error:
                raise self._told(error) from error

    def _connect(self) -> sqlite3.Connection:
        _make_file(self.path)
        if 0 < os.path.getsize(self.path) < len(_MAGIC):  # SQLite would take a file of a few bytes for an empty one
            raise sqlite3.DatabaseError("file is not a database")
        # a connection is closed by whoever drops the last reference, so SQLite's own check of the thread is off
        db = sqlite3.connect(self.path, timeout=_PATIENCE, isolation_level=None, check_same_thread=False)
        try:
            self._prepare(db)
        except BaseException:
            db.close()
            raise
        return db

    def _prepare(self, db: sqlite3.Connection) -> None:
        until = time.monotonic() + _PATIENCE
        while True:  # going over to the write-ahead log is not waited for by SQLite's own timeout
            try:
                db.execute("BEGIN")  # one view for all questions: another process may be making the tables
                try:
                    version = self._version(db)
                finally:
                    db.execute("ROLLBACK")
                db.execute("PRAGMA journal_mode = WAL").fetchone()
                break
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > until:
                    raise
                time.sleep(0.01)
        db.execute("PRAGMA synchronous = FULL")
        if version == tables.FORMAT and not tables.lacks_columns(db):
            return
        try:
            db.execute("BEGIN IMMEDIATE")
            if self._version(db) == 0:
                tables.make(db)
            if tables.lacks_columns(db):
                tables.add_columns(db)
            db.execute("COMMIT")
        except BaseException as error:
            if db.in_transaction:
                db.execute("ROLLBACK")
            # an older file that can only be read is listed without the columns that it lacks
            if version != tables.FORMAT or "readonly" not in str(error):
                raise

    def _version(self, db: sqlite3.Connection) -> int:
        version: int = db.execute("PRAGMA user_version").fetchone()[0]
        ours = db.execute("PRAGMA application_id").fetchone()[0] == tables.OURS
        if not ours and (version or db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]):
            raise ValueError(f"{self.path} is the database of another program: choose another file for the store")
        if version > tables.FORMAT:
            raise ValueError(
                f"{self.path} was written in format {version} by a newer fireside; "
                f"this one reads up to {tables.FORMAT}: update it"
            )
        return version

    def _told(self, error: sqlite3.Error) -> sqlite3.Error:
        """The same error, naming the file and what to do."""
        said = str(error)
        if "not a database" in said or "malformed" in said:
            advice = "it is damaged or no SQLite database. It was left as it is: move it away or restore a copy"
        elif "locking protocol" in said or "disk I/O" in said:
            advice = "SQLite can't lock it there (a network file system?): choose a local disk"
        elif "unable to open" in said or "readonly" in said:
            advice = "give this user write access to the file and its folder, or choose another one"
        else:
            advice = ""
        return type(error)(f"{self.path}: {said}{'; ' if advice else ''}{advice}")


def _make_file(path: str) -> None:
    """Makes the file with its rights before SQLite does, which gives its other files the same."""
    if os.path.exists(path):
        return
    disk, folder = Disk(), os.path.dirname(path)
    disk.make_folders(folder)
    with contextlib.suppress(FileExistsError):
        os.close(disk.open_new(path))
        disk.fsync_folder(folder)


__all__ = ["SQLiteStore"]
