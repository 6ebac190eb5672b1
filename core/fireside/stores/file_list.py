"""The list of a `FileStore`: a row for each folder, from its label and what the log has gained since. It knows the contract.

A row is made again only where its log has changed; `.list` keeps the rows for the next process.
"""

from __future__ import annotations

import contextlib
import os
from datetime import UTC, datetime

from fireside.messages import Json, Usage
from fireside.stores import index
from fireside.stores import label as labels
from fireside.stores import log as logs
from fireside.stores.disk import Stamp, read_whole, stamp_of
from fireside.stores.names import id_of
from fireside.stores.quiet import no_gc
from fireside.stores.record import SavedState, label_from_entries

_NO_LOG = (-1, -1, -1)


class Listing:
    """The rows of all conversations below a folder, as of the last look."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._rows: index.Rows = {}
        self._index = index.Index(root)

    def rows(self) -> tuple[list[str], list[SavedState]]:
        """The names in the folder, and the rows of those that are conversations; an open run is `"running"`."""
        try:
            names = os.listdir(self._root)
        except FileNotFoundError:
            return [], []
        with no_gc():
            found = self._look(names)
        rows = [row for _, row in found.values()]  # before others can see it: a save in another thread takes rows out
        self._rows = found
        return names, rows

    def glance(self) -> list[SavedState]:
        """The rows of some that changed lately, as they are now."""
        found = []
        for name, kept in (self._index.last() or self._newest()).items():
            if (state_id := id_of(name)) is None:
                continue
            try:
                log = os.stat(f"{self._root}/{name}/log.jsonl")
            except (OSError, ValueError):
                continue
            stamp = stamp_of(log)
            if (row := index.row_in(kept, name, stamp)) is not None:
                found.append(row)
            elif (made := self._row(name, state_id, stamp)) is not None:
                found.append(made[1])
        return found

    def _newest(self) -> dict[str, None]:
        """The names of those whose logs were written last, where there are many and no list was kept of them."""
        written = []
        with contextlib.suppress(OSError):
            names = os.listdir(self._root)
            for name in names if len(names) >= index.WORTH else ():
                with contextlib.suppress(OSError, ValueError):
                    written.append((os.stat(f"{self._root}/{name}/log.jsonl").st_mtime_ns, name))
        return dict.fromkeys(name for _, name in sorted(written)[-index.LAST :])

    def forget(self, name: str, *, for_good: bool = False) -> None:
        """The row of this name has to be made again; `for_good`: it is deleted, and no file may tell of it."""
        self._rows.pop(name, None)
        if for_good:
            self._index.forget()

    def _look(self, names: list[str]) -> index.Rows:
        before, root, stat = self._rows, self._root, os.stat
        rows: index.Rows = {}
        written = self._index.read() if not before and len(names) >= index.WORTH else {}
        made, there = [], set(names)
        # in the order of the last list, so that what comes of it is nearly sorted
        order = [name for name in [*(before or written)] if name in there]
        order += there.difference(order)
        for name in order:
            try:
                log = stat(f"{root}/{name}/log.jsonl")
                stamp = log.st_ino, log.st_size, log.st_mtime_ns  # `stamp_of`, without a call for each of thousands
            except OSError as error:
                gone = isinstance(error, FileNotFoundError | NotADirectoryError)
                if gone and not os.path.lexists(f"{root}/{name}/snapshot.json"):
                    continue
                stamp = (0, 0, 0)
            known, kept = before.get(name), written.get(name)
            if known is not None and known[0] == stamp:
                rows[name] = known
            elif kept is not None and (row := index.row_in(kept, name, stamp)) is not None:
                rows[name] = (stamp, row)
            elif (state_id := id_of(name)) is not None and (new := self._row(name, state_id, stamp)) is not None:
                rows[name] = new
                if new[0] == stamp and new[1].status != "running":  # that one changes again at once
                    made.append(name)
        told = len(rows) < index.WORTH and ".list" in names
        if told or not (before.keys() <= rows.keys() and written.keys() <= rows.keys()):
            self._index.forget()  # who deleted a conversation may have been killed before it did this
        self._index.keep(rows, made)
        return rows

    def _row(self, name: str, state_id: str, stamp: Stamp) -> tuple[Stamp, SavedState] | None:
        """The row, and of which log it is believed: of none, where that could not be read just now."""
        made_from = stamp
        folder = f"{self._root}/{name}"
        label = labels.read(folder)
        if label is not None and label.content.get("id") == state_id:
            try:
                if (now := _as_of(label, f"{folder}/log.jsonl", stamp[1])) is not None:
                    return stamp, SavedState.from_label(now, running=True)
            except (KeyError, TypeError, ValueError, AttributeError):
                pass
        try:
            parsed = logs.parse(read_whole(f"{folder}/log.jsonl"))
            again = label_from_entries(state_id, parsed.rows, parsed.next_seq)
            return stamp, SavedState.from_label(again, running=True)
        except FileNotFoundError:
            if label is None:
                return None
        except OSError:  # too many open files, a disk that comes back
            made_from = _NO_LOG
        except (KeyError, TypeError, ValueError):
            pass
        # nothing in it can be read: it is there all the same
        at = datetime.fromtimestamp(stamp[2] / 1e9, UTC)
        return made_from, SavedState(state_id, "", "", at, at, 0, None, "new", Usage())


def _as_of(label: labels.Label, path: str, size: int) -> dict[str, Json] | None:
    """The label as it would be now, from what the log has gained since; `None` where that can't be told from its end, or
    the log has lost what the label tells of."""
    if label.size == size:
        return label.content
    if label.size > size:  # it was written since the log was looked at, or that has lost something
        with contextlib.suppress(OSError):
            size = os.stat(path).st_size
        return label.content if not 0 < size < label.size else None
    try:
        data = read_whole(path, label.size - 1)
    except OSError:
        return None
    found = logs.parse(data[1:]) if label.size > 0 and data[:1] == b"\n" else None
    if found is None or found.damaged or found.open_end:
        return None
    return labels.carried_on(label.content, found.rows)


__all__ = ["Listing"]
