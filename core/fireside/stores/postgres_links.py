"""PostgresStore's connections: those of the sync names, and the one that holds locks. It knows the steps.

A connection is never used, or closed, in a forked child: that would speak to the server in the parent's name.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
import threading
import weakref
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any, TypeVar

from fireside.errors import Holder, StateInUseError
from fireside.stores import postgres_steps as steps
from fireside.stores.forks import leave_to_parent
from fireside.stores.lock import HOST
from fireside.stores.postgres_steps import Steps

try:
    import psycopg
    import psycopg.conninfo
except ImportError as error:
    raise ImportError("PostgresStore needs psycopg: pip install 'fireside[postgres]'") from error

T = TypeVar("T")
Connection = psycopg.Connection[tuple[Any, ...]]


def run(connection: Connection, work: Steps[T]) -> T:
    """Runs steps in one transaction."""
    with connection.transaction(), connection.cursor() as cursor:
        rows: list[Any] = []
        try:
            asked = next(work)
            while True:
                statement, values = asked
                if isinstance(values, list):
                    cursor.executemany(statement, values)
                    rows = []
                else:
                    cursor.execute(statement, values)
                    rows = cursor.fetchall() if cursor.description else []
                asked = work.send(rows)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]


async def run_async(connection: Any, work: Steps[T]) -> T:
    """`run`, on an async connection."""
    async with connection.transaction(), connection.cursor() as cursor:
        rows: list[Any] = []
        try:
            asked = next(work)
            while True:
                statement, values = asked
                if isinstance(values, list):
                    await cursor.executemany(statement, values)
                    rows = []
                else:
                    await cursor.execute(statement, values)
                    rows = await cursor.fetchall() if cursor.description else []
                asked = work.send(rows)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]


def address_of(dsn: str) -> str:
    """`host:port/name` of a database, without what is secret."""
    given = psycopg.conninfo.conninfo_to_dict(dsn)
    host = given.get("host") or given.get("hostaddr") or os.environ.get("PGHOST") or "local"
    port = given.get("port") or os.environ.get("PGPORT") or 5432
    user = given.get("user") or os.environ.get("PGUSER") or ""
    return f"{host}:{port}/{given.get('dbname') or os.environ.get('PGDATABASE') or user}"


def told(dsn: str, error: psycopg.Error) -> psycopg.Error:
    """The same error of a connection that could not be made, or was cut again, naming the server before the reason."""
    reason = str(error).partition("\n")[0].rpartition(" failed: ")[2]
    return type(error)(f"no connection to PostgreSQL at {address_of(dsn)}: {reason}")


def connect(dsn: str) -> Connection:
    """A new connection. Raises `psycopg.OperationalError` where there can be none."""
    try:
        return psycopg.connect(dsn, autocommit=True)
    except psycopg.Error as error:
        raise told(dsn, error) from error


class SyncLinks:
    """The connections of the sync names: one for each thread that is at work, kept for the next."""

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn
        self._idle: list[Connection] = []
        self._all: set[Connection] = set()
        _open.add(self)

    def do(self, make: Callable[[bool], Steps[T]]) -> T:
        """Runs steps in one transaction; once more, on a new connection, where the first was cut."""
        for again in (False, True):
            connection = self._get()
            try:
                done = run(connection, make(again))
            except psycopg.OperationalError as error:
                if connection.broken or connection.closed:
                    self.close()  # the others were cut with it
                    self._drop(connection)
                    if not again:
                        continue
                    raise told(self._dsn, error) from error
                self._idle.append(connection)
                raise
            except BaseException:
                idle = connection.info.transaction_status is psycopg.pq.TransactionStatus.IDLE
                self._idle.append(connection) if idle and not connection.closed else self._drop(connection)
                raise
            self._idle.append(connection)
            return done
        raise AssertionError

    def _get(self) -> Connection:
        with contextlib.suppress(IndexError):
            return self._idle.pop()
        connection = connect(self._dsn)
        self._all.add(connection)
        return connection

    def _drop(self, connection: Connection) -> None:
        self._all.discard(connection)
        connection.close()

    def close(self) -> None:
        """Closes what is idle."""
        while self._idle:
            with contextlib.suppress(IndexError):
                self._drop(self._idle.pop())

    def forget(self) -> None:
        """In a forked child: leaves all to the parent."""
        abandon(self._all)
        self._idle, self._all = [], set()

    def __del__(self) -> None:
        self.close()


class PostgresLock:
    """A held lock. `release` gives it back; doing so twice does nothing."""

    asks_a_server = True

    def __init__(self, locks: Locks, state_id: str, token: str | None) -> None:
        self._locks, self.state_id, self.token, self.lost = locks, state_id, token, False

    def release(self) -> None:
        """Gives the lock back."""
        self._locks.give_back(self)


class Locks:
    """The locks that a store holds, on one connection. An advisory lock may be taken twice by its connection, so the table
    here tells the threads of this process from each other."""

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn
        self._guard = threading.RLock()
        self._connection: Connection | None = None
        self._held: dict[str, PostgresLock] = {}
        _open.add(self)

    def take(self, state_id: str, token: str | None) -> PostgresLock | None:
        """The lock, unless somebody has it."""
        with self._guard:
            if (lock := self._held.get(state_id)) and not lock.lost:
                return None
            holder = Holder(HOST, os.getpid(), datetime.now(UTC))
            for last_try in (False, True):
                try:
                    taken = run(self._alive(), steps.take(state_id, token, holder))
                    break
                except psycopg.OperationalError as error:
                    if self._connection is None or not self._connection.broken:
                        raise
                    if last_try:
                        raise told(self._dsn, error) from error
            if not taken:
                return None
            lock = self._held[state_id] = PostgresLock(self, state_id, token)
            return lock

    def give_back(self, lock: PostgresLock) -> None:
        """Gives a lock back, if it is still held."""
        with self._guard:
            if self._held.get(lock.state_id) is not lock:
                return
            del self._held[lock.state_id]
            if self._connection is not None and not lock.lost and not self.lost():
                with contextlib.suppress(psycopg.OperationalError):  # cut: the server has given it back
                    run(self._connection, steps.give_back(lock.state_id, lock.token))

    def sure_of(self, state_id: str) -> str | None:
        """Makes sure that a State that this store has locked still is; its token, or `None` where it is not locked.

        Raises `StateInUseError` where the connection was lost and somebody else has it now.
        """
        if state_id not in self._held:
            return None
        with self._guard:
            lock = self._held.get(state_id)
            if lock is not None and not lock.lost and self.lost():
                self._alive()
            if lock is not None and lock.lost:
                raise StateInUseError(state_id)
            return lock.token if lock else None

    async def asure_of(self, state_id: str) -> str | None:
        """`sure_of`, for a running event loop: on a worker thread where it would wait for the server, or for a thread that
        does."""
        if state_id not in self._held:
            return None
        if self._guard.acquire(blocking=False):
            try:
                if not self.lost():
                    return self.sure_of(state_id)
            finally:
                self._guard.release()
        return await asyncio.to_thread(self.sure_of, state_id)

    def lost(self) -> bool:
        """Whether the connection is gone. It asks the socket alone: the server says nothing on it unless it ends."""
        connection = self._connection
        if connection is None:
            return bool(self._held)
        if connection.closed:
            return True
        if not hasattr(select, "poll"):
            return bool(select.select([connection.fileno()], [], [], 0)[0])
        poll = select.poll()  # `select` takes no file whose number is 1024 or more
        poll.register(connection.fileno(), select.POLLIN)
        return bool(poll.poll(0))

    def _alive(self) -> Connection:
        """The connection; a new one, with all locks taken again that nobody else took, where it was lost."""
        if self._connection is not None and not self.lost():
            return self._connection
        if self._connection is not None:
            self._connection.close()
        connection = self._connection = connect(self._dsn)
        for lock in self._held.values():
            if not lock.lost:
                lock.lost = not run(connection, steps.take_again(lock.state_id, lock.token))
        return connection

    def close(self) -> None:
        """Closes the connection, unless locks are held on it."""
        with self._guard:
            if self._connection is not None and not self._held:
                self._connection.close()
                self._connection = None

    def forget(self) -> None:
        """In a forked child: leaves the locks to the parent."""
        if self._connection is not None:
            abandon({self._connection})
        self._guard, self._connection, self._held = threading.RLock(), None, {}

    def __del__(self) -> None:
        if self._connection is not None:
            self._connection.close()


_open: weakref.WeakSet[SyncLinks | Locks] = weakref.WeakSet()


def _in_child() -> None:
    for links in list(_open):
        links.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)


def abandon(connections: Iterable[Connection | psycopg.AsyncConnection[tuple[Any, ...]]]) -> None:
    """In a forked child: closes the child's end of sockets that the parent goes on using, without a word to the server."""
    left = [*connections]
    for connection in left:
        if not connection.closed:
            with contextlib.suppress(OSError, psycopg.Error):
                os.close(connection.fileno())
    leave_to_parent(left)


__all__ = ["Locks", "SyncLinks", "abandon", "address_of", "connect", "psycopg", "run", "run_async", "told"]
