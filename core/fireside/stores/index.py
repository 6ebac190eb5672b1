"""What a list of many conversations showed last, for the next process: derived, checked row by row, thrown away at will.

A row is believed only while its log is the file, of the size and the time, that it was made from. It knows the contract.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
from collections.abc import Callable
from datetime import datetime
from zlib import crc32

from fireside.messages import Usage
from fireside.stores.base import SavedState
from fireside.stores.disk import read_whole

Stamp = tuple[int, int, int]
Rows = dict[str, tuple[Stamp, SavedState]]

WORTH = 500
"""So many rows that had to be made anew are worth writing down."""


def path_of(root: str) -> str:
    """Where it lies."""
    return f"{root}/.list"


def read(root: str) -> Callable[[str, Stamp], SavedState | None]:
    """Gives the row of a name, if it was made from the log with this stamp."""
    try:
        data = read_whole(path_of(root))
        head, body = data[:9], data[9:]
        rows = json.loads(body) if head == b"%08x\n" % crc32(body) else {}
    except (OSError, ValueError, RecursionError):
        rows = {}
    get, new, when = rows.get, tuple.__new__, datetime.fromisoformat

    def row(name: str, stamp: Stamp) -> SavedState | None:
        kept = get(name)
        if kept is None or tuple(kept[:3]) != stamp:
            return None
        # the tuples' own constructors: those of the classes are written in Python, and there are thousands of rows
        usage = new(Usage, kept[11:17])
        return new(SavedState, (*kept[3:6], when(kept[6]), when(kept[7]), *kept[8:11], usage))

    return row


def write(root: str, rows: Rows) -> None:
    """Writes it down, without a wait; fails in silence."""
    kept = {}
    for name, (stamp, row) in rows.items():
        u = row.usage
        times = row.created_at.isoformat(), row.updated_at.isoformat()
        tokens = u.input, u.output, u.cache_read, u.cache_write, u.requests, u.cost
        kept[name] = (*stamp, row.id, row.task, row.title, *times, row.turn, row.stopped_by, row.status, *tokens)
    body = json.dumps(kept, separators=(",", ":")).encode()
    made = f"{root}/.list-{secrets.token_hex(4)}"
    try:
        fd = os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(fd, "wb") as file:
            file.write(b"%08x\n" % crc32(body) + body)
        os.replace(made, path_of(root))
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(made)


def forget(root: str) -> None:
    """Throws it away: it may tell of a conversation that is deleted."""
    with contextlib.suppress(OSError):
        os.unlink(path_of(root))


__all__ = ["WORTH", "forget", "read", "write"]
