"""Signals whose handlers raise: what that does to a run, and to a write in its middle. It knows no other room."""

from __future__ import annotations

import asyncio
import contextlib
import os
import selectors
import signal
import threading
import traceback
from collections.abc import Iterator
from types import FrameType
from typing import Any

_NUMBERS = [
    number
    for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGALRM", "SIGUSR1", "SIGUSR2", "SIGBREAK")
    if (number := getattr(signal, name, None)) is not None
]
"""Signals whose handlers may raise."""
_LOOPS = (os.path.dirname(asyncio.__file__), selectors.__file__)


class Driver:
    """What a run knows of who drives it: the true cause of its end, where that is not what reaches it."""

    __slots__ = ("cause",)

    def __init__(self) -> None:
        self.cause: BaseException | None = None


@contextlib.contextmanager
def end_by_signals(loop: asyncio.AbstractEventLoop, task: asyncio.Task[Any], driver: Driver) -> Iterator[None]:
    """The first Ctrl+C cancels the task, so that it ends where it may; the second is raised on the spot.

    What other handlers raise ends it, too, wherever they come: raised in asyncio's own code it would take a task's wake-up
    with it, which is then waited for for ever, and in a weakref's callback nobody would hear of it.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: handler for number in _NUMBERS if callable(handler := signal.getsignal(number))}

    def end(error: BaseException) -> None:
        if driver.cause is None and not task.done():
            driver.cause = error
            task.cancel()

    def on_sigint(number: int, frame: FrameType | None) -> None:
        if driver.cause is not None or task.done():
            raise KeyboardInterrupt
        driver.cause = KeyboardInterrupt()
        loop.call_soon_threadsafe(task.cancel)

    def on_signal(number: int, frame: FrameType | None) -> None:
        try:
            before[number](number, frame)
        except BaseException as error:
            if task.done():
                raise
            loop.call_soon_threadsafe(end, error)
            if frame is None or not frame.f_code.co_filename.startswith(_LOOPS):
                raise

    setattr(on_sigint, "waits", True)  # noqa: B010  by itself, for the first time; mypy knows no such attribute
    ours = {n: on_sigint if handler is signal.default_int_handler else on_signal for n, handler in before.items()}
    for number, handler in ours.items():
        signal.signal(number, handler)
    try:
        yield
    finally:
        for number, handler in ours.items():
            if signal.getsignal(number) is handler:
                signal.signal(number, before[number])


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

    handlers: dict[int, Any] = {
        number: handler
        for number in _NUMBERS
        if callable(handler := signal.getsignal(number)) and not getattr(handler, "waits", False)
    }
    raised: BaseException | None = None
    try:
        _undisturbed = True
        for number in handlers:
            signal.signal(number, note)
        yield
    finally:
        _undisturbed = False
        for number, handler in handlers.items():
            try:
                signal.signal(number, handler)
            except BaseException as error:  # of one that came just now
                raised = raised or error
        for number, frame in came:
            handlers[number](number, frame)
        if raised is not None:
            raise raised
