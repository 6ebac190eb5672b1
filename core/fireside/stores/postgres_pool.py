"""PostgresStore's connections in an event loop. It knows the links.

Not psycopg_pool's: it tells nobody why it can't connect, lets whoever waits run into a timeout of 30 s, and its workers take
no cancellation while they connect (3.3.3), so that `asyncio.run` may wait for them for ever.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
import weakref
from collections.abc import Callable
from typing import Any, TypeVar

from fireside.stores.postgres_links import psycopg, run_async, told
from fireside.stores.postgres_steps import Steps

T = TypeVar("T")
Connection = psycopg.AsyncConnection[tuple[Any, ...]]

SIZE = 8
"""How many connections an event loop uses at most."""


class Pool:
    """The connections of one event loop: one for each task that is at work, kept for the next. Others wait their turn."""

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn
        self._room = asyncio.Semaphore(SIZE)
        self._users = 0
        self._closed = False
        self._unanswered = -1.0, psycopg.Error()  # when the server last gave no answer in time, and what was told
        self._idle: list[Connection] = []
        self.connections: weakref.WeakSet[Connection] = weakref.WeakSet()

    async def do(self, make: Callable[[bool], Steps[T]]) -> T:
        """Runs steps in one transaction; once more, on a new connection, where the first was cut."""
        self._users += 1
        asked = time.monotonic()
        try:
            async with self._room:
                return await self._do(make, asked)
        finally:
            self._users -= 1
            if not self._users:  # one that somebody waited for keeps its loop alive, and the store the pool
                self._room = asyncio.Semaphore(SIZE)

    async def _do(self, make: Callable[[bool], Steps[T]], asked: float) -> T:
        for again in (False, True):
            connection = self._idle.pop() if self._idle else await self._connect(asked)
            try:
                return await run_async(connection, make(again))
            except psycopg.OperationalError as error:
                if not connection.broken:
                    raise
                if again:
                    raise told(self._dsn, error) from error
                await self._close_idle()  # the others were cut with it
            finally:
                await self._put_back(connection)
        raise AssertionError

    async def _connect(self, asked: float) -> Connection:
        when, why = self._unanswered
        if asked <= when:  # it waited for its turn meanwhile, and shall not wait for as long once more
            raise told(self._dsn, why) from why
        try:
            connection = await psycopg.AsyncConnection.connect(self._dsn, autocommit=True)
        except psycopg.Error as error:
            if isinstance(error, psycopg.errors.ConnectionTimeout):
                self._unanswered = time.monotonic(), error
            raise told(self._dsn, error) from error
        connection._pool = None  # so that psycopg, too, takes it for one of a pool: it warns of others that are left
        self.connections.add(connection)
        return connection

    async def _put_back(self, connection: Connection) -> None:
        if connection.info.transaction_status is psycopg.pq.TransactionStatus.IDLE and not self._closed:
            self._idle.append(connection)
        else:  # cut, or cancelled in the middle of a statement, or the last that came back
            await connection.close()

    async def close(self) -> None:
        """Closes what is idle now, and what is at work when it comes back."""
        self._closed = True
        await self._close_idle()

    async def _close_idle(self) -> None:
        while self._idle:
            await self._idle.pop().close()

    def __del__(self) -> None:
        for connection in list(self.connections):  # the loop is gone: nobody can wait for a farewell
            with contextlib.suppress(Exception):
                connection.pgconn.finish()


__all__ = ["SIZE", "Pool"]
