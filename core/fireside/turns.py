"""Saves of one State object take turns, whichever threads and event loops they come from. It knows no other room."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_PAUSE = 0.001  # seconds until an event loop asks again: it must not be held up


class Turns:
    """One at a time: an older label never replaces a newer one, and no save of a State meets its own lock."""

    __slots__ = ("_lock", "_loops", "_pid", "_thread", "_within")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._thread = 0  # whose turn it is
        self._loops: tuple[asyncio.AbstractEventLoop, asyncio.Lock] | None = None
        self._within: asyncio.Lock
        self._pid = os.getpid()

    def _leave_to_parent(self) -> None:
        """In a forked child: a turn that a thread of the parent had would never end."""
        if self._pid != (pid := os.getpid()):
            self._pid, self._lock, self._thread, self._loops = pid, threading.Lock(), 0, None

    @contextmanager
    def wait(self) -> Iterator[None]:
        """Waits for a turn in this thread, without an event loop.

        A thread that is in a turn already (a blocking save inside a loop whose own is under way) can't wait for itself:
        it goes on, and the store's lock tells them apart.
        """
        self._leave_to_parent()
        if self._thread == threading.get_ident():
            yield
            return
        with self._lock:
            self._thread = threading.get_ident()
            try:
                yield
            finally:
                self._thread = 0

    async def __aenter__(self) -> None:
        """Waits for a turn without holding up the event loop; those of one loop come in order."""
        self._leave_to_parent()
        loop = asyncio.get_running_loop()
        if self._loops is None or self._loops[0] is not loop:
            self._loops = (loop, asyncio.Lock())
        within = self._loops[1]
        await within.acquire()
        try:
            while not self._lock.acquire(blocking=False):  # noqa: ASYNC110  a thread may have it, which knows no loop
                await asyncio.sleep(_PAUSE)
        except BaseException:
            within.release()
            raise
        self._within, self._thread = within, threading.get_ident()

    async def __aexit__(self, *raised: object) -> None:
        self._thread = 0
        within = self._within
        self._lock.release()
        within.release()
