"""How the tests of a store's contract reach it, by its sync or its async names, and what they write. It knows the contract."""

# ruff: noqa: D102, PT017  Driven has a store's own names; pytest itself is not imported here

from __future__ import annotations

import asyncio
import contextlib
import functools
import inspect
import threading
from builtins import list as List
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from unittest import SkipTest

from fireside.errors import Holder
from fireside.history import VERSION
from fireside.messages import Json
from fireside.state import State
from fireside.stores.base import Lock, Store
from fireside.stores.record import Record, SavedState

Row = dict[str, Json]

HARD_TEXTS = (
    "plain",
    "",
    "line\nline\r\nline\rline",
    "\u2028 \u2029 \x85 \x0b \x0c \x1c",
    "NUL \0 and \x01 \x1b[2J \x7f",
    "half an emoji \ud83d and the other half \ude00 of another",
    "\ufeff 🔥 e\u0301 \U0010ffff",
    '"quotes" \\ back \\u0000 \\ud800 %s {} \'; drop table',
    "long " * 50_000,
)
"""Texts that stores have lost or spoiled."""

HARD_VALUES: tuple[Json, ...] = (
    None,
    True,
    0,
    -(2**63) - 1,
    10**30,
    0.1,
    1e308,
    {"": "", "nested": [[], {}, [None, [1, "a"]]], "\0": "\ud800"},
)

WRONG_IDS = ("", ".", "..", "../x", "/tmp/x", "a/b", "..\\x", "a\0", "a\n", "a b", "é", "a" * 129)


class Driven:
    """A store, called by its sync or its async names."""

    def __init__(self, store: Store, use_async: bool) -> None:
        self.store = store
        self.inline = not use_async and store._own("write") is not None

    def has(self, name: str) -> bool:
        return bool(self.store._own(name) or self.store._own(f"a{name}"))

    def needs(self, *names: str) -> None:
        """Skips a test of what the store does not give."""
        for name in names:
            there = self.store.has_locks() if name == "lock" else self.has(name)
            if not there:
                raise SkipTest(f"{type(self.store).__name__} has no {name}")

    async def _call(self, name: str, *args: Any, **rest: Any) -> Any:
        return await self.store._do(name, *args, inline=self.inline, **rest)

    async def write(self, id: str, entries: List[Row], snapshot: Row | None = None, *, create: bool = False) -> None:
        await self._call("write", id, entries, snapshot, create=create)

    async def read(self, id: str) -> Record:
        record = await self.find(id)
        assert record is not None, f"{id!r} is not in the store"
        return record

    async def find(self, id: str) -> Record | None:
        return await self._call("read", id)  # type: ignore[no-any-return]

    async def list(self) -> List[SavedState]:
        return await self._call("list")  # type: ignore[no-any-return]

    async def delete(self, id: str) -> None:
        await self._call("delete", id)

    async def lock(self, id: str) -> Lock:
        return await self._call("lock", id)  # type: ignore[no-any-return]

    async def holder(self, id: str) -> Holder | None:
        return await self._call("holder", id)  # type: ignore[no-any-return]

    async def release(self, lock: Lock) -> None:
        """In a thread where the store is async: a release may wait for its loop."""
        lock.release() if self.inline else await asyncio.to_thread(lock.release)

    @contextlib.asynccontextmanager
    async def locked(self, id: str) -> AsyncIterator[Lock]:
        lock = await self.lock(id)
        try:
            yield lock
        finally:
            await self.release(lock)

    async def save(self, state: State) -> bool:
        return self.store.save(state) if self.inline else await self.store.asave(state)

    async def load(self, id: str) -> State:
        return self.store.load(id) if self.inline else await self.store.aload(id)

    async def at_once(self, work: Sequence[Callable[[], Awaitable[Any]]]) -> List[Any]:
        """Runs calls at the same time, in threads of their own where the store is sync; what each gave or raised."""

        async def told(one: Callable[[], Awaitable[Any]]) -> Any:
            try:
                return await one()
            except Exception as error:
                return error

        if not self.inline:
            return await asyncio.gather(*map(told, work))
        ready = threading.Barrier(len(work))

        def alone(one: Callable[[], Awaitable[Any]]) -> Any:
            ready.wait()
            return asyncio.run(told(one))

        with ThreadPoolExecutor(len(work)) as pool:
            return list(pool.map(alone, work))


Promise = Callable[[Any, Driven], Awaitable[None]]


def promise(test: Promise) -> Callable[[Any, Path], None]:
    """Makes a pytest test of a coroutine that gets the store."""

    def run(self: Contract, tmp_path: Path) -> None:
        async def whole() -> None:
            made = self.make_store(tmp_path)
            store: Store = await made if inspect.isawaitable(made) else made
            try:
                self._tmp_path = tmp_path
                await test(self, Driven(store, self.use_async))
            finally:
                await _close(store)

        asyncio.run(whole())

    run.__name__, run.__doc__, run.__qualname__ = test.__name__, test.__doc__, test.__qualname__
    functools.update_wrapper(run, test, assigned=("__module__",), updated=())
    del run.__dict__["__wrapped__"]  # pytest would read the coroutine's own signature
    return run


async def _close(store: Store) -> None:
    for name in ("aclose", "close"):
        if close := getattr(store, name, None):
            closed = close()
            if inspect.isawaitable(closed):
                await closed
            return


@contextlib.contextmanager
def raises(kind: type[BaseException], *words: str) -> Iterator[None]:
    """The block raises this kind of exception, and its text holds the words."""
    try:
        yield
    except kind as error:
        for word in words:
            assert word in str(error), f"{word!r} is not in {str(error)!r}"
    else:
        raise AssertionError(f"{kind.__name__} was not raised")


def row(seq: int, content: Json = "words", kind: str = "user", **rest: Json) -> Row:
    """A history entry as a dict."""
    out = {"seq": seq, "kind": kind, "turn": 0, "at": f"2026-01-01T00:{seq // 60 % 60:02}:{seq % 60:02}.000000Z"}
    if seq == 0:
        out["origin"] = {"v": VERSION, "id": "x"}
    return {**out, "content": content, **rest}


def label(id: str, task: str = "words", minute: int = 0, **rest: Json) -> Row:
    """A label, as a State makes it."""
    begun, moved = (f"2026-01-01T00:{at:02}:00+00:00" for at in (0, minute))
    times: Row = {"created_at": begun, "updated_at": moved}
    return {"v": VERSION, "id": id, "entries": 1, "turn": 0, "task": task, **times, **rest}


def with_open_call(id: str, name: str = "send_mail") -> State:
    """A State whose model has asked for a tool."""
    state = State("Write to Ann.", id=id)
    call = {"type": "tool_call", "id": "call_1", "name": name, "args": {"to": "ann"}}
    state._append(
        "reply",
        {"blocks": [call], "stop_reason": "tool_use", "usage": {"input": 1, "requests": 1}, "seen": 0, "model": "m"},
    )
    return state


class Contract:
    """A part of a store's test suite: see `StoreContract`."""

    use_async = False
    _tmp_path: Path

    def make_store(self, tmp_path: Path) -> Any:
        """A fresh, empty store, or a coroutine that gives one. `tmp_path` is an empty folder."""
        raise NotImplementedError("return a fresh store from make_store")

    def reopen(self, store: Store, tmp_path: Path) -> Store:
        """A second store for the same place; the same object where there can't be one."""
        return store

    @contextlib.asynccontextmanager
    async def _again(self, db: Driven) -> AsyncIterator[Driven]:
        other = self.reopen(db.store, self._tmp_path)
        try:
            yield Driven(other, self.use_async)
        finally:
            if other is not db.store:
                await _close(other)
