"""The ids of conversations: what may be one. This room knows no other."""

from __future__ import annotations

import re

_ID = re.compile(r"[A-Za-z0-9_-]{1,128}", re.ASCII)


def check_id(id: object) -> str:
    """The id, if it is one. Raises `TypeError` where it is no `str`, `ValueError` where it has other characters."""
    if not isinstance(id, str):
        raise TypeError(f"an id is a str, not {type(id).__name__}")
    if not _ID.fullmatch(id):
        raise ValueError(
            f"{id[:140]!r} is not an id: use letters (a-z, A-Z), digits, '_' and '-', from 1 to 128 characters"
        )
    return id


__all__ = ["check_id"]
