"""What a list of many conversations found, kept for the next process: derived, checked row by row, thrown away at will.

A row is believed only while its log is the file, of the size and the time, that it was made from. It knows the contract.

The file has lines of rows, each line behind its checksum; a later row of a name stands for the earlier ones. So a list adds
what it had to make anew, and the end of the file tells of the conversations that changed last.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any
from zlib import crc32

from fireside.messages import Usage
from fireside.stores.disk import Stamp, read_whole
from fireside.stores.names import id_of
from fireside.stores.record import SavedState

Rows = dict[str, tuple[Stamp, SavedState]]

SHAPE = 1
"""What a row is made of; it goes into the checksums, so that no version believes the rows of one with others."""
WORTH = 500
"""So many conversations are worth the file."""
LINE = 50
"""Rows in a line."""
LAST = 100
"""Rows that are enough of the last ones."""
END = 1 << 19
"""Bytes at the end of the file in which there is a whole line: a row takes up to 5 kB, where its texts are not ASCII."""
_NOTHING = Usage()


class Index:
    """The file of a store's folder. It fails in silence: what it lacks is read from the labels."""

    def __init__(self, root: str) -> None:
        self._root, self._path = root, f"{root}/.list"
        self._count = -1  # rows in the file; -1 where it is not there, or was never read

    def read(self) -> dict[str, Any]:
        """All rows, by name, for `row_in`."""
        rows: dict[str, Any] = {}
        self._count = -1
        with contextlib.suppress(OSError):
            data = read_whole(self._path)
            self._count = 0
            for line in _lines(data.split(b"\n")):
                rows.update(line)
                self._count += len(line)
        return rows

    def last(self) -> dict[str, Any]:
        """Rows at the end of the file, by name."""
        rows: dict[str, Any] = {}
        with contextlib.suppress(OSError):
            start = max(0, os.stat(self._path).st_size - END)
            for line in _lines(reversed(read_whole(self._path, start).split(b"\n"))):
                rows = line | rows
                if len(rows) >= LAST:
                    break
        return rows

    def keep(self, rows: Rows, made: list[str]) -> None:
        """Writes down the rows that were `made` anew; all of them where that is better. Doesn't wait for the disk."""
        if len(rows) < WORTH or not (made or self._count < 0):
            return
        grown = self._count + 2 * len(made) > 2 * len(rows)
        if self._count < 0 or grown or not (names := self._add(rows, made)):
            names = self._replace(rows)
        # one that was deleted meanwhile may have been written down after `forget`
        if any(not os.path.lexists(f"{self._root}/{name}") for name in names):
            self.forget()

    def forget(self) -> None:
        """Throws it away: it may tell of a conversation that is deleted."""
        self._count = -1
        with contextlib.suppress(OSError):
            os.unlink(self._path)

    def _add(self, rows: Rows, names: list[str]) -> list[str]:
        with contextlib.suppress(OSError), open(os.open(self._path, os.O_WRONLY | os.O_APPEND), "wb") as file:
            self._write(file, rows, names)
            self._count += len(names)
            return names
        return []

    def _replace(self, rows: Rows) -> list[str]:
        made = f"{self._root}/.list-{os.urandom(4).hex()}"
        names = [*rows]
        try:
            with open(os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                self._write(file, rows, names)
            os.replace(made, self._path)
        except OSError:
            with contextlib.suppress(OSError):
                os.unlink(made)
            return []
        self._count = len(names)
        return names

    @staticmethod
    def _write(file: Any, rows: Rows, names: list[str]) -> None:
        names = sorted(names, key=lambda name: rows[name][1].updated_at)  # for `last`
        for start in range(0, len(names), LINE):
            line = {name: _kept(*rows[name]) for name in names[start : start + LINE]}
            body = json.dumps(line, separators=(",", ":")).encode()
            file.write(b"%08x %s\n" % (crc32(body, SHAPE), body))


def row_in(kept: Any, name: str, stamp: Stamp) -> SavedState | None:
    """The row, if it is that of the name and was made from the log with this stamp."""
    # the tuples' own constructors: those of the classes are written in Python, and there are thousands of rows
    new, when = tuple.__new__, datetime.fromisoformat
    try:
        ino, size, time, id, task, title, made, moved, turn, by, status, usage = kept
        if (ino, size, time) != stamp or (id != name and id != id_of(name)):
            return None
        spent = new(Usage, usage) if usage else _NOTHING
        created, updated = when(made), when(moved)
    except (TypeError, ValueError):
        return None
    if created.tzinfo is not UTC or updated.tzinfo is not UTC or len(spent) != len(_NOTHING):
        return None
    return new(SavedState, (id, task, title, created, updated, turn, by, status, spent))


def _kept(stamp: Stamp, row: SavedState) -> tuple[Any, ...]:
    usage = row.usage if row.usage != _NOTHING else None
    times = row.created_at.isoformat(), row.updated_at.isoformat()
    return (*stamp, row.id, row.task, row.title, *times, row.turn, row.stopped_by, row.status, usage)


def _lines(data: Iterable[bytes]) -> Iterator[dict[str, Any]]:
    """Those of the lines that are whole."""
    for line in data:
        body = line[9:]
        if line[:9] == b"%08x " % crc32(body, SHAPE):
            with contextlib.suppress(ValueError, RecursionError):
                if isinstance(rows := json.loads(body), dict):
                    yield rows


__all__ = ["WORTH", "Index", "row_in"]
