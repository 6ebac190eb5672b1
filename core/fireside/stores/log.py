"""The log's lines: entries to bytes, and back from a file that may be cut, damaged or full of NULs. It knows errors alone.

One entry a line, in JSON and UTF-8, split at `\\n` alone. What can't be read is counted and left out; all the rest is read.
"""

from __future__ import annotations

import contextlib
import json
from typing import Any

from fireside.errors import ConflictError

Row = dict[str, Any]

FAR = 1_000_000
"""A `seq` this far behind the one before it is no entry but damage."""

_LONG = 1 << 14  # bytes: to load another parser for less is not worth it
_PIECE = 1 << 16  # bytes parsed in one call: enough to be fast, little enough not to double what a load takes
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_encode_ascii = json.JSONEncoder(separators=(",", ":")).encode
_decode_at = json.JSONDecoder().raw_decode
_START = '{"seq":'


class Parsed:
    """What a log holds. `end` is where its whole lines end; `open_end` tells that a whole entry without its newline follows."""

    __slots__ = ("damaged", "end", "next_seq", "open_end", "rows")

    def __init__(self, end: int) -> None:
        self.rows: list[Row] = []
        self.next_seq = self.damaged = 0
        self.end = end
        self.open_end = False


def encode(row: Row) -> bytes:
    """The line of an entry. Lone surrogates are written as escapes, so the file is UTF-8 whatever it holds."""
    try:
        return _encode(row).encode() + b"\n"
    except UnicodeEncodeError:
        return _encode_ascii(row).encode() + b"\n"


def same(stored: Row, new: Row) -> bool:
    """Whether two entries are one in the form that a store keeps."""
    return encode(stored) == encode(json.loads(encode(new)))


def not_stored(state_id: str, stored: list[Row], entries: list[Row]) -> list[Row]:
    """The entries that are not among the stored ones. Raises `ConflictError` where another one is in the place of one."""
    there = {row["seq"]: row for row in stored}
    fresh = []
    for entry in entries:
        row = there.get(entry["seq"])
        if row is None:
            fresh.append(entry)
        elif not same(row, entry):
            raise ConflictError(state_id, f"its entry {entry['seq']} is another one")
    return fresh


def next_place(found: Parsed, noted: int | None) -> int:
    """The place of the next entry: the noted one, unless that is damaged.

    So it is where it is none, lies before the end of what was found, or so far behind it that nobody would read what is
    written there.
    """
    last = found.rows[-1]["seq"] if found.rows else -1
    return found.next_seq if noted is None or not found.next_seq <= noted <= last + FAR else noted


def parse(data: bytes | bytearray) -> Parsed:
    """Reads what can be read."""
    out = Parsed(data.rfind(b"\n") + 1)
    last, after, ordered = -1, 0, True  # `after` counts the damaged lines behind the last good one
    start = 0
    while start < out.end:
        stop = data.find(b"\n", min(start + _PIECE, out.end - 1)) + 1
        piece = _piece(data, start, stop, last)
        if piece is not None:
            rows, after = piece, 0
        else:
            rows, damaged, after = _lines(data[start:stop], last, after)
            out.damaged += damaged
        for row in rows:
            seq = row["seq"]
            if seq <= last:
                ordered = False
            else:
                last = seq
        out.rows += rows
        start = stop
    if out.end < len(data) and (open_row := _whole(data[out.end :], last)):  # an editor took the last newline away
        out.rows.append(open_row)
        out.open_end, after, last = True, 0, open_row["seq"]
    if not ordered:
        out.damaged += _sort(out.rows)
    out.next_seq = last + 1 + after
    return out


def _piece(data: bytes | bytearray, start: int, stop: int, last: int) -> list[Row] | None:
    """The rows of a run of lines, all at once; `None` where something is wrong with one."""
    piece = data[start : stop - 1]
    rows = _loads(b"[" + piece.replace(b"\n", b",") + b"]")
    # a newline in the middle of a string would have been read as a comma
    if rows is None or len(rows) != piece.count(b"\n") + 1:
        return None
    for row in rows:
        if type(row) is not dict or type(seq := row.get("seq")) is not int or not 0 <= seq <= last + FAR:
            return None
        last = seq
    return rows


def _loads(text: bytes) -> list[Row] | None:
    """A JSON array, or `None`. Where it is long, by the parser that the SDK brings: it takes half of the time.

    That one refuses some of what json takes (half of a surrogate pair, 200 arrays in one another), and reads all else as
    json does.
    """
    if len(text) > _LONG:
        with contextlib.suppress(ImportError, ValueError):
            from jiter import from_json

            return from_json(text)  # type: ignore[no-any-return]
    try:
        return json.loads(text)  # type: ignore[no-any-return]
    except (ValueError, RecursionError):
        return None


def _lines(data: bytes | bytearray, last: int, after: int) -> tuple[list[Row], int, int]:
    rows: list[Row] = []
    damaged = 0
    for line in data[:-1].split(b"\n"):
        if not line.strip():
            continue
        row = _whole(line, last)
        if row is None:
            damaged += 1
            found, whole = _rescue(line, last)
        else:
            found, whole = [row], True
        rows += found
        if found:
            last, after = max(last, found[-1]["seq"]), 0
        after += not whole
    return rows, damaged, after


def _whole(line: bytes | bytearray, last: int) -> Row | None:
    """The entry of a line, if it holds just that."""
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return row if _is_row(row, last) else None


def _is_row(row: object, last: int) -> bool:
    return isinstance(row, dict) and type(seq := row.get("seq")) is int and 0 <= seq <= last + FAR


def _rescue(line: bytes | bytearray, last: int) -> tuple[list[Row], bool]:
    """The whole entries in a damaged line (glued to a half one, or behind NULs), and whether it ends with one."""
    text = line.decode("utf-8", "surrogateescape")
    rows: list[Row] = []
    at, end = 0, -1
    while (at := text.find(_START, at)) >= 0:
        try:
            row, end = _decode_at(text, at)
        except (ValueError, RecursionError):
            at += 1
            continue
        # an escaped byte was none of ours: the entry is damaged, though it parses
        if _is_row(row, last) and not any("\udc80" <= mark <= "\udcff" for mark in text[at:end]):
            rows.append(row)
        at = end
    return rows, end == len(text)


def _sort(rows: list[Row]) -> int:
    """Puts rows in order; the first of a `seq` stays. How many of the others differ from it."""
    rows.sort(key=lambda row: row["seq"])
    kept: list[Row] = []
    differ = 0
    for row in rows:
        if kept and kept[-1]["seq"] == row["seq"]:
            differ += kept[-1] != row
        else:
            kept.append(row)
    rows[:] = kept
    return differ


__all__ = ["Parsed", "encode", "next_place", "not_stored", "parse", "same"]
