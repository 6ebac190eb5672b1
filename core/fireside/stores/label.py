"""The label of a conversation as a file: small, derived from the log, and never believed without proof. It knows the contract.

`_log` says for how many entries and bytes of the log it stands, `_sum` that it is whole.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple
from zlib import crc32

from fireside.history import VERSION
from fireside.messages import Json, Usage
from fireside.stores.disk import Disk, read_small
from fireside.stores.record import newer

_encode = json.JSONEncoder(separators=(",", ":")).encode
_decode_at = json.JSONDecoder().raw_decode  # half the time of json.loads, which first guesses the encoding
_SUM = b',"_sum":"'


class Label(NamedTuple):
    """What stood in the file: the label itself, and how many entries (the next `seq`) and bytes it stands for."""

    content: dict[str, Json]
    next_seq: int
    size: int


def encode(content: dict[str, Json], next_seq: int, size: int) -> bytes:
    """The file's bytes."""
    body = _encode({**content, "_log": [next_seq, size]}).encode()
    return b'%s,"_sum":"%08x"}\n' % (body[:-1], crc32(body))


def decode(data: bytes) -> Label | None:
    """The label in the file's bytes; `None` where it is not whole. That of a newer format stands for nothing."""
    try:
        content, _ = _decode_at(data.decode(), 0)
        if content.get("v") != VERSION and newer(content):
            return Label(content, 0, 0)
        cut = data.rfind(_SUM)
        if content.pop("_sum") != f"{crc32(data[:cut] + b'}'):08x}":
            return None
        next_seq, size = content.pop("_log")
        return Label(content, next_seq, size)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def read(folder: str) -> Label | None:
    """The label in a State's folder; `None` where it is lost."""
    try:
        return decode(read_small(f"{folder}/snapshot.json"))
    except OSError:
        return None


_STEADY = frozenset(
    {
        "user",
        "notice",
        "reply",
        "partial_reply",
        "tool_result",
        "ask",
        "human",
        "compact",
        "clear",
        "data",
        "checkpoint",
    }
)
"""Kinds of entries after which a label says the same as before, but for the three values that `carried_on` counts on."""
_MOVING = frozenset({"user", "notice", "reply", "tool_result"})
_SPENDING = frozenset({"reply", "ask", "compact"})


def carried_on(content: dict[str, Json], rows: Iterable[dict[str, Json]]) -> dict[str, Json] | None:
    """The label after these entries too, which follow the one that it stands for up to; `None` where only the fold of all
    entries can tell.

    Most steps move on nothing but `turn`, `usage` and `updated_at`. So who writes may leave a label as it is as long as
    this gives the very label that it would have written, and who reads gets that from the end of the log.
    """
    try:
        if content["v"] != VERSION or content.get("status", "new") not in ("new", "running") or not content["task"]:
            return None
        entries, turn, moved = content["entries"], content["turn"], content["updated_at"]
        usage = None
        for row in rows:
            kind = row["kind"]
            if kind not in _STEADY or row["seq"] != entries:
                return None
            entries += 1
            if kind == "reply":
                turn = row["turn"] + 1
            if kind in _MOVING and "closing" not in row:
                moved = row["at"]
            if kind in _SPENDING and (spent := row["content"].get("usage")):
                usage = (usage or Usage.from_json(content.get("usage") or {})) + Usage.from_json(spent)
        out = {**content, "entries": entries, "turn": turn}
        if moved is not content["updated_at"]:
            out["updated_at"] = datetime.fromisoformat(moved).isoformat()
        if usage is not None and (told := usage.to_json()):
            out["usage"] = told
        return out
    except (KeyError, TypeError, ValueError, AttributeError):
        return None


def write(disk: Disk, folder: str, data: bytes) -> bool:
    """Replaces the label, without a wait. It fails in silence: a label is computed again where it is lost.

    Whether it was replaced.

    Two files take turns. Replacing a file by a new one makes ext4 write the new one out at once (its guard for programs
    that don't sync), which costs more than the log's own fsync; a file that already has its block is let through.
    """
    now, spare, aside = f"{folder}/snapshot.json", f"{folder}/snapshot.spare", f"{folder}/snapshot.old"
    try:
        disk.write_whole(spare, data)
        try:
            disk.rename(now, aside)
        except FileNotFoundError:
            aside = ""
        disk.rename(spare, now)
        if aside:
            disk.rename(aside, spare)
    except OSError:
        return False
    return True


__all__ = ["Label", "carried_on", "decode", "encode", "read", "write"]
