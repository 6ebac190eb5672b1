"""From a store's record back to a conversation: what can be read is replayed, what can't is told."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from fireside.fold import Fold
from fireside.history import VERSION, HistoryEntry
from fireside.messages import Json, ToolCall

if TYPE_CHECKING:
    from fireside.stores.record import Record


def replay(
    state_id: str, record: Record, fold: Fold, entries: list[HistoryEntry]
) -> tuple[list[range], int, list[ToolCall]]:
    """Replays what can be replayed into the fold and the entries: the places of what can't, that of the next entry, and
    the calls whose results stand there without them.

    The places are ranges, in order: a damaged number may stand for more of them than any memory holds.

    Raises `ValueError` where it was saved in a newer format.
    """
    missing: list[range] = []
    lone: list[ToolCall] = []
    expected = 0
    from_json, apply, call_of = HistoryEntry.from_json, fold.apply, fold.call_of
    for raw in record.entries:
        try:
            entry = from_json(raw, call_of)
        except (KeyError, TypeError, ValueError, AttributeError):
            continue  # its place is then missing
        seq = entry.seq
        if seq != expected:
            if seq < expected:
                continue
            missing.append(range(expected, seq))
        expected = seq + 1
        if entry.origin is not None and entry.origin["v"] > VERSION:
            raise ValueError(
                f"the State {state_id!r} was saved in format {entry.origin['v']} by a newer fireside; "
                f"this one reads up to {VERSION}: update it"
            )
        entries.append(entry)
        try:  # as in `Fold.take`, without one call more for each of thousands
            apply(entry)
        except Exception:
            fold.last_seq = seq
            missing.append(range(seq, seq + 1))
            if entry.kind == "tool_result" and entry.call is not None:
                lone.append(entry.call)
    if record.next_seq > expected:
        missing.append(range(expected, record.next_seq))
    return missing, max(expected, record.next_seq), lone


def untold(missing: Iterable[range], told: list[range]) -> list[range]:
    """What no notice has told yet of the missing places, which are in order."""
    out = []
    earlier = iter(sorted(told, key=lambda places: places.start))
    known = next(earlier, None)
    for places in missing:
        start = places.start
        while known is not None and known.start < places.stop:
            if known.start > start:
                out.append(range(start, known.start))
            start = max(start, known.stop)
            if known.stop > places.stop:  # it may tell of the next ones, too
                break
            known = next(earlier, None)
        if start < places.stop:
            out.append(range(start, places.stop))
    return out


def missing_notice(missing: list[range], calls: Iterable[ToolCall]) -> dict[str, Json]:
    """The content of the notice that tells the model of steps that could not be read, and of calls that they leave open."""
    ranges: list[list[int]] = []
    for places in missing:
        if ranges and ranges[-1][1] == places.start - 1:
            ranges[-1][1] = places.stop - 1
        else:
            ranges.append([places.start, places.stop - 1])
    told = ", ".join(str(a) if a == b else f"{a} to {b}" for a, b in ranges)
    named = ", ".join(dict.fromkeys(f"{call.name} ({call.id})" for call in calls))
    may = (
        f"These tool calls may or may not have run: {named}."
        if named
        else "Tool calls in them may or may not have run."
    )
    return {
        "text": f"Steps of this conversation could not be read and are missing (entries {told}). {may} "
        "Check before relying on what they did.",
        "missing": ranges,
    }
