"""No API key: what a person at a terminal can do about it. One wording, for the app and the command line."""

from __future__ import annotations

SET_IT = "set ANTHROPIC_API_KEY in the shell and start again"
WHAT_TO_DO = f"{SET_IT}; the offline demo needs none: fireside --model demo, or /model demo in the app"

_FOR_PROGRAMS = "; set ANTHROPIC_API_KEY, or pass api_key="
"""Where the library begins to tell those who call it what to do: who uses the app has nothing to pass."""


def what_happened(text: str) -> str:
    """The library's words about credentials without its advice.

    >>> what_happened("no key; set ANTHROPIC_API_KEY, or pass api_key=…")
    'no key'
    """
    return text.partition(_FOR_PROGRAMS)[0]


def for_a_person(text: str) -> str:
    """The library's words, with advice for a person where they hold advice for a program.

    >>> for_a_person("the disk is full")
    'the disk is full'
    """
    what = what_happened(text)
    return text if what == text else f"{what}; {WHAT_TO_DO}"
