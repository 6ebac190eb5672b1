"""`Screen`: a program in a pseudo-terminal whose output is drained and dated, not drawn; and what /proc tells of it.

An emulator in Python would take a core for itself. Here every byte that the program writes is read at once, with the
moment of its reading, and text is looked for in the bytes. The terminal answers as a modern one does when it is asked
for synchronised output, so the end of each frame is in the bytes.
"""

from __future__ import annotations

import os
import select
import sys
import time
from bisect import bisect_left
from collections.abc import Sequence
from pathlib import Path

from tests.support.term import Term

COLS, ROWS = 120, 36
FRAME_END = b"\x1b[?2026l"
_ASKS_FOR_SYNC, _HAS_SYNC = b"\x1b[?2026$p", b"\x1b[?2026;2$y"
_TICK = os.sysconf("SC_CLK_TCK")


class Lost(AssertionError):
    """Something did not come on the screen."""


class Screen(Term):
    """A program at 120x36. `began` is when it was started; `out` is all that it wrote."""

    def __init__(self, argv: Sequence[str], env: dict[str, str], cwd: str | Path) -> None:
        self.out = bytearray()
        self._reads: list[tuple[int, float]] = []  # how long `out` was after a read, and when that was
        self.began = time.monotonic()
        super().__init__(argv, COLS, ROWS, env, cwd)

    def pump(self, wait: float = 0.05) -> bool:
        """Reads what is there; False once the program's side is closed."""
        while select.select([self.fd], [], [], wait)[0]:
            try:
                data = os.read(self.fd, 1 << 16)
            except OSError:
                return False
            now = time.monotonic()
            if not data:
                return False
            self.out += data
            self._reads.append((len(self.out), now))
            if _ASKS_FOR_SYNC in data:
                os.write(self.fd, _HAS_SYNC)
            wait = 0
        return True

    def when(self, place: int) -> float:
        """The moment at which the byte at `place` was there."""
        return self._reads[bisect_left(self._reads, (place + 1, 0.0))][1]

    def shown(self, text: str | bytes, after: int = 0, timeout: float = 20) -> float:
        """Waits until `text` is in what was written from `after` on; the moment at which its last byte was there."""
        want = text.encode() if isinstance(text, str) else text
        end = time.monotonic() + timeout
        alive = True
        looked = after
        while True:
            place = self.out.find(want, looked)
            if place >= 0:
                return self.when(place + len(want) - 1)
            looked = max(after, len(self.out) - len(want))
            if not alive or time.monotonic() > end:
                why = f"within {timeout:.0f} s" if alive else f"before the program ended ({self.ended(1)})"
                raise Lost(f"{text!r} was not written {why}; the screen:\n{self.picture()}")
            alive = self.pump(0.2)

    def key(self, keys: str, want: str | bytes = "", timeout: float = 20) -> float:
        """Types, and gives the seconds until `want` (or, without it, what was typed) is written."""
        place = len(self.out)
        start = time.monotonic()
        self.send(keys)
        return self.shown(want or keys, place, timeout) - start

    def page(self, keys: str, least: int = 800, timeout: float = 5) -> float:
        """Types, and gives the seconds until a frame of at least `least` bytes has ended."""
        place = len(self.out)
        start = time.monotonic()
        self.send(keys)
        while True:
            end = self.out.find(FRAME_END, place)
            if end >= 0:
                if end - place >= least:
                    return self.when(end) - start
                place = end + len(FRAME_END)
            elif time.monotonic() - start > timeout:
                raise Lost(f"no frame came after {keys!r}")
            else:
                self.pump(0.1)

    def rest(self, seconds: float) -> None:
        """Drains for so long."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if not self.pump(left):
                raise Lost(f"the program ended ({self.ended(1)}); the screen:\n{self.picture()}")

    def settle(self, quiet: float = 0.3, timeout: float = 10) -> None:
        """Drains until nothing has been written for so long."""
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            before = len(self.out)
            self.rest(quiet)
            if len(self.out) == before:
                return

    def rows(self) -> list[str]:
        """What is on the screen now, as pyte draws all that was written since the last call."""
        self.stream.feed(self._fit_for_pyte())
        return list(self.screen.display)

    def _fit_for_pyte(self) -> bytes:
        from tests.support import term

        data = bytes(self.out[self._drawn :])
        self._drawn = len(self.out)
        return term._UNKNOWN_TO_PYTE.sub(b"", data)

    _drawn = 0

    def picture(self) -> str:
        """The screen, to look at."""
        return "\n".join(line.rstrip() for line in self.rows())

    # -- what /proc says

    def memory(self, field: str = "VmRSS") -> float:
        """Megabytes in use now, or at most until now (`VmHWM`)."""
        for line in Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith(f"{field}:"):
                return int(line.split()[1]) / 1024
        raise Lost("the program has ended")

    def cpu(self) -> float:
        """Seconds of CPU that it has used."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICK


def script(name: str) -> str:
    """The installed script of that name, in this environment."""
    return str(Path(sys.executable).parent / name)
