"""What FileStore asks of the operating system, each call by one name. It knows no other room.

A test gives a store a `Disk` that fails, or that remembers what it was asked, so no promise about power cuts rests on hope.
"""

from __future__ import annotations

import contextlib
import os
import shutil

Stamp = tuple[int, int, int]
"""What tells that a file is as it was: inode, size, time of the last change."""

_CLOEXEC = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_SMALL = 1 << 14


class Disk:
    """The calls that change something on disk, or make it stay."""

    def make_folder(self, path: str) -> None:
        """Makes a folder that only its owner can enter. Raises `FileExistsError`."""
        os.mkdir(path, 0o700)

    def open_new(self, path: str) -> int:
        """Opens a file for appending that must not exist."""
        return os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_EXCL | _CLOEXEC, 0o600)

    def open_log(self, path: str, *, create: bool = False) -> int:
        """Opens a file for reading and appending."""
        return os.open(path, os.O_RDWR | os.O_APPEND | _CLOEXEC | (os.O_CREAT if create else 0), 0o600)

    def write(self, fd: int, data: bytes) -> int:
        """Writes to a file; how many bytes it took."""
        return os.write(fd, data)

    def truncate(self, fd: int, size: int) -> None:
        """Cuts a file to a size."""
        os.ftruncate(fd, size)

    def fsync(self, fd: int) -> None:
        """Returns when what was written to the file survives a power cut."""
        os.fsync(fd)

    def fsync_folder(self, path: str) -> None:
        """Returns when the names in a folder survive a power cut."""
        if os.name == "nt":  # Windows can't open a folder, and its file systems journal names
            return
        fd = os.open(path, os.O_RDONLY | _CLOEXEC)
        try:
            self.fsync(fd)
        finally:
            os.close(fd)

    def rename(self, path: str, to: str) -> None:
        """Gives a file or folder another name. A folder never replaces one that holds something."""
        os.rename(path, to)

    def write_whole(self, path: str, data: bytes) -> None:
        """Makes a file hold these bytes, in the blocks that it has, without waiting for the disk."""
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | _CLOEXEC, 0o600)
        try:
            if self.write(fd, data) != len(data):
                raise OSError(f"{path} took only a part of what was written")
            if os.fstat(fd).st_size != len(data):
                self.truncate(fd, len(data))
        finally:
            os.close(fd)

    def remove_tree(self, path: str) -> None:
        """Removes a folder with all that is in it."""
        shutil.rmtree(path)

    # -- made of the above

    def append(self, fd: int, data: bytes) -> None:
        """Writes all of the bytes."""
        view = memoryview(data)
        while view:
            view = view[self.write(fd, bytes(view) if len(view) < len(data) else data) :]

    def make_folders(self, path: str) -> None:
        """Makes a folder and those above it, so that all of them survive a power cut."""
        missing = []
        while not os.path.isdir(path):
            missing.append(path)
            path = os.path.dirname(path)
        for folder in reversed(missing):
            with contextlib.suppress(FileExistsError):
                self.make_folder(folder)
            self.fsync_folder(os.path.dirname(folder))


def read_whole(path: str, start: int = 0) -> bytes:
    """All bytes of a file from `start` on."""
    fd = os.open(path, os.O_RDONLY | _CLOEXEC)
    try:
        return read_from(fd, start)
    finally:
        os.close(fd)


def read_small(path: str) -> bytes:
    """All bytes of a file that is usually small, in three calls."""
    fd = os.open(path, os.O_RDONLY | _CLOEXEC)
    try:
        data = os.read(fd, _SMALL)
        return data if len(data) < _SMALL else read_from(fd)
    finally:
        os.close(fd)


def read_from(fd: int, start: int = 0) -> bytes:
    """All bytes of an open file from `start` on."""
    os.lseek(fd, start, os.SEEK_SET)
    parts = []
    while part := os.read(fd, max(os.fstat(fd).st_size - start + 1, 4096)):
        parts.append(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def stamp_of(stat: os.stat_result) -> Stamp:
    """The stamp of a file."""
    return stat.st_ino, stat.st_size, stat.st_mtime_ns


__all__ = ["Disk", "Stamp", "read_from", "read_small", "read_whole", "stamp_of"]
