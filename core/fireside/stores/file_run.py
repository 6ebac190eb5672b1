"""The lock of a run on a `FileStore`, and the label meanwhile: it waits as long as the end of the log tells as much.

Replacing the label costs a third of a step, in three renames that the log's next sync has to carry to the disk as well.
While a run holds the lock, nobody but its process adds to the log, so the store knows what the label on disk says.
"""

from __future__ import annotations

from collections.abc import Callable

from fireside.messages import Json
from fireside.stores import label as labels
from fireside.stores.lock import FileLock

Row = dict[str, Json]

TAIL = 1 << 16
"""So many bytes a log may gain until its label is written again: what a list then reads of it takes a millisecond."""


class RunLock:
    """A held lock, and the label that was last written under it. `end` is called before the lock is given back."""

    __slots__ = ("_end", "_label", "_lock", "_size", "waiting")

    def __init__(self, lock: FileLock, end: Callable[[RunLock], None]) -> None:
        self._lock, self._end = lock, end
        self._label: Row | None = None  # what the label on disk says, carried on by the entries since
        self._size = 0  # how long the log was when it was written
        self.waiting: tuple[Row, int, int] | None = None  # the label that was not written, its next seq and log size

    def release(self) -> None:
        """Writes the label where it still waits, and gives the lock back. A second time it does nothing."""
        try:
            if self._lock.held:
                self._end(self)
        finally:  # a second Ctrl+C may arrive in there, and the lock must not outlive the run
            self._lock.release()

    def may_wait(self, label: Row, entries: list[Row], next_seq: int, size: int) -> bool:
        """Whether the label need not be written now, after these entries: their lines in the log tell all of it."""
        if self._label is None or not self._lock.held or size - self._size > TAIL:
            return False
        self._label = labels.carried_on(self._label, entries)
        if self._label is None or self._label != label:
            return False
        self.waiting = label, next_seq, size
        return True

    def wrote(self, label: Row | None, size: int) -> None:
        """Notes the label that is now on disk, made from so many bytes of the log; `None` where it could not be written."""
        self._label, self._size, self.waiting = label, size, None


__all__ = ["TAIL", "RunLock"]
