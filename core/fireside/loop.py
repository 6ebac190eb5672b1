"""`@loop`: what an Agent repeats until it has an answer, and the default loop."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fireside.state import State
from fireside.sync import call
from fireside.values import need

if TYPE_CHECKING:
    from fireside.agent import Agent

Until = Callable[[State], Any]

COMPACT_AT = 0.8
"""The share of the context window from which on the default loop compacts."""


@dataclass(frozen=True, slots=True)
class Loop:
    """A step `(agent, state)`, sync or async, repeated until `until(state)` holds, or `limit` times."""

    step: Callable[[Any, State], Any]
    until: Until
    limit: int | None

    async def run(self, agent: Agent, state: State) -> str:
        """Repeats the step; why it stopped: `"finish"`, `"limit"`, or the name of the `until` function."""
        done = 0
        while True:
            if state.is_finished():
                return "finish"
            if not state.wants_tools() and await _holds(self.until, state):
                return getattr(self.until, "__name__", type(self.until).__name__)
            if self.limit is not None and done >= self.limit:
                return "limit"
            await call(self.step, agent, state)
            done += 1


async def _holds(until: Until, state: State) -> Any:
    value = until(state)
    return await value if isinstance(value, Awaitable) else value


def loop(
    *, until: Until = State.is_answered, limit: int | None = None
) -> Callable[[Callable[[Any, State], Any]], Loop]:
    """Makes a loop of a function `(agent, state)`. `limit` is how often it may run; left out, it has no limit.

    Raises `ValueError` for a limit below 1, `TypeError` for an `until` that can't be called.

    >>> @loop(until=State.is_answered, limit=10)
    ... async def careful(agent, state):
    ...     await agent.athink(state)
    ...     await agent.ause_tools(state)
    """
    if not callable(until):
        raise TypeError("until is a function of the State, such as State.is_answered")
    if limit is not None and need(limit, int, "limit is a whole number") < 1:
        raise ValueError("limit is 1 or more")

    def made(step: Callable[[Any, State], Any]) -> Loop:
        if not callable(step):
            raise TypeError("@loop goes over a function (agent, state)")
        return Loop(step, until, limit)

    return made


@loop(until=State.is_answered)
async def default_loop(agent: Agent, state: State) -> None:
    """Thinks, uses tools, and compacts when the context is nearly full."""
    if not state.wants_tools():
        if state._fold.last_usage.context > COMPACT_AT * agent.context_window:
            await agent.acompact(state)
        await agent.athink(state)
    if state.wants_tools():
        await agent.ause_tools(state)
