"""Signs thinking as the API does: bound to everything that stood before it, so that an edited past is found out.

The secret is fixed: what one server signed, another one accepts, also after a restart of both.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from typing import Any

SECRET = b"fireside tests: not a secret"


def as_blocks(content: Any) -> list[dict[str, Any]]:
    """Content in its long form: a plain string is one text block."""
    if content is None:
        return []
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)


def merge(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The turns of a conversation: neighbours of the same role are one turn, as for the API."""
    turns: list[dict[str, Any]] = []
    for message in messages:
        blocks = as_blocks(message["content"])
        if turns and turns[-1]["role"] == message["role"]:
            turns[-1]["content"].extend(blocks)
        else:
            turns.append({"role": message["role"], "content": blocks})
    return turns


def _plain(value: Any) -> Any:
    """What a block means: without cache marks and fields that say nothing, the short forms written out."""
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if not isinstance(value, dict):
        return value
    kept = {k: v for k, v in value.items() if k != "cache_control" and v is not None}
    if kept.get("type") == "tool_use":
        return {**kept, "input": value.get("input")}
    if kept.get("type") == "tool_result":
        kept = {**kept, "content": as_blocks(kept.get("content"))}
        if not kept.get("is_error"):
            kept.pop("is_error", None)
    return {k: _plain(v) for k, v in kept.items()}


def _mac(system: Any, turns_before: list[dict[str, Any]], text: str) -> bytes:
    bound = [_plain(as_blocks(system)), _plain(turns_before), len(turns_before), text]
    return hmac.digest(SECRET, json.dumps(bound, sort_keys=True, separators=(",", ":")).encode(), hashlib.sha256)


def sign(system: Any, turns_before: list[dict[str, Any]], text: str) -> str:
    """The signature of thinking `text` in the assistant turn that follows `turns_before`."""
    return base64.b64encode(b"fs1" + _mac(system, turns_before, text)).decode()


def seal(system: Any, turns_before: list[dict[str, Any]], hidden: str) -> str:
    """The data of a redacted_thinking block with `hidden` in it."""
    return base64.b64encode(_mac(system, turns_before, hidden) + hidden.encode()).decode()


def is_signed(system: Any, turns_before: list[dict[str, Any]], text: str, signature: str) -> bool:
    return hmac.compare_digest(sign(system, turns_before, text).encode(), signature.encode(errors="replace"))


def is_sealed(system: Any, turns_before: list[dict[str, Any]], data: str) -> bool:
    try:
        hidden = base64.b64decode(data, validate=True)[32:].decode()
    except ValueError:
        return False
    return hmac.compare_digest(seal(system, turns_before, hidden).encode(), data.encode(errors="replace"))
