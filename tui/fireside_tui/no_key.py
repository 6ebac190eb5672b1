"""No API key: what a person at a terminal can do about it. One wording, for the app and the command line."""

from __future__ import annotations

import contextlib
import os
import re
from pathlib import Path

SET_IT = "set ANTHROPIC_API_KEY in the shell and start again"
WHAT_TO_DO = f"{SET_IT}; the offline demo needs none: fireside --model demo, or /model demo in the app"

CREDENTIALS = (
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "ANTHROPIC_PROFILE",
    "ANTHROPIC_IDENTITY_TOKEN",
    "ANTHROPIC_IDENTITY_TOKEN_FILE",
)
"""The environment variables that give credentials, in the order in which the SDK asks for them."""


def credentials() -> str:
    """Where credentials seem to be, in words; empty where none are. It looks, and connects to nothing."""
    found = next((name for name in CREDENTIALS if os.environ.get(name, "").strip()), None)
    if found is not None:
        return f"{found} is set"
    folder = Path(os.environ.get("ANTHROPIC_CONFIG_DIR") or Path.home() / ".config" / "anthropic")
    with contextlib.suppress(OSError):
        if (folder / "active_config").exists() or any(folder.glob("configs/*.json")):
            return f"a profile in {folder}"
    return ""


def what_happened(text: str) -> str:
    """The library's words about credentials without its advice: who uses the app has no `api_key` to pass.

    >>> what_happened("no key; set ANTHROPIC_API_KEY, or pass api_key=…; without a key, … (request id r1)")
    'no key (request id r1)'
    """
    return re.sub(r"; set ANTHROPIC_API_KEY, or pass api_key=.*?(?= \(request id|$)", "", text)


def for_a_person(text: str) -> str:
    """The library's words, with advice for a person where they hold advice for a program.

    >>> for_a_person("the disk is full")
    'the disk is full'
    """
    what = what_happened(text)
    return text if what == text else f"{what}; {WHAT_TO_DO}"
