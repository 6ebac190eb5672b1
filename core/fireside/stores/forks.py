"""What a forked child must leave alone: connections that are its parent's. It knows no other room."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable


def leave_to_parent(connections: Iterable[object]) -> None:
    """Keeps objects alive for good in this process, a child: to close them would speak to the other side for the parent."""
    left = list(connections)
    if left:
        with contextlib.suppress(ImportError):
            import ctypes

            for one in left:
                ctypes.pythonapi.Py_IncRef(ctypes.py_object(one))


__all__ = ["leave_to_parent"]
