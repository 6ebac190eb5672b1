"""The end of a long conversation, for who shows it before all of it is read. It knows history."""

from __future__ import annotations

from fireside.history import MALFORMED, HistoryEntry
from fireside.messages import Json

LONG, LONG_BYTES = 800, 1 << 18
"""Entries, or bytes of a log: less than that is read as a whole just as soon."""
END, END_BYTES = 400, 1 << 17
"""So much of it is looked at."""


_BETWEEN = ("user", "notice", "title", "data", "checkpoint", "restore", "compact", "clear", "stop")
"""Kinds of entries that may stand between two runs and leave nothing open."""


def last_runs(rows: list[dict[str, Json]]) -> list[HistoryEntry]:
    """The entries from the first start of a run on.

    None where one of them is missing or can't be read, or a run is left open: what comes of that, a load alone can tell.
    """
    found: list[HistoryEntry] = []
    runs = False
    try:
        for entry in map(HistoryEntry.from_json, rows):
            if entry.kind == "run_start":
                runs = True
            elif not found:
                continue
            elif entry.seq != found[-1].seq + 1:
                return []
            elif entry.kind == "stop" and entry.content.get("end"):
                runs = False
            elif not runs and entry.kind not in _BETWEEN:  # a step by hand, whose calls may be open
                return []
            found.append(entry)
    except MALFORMED:
        return []
    return [] if runs else found


__all__ = ["END", "END_BYTES", "LONG", "LONG_BYTES", "last_runs"]
