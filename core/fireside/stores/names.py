"""Ids as names of folders and files, and back. It knows no other room.

An id is its own name, but where a file system would take two for one: names that differ only in case, and names that
Windows reserves.
"""

from __future__ import annotations

import re
from functools import lru_cache

_RESERVED = re.compile(r"con|prn|aux|nul|com[0-9]|lpt[0-9]", re.IGNORECASE)
_NAME = re.compile(r"=?([A-Za-z0-9_-]{1,128})(\.[0-9a-f]+)?", re.ASCII)


@lru_cache(1024)
def name_of(state_id: str) -> str:
    """The name: the id; behind a dot which of its letters are capitals, if any; `=` before a reserved word.

    >>> name_of("review-pr-42"), name_of("Ab"), name_of("aB"), name_of("nul")
    ('review-pr-42', 'Ab.1', 'aB.2', '=nul')
    """
    name = state_id
    if name != name.lower():
        name += f".{sum(1 << n for n, letter in enumerate(state_id) if letter.isupper()):x}"
    return f"={name}" if _RESERVED.fullmatch(state_id) else name


def id_of(name: str) -> str | None:
    """The id that has this name; `None` where none has."""
    if match := _NAME.fullmatch(name):
        state_id = match[1]
        if len(name) > 4 and name == name.lower() == state_id:  # the usual case, without building it
            return state_id
        if name_of(state_id) == name:
            return state_id
    return None


__all__ = ["id_of", "name_of"]
