"""Opens an address: a graphical browser runs beside the app, one of the terminal in its place. It knows no screen."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shlex
import shutil
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from textual.app import App

from fireside_tui import outside

TERMINAL = frozenset(
    "browsh carbonyl cha chawan edbrowse elinks links links2 lynx retawq w3m w3mman www-browser".split()  # noqa: SIM905
)
GRAPHICAL = ("xdg-open", "wslview", "x-www-browser", "sensible-browser", "firefox", "chromium", "google-chrome")
SOON = 2.0
"""Seconds in which a browser that can't start has ended, as a rule."""


class Browser(NamedTuple):
    """A command that opens an address, which stands in place of "%s" or at its end."""

    words: tuple[str, ...]
    terminal: bool
    """Whether it needs the terminal."""

    def command(self, url: str) -> list[str]:
        """The command for an address."""
        if any("%s" in word for word in self.words):
            return [word.replace("%s", url) for word in self.words]
        return [*self.words, url]


def find(environ: Mapping[str, str] = os.environ, platform: str = sys.platform) -> Browser | None:
    """The browser that there is: `$BROWSER`, else the desktop's. Without a desktop nothing but `$BROWSER` is tried: it is an
    SSH session, as a rule, and a browser on the far side would show nothing.

    What `$BROWSER` names may be a script: without a desktop it gets the terminal, since it may need it.
    """
    desktop = platform == "darwin" or any(
        environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "WSL_DISTRO_NAME")
    )
    path = environ.get("PATH")
    for entry in environ.get("BROWSER", "").split(os.pathsep):
        with contextlib.suppress(ValueError):  # an open quote
            words = shlex.split(entry)
            beside = words[-1:] == ["&"]  # as Python's own `webbrowser` takes it
            words = words[:-1] if beside else words
            if words and shutil.which(words[0], path=path):
                own = Path(words[0]).name in TERMINAL or not desktop
                return Browser(tuple(words), own and not beside)
    names = ("open",) if platform == "darwin" else GRAPHICAL if desktop else ()
    name = next((name for name in names if shutil.which(name, path=path)), None)
    return Browser((name,), terminal=False) if name else None


async def browse(app: App[Any], url: str) -> bool:
    """Opens an address; whether there is a browser. Raises `ValueError` where it failed, `OSError` where it can't start."""
    browser = find()
    if browser is None:
        return False
    command = browser.command(url)
    if browser.terminal:
        await outside.in_terminal(app, command)
        return True
    status = await asyncio.to_thread(_start_beside, command)
    if status:
        raise ValueError(f"{command[0]} ended with status {status}")
    return True


def _start_beside(command: list[str]) -> int:
    """Starts a program that is none of the terminal's, and lives on without the app; its status, if it ended soon."""
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        return process.wait(SOON)
    except subprocess.TimeoutExpired:
        threading.Thread(target=process.wait, daemon=True).start()  # or it would stay a zombie
        return 0
