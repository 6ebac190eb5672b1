"""Runs a script and writes down where its event loop stood still: `python app_probe.py LOG SCRIPT ARGS…`.

A heartbeat is due every 10 ms. Each beat that comes more than 5 ms late is a line of the log: the moment, how late it
was, and how much of that went to the garbage collector. Moments are those of time.monotonic().
"""

from __future__ import annotations

import asyncio
import gc
import os
import runpy
import sys
import time
from asyncio.base_events import BaseEventLoop

EVERY, LATE = 0.010, 0.005


class Heart:
    """Beats in one event loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop, log: int) -> None:
        self.loop, self.log = loop, log
        self.collected = self.began = 0.0
        gc.callbacks.append(self.on_gc)
        self.expect()

    def expect(self) -> None:
        self.due = time.monotonic() + EVERY
        self.collected = 0.0
        self.loop.call_at(self.due, self.beat)

    def beat(self) -> None:
        now = time.monotonic()
        if now - self.due > LATE:
            os.write(self.log, f"{now:.4f} {now - self.due:.4f} {self.collected:.4f}\n".encode())
        self.expect()

    def on_gc(self, phase: str, info: object) -> None:
        now = time.monotonic()
        if phase == "start":
            self.began = now
        else:
            self.collected += now - self.began


def main() -> None:
    log = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    run_forever = BaseEventLoop.run_forever
    hearts: dict[BaseEventLoop, Heart] = {}

    def with_heart(loop: BaseEventLoop) -> None:
        if loop not in hearts:
            hearts[loop] = Heart(loop, log)
        run_forever(loop)

    BaseEventLoop.run_forever = with_heart  # type: ignore[method-assign]
    sys.argv = sys.argv[2:]
    sys.path[0] = os.path.dirname(sys.argv[0])
    runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main()
