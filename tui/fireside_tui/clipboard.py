"""What fits into a terminal's clipboard, and the file for what may not. It knows no screen."""

from __future__ import annotations

import os
from pathlib import Path

SURE = 74_994
"""So many bytes are copied by all usual terminals: in base64 they are the 100,000 that hterm takes, and many with it (tmux
takes 1 MiB, VTE and xterm more, some but a few kB). No terminal says that it dropped an OSC 52 that was too long."""
FILE = "copied.txt"


def fits(text: str) -> bool:
    """Whether a usual terminal copies so much text.

    >>> fits("é" * 37_497), fits("é" * 37_498)
    (True, False)
    """
    return len(text.encode("utf-8", "replace")) <= SURE


def keep(text: str, folder: Path) -> Path:
    """Writes a text to the one file for texts that are too long, for its owner alone; the file. Raises `OSError`."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = folder / FILE
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8", errors="replace", newline="\n") as file:
        file.write(text)
    return path
