"""The caller's own values: what JSON can hold of them. It knows no other room but for the name `Json`."""

from __future__ import annotations

import json
from dataclasses import asdict, is_dataclass
from typing import Any, TypeVar

from fireside.messages import Json


def plain(value: Any) -> Json:
    """Pydantic models and dataclasses as dicts; everything else as it is."""
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    return value


DEEPEST = 200
"""How many dicts and lists may lie in each other: what is saved must be loaded again, from however deep a stack."""


def dumps(value: Json, what: str) -> str:
    """The JSON of a value. Raises `TypeError` that names `what`."""
    try:
        _check(value, 0)
        return json.dumps(plain(value), allow_nan=False, default=_no_json)
    except (TypeError, ValueError, RecursionError) as error:
        raise TypeError(f"{what} is no JSON value: {error}") from None


def text_of(value: Json) -> str:
    """The JSON of a value that came from JSON, in the words of `dumps`."""
    return json.dumps(value)


def copied(value: Json) -> Json:
    """A copy of a value that came from JSON, for who may change it: history must stay as it is."""
    return json.loads(text_of(value)) if isinstance(value, dict | list) else value


T = TypeVar("T")


def need(value: object, kind: type[T] | tuple[type[T], ...], what: str) -> T:
    """The value, where it is of that type. Raises `TypeError` that says `what` it should be; a `bool` is no number."""
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise TypeError(f"{what}, not {type(value).__name__}")
    return value


def _check(value: object, depth: int) -> None:
    """Raises `TypeError` for what `json` would write as something else, and for what is nested too deep or in itself."""
    if isinstance(value, dict | list | tuple):
        if depth >= DEEPEST:
            raise TypeError(f"it is nested more than {DEEPEST} deep")
        if isinstance(value, dict):
            for key in value:
                if not isinstance(key, str):
                    raise TypeError(f"the keys of a JSON object are str, not {type(key).__name__} ({key!r})")
            value = list(value.values())
        for item in value:
            _check(item, depth + 1)
    elif (made := plain(value)) is not value:
        _check(made, depth)


def _no_json(value: object) -> Json:
    made = plain(value)
    if made is value:
        raise TypeError(f"{type(value).__name__} can't be held by JSON")
    return made
