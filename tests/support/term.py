"""Drives a program in a real pseudo-terminal and reads its screen (needs pyte)."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Self

import pyte

# pyte does not know the kitty keyboard sequences (CSI < = > ? ... u) and would print them
_UNKNOWN_TO_PYTE = re.compile(rb"\x1b\[[<>=][0-9;]*[a-zA-Z]|\x1b\[\?[0-9;]*u")
# a sequence that a read cut in two
_UNFINISHED = re.compile(rb"\x1b(?:\[[0-9;<>=?]*)?\Z")


class Term:
    """A program in a terminal of `cols` by `rows` cells; a context manager that ends what it started.

    `env` is the program's whole environment. `raw` keeps every byte that it wrote, `screen` is pyte's.
    """

    def __init__(
        self,
        argv: Sequence[str],
        cols: int = 100,
        rows: int = 30,
        env: Mapping[str, str] | None = None,
        cwd: str | Path | None = None,
    ) -> None:
        self.screen = pyte.HistoryScreen(cols, rows)
        self.stream = pyte.ByteStream(self.screen)
        self.raw = b""
        self.status: int | None = None
        self._rest = b""
        self._closed = False
        start, start_write = os.pipe()
        with warnings.catch_warnings():
            # 3.12 warns of fork beside threads; the child only reads, changes its folder and execs
            warnings.simplefilter("ignore", DeprecationWarning)
            self.pid, self.fd = pty.fork()
        if self.pid == 0:
            self._become(argv, env, cwd, start, start_write)
        os.close(start)
        self.resize(cols, rows)
        os.close(start_write)  # the size stands: go

    @staticmethod
    def _become(
        argv: Sequence[str], env: Mapping[str, str] | None, cwd: str | Path | None, start: int, start_write: int
    ) -> None:
        """The child's part: waits until the terminal has its size, then becomes the program. Never returns."""
        try:
            os.close(start_write)
            os.read(start, 1)
            os.close(start)
            if cwd:
                os.chdir(cwd)
            os.execvpe(argv[0], list(argv), dict(os.environ if env is None else env))
        except BaseException as error:
            os.write(2, f"cannot start {argv[0]}: {error}\n".encode())
        finally:
            os._exit(127)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Kills the program if it still runs, and frees the terminal."""
        if self._closed:
            return
        self._closed = True
        if self.status is None:
            self.kill()
            with contextlib.suppress(ChildProcessError):
                self.status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        os.close(self.fd)

    def pump(self, wait: float = 0.05) -> bool:
        """Reads what is there; False once the program's side is closed."""
        while select.select([self.fd], [], [], wait)[0]:
            try:
                data = os.read(self.fd, 65536)
            except OSError:
                return False
            if not data:
                return False
            self.raw += data
            data = self._rest + data
            unfinished = _UNFINISHED.search(data)
            self._rest = unfinished[0] if unfinished else b""
            self.stream.feed(_UNKNOWN_TO_PYTE.sub(b"", data[: len(data) - len(self._rest)]))
            wait = 0
        return True

    def text(self) -> str:
        """What the screen shows, line by line, without the blanks at the ends of the lines."""
        return "\n".join(line.rstrip() for line in self.screen.display)

    def wait(self, want: str | Callable[[str], object], timeout: float = 10) -> float:
        """Waits until `want` (text, or a function of the screen's text) holds; the seconds it took."""
        start = time.monotonic()
        alive = True
        while alive and time.monotonic() - start < timeout:
            alive = self.pump()
            text = self.text()
            if want(text) if callable(want) else want in text:
                return time.monotonic() - start
        why = f"after {timeout} s" if alive else f"and the program has ended ({self.ended(1)})"
        raise AssertionError(f"{want!r} is not on the screen {why}:\n{self.text()}")

    def gone(self, text: str, timeout: float = 10) -> float:
        """Waits until `text` is not on the screen any more."""
        return self.wait(lambda shown: text not in shown, timeout)

    def send(self, keys: str | bytes) -> None:
        """Types; bytes as they are."""
        data = keys if isinstance(keys, bytes) else keys.encode()
        while data:
            # a long paste does not fit into the terminal's buffer: read meanwhile, or both sides wait for ever
            if select.select([], [self.fd], [], 0.05)[1]:
                data = data[os.write(self.fd, data[:1024]) :]
            self.pump(0)

    def paste(self, text: str) -> None:
        """Pastes as a terminal with bracketed paste does."""
        self.send(f"\x1b[200~{text}\x1b[201~")

    def settle(self, quiet: float = 0.4, timeout: float = 10) -> None:
        """Waits until nothing has been written for `quiet` seconds."""
        end = time.monotonic() + timeout
        seen, since = len(self.raw), time.monotonic()
        while time.monotonic() < end and time.monotonic() - since < quiet:
            if not self.pump():
                break
            if len(self.raw) != seen:
                seen, since = len(self.raw), time.monotonic()

    def resize(self, cols: int, rows: int) -> None:
        self.screen.resize(rows, cols)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))

    def hang_up(self) -> None:
        """Closes the terminal, as a window that is closed does."""
        nowhere = os.open(os.devnull, os.O_RDWR)
        os.dup2(nowhere, self.fd)
        os.close(nowhere)

    def kill(self, sig: int = signal.SIGKILL) -> None:
        """Sends a signal to the program, if it has not ended."""
        if self.status is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, sig)

    def ended(self, timeout: float = 10) -> int | None:
        """The exit status (negative: the signal), or None if it still runs after `timeout` seconds."""
        end = time.monotonic() + timeout
        while self.status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.pump(0)
                self.status = os.waitstatus_to_exitcode(status)
            elif time.monotonic() >= end:
                break
            elif not self.pump(0.02):
                time.sleep(0.01)  # its terminal is closed, it will end soon
        return self.status


def clean_env(home: str | Path, **extra: str) -> dict[str, str]:
    """An environment without anything of the person at this machine: no keys, no proxies, a home in `home`.

    `extra` is put over it (ANTHROPIC_BASE_URL=api.url, ...).
    """
    home = Path(home)
    kept = {name: os.environ[name] for name in ("PATH", "TMPDIR") if name in os.environ}
    return {
        **kept,
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "XDG_DATA_HOME": str(home / ".local" / "share"),
        "XDG_STATE_HOME": str(home / ".local" / "state"),
        "XDG_CACHE_HOME": str(home / ".cache"),
        "XDG_RUNTIME_DIR": str(home / ".run"),
        "TERM": "xterm-256color",
        "COLORTERM": "truecolor",
        "LC_ALL": "C.UTF-8",
        **extra,
    }


def fireside_command() -> str:
    """The installed `fireside` command of this environment."""
    return str(Path(sys.executable).parent / "fireside")


def fireside(
    *args: str,
    home: str | Path,
    env: Mapping[str, str] | None = None,
    cols: int = 100,
    rows: int = 30,
    cwd: str | Path | None = None,
) -> Term:
    """Starts the installed `fireside` in a terminal, with a clean environment and its home in `home`."""
    argv = [fireside_command(), *args]
    return Term(argv, cols, rows, clean_env(home, **(env or {})), cwd or home)
