"""The exceptions and warnings of the library. This room knows no other."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any


class FiresideError(Exception):
    """What every exception of the library that has no better built-in base is."""


class ToolError(FiresideError):
    """Raised inside a tool: the model gets the message, and the run goes on."""


class ProviderError(FiresideError):
    """A model request failed; the SDK's exception is the `__cause__`.

    `request_id` is the provider's id of the request, `retryable` whether asking again may help, and
    `retry_after` how many seconds the provider asked to wait (`None`: it did not say).
    """

    def __init__(
        self,
        message: str,
        *,
        request_id: str | None = None,
        retryable: bool = False,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(f"{message} (request id {request_id})" if request_id else message)
        self.request_id = request_id
        self.retryable = retryable
        self.retry_after = retry_after


class RateLimitError(ProviderError):
    """Too many requests or tokens; `retry_after` says how long to wait, in seconds."""


class AuthError(ProviderError):
    """The provider knows no credentials, or refuses those it got."""


class OverloadedError(ProviderError):
    """The provider has no capacity at the moment."""


class ContextTooLongError(ProviderError):
    """The conversation no longer fits into the model's context window."""


class MCPError(FiresideError):
    """An MCP server can't be reached, or gives no tools; the message names it and says why."""


class StateInUseError(FiresideError):
    """Another run holds the State: `state_id`, and what is known of the `holder` (host, process, since)."""

    def __init__(self, state_id: str, holder: Holder | None = None) -> None:
        where = f" by {holder}" if holder else ""
        super().__init__(f"the State {state_id!r} is in use{where}; wait for that run to end, or fork the State")
        self.state_id = state_id
        self.holder = holder


class Holder:
    """Who holds a State's lock. It only informs: the lock itself is the system's."""

    __slots__ = ("host", "pid", "since")

    def __init__(self, host: str, pid: int, since: datetime) -> None:
        self.host, self.pid, self.since = host, pid, since

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host} since {self.since:%Y-%m-%d %H:%M:%S} UTC"

    def __repr__(self) -> str:
        return f"Holder({self.host!r}, {self.pid}, {self.since!r})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Holder):
            return NotImplemented
        return (self.host, self.pid, self.since) == (other.host, other.pid, other.since)

    def __hash__(self) -> int:
        return hash((self.host, self.pid, self.since))


class ConflictError(FiresideError):
    """Two writers met: the store has other entries where this State's were to go.

    What this State holds stays in it; `state.fork()` keeps it under a new id.
    """

    def __init__(self, state_id: str, detail: str) -> None:
        super().__init__(
            f"the State {state_id!r} was changed by another writer: {detail}; "
            "load it again to go on from there, or keep this one with state.fork()"
        )
        self.state_id = state_id


class ResumeWarning(UserWarning):
    """A loaded State is run by an Agent that differs from the one that saved it.

    `changes` maps each setting that differs to `(saved, now)`; a system prompt is never shown, only that it changed.
    """

    def __init__(self, changes: Mapping[str, tuple[Any, Any]]) -> None:
        self.changes = dict(changes)
        told = "; ".join(f"{key}: {saved!r} when saved, {now!r} now" for key, (saved, now) in self.changes.items())
        super().__init__(f"this State was saved by an Agent with other settings ({told})")
