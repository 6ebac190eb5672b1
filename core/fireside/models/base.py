"""The `Model` protocol: what the rest asks of a model, and the parts of a streamed reply."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias, runtime_checkable

from fireside.messages import Reply
from fireside.requests import Request


@dataclass(frozen=True, slots=True)
class Delta:
    """A piece of a reply that streams: more `text` of the block `block` (0 is the reply's first).

    `kind` is `"text"`, `"thinking"`, or `"call"`: a tool call has begun, and `text` is the tool's name.
    """

    kind: Literal["text", "thinking", "call"]
    text: str
    block: int


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """A model one can choose. The limits are in tokens; `None` where they are not known.

    `lifecycle` is what the server says of its end: `"active"`, `"deprecated"`, `"retired"`; `""` where it says nothing.
    """

    id: str
    name: str
    context_window: int | None = None
    max_output: int | None = None
    efforts: tuple[str, ...] = ()
    thinking: tuple[str, ...] = ()
    lifecycle: str = ""


StreamPart: TypeAlias = Delta | Reply


@runtime_checkable
class Model(Protocol):
    """What answers a request. Any object with these may be an Agent's `model`."""

    name: str
    """What a person calls it, such as `"claude-sonnet-5"`."""

    def stream(self, request: Request) -> AsyncIterator[StreamPart]:
        """Streams the reply: `Delta`s, then the whole `Reply` as the last part.

        A stream that ends without a `Reply` is a reply that was cut off. Raises `ProviderError`; one with
        `retryable` is asked for again. It does not retry by itself.
        """
        ...

    async def models(self) -> list[ModelInfo]:
        """The models that can be reached, with their limits."""
        ...
