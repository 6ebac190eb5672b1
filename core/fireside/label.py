"""The label of a conversation: what a list shows, computed from the fold."""

from __future__ import annotations

from datetime import datetime
from functools import lru_cache
from typing import Literal

from fireside.fold import Fold
from fireside.history import VERSION
from fireside.messages import Json

Status = Literal["new", "running", "approval", "waiting", "interrupted", "failed", "limit", "finished"]
"""Where a conversation stands.

`"new"`: a message waits for a run. `"running"`: a run is open, and somebody holds its lock. `"approval"`: it asks the
person about a call. `"waiting"`: it is the person's turn. `"interrupted"`: a run is open, and nobody holds its lock.
`"failed"`: the last run ended with an exception. `"limit"`: it stopped at the loop's limit. `"finished"`: the task is.
"""

LABEL_TASK = 200
"""How many characters of the task and the title a label holds."""


def stored_status(fold: Fold) -> Status:
    """The status as far as the entries tell: an open run is `"running"`, whoever holds it."""
    if fold.unasked:
        return "approval"
    if fold.run_open:
        return "running"
    if fold.finished:
        return "finished"
    return fold.outcome  # type: ignore[return-value]


def label_of(id: str, fold: Fold, next_seq: int) -> dict[str, Json]:
    """The label of a conversation: what a list shows, in a few hundred bytes whatever the length."""
    label: dict[str, Json] = {"v": VERSION, "id": id, "entries": next_seq, "turn": fold.turn}
    for key, value in (
        ("task", (fold.task or "")[:LABEL_TASK]),
        ("title", (fold.given_title or "")[:LABEL_TASK]),
        ("status", stored_status(fold)),
        ("stopped_by", fold.stopped_by),
        ("usage", fold.usage.to_json()),
    ):
        if value:
            label[key] = value
    for key, at in (("created_at", fold.created_at), ("updated_at", fold.updated_at)):
        if at is not None:
            label[key] = _told(at)
    return label


def born_of(label: dict[str, Json] | None) -> str | None:
    """When the State of a label was begun, as it stands there; `None` where it does not tell."""
    born = None if label is None else label.get("created_at")
    try:
        return born if born and datetime.fromisoformat(born).tzinfo is not None else None
    except (TypeError, ValueError):
        return None


_told = lru_cache(256)(datetime.isoformat)  # a save asks for the same time again and again
