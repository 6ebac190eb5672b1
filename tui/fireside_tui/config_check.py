"""Checks settings with pydantic, after their declaration in `Config`. Loaded for what is not right beyond doubt."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Annotated, Any, get_type_hints

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    create_model,
)

from fireside_tui.config import Config, is_address


def checked(values: Mapping[str, Any], *, texts: bool) -> tuple[dict[str, Any], list[str]]:
    """The values in the types of their settings, without the wrong ones, and the keys of those.

    With `texts`, numbers and truth values may be texts, as the environment and the options have them.
    """
    try:
        found = _SETTINGS.model_validate(dict(values), context={"texts": texts})
    except ValidationError as error:
        wrong = list(dict.fromkeys(str(one["loc"][0]) for one in error.errors()))
        right = {key: value for key, value in values.items() if key not in wrong}
        return checked(right, texts=texts)[0], wrong
    return found.model_dump(include=set(values)), []


def _is_address(value: str) -> str:
    if value and not is_address(value):
        raise ValueError("no address")
    return value


def _keeps_types(value: object, info: ValidationInfo) -> object:
    """In the file `"true"` is no `true` and `true` no number; the environment has nothing but texts."""
    text_allowed = bool(info.context and info.context.get("texts"))
    wants_bool = info.field_name in ("tools", "show_thinking")
    if (isinstance(value, str) and not text_allowed) or (
        not isinstance(value, str) and value is not None and isinstance(value, bool) != wants_bool
    ):
        raise ValueError("another type")
    return value


_MORE: dict[str, Any] = {
    "base_url": AfterValidator(_is_address),
    **dict.fromkeys(("save_partial_every", "max_tokens", "tools", "show_thinking"), BeforeValidator(_keeps_types)),
}
"""What a type and its bounds don't say."""


def _model() -> type[BaseModel]:
    hints = get_type_hints(Config)
    declared: dict[str, Any] = {}
    for setting in fields(Config):
        if setting.metadata:
            kind = hints[setting.name]
            if setting.name in _MORE:
                kind = Annotated[kind, _MORE[setting.name]]
            declared[setting.name] = (kind, Field(default=setting.default, **setting.metadata["bounds"]))
    return create_model("Settings", __config__=ConfigDict(extra="forbid", protected_namespaces=()), **declared)


_SETTINGS = _model()
