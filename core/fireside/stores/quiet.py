"""Many objects made at once, without Python looking for garbage among them. It knows no other room."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_MANY = 5000
"""So many new objects are called old unseen."""
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
                if gc.get_count()[0] > _MANY and not gc.get_freeze_count():
                    # what was made will stay: to freeze and thaw it moves it among the old, where the collector would
                    # else look through all of it right now (a tenth of a load)
                    gc.freeze()
                    gc.unfreeze()
                gc.enable()


__all__ = ["no_gc"]
