"""Many objects made at once, without Python looking for garbage among them. It knows no other room."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_guard = threading.Lock()
_depth = 0
_was_on = False


@contextmanager
def no_gc() -> Iterator[None]:
    """Puts the cyclic collector off while entries are read: they form no cycles, and 10,000 of them would be looked
    through again and again (a third of the time of a load)."""
    global _depth, _was_on
    with _guard:
        _depth += 1
        if _depth == 1 and (_was_on := gc.isenabled()):
            gc.disable()
    try:
        yield
    finally:
        with _guard:
            _depth -= 1
            if _depth == 0 and _was_on:
                gc.enable()


__all__ = ["no_gc"]
