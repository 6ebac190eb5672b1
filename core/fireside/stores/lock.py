"""Locks of the system on files: held by whoever has the file open, gone when that process is. It knows errors alone.

The lock is the system's (`flock`; `msvcrt.locking` on Windows). What stands in the file, host, process and time, only
informs: a reused process id can't hold anything.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import sys
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime

from fireside.errors import Holder, StateInUseError

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

NO_LOCKS = {
    getattr(errno, name) for name in ("ENOLCK", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EINVAL") if hasattr(errno, name)
}
"""What a file system says that can't lock."""

PAUSES = (0.0005, 0.001, 0.002, 0.004)
"""Seconds between the tries: somebody who only asks for the holder keeps a lock from being taken for some microseconds."""

_FAR = 1 << 30  # Windows forbids reading what is locked, so the lock lies far behind what stands in the file


class FileLock:
    """A held lock on a file. `release` gives it back; doing so twice, or in a forked child, does nothing."""

    __slots__ = ("_fd", "_path", "holder", "told")

    def __init__(self, path: str, fd: int, holder: Holder) -> None:
        self._path, self._fd, self.holder, self.told = path, fd, holder, False

    @property
    def held(self) -> bool:
        """Whether it was neither given back nor left to the parent of a forked child."""
        return self._fd >= 0

    def release(self) -> None:
        """Gives the lock back."""
        with _guard:
            fd, self._fd = self._fd, -1
            if fd < 0:
                return
            _held.pop(self._path, None)
        with contextlib.suppress(OSError):
            if self.told:
                os.ftruncate(fd, 0)
        with contextlib.suppress(OSError):
            _unlock(fd)
        os.close(fd)

    def _forget(self) -> None:
        """In a forked child: closes the file and leaves the lock to the parent."""
        fd, self._fd = self._fd, -1
        with contextlib.suppress(OSError):
            os.close(fd)


_held: dict[str, FileLock] = {}
"""The locks of this process: what tells its threads from each other, and what a forked child closes."""
_guard = threading.Lock()


def _in_child() -> None:
    global _guard
    _guard = threading.Lock()
    for lock in _held.values():
        lock._forget()
    _held.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)


class LockFolder:
    """A folder of lock files, one a State, made when the first lock is taken."""

    def __init__(self, folder: str, make: Callable[[str], None] | None = None) -> None:
        self.folder = folder
        self._make = make or (lambda folder: os.makedirs(folder, 0o700, exist_ok=True))
        self._real: str | None = None

    def _path(self, name: str) -> str:
        if self._real is None:
            real = os.path.realpath(self.folder)
            if not os.path.isdir(real):
                return f"{real}/{name}"
            self._real = real
        return f"{self._real}/{name}"

    def lock(self, name: str, state_id: str, *, brief: bool = False) -> FileLock:
        """Takes a lock. `brief` leaves out to write down who has it: the lock of one write is gone before anyone asks.

        Raises `StateInUseError` where somebody has it, `OSError` where the file system can't lock.
        """
        path = self._path(name)
        holder: Holder | None = None
        for pause in (*PAUSES, 0):
            with _guard:
                if ours := _held.get(path):
                    raise StateInUseError(state_id, ours.holder)
            lock = self._try(path, brief)
            if isinstance(lock, FileLock):
                return lock
            holder = lock
            time.sleep(pause)
        raise StateInUseError(state_id, holder)

    def _try(self, path: str, brief: bool) -> FileLock | Holder:
        while True:
            fd = self._open(path)
            try:
                if not self._take(fd, shared=False):
                    holder = _read(fd)
                    os.close(fd)
                    return holder
                stat = os.fstat(fd)
                if not is_at(stat, path):  # removed with its State while it was waited for
                    os.close(fd)
                    continue
                lock = FileLock(path, fd, Holder(HOST, os.getpid(), datetime.now(UTC)))
                if not brief or stat.st_size:  # what a dead holder left would inform wrongly
                    lock.told = True
                    with contextlib.suppress(OSError):  # a full disk: nobody will know who, but the lock holds
                        _write(fd, lock.holder, stat.st_size)
                with _guard:
                    _held[path] = lock
                return lock
            except BaseException:
                with contextlib.suppress(OSError):
                    os.close(fd)
                raise

    def _open(self, path: str) -> int:
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)
        try:
            return os.open(path, flags, 0o600)
        except FileNotFoundError:
            self._make(os.path.dirname(path))
            return os.open(path, flags, 0o600)

    def _take(self, fd: int, *, shared: bool) -> bool:
        try:
            return _try_lock(fd, shared=shared)
        except OSError as error:
            if error.errno in NO_LOCKS:
                raise OSError(
                    error.errno,
                    f"the file system of {self.folder} has no locks ({error.strerror}): put the store on another one, "
                    "or open it with locks=False and let one process at a time write",
                ) from error
            raise

    def holder(self, name: str) -> Holder | None:
        """Who has the lock; `None` where nobody does."""
        path = self._path(name)
        with _guard:
            if ours := _held.get(path):
                return ours.holder
        try:
            fd = os.open(path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
        except (FileNotFoundError, NotADirectoryError):
            return None
        try:
            if self._take(fd, shared=True):
                _unlock(fd)
                return None
            return _read(fd)
        finally:
            os.close(fd)

    def remove(self, name: str) -> None:
        """Removes the file of a lock that the caller holds; whoever waits for it makes a new one."""
        with contextlib.suppress(OSError):
            os.unlink(self._path(name))


def is_at(stat: os.stat_result, path: str) -> bool:
    """Whether the file that was opened is still the one with this path."""
    try:
        return os.path.samestat(stat, os.stat(path))
    except FileNotFoundError:
        return False


HOST = os.uname().nodename if hasattr(os, "uname") else os.environ.get("COMPUTERNAME", "this computer")

_HOST_TOLD = json.dumps(HOST).encode()


def _write(fd: int, holder: Holder, size: int) -> None:
    told = b'{"host":%s,"pid":%d,"since":"%s"}' % (_HOST_TOLD, holder.pid, holder.since.isoformat().encode())
    os.lseek(fd, 0, os.SEEK_SET)
    os.write(fd, told)
    if size > len(told):
        os.ftruncate(fd, len(told))


def _read(fd: int) -> Holder:
    try:
        os.lseek(fd, 0, os.SEEK_SET)
        told = json.loads(os.read(fd, 4096))
        return Holder(str(told["host"]), int(told["pid"]), datetime.fromisoformat(told["since"]))
    except (OSError, ValueError, KeyError, TypeError):
        return Holder("an unknown host", 0, datetime.fromtimestamp(os.fstat(fd).st_mtime, UTC))


if sys.platform == "win32":

    def _try_lock(fd: int, *, shared: bool) -> bool:
        os.lseek(fd, _FAR, os.SEEK_SET)
        try:
            msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)
        except OSError as error:
            if error.errno in (errno.EACCES, errno.EDEADLK):
                return False
            raise
        return True

    def _unlock(fd: int) -> None:
        os.lseek(fd, _FAR, os.SEEK_SET)
        msvcrt.locking(fd, msvcrt.LK_UNLCK, 1)

    def _wait_for(fd: int) -> None:
        while not _try_lock(fd, shared=False):
            time.sleep(0.001)

else:

    def _try_lock(fd: int, *, shared: bool) -> bool:
        try:
            fcntl.flock(fd, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in (errno.EAGAIN, errno.EACCES):
                return False
            raise
        return True

    def _unlock(fd: int) -> None:
        fcntl.flock(fd, fcntl.LOCK_UN)

    def _wait_for(fd: int) -> None:
        fcntl.flock(fd, fcntl.LOCK_EX)


class OneAtATime:
    """Waits until no other write to this file is under way. On a file system without locks: goes on at once."""

    __slots__ = ("_fd", "_locked")

    def __init__(self, fd: int) -> None:
        self._fd, self._locked = fd, False

    def __enter__(self) -> None:
        if self._fd < 0:
            return
        try:
            _wait_for(self._fd)
            self._locked = True
        except OSError as error:
            if error.errno not in NO_LOCKS:
                raise

    def __exit__(self, *raised: object) -> None:
        if self._locked:  # not left to the close: a child that was forked meanwhile has the file open, too
            with contextlib.suppress(OSError):
                _unlock(self._fd)


__all__ = ["HOST", "FileLock", "LockFolder", "OneAtATime", "is_at"]
