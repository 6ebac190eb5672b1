"""A run from its start to its end: the lock, the save points, and what is closed when it ends early."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import warnings
from collections.abc import AsyncIterator, Awaitable
from typing import TYPE_CHECKING, Any

from fireside.errors import ResumeWarning, StateInUseError
from fireside.history import HistoryEntry
from fireside.loop import default_loop
from fireside.mcp import connected
from fireside.messages import Json
from fireside.reporter import Reporter
from fireside.state import State
from fireside.stores.base import NoLock, give_back
from fireside.sync import inline, true_cause

if TYPE_CHECKING:
    from fireside.agent import Agent

INTERRUPTED = "(interrupted by user)"


async def tell(agent: Agent, event: str, *args: Any) -> None:
    """Calls one method of the Agent's reporter, sync or async."""
    if agent.reporter is not None:
        result = getattr(agent.reporter, event)(*args)
        if isinstance(result, Awaitable):
            await result


async def save(agent: Agent, state: State) -> None:
    """Saves everything that is not saved yet, where the Agent has a store."""
    if await _write(agent, state):
        await tell(agent, "on_save", state)


async def try_to_save(agent: Agent, state: State) -> None:
    """`save`, where a later one writes what this one could not, or raises. What the reporter raises ends the run as ever."""
    written = False
    with contextlib.suppress(Exception):
        written = await _write(agent, state)
    if written:
        await tell(agent, "on_save", state)


async def _write(agent: Agent, state: State) -> bool:
    if agent.store is None:
        state.record_data()
        return False
    state._unsaved_steps = 0
    return await agent.store._save(state, inline=inline())


async def step_saved(agent: Agent, state: State) -> None:
    """A save point between two steps: every `save_every`th one saves."""
    state._unsaved_steps += 1
    if state._unsaved_steps >= agent.save_every:
        await save(agent, state)
    else:
        state.record_data()  # what JSON can't hold is told before the next request


async def save_before_think(agent: Agent, state: State) -> None:
    """What a request rests on is saved before it leaves: with `save_every` above 1, what a person said at least."""
    if agent.save_every == 1 or said_by_a_person(state):
        await save(agent, state)
    else:
        state.record_data()


def said_by_a_person(state: State) -> bool:
    """Whether something that a person said, or answered, is not saved yet."""
    return any(entry.kind in ("user", "human") for entry in state._entries[state._saved :])


def need_message(state: State) -> None:
    """Raises `ValueError` where there is nothing that a model could answer."""
    if not state._fold.items:
        raise ValueError("the State has no message yet: state.add_user_message(…) first")


_inside: contextvars.ContextVar[frozenset[int]] = contextvars.ContextVar("fireside_inside", default=frozenset())


def is_inside(state: State) -> bool:
    """Whether this is a step of a run of the State, or of what else holds its lock; not one beside it."""
    return id(state) in _inside.get()


@contextlib.asynccontextmanager
async def locked(agent: Agent, state: State) -> AsyncIterator[None]:
    """Holds the State's lock. Raises `StateInUseError` where a run has it, here or elsewhere."""
    if state._running:
        raise StateInUseError(state.id)
    state._begins = True
    try:
        lock = NoLock() if agent.store is None else await agent.store._lock_for_run(state, inline=inline())
        with state._guard:  # a store without locks lets two of them come here
            if state._running:
                lock.release()
                raise StateInUseError(state.id)
            state._running = True
    finally:
        state._begins = False
    _inside.set(_inside.get() | {id(state)})
    try:
        yield
    finally:
        _inside.set(
            _inside.get() - {id(state)}
        )  # no `reset`: what nobody waits for any more is closed in another context
        state._running = False
        await give_back(lock, inline=inline())


async def run(agent: Agent, state: State) -> Any:
    """Runs the loop to its stop; the answer."""
    if state._running:
        raise StateInUseError(state.id)
    if agent.loop is default_loop and not state.is_finished():  # another loop may add the message itself
        need_message(state)
    async with locked(agent, state), contextlib.AsyncExitStack() as servers:  # closed when all is saved and told
        await _open(agent, state)
        try:
            await servers.enter_async_context(connected(agent.mcp_servers))
            by = await agent.loop.run(agent, state)
        except BaseException as error:
            await _end_early(agent, state, error)
            raise
        state._append("stop", {"end": True, "by": by})
        try:
            await save(agent, state)
        except BaseException as error:
            await _quietly(tell(agent, "on_run_end", state, true_cause(error)))
            raise
        await tell(agent, "on_run_end", state, None)
        return state.answer


def close_others(state: State) -> None:
    """The lock is ours: what is open in it was left open by a run that is dead, or by another writer. It must not run here."""
    if state._fold.run_open or state._foreign == state._fold.turn:
        state._close_cut_off()


async def _open(agent: Agent, state: State) -> None:
    """Records the run's start and saves it, all or nothing: a State whose id is taken stays as it was."""
    changes = _changes(agent, state) if state._loaded else {}
    close_others(state)
    start = len(state._entries)
    if agent.store is not None and state._saved:
        await save(agent, state)  # what the person said, behind what another process may have added
        start = len(state._entries)
    state._append("run_start", {"agent": fingerprint(agent)})
    try:
        await save(agent, state)
    except BaseException as error:
        if state._saved > start:  # cancelled, and the write was finished first: the run is begun
            await _end_early(agent, state, error)
        else:
            state._drop_unsaved(start)
        raise
    state._loaded = False
    try:
        if changes:
            await _warn(agent, state, ResumeWarning(changes))
        await tell(agent, "on_run_start", state)
    except BaseException as error:
        await _end_early(agent, state, error)
        raise


async def _end_early(agent: Agent, state: State, error: BaseException) -> None:
    """Closes what is open, and saves. A save that fails as well becomes a note of the error; Ctrl+C wins over it."""
    cause = true_cause(error)
    by_person = isinstance(cause, KeyboardInterrupt | asyncio.CancelledError)
    text = INTERRUPTED if by_person else f"(aborted: {type(cause).__name__})"
    closed = [(call, state._result(call, text, is_error=True)) for call in state.pending_calls]
    told = {"cut" if by_person or isinstance(cause, SystemExit) else "error": words(cause)}
    state._append("stop", {"end": True, "by": None, **told})
    try:
        await save(agent, state)
    except Exception as failed:
        error.add_note(f"saving the state also failed: {words(failed)}")
    finally:  # a second cancellation finds all of it recorded, and the reporter hears of the end
        try:
            for call, entry in closed:
                await _quietly(tell(agent, "on_tool_end", state, call, entry))
        finally:
            await _quietly(tell(agent, "on_run_end", state, cause))


async def _quietly(work: Awaitable[None]) -> None:
    """The run is failing already: a reporter that fails as well must not hide why."""
    try:
        await work
    except Exception as error:
        warnings.warn(f"the reporter failed: {words(error)}", RuntimeWarning, stacklevel=2)


def words(error: BaseException) -> str:
    """The type and the message of an exception."""
    try:
        text = str(error)
    except Exception:  # whatever is wrong with its words, the run has to be closed
        text = ""
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def record_error(state: State, error: BaseException) -> HistoryEntry:
    """An entry that says what failed."""
    return state._append("error", words(error), is_error=True, error=error)


def fingerprint(agent: Agent) -> dict[str, Json]:
    """What the Agent is, as far as a later one is compared with it. The system prompt is a hash alone."""
    import hashlib

    system = agent.system
    return {
        "name": agent.name,
        "model": agent.model.name,
        "system": hashlib.sha256(system.encode("utf-8", "surrogatepass")).hexdigest()[:16] if system else None,
        "tools": sorted(agent.own_tools),
        "mcp_servers": sorted(server.name for server in agent.mcp_servers),
    }


def _changes(agent: Agent, state: State) -> dict[str, tuple[Json, Json]]:
    saved = state._fold.agent
    if saved is None:
        return {}
    saved = {"mcp_servers": [], **saved}  # older versions knew none
    now = fingerprint(agent)
    changes = {key: (saved.get(key), now[key]) for key in now if saved.get(key) != now[key]}
    if "system" in changes:
        was, is_now = changes["system"]
        changes["system"] = (
            "a prompt" if was else None,
            "another prompt" if was and is_now else "a prompt" if is_now else None,
        )
    return changes


async def _warn(agent: Agent, state: State, warning: ResumeWarning) -> None:
    reporter = agent.reporter
    if reporter is not None and type(reporter).on_warning is not Reporter.on_warning:
        await tell(agent, "on_warning", state, warning)
    else:
        warnings.warn(warning, stacklevel=2)
