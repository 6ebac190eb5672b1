"""The title of the terminal's window or tab: what is sent to set it, to keep the one before, and to give that back."""

from __future__ import annotations

import os

from fireside_tui.safe_text import safe_line

NAME = "fireside"
LONGEST = 80
"""Cells of a conversation's title that are shown: a tab has room for less."""
KEEP = "\x1b[22;2t"
"""The terminal remembers the title that it has; one that can't ignores it."""
GIVE_BACK = "\x1b]2;\x07\x1b[23;2t"
"""No title, which most show as their own, and then the one that was remembered."""
_WITHOUT = ("", "dumb", "linux", "unknown")
"""Values of TERM whose terminals have no title, and may show what they are sent."""


def has_title() -> bool:
    """Whether the terminal has one."""
    return os.environ.get("TERM", "") not in _WITHOUT


def title_of(conversation: str) -> str:
    """What stands there while a conversation of that title is on the screen.

    >>> title_of("Fix the login")
    'Fix the login – fireside'
    """
    name = safe_line(conversation, LONGEST).strip()
    return f"{name} – {NAME}" if name else NAME


def setting(title: str) -> str:
    """What sets it. The title has to be a safe line: see `title_of`."""
    return f"\x1b]2;{title}\x07"
