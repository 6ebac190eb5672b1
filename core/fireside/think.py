"""One model request: it streams, is asked for again where that may help, and its reply is recorded.

A stream that ends is not a reply that is complete: only a `Reply` with its stop reason is. What came before a cut is kept
as a `partial_reply`.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from fireside.errors import ProviderError
from fireside.history import HistoryEntry
from fireside.mcp import connected
from fireside.messages import Block, Json, Reply, ToolCall
from fireside.models.base import Delta
from fireside.requests import Request
from fireside.run import need_message, record_error, save_before_think, step_saved, tell, try_to_save
from fireside.state import State
from fireside.stores.base import to_its_end
from fireside.values import dumps

if TYPE_CHECKING:
    from fireside.agent import Agent

FIRST_WAIT, LONGEST_WAIT = 0.5, 8.0
LONGEST_ASKED_WAIT = 60.0
"""A provider that asks to wait longer than this many seconds is not waited for: the error says how long."""

COMPLETE = frozenset({"end_turn", "tool_use", "stop_sequence", "pause_turn"})
"""Stop reasons of a reply that is whole. The calls of any other reply are never run."""

OnDelta = Callable[[Delta], Awaitable[None]]


def request_of(agent: Agent, state: State) -> Request:
    """What the next think asks."""
    return state._requests.build(state._fold.items, **settings_of(agent))


def settings_of(agent: Agent) -> dict[str, Any]:
    """What every request of an Agent asks with, beside its messages."""
    return {
        "system": agent.system,
        "model": agent.model.name,
        "tools": [tool.spec for tool in agent.tools.values()],
        "max_tokens": agent.max_tokens,
        "effort": agent.effort,
        "thinking": agent.thinking,
    }


async def think(agent: Agent, state: State) -> HistoryEntry:
    """Asks the model for the next reply and records it. Raises `ValueError` while calls are pending or nothing was said."""
    state._settled("think")
    need_message(state)
    await save_before_think(agent, state)
    async with connected(agent.mcp_servers):
        return await _think(agent, state)


async def _think(agent: Agent, state: State) -> HistoryEntry:
    seen = state._next_seq - 1
    request = request_of(agent, state)
    await tell(agent, "on_think_start", state)
    partial = _PartialReply(agent, state, seen)
    try:
        async with partial:
            reply = await ask_model(agent, state, request, partial.add, partial.void)
    except (asyncio.CancelledError, KeyboardInterrupt, SystemExit):
        partial.cut()
        raise
    except Exception as error:
        partial.cut()
        record_error(state, error)
        raise
    entry = state._append(
        "reply",
        {
            "blocks": [_kept(block).to_json() for block in reply.content],
            "stop_reason": reply.stop_reason,
            "usage": reply.usage.to_json(),
            "model": reply.model or agent.model.name,
            "seen": seen,
            "prefix": request.prefix,
            **({"request_id": reply.request_id} if reply.request_id else {}),
        },
    )
    if reply.stop_reason not in COMPLETE:
        for call in state.pending_calls:
            state._result(call, f"(not run: the reply was cut off ({reply.stop_reason}))", is_error=True)
    await step_saved(agent, state)
    await tell(agent, "on_think_end", state, entry)
    return entry


def _kept(block: Block) -> Block:
    """The block as history can hold it: a call with arguments that could not be saved, or loaded again, is unreadable."""
    if isinstance(block, ToolCall):
        try:
            dumps(block.args, "args")
        except TypeError as error:
            return replace(block, args={}, unreadable=str(error))
    return block


async def ask_model(
    agent: Agent,
    state: State,
    request: Request,
    on_delta: OnDelta | None = None,
    on_void: Callable[[], None] | None = None,
) -> Reply:
    """The whole reply to a request. What may help is asked for again, `agent.retries` times at most."""
    attempt = 1
    while True:
        try:
            return await _stream(agent, request, on_delta)
        except ProviderError as error:
            wait = _wait(error, attempt)
            if not error.retryable or attempt > agent.retries or wait > LONGEST_ASKED_WAIT:
                raise
            attempt += 1
            if on_void is not None:
                on_void()
            await tell(agent, "on_retry", state, error, attempt, wait)
            await asyncio.sleep(wait)


def _wait(error: ProviderError, attempt: int) -> float:
    own = min(LONGEST_WAIT, FIRST_WAIT * 2.0 ** (attempt - 1)) * random.uniform(0.75, 1.0)
    return max(own, error.retry_after or 0.0)


async def _stream(agent: Agent, request: Request, on_delta: OnDelta | None) -> Reply:
    parts = agent.model.stream(request)
    reply: Reply | None = None
    async with contextlib.aclosing(_closable(parts)) as stream:
        async for part in stream:
            if isinstance(part, Reply):
                reply = part
            elif on_delta is not None:
                await on_delta(part)
    if reply is None:
        raise ProviderError("the connection ended before the reply was complete", retryable=True)
    return reply


async def _closable(parts: AsyncIterator[Delta | Reply]) -> AsyncGenerator[Delta | Reply, None]:
    """Any async iterator as a generator that closes it, also when the reader is cancelled."""
    try:
        async for part in parts:
            yield part
    finally:
        if (close := getattr(parts, "aclose", None)) is not None:
            await close()


async def _ended(task: asyncio.Task[None]) -> None:
    await asyncio.wait([task])


class _PartialReply:
    """The streamed text of one think: told to the reporter, saved every few seconds, kept where it is cut off."""

    def __init__(self, agent: Agent, state: State, seen: int) -> None:
        self.agent, self.state, self.seen = agent, state, seen
        self.attempt = 1
        self.new: list[list[Json]] = []  # [block, kind, words], not recorded yet
        self.recorded = False
        self._saver: asyncio.Task[None] | None = None

    async def __aenter__(self) -> None:
        if self.agent.save_partial_every is not None and self.agent.store is not None:
            self._saver = asyncio.create_task(self._save_now_and_then(self.agent.save_partial_every))

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._saver is not None:
            self._saver.cancel()
            await to_its_end(_ended(self._saver))
            failed = None if self._saver.cancelled() else self._saver.exception()
            if failed is not None and kind is None:
                raise failed

    async def _save_now_and_then(self, every: float) -> None:
        while True:
            await asyncio.sleep(every)
            if self.record():
                # A full disk must not end a reply that streams well: the save after the think tells of it.
                await try_to_save(self.agent, self.state)

    async def add(self, delta: Delta) -> None:
        """One more piece. Raises what the reporter raised when it heard of a save in between."""
        if self._saver is not None and self._saver.done():
            self._saver.result()
        if delta.kind == "call":
            return
        if self.new and self.new[-1][0] == delta.block and self.new[-1][1] == delta.kind:
            self.new[-1][2].append(delta.text)
        else:
            self.new.append([delta.block, delta.kind, [delta.text]])
        await tell(self.agent, "on_text" if delta.kind == "text" else "on_thinking", self.state, delta.text)

    def record(self, **ending: bool) -> bool:
        """Makes an entry of what is new; whether there was anything."""
        if not self.new and not ending:
            return False
        delta = [[block, kind, "".join(words)] for block, kind, words in self.new]
        self.new = []
        self.state._append("partial_reply", {"seen": self.seen, "attempt": self.attempt, "delta": delta, **ending})
        self.recorded = True
        return True

    def void(self) -> None:
        """It is asked for again: what came so far is no part of the answer."""
        self.new = []
        if self.recorded:
            self.record(void=True)
        self.recorded = False
        self.attempt += 1

    def cut(self) -> None:
        """It ends here: the text is kept, marked as cut off."""
        if self.new or self.recorded:
            self.record(cut=True)
