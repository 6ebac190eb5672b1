"""The caller's own values: what JSON can hold of them. This room knows no other."""

from __future__ import annotations

import json
from dataclasses import asdict, is_dataclass
from typing import Any

from fireside.messages import Json


def plain(value: Any) -> Json:
    """Pydantic models and dataclasses as dicts; everything else as it is."""
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    return value


def dumps(value: Json, what: str) -> str:
    """The JSON of a value. Raises `TypeError` that names `what`."""
    try:
        return json.dumps(plain(value), ensure_ascii=True, allow_nan=True, default=_no_json)
    except (TypeError, ValueError, RecursionError) as error:
        raise TypeError(f"{what} is no JSON value: {error}") from None


def _no_json(value: object) -> Json:
    made = plain(value)
    if made is value:
        raise TypeError(f"{type(value).__name__} can't be held by JSON")
    return made
