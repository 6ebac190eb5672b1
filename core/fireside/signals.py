"""Signals whose handlers raise: what that does to a run, and to a write in its middle. It knows no other room."""

from __future__ import annotations

import asyncio
import contextlib
import os
import selectors
import signal
import sys
import threading
import traceback
from collections.abc import Iterator
from types import FrameType
from typing import Any

_NUMBERS = [
    int(number)
    for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGALRM", "SIGUSR1", "SIGUSR2", "SIGBREAK")
    if (number := getattr(signal, name, None)) is not None
]
"""Signals whose handlers may raise."""
# The functions beneath those of `signal`, which make enums of what they take and give: that takes most of their time, and
# each save needs some of them.
_core: Any = sys.modules.get("_signal", signal)
_get, _set = _core.getsignal, _core.signal
_STANDARD = os.path.dirname(os.__file__)
_OURS = (os.path.dirname(__file__), os.path.dirname(asyncio.__file__), selectors.__file__)


class Driver:
    """What a run knows of who drives it: the true cause of its end, where that is not what reaches it."""

    __slots__ = ("cause", "loop", "task")

    def __init__(self) -> None:
        self.cause: BaseException | None = None
        self.loop: asyncio.AbstractEventLoop | None = None
        self.task: asyncio.Task[Any] | None = None

    def end(self, cause: BaseException) -> None:
        """Ends the task where it may end. For signal handlers: it only notes, and wakes the loop."""
        if self.cause is None:
            self.cause = cause
        if self.task is not None and self.loop is not None and not self.task.done() and not self.loop.is_closed():
            self.loop.call_soon_threadsafe(self.task.cancel)


@contextlib.contextmanager
def end_by_signals(driver: Driver) -> Iterator[None]:
    """What a signal handler raises becomes the cause of the end, wherever the signal comes. Ctrl+C does the same; a second
    one is raised on the spot.

    Nothing is raised in the middle of this library's own steps, which would leave them half done, nor in asyncio's: there it
    would take the wake-up of a task with it, which is then waited for for ever. In code of the user's own it is, so that
    what blocks ends at once.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: handler for number in _NUMBERS if callable(handler := signal.getsignal(number))}

    def on_signal(number: int, frame: FrameType | None) -> None:
        if before[number] is signal.default_int_handler:
            if driver.cause is not None:
                raise KeyboardInterrupt
            driver.end(KeyboardInterrupt())
            return
        try:
            before[number](number, frame)
        except BaseException as error:
            driver.end(error)
            if _is_users(frame):
                raise

    left = dict(before)
    try:
        for number in before:
            signal.signal(number, on_signal)
        yield
    finally:
        while left:
            try:
                for number, handler in list(left.items()):
                    del left[number]
                    if signal.getsignal(number) is on_signal:
                        signal.signal(number, handler)
            except BaseException as error:  # of a signal that came just now, whose own handler stands again
                driver.end(error)


def _is_users(frame: FrameType | None) -> bool:
    """Whether code of the user's own, or of another library, is at work there: nearest of all that is not Python's own."""
    while frame is not None:
        file = frame.f_code.co_filename
        if file.startswith(_OURS):
            return False
        if not file.startswith((_STANDARD, "<")) or "site-packages" in file:
            return True
        frame = frame.f_back
    return True


def from_signal_handler(error: BaseException) -> bool:
    """Whether a signal handler raised it, wherever the signal happened to arrive."""
    handlers = (signal.getsignal(number) for number in signal.valid_signals())
    codes = {code for handler in handlers if (code := getattr(handler, "__code__", None)) is not None}
    return any(frame.f_code in codes for frame, _ in traceback.walk_tb(error.__traceback__))


_undisturbed = False


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """Signal handlers wait until the block is over: what one raises in the middle of a write would leave it half done.

    One that comes a second time waits no longer.
    """
    global _undisturbed
    if _undisturbed or threading.current_thread() is not threading.main_thread():  # handlers run in that thread alone
        yield
        return
    came: list[tuple[int, FrameType | None]] = []

    def note(number: int, frame: FrameType | None) -> None:
        if any(number == earlier for earlier, _ in came):
            handlers[number](number, frame)
        else:
            came.append((number, frame))

    handlers: dict[int, Any] = {n: handler for n in _NUMBERS if callable(handler := _get(n))}
    raised: BaseException | None = None
    left = dict(handlers)
    try:
        _undisturbed = True
        for number in handlers:
            _set(number, note)
        yield
    finally:
        _undisturbed = False
        while left:
            try:
                for number, handler in list(left.items()):
                    del left[number]
                    _set(number, handler)
            except BaseException as error:  # of one that came just now
                raised = raised or error
        for number, frame in came:
            handlers[number](number, frame)
        if raised is not None:
            raise raised
