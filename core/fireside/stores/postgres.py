"""`PostgresStore`: conversations in a PostgreSQL database, for more than one machine. It knows the store contract.

Needs `fireside[postgres]` (psycopg 3). The sync names use connections of their own, the async ones a pool for each event
loop; the States' locks lie on one more connection, so that they live as long as this process does, and no longer.
"""

from __future__ import annotations

import asyncio
import os
import re
import secrets
import weakref
from builtins import list as List
from collections.abc import Callable
from typing import TypeVar

from fireside.errors import Holder, StateInUseError
from fireside.ids import check_id
from fireside.messages import Json
from fireside.stores import postgres_steps as steps
from fireside.stores.base import Lock, NoLock, Store
from fireside.stores.forks import leave_to_parent
from fireside.stores.postgres_links import Locks, SyncLinks, abandon, address_of, psycopg
from fireside.stores.postgres_pool import Pool
from fireside.stores.postgres_steps import Steps
from fireside.stores.record import Record, SavedState

T = TypeVar("T")
Row = dict[str, Json]


class PostgresStore(Store):
    """Keeps all States in the database at `dsn` (`postgresql://user@host/name`), in tables made on first use.

    Connections that were cut while idle are made again; a write that may have been cut half-way is tried once more and
    never done twice. Call `close` (`aclose` in a loop) where the process goes on without the store.

    `locks=False` goes without locks, for a server or a pooler that has none; then let one process at a time run a State.

    Raises `ImportError` without psycopg, `ValueError` for what is no address and for tables that a newer fireside made.
    Each call raises `psycopg.OperationalError`, which names the server and the reason, where there is no connection to
    it: at once where it is refused, after 10 s (`connect_timeout` in `dsn`) where nothing answers.
    """

    def __init__(self, dsn: str, *, locks: bool = True) -> None:
        self._dsn = _with_defaults(dsn)
        self._links = SyncLinks(self._dsn)
        self._locks = Locks(self._dsn) if locks else None
        self._pools: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, Pool] = weakref.WeakKeyDictionary()
        self._ready = False
        _open[id(self)] = self

    def __repr__(self) -> str:
        return f"PostgresStore({address_of(self._dsn)}{'' if self._locks else ', locks=False'})"

    def _place(self) -> tuple[str, ...]:
        options = psycopg.conninfo.conninfo_to_dict(self._dsn).get("options")
        return ("postgres", address_of(self._dsn), str(options or ""))

    # -- sync

    def write(self, state_id: str, entries: List[Row], snapshot: Row | None, *, create: bool = False) -> None:
        """See `Store.write`. One transaction; the State's lock, if this store holds it, is made sure of first."""
        check_id(state_id)
        token = self._locks.sure_of(state_id) if self._locks else None
        self._do_now(lambda again: steps.write(state_id, entries, snapshot, create=create, token=token, again=again))

    def read(self, state_id: str) -> Record | None:
        """See `Store.read`."""
        check_id(state_id)
        return self._do_now(lambda again: steps.read(state_id))

    def list(self) -> List[SavedState]:
        """See `Store.list`."""
        return self._do_now(lambda again: steps.list_all(locks=self.has_locks()))

    def delete(self, state_id: str) -> None:
        """See `Store.delete`."""
        lock = self._lock_for_write(state_id)
        try:
            self._do_now(lambda again: steps.delete(state_id))
        finally:
            lock.release()

    def has_locks(self) -> bool:
        """Whether it was opened with locks."""
        return self._locks is not None

    def lock(self, state_id: str) -> Lock:
        """Takes the State's lock, at once or not at all: `StateInUseError`. It dies with the process that holds it."""
        return self._take(state_id, secrets.token_hex(8))

    def _lock_for_write(self, state_id: str) -> Lock:
        return self._take(state_id, None)

    def _take(self, state_id: str, token: str | None) -> Lock:
        check_id(state_id)
        if self._locks is None:
            return NoLock()
        self._set_up()
        lock = self._locks.take(state_id, token)
        if lock is None:
            raise StateInUseError(state_id, self.holder(state_id))
        return lock

    def holder(self, state_id: str) -> Holder | None:
        """Who holds the State's lock; `None` where nobody does, or the store was opened without locks."""
        check_id(state_id)
        return self._do_now(lambda again: steps.holder(state_id)) if self._locks else None

    def close(self) -> None:
        """Closes the sync connections and that of the locks. The store can be used on."""
        self._links.close()
        if self._locks:
            self._locks.close()

    def _set_up(self) -> None:
        if not self._ready:
            self._links.do(lambda again: steps.set_up())
            self._ready = True

    def _do_now(self, make: Callable[[bool], Steps[T]]) -> T:
        self._set_up()
        return self._links.do(make)

    # -- async; locks are taken on a worker thread, through `lock`

    async def awrite(self, state_id: str, entries: List[Row], snapshot: Row | None, *, create: bool = False) -> None:
        """`write`, for a running event loop."""
        check_id(state_id)
        token = await self._locks.asure_of(state_id) if self._locks else None
        await self._do_async(
            lambda again: steps.write(state_id, entries, snapshot, create=create, token=token, again=again)
        )

    async def aread(self, state_id: str) -> Record | None:
        """`read`, for a running event loop."""
        check_id(state_id)
        return await self._do_async(lambda again: steps.read(state_id))

    async def alist(self) -> List[SavedState]:
        """`list`, for a running event loop."""
        return await self._do_async(lambda again: steps.list_all(locks=self.has_locks()))

    async def adelete(self, state_id: str) -> None:
        """`delete`, for a running event loop."""
        await asyncio.to_thread(self.delete, state_id)

    async def aholder(self, state_id: str) -> Holder | None:
        """`holder`, for a running event loop."""
        check_id(state_id)
        return await self._do_async(lambda again: steps.holder(state_id)) if self._locks else None

    async def aclose(self) -> None:
        """Closes this loop's pool, and all that `close` closes."""
        if pool := self._pools.pop(asyncio.get_running_loop(), None):
            await pool.close()
        await asyncio.to_thread(self.close)

    async def _do_async(self, make: Callable[[bool], Steps[T]]) -> T:
        loop = asyncio.get_running_loop()
        pool = self._pools.get(loop)
        if pool is None:
            pool = self._pools[loop] = Pool(self._dsn)
        if not self._ready:
            await pool.do(lambda again: steps.set_up())
            self._ready = True
        return await pool.do(make)

    def _in_child(self) -> None:
        for pool in self._pools.values():
            leave_to_parent([pool])
            abandon(pool.connections)
        self._pools = weakref.WeakKeyDictionary()


_open: weakref.WeakValueDictionary[int, PostgresStore] = weakref.WeakValueDictionary()  # two for one place are equal


def _in_child() -> None:
    for store in list(_open.values()):
        store._in_child()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)


def _with_defaults(dsn: str) -> str:
    try:
        given = psycopg.conninfo.conninfo_to_dict(dsn)
    except psycopg.ProgrammingError as error:
        reason = re.sub('"[^"]*"', "…", str(error).strip())  # what it quotes may hold the password
        raise ValueError(
            f"this is no address of a PostgreSQL database ({reason}): give postgresql://user@host/name"
        ) from None
    defaults: dict[str, str | int] = {"connect_timeout": 10, "application_name": "fireside", "keepalives_idle": 60}
    return str(psycopg.conninfo.make_conninfo(dsn, **{k: v for k, v in defaults.items() if k not in given}))


__all__ = ["PostgresStore"]
