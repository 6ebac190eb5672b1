"""How a State's folder is removed from a `FileStore`, and what was cut off in the middle of it. It knows the disk.

A folder is moved aside first, by one rename, so a half-deleted State is never seen.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterable

from fireside.stores.disk import Disk
from fireside.stores.lock import OneAtATime

ABANDONED = 3600.0
"""Seconds after which a half-made folder belongs to nobody."""


def move_aside(disk: Disk, root: str, folder: str) -> str | None:
    """Moves a State's folder aside, when no write to its log is under way; where to. `None` where it is gone already."""
    aside = f"{root}/.deleted-{os.urandom(8).hex()}"
    try:
        fd = disk.open_log(f"{folder}/log.jsonl")
    except OSError:
        fd = -1
    try:
        with OneAtATime(fd):
            try:
                disk.rename(folder, aside)
            except FileNotFoundError:
                return None
    finally:
        if fd >= 0:
            os.close(fd)
    return aside


def remove(disk: Disk, root: str, folder: str, aside: str) -> None:
    """Makes sure of what `move_aside` did, or takes it back; then removes what is aside."""
    try:
        disk.fsync_folder(root)
    except BaseException:
        with contextlib.suppress(OSError):
            disk.rename(aside, folder)
        raise
    with contextlib.suppress(OSError):  # it is deleted; what is left is swept up by the next list
        disk.remove_tree(aside)


def sweep(disk: Disk, root: str, names: Iterable[str]) -> None:
    """Removes what deletions, creations and lists that were cut off left behind."""
    for name in [name for name in names if name[0] == "."]:
        path = f"{root}/{name}"
        with contextlib.suppress(OSError):
            if name.startswith(".list-"):  # it may tell of one that is deleted; who still writes it does without
                os.unlink(path)
            elif name.startswith(".deleted-") or (
                name.startswith(".new-") and time.time() - os.stat(path).st_mtime > ABANDONED
            ):
                disk.remove_tree(path)


__all__ = ["ABANDONED", "move_aside", "remove", "sweep"]
