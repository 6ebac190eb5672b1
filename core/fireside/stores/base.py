"""`Store`: the contract of every store, and what is built on it: load, save, the lock, meeting another writer.

A store gives `write` and `read` (or `awrite` and `aread`), and where it can `list`, `delete`, `lock` and `holder`. All else
is here, once: the coroutines below serve both worlds, since they never wait for anything but the store.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import json
import time
from builtins import list as List  # `Store` has a method of that name
from collections.abc import Callable, Coroutine
from typing import Any, Protocol, TypeVar

from fireside.errors import ConflictError, Holder, StateInUseError
from fireside.history import VERSION, HistoryEntry
from fireside.ids import check_id
from fireside.messages import Json
from fireside.signals import undisturbed
from fireside.state import State
from fireside.stores.quiet import no_gc
from fireside.stores.record import Record, SavedState, newer
from fireside.values import need

T = TypeVar("T")


class Lock(Protocol):
    """A held lock. `release` gives it back; doing so twice does nothing."""

    def release(self) -> None:
        """Gives the lock back."""


class NoLock:
    """The lock of a store that has none."""

    def release(self) -> None:
        """Does nothing."""


REBASED = frozenset({"user", "notice", "title", "data", "checkpoint", "run_start"})
"""Kinds of entries that may go behind what another writer added in the meantime."""


class Store:
    """Where conversations are kept. Subclass it and give `write` and `read`, or their async versions `awrite` and `aread`.

    `list`, `delete`, `lock` and `holder` are optional, sync or async. Without `lock`, two writers on one State are still
    told from each other by `ConflictError`, as long as `write` keeps its word on entries that differ.
    """

    # -- what a store gives (each may be an async `a…` method instead)

    def write(
        self,
        state_id: str,
        entries: list[dict[str, Json]],
        snapshot: dict[str, Json] | None,
        *,
        create: bool = False,
    ) -> None:
        """Keeps entries, and the label unless it is `None`; when it returns they survive a power cut.

        Entries whose `seq` the store has are skipped, where they are the same; where one differs: `ConflictError`, and
        nothing is written. `create` is the first write of a State: an id that exists raises `ValueError`, and all or
        nothing is written. Without `create`, an id that is not there raises `LookupError`.
        """
        raise self._lacks("write")

    def read(self, state_id: str) -> Record | None:
        """What is kept of a State; `None` where there is none."""
        raise self._lacks("read")

    def list(self) -> list[SavedState]:
        """Every State, most recently updated first, without loading any. One that is damaged never hides the others."""
        raise self._lacks("list")

    def glance(self) -> List[SavedState]:
        """Rows of `list` that can be had at once, newest first, for who can't wait for all of them; some may be missing.

        None, where a store knows no quicker way.
        """
        return []

    def peek(self, state_id: str) -> List[HistoryEntry]:
        """The last entries of a long conversation that can be had at once, from the start of a run: for who shows its end
        before all of it is loaded. A load may tell more of them.

        None where it is short or its end is damaged or still runs, or where a store knows no quicker way.
        """
        return []

    def delete(self, state_id: str) -> None:
        """Removes a State; nothing happens where there is none. Raises `StateInUseError` while a run holds it."""
        raise self._lacks("delete")

    def lock(self, state_id: str) -> Lock:
        """Takes the State's lock, at once or not at all: `StateInUseError`. It dies with the process that holds it."""
        return NoLock()

    def holder(self, state_id: str) -> Holder | None:
        """Who holds the State's lock; `None` where nobody does, or the store has no locks."""
        return None

    def has_locks(self) -> bool:
        """Whether a lock keeps others from running a State that is run."""
        return bool(self._own("lock") or self._own("alock"))

    # -- what users call

    def load(self, state_id: str) -> State:
        """The State with this id. Unless another run holds it, what a dead run left open is closed.

        Raises `LookupError` where there is none, `ValueError` for a wrong id or a newer format.
        """
        with no_gc():  # from the bytes to the State: looking through all of it once, at the end, is enough
            return finish_now(self._load(state_id, inline=True))

    async def aload(self, state_id: str) -> State:
        """`load`, for a running event loop."""
        return await self._load(state_id)

    def save(self, state: State) -> bool:
        """Saves what the store does not have yet; whether there was anything to write. `asave` is its async twin.

        Raises `ValueError` where the State belongs to another store or its id is taken, `StateInUseError`,
        `ConflictError`, `LookupError` where it was deleted, and what the store raises.
        """
        return finish_now(self._save(need(state, State, "save takes a State"), inline=True))

    async def asave(self, state: State) -> bool:
        """`save`, for a running event loop."""
        return await self._save(need(state, State, "asave takes a State"))

    async def alist(self) -> List[SavedState]:
        """`list`, for a running event loop."""
        return await self._do("list")  # type: ignore[no-any-return]

    async def adelete(self, state_id: str) -> None:
        """`delete`, for a running event loop."""
        await to_its_end(self._do("delete", state_id))

    async def aread(self, state_id: str) -> Record | None:
        """`read`, for a running event loop."""
        return await self._do("read", state_id)  # type: ignore[no-any-return]

    # -- how it is done

    def _lacks(self, name: str) -> TypeError:
        if self._own(f"a{name}"):
            return TypeError(f"{type(self).__name__} is reached asynchronously: use a{name}, arun and asave")
        return TypeError(f"{type(self).__name__} has no {name}")

    def _own(self, name: str) -> Callable[..., Any] | None:
        """The method, if the store's own class gives it."""
        method = getattr(self, name, None)
        return method if method is not None and getattr(type(self), name) is not getattr(Store, name, None) else None

    async def _do(self, name: str, *args: Any, inline: bool = False, **rest: Any) -> Any:
        """Calls the store's own method: in place, or where a loop runs its async twin, or it on a worker thread."""
        if inline:
            return getattr(self, name)(*args, **rest)
        own, twin = self._own(name), self._own(f"a{name}")
        if own is None and twin is None:
            return getattr(self, name)(*args, **rest)
        if twin is not None:
            return await twin(*args, **rest)
        return await asyncio.to_thread(getattr(self, name), *args, **rest)

    async def _load(self, state_id: str, *, inline: bool = False) -> State:
        check_id(state_id)
        record: Record | None = await self._do("read", state_id, inline=inline)
        if record is None:
            raise LookupError(f"the store has no State {state_id!r}")
        if newer(record.snapshot):
            raise ValueError(
                f"the State {state_id!r} was saved in a newer format than this fireside reads ({VERSION}): update it"
            )
        held = await self._whether_held(state_id, inline=inline)
        if inline or len(record.entries) < 500:
            return self._state_of(state_id, record, held)
        return await asyncio.to_thread(self._state_of, state_id, record, held)

    def _state_of(self, state_id: str, record: Record, held: bool) -> State:
        with no_gc():
            return State._from_record(state_id, record, self, held=held)

    async def _whether_held(self, state_id: str, *, inline: bool) -> bool:
        """Whether somebody holds the State's lock; of a store that can't tell who does, the lock itself is tried."""
        if self._own("holder") or self._own("aholder") or not self.has_locks():
            return await self._do("holder", state_id, inline=inline) is not None
        try:
            lock = await self._do("lock", state_id, inline=inline)
        except StateInUseError:
            return True
        await give_back(lock, inline=inline)
        return False

    async def _refresh(self, state: State, *, inline: bool) -> None:
        """Brings a State that is at rest up to date with its store, as far as that takes nothing away from it."""
        own = state._entries[state._saved :]
        if state._running or any(entry.kind not in REBASED for entry in own) or (own and not state._kept):
            return
        record: Record | None = await self._do("read", state.id, inline=inline)
        known = state._entries[state._saved - 1].seq + 1 if state._saved else 0
        if record is not None and (record.next_seq > known or not state._kept):
            self._bind(state)
            state._rebase(record, self, own, held=await self._whether_held(state.id, inline=inline))

    def _bind(self, state: State) -> None:
        if state._store is None or not (state._kept or state._running):  # it may have failed to get into another one
            state._store = self
        elif state._store != self:
            raise ValueError(f"the State {state.id!r} is kept in another store; a State is saved in one store")

    async def _save(self, state: State, *, inline: bool = False) -> bool:
        if inline:
            with state._turns.wait(), undisturbed():
                return await self._save_now(state, inline=True)
        return await to_its_end(self._save_in_turn(state))

    async def _save_in_turn(self, state: State) -> bool:
        async with state._turns:
            return await self._save_now(state, inline=False)

    async def _save_now(self, state: State, *, inline: bool) -> bool:
        self._bind(state)
        wrong: TypeError | None = None
        try:
            state.record_data()
        except TypeError as error:
            wrong = error
        if len(state._entries) > state._saved:
            lock = NoLock() if state._running else await self._lock_for_save(state, inline=inline)
            try:
                await self._write_new(state, inline=inline)
            finally:
                await give_back(lock, inline=inline)
        elif wrong is None:
            return False
        if wrong is not None:
            raise wrong
        return True

    async def _lock_for_run(self, state: State, *, inline: bool) -> Lock:
        """The lock for a run; one that came too late, for a run that is cancelled, is given back."""
        if inline:
            lock: Lock = NoLock()
            try:
                with undisturbed():
                    lock = await self._lock_soon(state, "lock", inline=True)
            except BaseException:
                lock.release()
                raise
            return lock
        return await to_its_end(self._lock_soon(state, "lock", inline=False), lambda lock: lock.release())

    async def _lock_for_save(self, state: State, *, inline: bool) -> Lock:
        """The lock for one write: where a store has one, a cheaper kind that does not write down who holds it."""
        name = "_lock_for_write" if hasattr(self, "_lock_for_write") else "lock"
        try:
            return await self._lock_soon(state, name, inline=inline)
        except StateInUseError:
            while state._begins:  # a run of this very object has it, or will be told who has
                time.sleep(0.001) if inline else await asyncio.sleep(0.001)  # noqa: ASYNC251  inline: there is no loop
            if state._running:
                return NoLock()
            raise

    async def _lock_soon(self, state: State, name: str, *, inline: bool) -> Lock:
        """The lock. A save of somebody else holds it for a moment only, so it is asked for a few times."""
        for pause in (0.005, 0.02, 0.05, 0.0):
            try:
                return await self._do(name, state.id, inline=inline)  # type: ignore[no-any-return]
            except StateInUseError:
                if not pause:
                    raise
                time.sleep(pause) if inline else await asyncio.sleep(pause)  # noqa: ASYNC251  inline: there is no loop
        raise AssertionError

    async def _write_new(self, state: State, *, inline: bool) -> None:
        """Writes what is new, behind what another writer may have added."""
        for last_try in (False, False, True):
            first, upto, create = state._saved, len(state._entries), not state._kept
            new = [entry.to_json() for entry in state._entries[first:upto]]
            try:
                await self._do("write", state.id, new, state._label(), create=create, inline=inline)
            except ConflictError:
                if last_try or not await self._catch_up(state, inline=inline):
                    raise
                continue
            except ValueError as error:
                if create and not isinstance(error, UnicodeError):
                    if await self._has_begun(state, new, inline=inline):
                        continue
                    raise ValueError(
                        f"the store has a State {state.id!r} already: go on with it by store.load({state.id!r}), "
                        "or pick another id"
                    ) from error
                raise
            state._saved, state._kept = upto, True
            return

    async def _has_begun(self, state: State, new: List[dict[str, Json]], *, inline: bool) -> bool:
        """Whether the State that is there is this one: its first write had reached the store, but not its answer."""
        record: Record | None = await self._do("read", state.id, inline=inline)
        if record is None or not record.entries or record.entries != json.loads(json.dumps(new[: len(record.entries)])):
            return False
        state._saved, state._kept = len(record.entries), True
        return True

    async def _catch_up(self, state: State, *, inline: bool) -> bool:
        """Brings a State that is behind its store up to date; whether its own new entries may go behind what is there."""
        own = [entry for entry in state._entries[state._saved :] if not entry.closing]
        if not state._kept or any(entry.kind not in REBASED for entry in own):
            return False
        record: Record | None = await self._do("read", state.id, inline=inline)
        if record is None:
            return False
        state._rebase(record, self, own, held=not self.has_locks())  # with locks, the lock is ours: nobody else runs it
        return True

    @property
    def place(self) -> str | None:
        """Where it is, in one line without secrets, the same for two stores of one place; `None` where that can't be told."""
        place = self._place()
        return None if place is None else " ".join(map(str, place)) if isinstance(place, tuple) else str(place)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, Store) and self._place() is not None and self._place() == other._place()

    def __hash__(self) -> int:
        place = self._place()
        return id(self) if place is None else hash(place)

    def _place(self) -> object:
        """What two stores for one place have in common; `None` where that can't be told."""
        return None


async def give_back(lock: Lock, *, inline: bool) -> None:
    """Releases a lock; where that asks a server, on a worker thread: a mute one must not stand the loop still."""
    release: Callable[[], Any] = lock.release
    if inline:
        with undisturbed():
            release()
    elif getattr(lock, "asks_a_server", False):
        await to_its_end(asyncio.to_thread(release))
    elif inspect.isawaitable(released := release()):  # of a user's own store
        await released


async def to_its_end(work: Coroutine[Any, Any, T], undo: Callable[[T], object] | None = None) -> T:
    """Waits for a write under way even when the task is cancelled meanwhile; the cancellation comes after it.

    `undo` is called with a result that nobody will get.
    """
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        while not task.done():
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.wait([task])
        if not task.cancelled() and task.exception() is None and undo is not None:
            undo(task.result())
        raise


def finish_now(work: Coroutine[Any, Any, T]) -> T:
    """Runs a coroutine that has nothing to wait for."""
    try:
        work.send(None)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]
    work.close()
    raise RuntimeError("a store that is reached synchronously had to wait")


__all__ = ["Lock", "SavedState", "Store", "give_back"]
