"""`Request`: what is asked of a model."""

from __future__ import annotations

from dataclasses import dataclass

from fireside.messages import Json, Message


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """What a model is told of a tool: `schema` is the JSON Schema of its arguments."""

    name: str
    description: str
    schema: dict[str, Json]


@dataclass(frozen=True, slots=True)
class Request:
    """One question to a model: messages that no API refuses, ending with the user's.

    `prefix` is a hash of what the reply will answer (system prompt and messages); `effort` and `thinking` are the
    provider's own words, `None` for its default.
    """

    messages: tuple[Message, ...]
    system: str | None = None
    tools: tuple[ToolSpec, ...] = ()
    max_tokens: int | None = None
    effort: str | None = None
    thinking: str | None = None
    prefix: str = ""
