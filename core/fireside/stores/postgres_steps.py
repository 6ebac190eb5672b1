"""What PostgresStore asks the database, as steps that wait for nothing: whoever runs them has a sync or an async connection.

A generator yields a statement with its values (a list of tuples: once for each) and is sent the rows. It knows rows.
"""

from __future__ import annotations

import hashlib
from builtins import list as List
from collections.abc import Generator
from datetime import UTC, datetime
from typing import Any, TypeVar

from fireside.errors import Holder, StateInUseError
from fireside.stores.record import Record, SavedState, as_it_runs, same_state
from fireside.stores.rows import (
    COLUMNS,
    Row,
    columns_of,
    new_entries,
    read_label,
    record_of,
    row_of,
    rows_from_columns,
    text_of,
)

T = TypeVar("T")
Steps = Generator[tuple[str, Any], List[tuple[Any, ...]], T]

FORMAT = 1
"""The version of the tables; it stands in `fireside_format`."""

SETUP_LOCK = 0x46495245  # "FIRE": whoever makes the tables holds it

TABLES = """
CREATE TABLE IF NOT EXISTS fireside_format (version integer NOT NULL);
CREATE TABLE IF NOT EXISTS fireside_states (
    key bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id text COLLATE "C" NOT NULL UNIQUE,
    next_seq bigint NOT NULL,
    label text,
    label_seq bigint,
    task text, title text, created_at text, updated_at text, turn bigint, stopped_by text, status text,
    input bigint, output bigint, cache_read bigint, cache_write bigint, requests bigint, cost double precision
);
CREATE TABLE IF NOT EXISTS fireside_entries (
    state bigint NOT NULL REFERENCES fireside_states ON DELETE CASCADE,
    seq bigint NOT NULL,
    entry text NOT NULL,
    PRIMARY KEY (state, seq)
);
CREATE TABLE IF NOT EXISTS fireside_locks (
    id text COLLATE "C" PRIMARY KEY,
    token text NOT NULL,
    backend integer NOT NULL,
    host text NOT NULL,
    pid bigint NOT NULL,
    since text NOT NULL
);
"""
_SET_COLUMNS = ", ".join(f"{name} = %s" for name in COLUMNS.split(", ")[1:])
_NO_COLUMNS = (None,) * 13
_TEXTS = "SELECT entry FROM fireside_entries WHERE state = %s ORDER BY seq"
_LOCKED = (
    "FROM pg_locks p WHERE p.locktype = 'advisory' AND p.granted AND p.objsubid = 1 "
    "AND p.database = (SELECT oid FROM pg_database WHERE datname = current_database())"
)


def set_up() -> Steps[None]:
    """Makes the tables, or looks whether this version can read them. Raises `ValueError` for newer ones."""
    found = yield "SELECT to_regclass('fireside_format')::text", ()
    if found[0][0] is None:
        yield "SELECT pg_advisory_xact_lock(%s)", (SETUP_LOCK,)
        for statement in TABLES.split(";\n"):
            if statement.strip():
                yield statement, ()
        yield (
            "INSERT INTO fireside_format SELECT %s WHERE NOT EXISTS (SELECT 1 FROM fireside_format)",
            (FORMAT,),
        )
    rows = yield "SELECT max(version) FROM fireside_format", ()
    version = rows[0][0] or 0
    if version > FORMAT:
        raise ValueError(
            f"the tables were made in format {version} by a newer fireside; this one reads up to {FORMAT}: update it"
        )


def write(
    state_id: str, entries: List[Row], snapshot: Row | None, *, create: bool, token: str | None, again: bool
) -> Steps[None]:
    """`Store.write`. `token` is that of the lock that is held, if one is; `again` tells that the last try may have worked."""
    if create:
        made = yield (
            "INSERT INTO fireside_states (id, next_seq) VALUES (%s, 0) ON CONFLICT (id) DO NOTHING RETURNING key",
            (state_id,),
        )
        if not made:
            if again and (yield from _is_written(state_id, entries)):
                return
            raise ValueError(f"there is a State {state_id!r} already")
        key, next_seq = made[0][0], entries[0]["seq"] if entries else 0
    else:
        found = yield "SELECT key, next_seq, created_at FROM fireside_states WHERE id = %s FOR UPDATE", (state_id,)
        if not found:
            raise LookupError(f"the store has no State {state_id!r}: it was deleted, or never saved")
        key, next_seq, born = found[0]
        same_state(state_id, {"created_at": born}, snapshot)
    if token is not None:
        held = yield "SELECT token FROM fireside_locks WHERE id = %s", (state_id,)
        if not held or held[0][0] != token:
            raise StateInUseError(state_id)
    stored: List[bytes] = []
    if not entries or entries[0]["seq"] != next_seq:
        stored = _bytes((yield _TEXTS, (key,)))
    entries, next_seq = new_entries(state_id, next_seq, entries, stored)
    if entries:
        rows = [(key, entry["seq"], text_of(entry)) for entry in entries]
        yield "INSERT INTO fireside_entries VALUES (%s, %s, %s)", rows
    if snapshot is None:
        yield "UPDATE fireside_states SET next_seq = %s WHERE key = %s", (next_seq, key)
        return
    columns = columns_of(state_id, snapshot)
    yield (
        f"UPDATE fireside_states SET next_seq = %s, label = %s, label_seq = %s, {_SET_COLUMNS} WHERE key = %s",
        (next_seq, text_of(snapshot), next_seq, *(columns[1:] if columns else _NO_COLUMNS), key),
    )


def _is_written(state_id: str, entries: List[Row]) -> Steps[bool]:
    found = yield "SELECT key FROM fireside_states WHERE id = %s", (state_id,)
    if not found:
        return False
    texts = yield _TEXTS, (found[0][0],)
    return [text for (text,) in texts] == [text_of(entry) for entry in entries]


def read(state_id: str) -> Steps[Record | None]:
    """`Store.read`. One statement, so that it sees one moment."""
    found = yield (
        "SELECT next_seq, label, (SELECT array_agg(entry ORDER BY seq) FROM fireside_entries WHERE state = key) "
        "FROM fireside_states WHERE id = %s",
        (state_id,),
    )
    if not found:
        return None
    next_seq, label, texts = found[0]
    return record_of([text.encode() for text in texts or ()], read_label(label), next_seq)


def list_all(*, locks: bool) -> Steps[List[SavedState]]:
    """`Store.list`; without `locks` nothing counts as running."""
    columns = yield f"SELECT {COLUMNS} FROM fireside_states WHERE label_seq = next_seq AND created_at IS NOT NULL", ()
    rows, damaged = rows_from_columns(columns)
    others = yield (
        "SELECT key, id, label, label_seq = next_seq FROM fireside_states "
        "WHERE label_seq IS DISTINCT FROM next_seq OR created_at IS NULL OR id = ANY(%s)",
        (damaged,),
    )
    for key, id, label, fresh in others:
        texts = yield _TEXTS, (key,)
        known = read_label(label) if fresh else None
        rows.append(row_of(id, known, lambda texts=texts: _bytes(texts), datetime.now(UTC)))  # type: ignore[misc]
    running: set[int] = set()
    if locks and any(row.status == "running" for row in rows):
        locked = yield f"SELECT p.classid::bigint, p.objid::bigint {_LOCKED}", ()
        running = {high << 32 | low for high, low in locked}
    return as_it_runs(rows, lambda id: key_of(id) & (2**64 - 1) in running)


def delete(state_id: str) -> Steps[None]:
    """`Store.delete`, by whoever holds the lock."""
    yield "DELETE FROM fireside_states WHERE id = %s", (state_id,)


def holder(state_id: str) -> Steps[Holder | None]:
    """Who holds a lock; `None` where nobody does."""
    key = key_of(state_id) & (2**64 - 1)
    rows = yield (
        "SELECT l.host, l.pid, l.since FROM (SELECT p.pid "
        f"{_LOCKED} AND p.classid::bigint = %s AND p.objid::bigint = %s) held "
        "LEFT JOIN fireside_locks l ON l.id = %s AND l.backend = held.pid",
        (key >> 32, key & (2**32 - 1), state_id),
    )
    if not rows:
        return None
    host, pid, since = rows[0]
    if host is None:
        return Holder("an unknown host", 0, datetime.now(UTC))
    return Holder(host, pid, datetime.fromisoformat(since))


def take(state_id: str, token: str | None, holder: Holder) -> Steps[bool]:
    """Takes a lock for this connection, and says who has it unless `token` is `None`; whether it could."""
    taken = yield "SELECT pg_try_advisory_lock(%s)", (key_of(state_id),)
    if taken[0][0] and token is not None:
        yield (
            "INSERT INTO fireside_locks VALUES (%s, %s, pg_backend_pid(), %s, %s, %s) ON CONFLICT (id) DO UPDATE SET "
            "token = excluded.token, backend = excluded.backend, host = excluded.host, pid = excluded.pid, "
            "since = excluded.since",
            (state_id, token, holder.host, holder.pid, holder.since.isoformat()),
        )
    return bool(taken[0][0])


def take_again(state_id: str, token: str | None) -> Steps[bool]:
    """Takes a lock after its connection was lost; whether nobody had it in the meantime.

    Without a token, that of a single write: whether nobody has it now, since a write sees itself what others added.
    """
    taken = yield "SELECT pg_try_advisory_lock(%s)", (key_of(state_id),)
    if not taken[0][0]:
        return False
    if token is None:
        return True
    ours = yield (
        "UPDATE fireside_locks SET backend = pg_backend_pid() WHERE id = %s AND token = %s RETURNING 1",
        (state_id, token),
    )
    if not ours:
        yield "SELECT pg_advisory_unlock(%s)", (key_of(state_id),)
    return bool(ours)


def give_back(state_id: str, token: str | None) -> Steps[None]:
    """Gives a lock back."""
    if token is not None:
        yield "DELETE FROM fireside_locks WHERE id = %s AND token = %s", (state_id, token)
    yield "SELECT pg_advisory_unlock(%s)", (key_of(state_id),)


def key_of(state_id: str) -> int:
    """The number of a State's advisory lock."""
    return int.from_bytes(hashlib.blake2b(b"fireside " + state_id.encode(), digest_size=8).digest(), signed=True)


def _bytes(texts: List[tuple[Any, ...]]) -> List[bytes]:
    return [text.encode() for (text,) in texts]


__all__ = [
    "Steps",
    "delete",
    "give_back",
    "holder",
    "key_of",
    "list_all",
    "read",
    "set_up",
    "take",
    "take_again",
    "write",
]
