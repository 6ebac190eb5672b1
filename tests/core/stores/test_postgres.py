"""PostgresStore: connections that are cut, refused or waited for, and locks that are lost."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import signal
import socket
import threading
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from fireside import Agent, Reporter
from fireside.errors import StateInUseError
from fireside.state import State
from fireside.stores import postgres_steps as steps
from fireside.stores.base import Lock
from fireside.stores.postgres import PostgresStore
from fireside.stores.postgres_links import address_of
from fireside.stores.postgres_pool import SIZE
from fireside.testing import FakeModel

from tests.core.stores.children import Child


@pytest.mark.xdist_group("postgres")
class TestPostgres:
    def cut(self, dsn: str) -> None:
        """Ends every connection but this one, as an idle limit or a restart does."""
        with psycopg.connect(dsn, autocommit=True) as db:
            db.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() "
                       "AND datname = current_database()")  # fmt: skip
            while db.execute("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()").fetchone() != (
                1,
            ):
                pass

    def test_a_save_after_an_idle_cut_is_not_lost(self, postgres: str) -> None:
        store = PostgresStore(postgres)
        state = State("hello", id="x")
        store.save(state)
        for n in range(3):
            self.cut(postgres)
            state.add_user_message(f"{n}")
            store.save(state)
        assert store.load("x").to_json() == state.to_json()
        store.close()

    @pytest.mark.parametrize(
        "damage", ["updated_at = '2026-01-01T00:00:00'", "updated_at = 'x'", "title = NULL", "created_at = NULL"]
    )
    def test_a_value_that_is_damaged_hides_no_conversation(self, postgres: str, damage: str) -> None:
        store = PostgresStore(postgres)
        for id in "ab":
            store.save(State(f"task {id}", id=id))
        with psycopg.connect(postgres, autocommit=True) as db:
            db.execute(f"UPDATE fireside_states SET {damage} WHERE id = 'a'")  # type: ignore[arg-type]
        assert {row.id: row.title for row in store.list()} == {"a": "task a", "b": "task b"}
        store.close()

    @pytest.mark.parametrize("damage", [2**60, 1, -5])
    def test_a_next_place_that_can_not_be_right_is_found_again_from_the_entries(
        self, postgres: str, damage: int
    ) -> None:
        store = PostgresStore(postgres)
        state = State("task", id="a")
        state.add_user_message("more")
        store.save(state)
        with psycopg.connect(postgres, autocommit=True) as db:
            db.execute("UPDATE fireside_states SET next_seq = %s", (damage,))
        again = store.load("a")
        assert again.to_json() == state.to_json()
        again.add_user_message("and more")
        store.save(again)
        record = store.read("a")
        assert record is not None
        assert ([row["seq"] for row in record.entries], record.next_seq, record.damaged) == ([0, 1, 2], 3, 0)
        store.close()

    async def test_so_it_is_by_the_async_names(self, postgres: str) -> None:
        store = PostgresStore(postgres)
        state = State("hello", id="x")
        await store.asave(state)
        for n in range(3):
            await asyncio.gather(*[store.aread("x") for _ in range(4)])
            await asyncio.to_thread(self.cut, postgres)
            state.add_user_message(f"{n}")
            await store.asave(state)
        assert (await store.aload("x")).to_json() == state.to_json()
        await store.aclose()

    def test_a_lost_lock_is_taken_again_before_anything_is_written(self, postgres: str) -> None:
        store, other = PostgresStore(postgres), PostgresStore(postgres)
        state = State("hello", id="x")
        store.save(state)
        lock = store.lock("x")
        self.cut(postgres)
        store.write("x", [{**state.to_json()["entries"][0], "seq": 1}], None)
        with pytest.raises(StateInUseError):
            other.lock("x")
        lock.release()
        other.lock("x").release()

    def test_so_is_that_of_a_single_save(self, postgres: str, monkeypatch: pytest.MonkeyPatch) -> None:
        store, other = PostgresStore(postgres), PostgresStore(postgres)
        state = State("hello", id="x")
        store.save(state)
        take = store._lock_for_write

        def cut(id: str) -> Lock:
            lock = take(id)
            self.cut(postgres)
            return lock

        monkeypatch.setattr(store, "_lock_for_write", cut)
        state.add_user_message("more")
        assert store.save(state)
        assert store.load("x").to_json() == state.to_json()
        other.lock("x").release()

    def test_who_lost_its_lock_to_another_writes_nothing(self, postgres: str) -> None:
        store, other = PostgresStore(postgres), PostgresStore(postgres)
        state = State("hello", id="x")
        store.save(state)
        lock = store.lock("x")
        self.cut(postgres)
        taken = other.lock("x")
        for _ in range(2):
            with pytest.raises(StateInUseError):
                store.write("x", [{**state.to_json()["entries"][0], "seq": 1}], None)
        taken.release()
        lock.release()
        record = store.read("x")
        assert record is not None
        assert len(record.entries) == 1

    async def test_a_server_that_is_silent_about_one_lock_stops_no_loop_that_writes_under_another(
        self, postgres: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        store = PostgresStore(postgres)
        state = State("hello", id="x")
        await store.asave(state)
        lock = await asyncio.to_thread(store.lock, "x")
        asked, said = threading.Event(), threading.Event()

        def silent(*_: Any) -> Any:
            asked.set()
            assert said.wait(30)
            yield "SELECT FALSE", ()
            return False

        monkeypatch.setattr(steps, "take", silent)
        other = asyncio.ensure_future(asyncio.to_thread(store._locks.take, "y", None))  # type: ignore[union-attr]
        await asyncio.to_thread(asked.wait)
        writes = asyncio.ensure_future(store.awrite("x", [{**state.to_json()["entries"][0], "seq": 1}], None))
        asyncio.get_running_loop().call_later(0.05, said.set)
        await asyncio.wait_for(writes, 10)
        assert await other is None
        lock.release()
        record = await store.aread("x")
        assert record is not None
        assert len(record.entries) == 2
        await store.aclose()

    def test_a_process_with_many_open_files_can_use_it(self, postgres: str) -> None:
        resource = pytest.importorskip("resource")
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if hard < 1200:
            pytest.skip("this process may not open so many")
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 1200), hard))
        with contextlib.ExitStack() as files:
            files.callback(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
            while files.enter_context(open(os.devnull)).fileno() < 1024:
                pass
            store = PostgresStore(postgres)
            state = State("hello", id="x")
            store.save(state)
            state.add_user_message("more")
            assert store.save(state)
            store.close()

    def test_a_first_write_that_was_cut_after_it_was_done_is_not_refused(
        self, postgres: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        store = PostgresStore(postgres)
        assert store.list() == []
        from fireside.stores import postgres_links as links

        run, calls = links.run, []

        def cut_after(connection: Any, work: Any) -> Any:
            done = run(connection, work)
            if connection in store._links._all and not calls:
                calls.append(1)
                self.cut(postgres)
                connection.execute("SELECT 1")  # finds out, as a COMMIT whose answer is lost
            return done

        monkeypatch.setattr(links, "run", cut_after)
        store.write("x", State("hello", id="x").to_json()["entries"], None, create=True)
        assert store.load("x").task == "hello"

    def test_a_newer_format_is_refused(self, postgres: str) -> None:
        PostgresStore(postgres).save(State("hello", id="x"))
        with psycopg.connect(postgres) as db:
            db.execute("UPDATE fireside_format SET version = 2")
        with pytest.raises(ValueError, match="newer"):
            PostgresStore(postgres).load("x")

    def test_a_loop_that_ends_without_a_farewell_leaves_no_connection(self, postgres: str) -> None:
        store = PostgresStore(postgres)
        for n in range(3):
            asyncio.run(store.asave(State("hello", id=f"id-{n}")))
        assert len(store.list()) == 3

    def test_nor_is_anybody_warned_of_one_that_is_left_with_its_store(self, postgres: str) -> None:
        async def leave() -> None:
            store = PostgresStore(postgres)
            await store.alist()
            store.itself, store.loop = store, asyncio.get_running_loop()  # type: ignore[attr-defined]

        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            asyncio.run(leave())
            gc.collect()
        assert [str(one.message) for one in warned] == []

    def test_a_killed_process_leaves_none_though_a_forked_child_lives_on(self, postgres: str) -> None:
        stores = [PostgresStore(postgres) for _ in range(2)]

        def leave(tell: Any, wait: Any) -> None:
            async def fork() -> None:
                for store in stores:
                    await store.alist()
                if (pid := os.fork()) == 0:
                    signal.pause()
                tell(pid)
                signal.pause()

            asyncio.run(fork())

        child = Child(leave)
        grandchild = child.said()
        try:
            child.kill()
            with psycopg.connect(postgres, autocommit=True) as db:
                asked = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
                until = time.monotonic() + 20
                while db.execute(asked).fetchone() != (1,):
                    assert time.monotonic() < until
                    time.sleep(0.01)
        finally:
            os.kill(grandchild, signal.SIGKILL)

    async def reasons(self, dsn: str) -> set[str]:
        """What is told by the sync names, by the async ones to several at once, and where a lock is taken."""
        store = PostgresStore(dsn)
        told = await asyncio.gather(
            asyncio.to_thread(store.list),
            asyncio.to_thread(PostgresStore(dsn).lock, "x"),
            *[store.aread("x") for _ in range(3)],
            return_exceptions=True,
        )
        assert all(isinstance(error, psycopg.OperationalError) for error in told), told
        return {str(error) for error in told}

    def test_so_it_is_after_many_had_waited_for_their_turns(self, postgres: str) -> None:
        store = PostgresStore(postgres)

        async def many() -> None:
            await asyncio.gather(*[store.aread("x") for _ in range(3 * SIZE)])

        for _ in range(3):
            asyncio.run(many())
        gc.collect()
        assert not store._pools

    async def test_a_server_that_refuses_is_told_with_its_place(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as gone:
            port = gone.getsockname()[1]
        where = f"no connection to PostgreSQL at 127.0.0.1:{port}/runs: "
        told = await self.reasons(f"postgresql://me:secret@127.0.0.1:{port}/runs")
        assert told == {f"{where}Connection refused"}

    async def test_a_server_that_never_answers_is_told_when_connecting_took_too_long(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as mute:
            port = mute.getsockname()[1]
            dsn = f"postgresql://me:secret@127.0.0.1:{port}/runs"
            assert psycopg.conninfo.conninfo_to_dict(PostgresStore(dsn)._dsn)["connect_timeout"] == "10"
            told = await self.reasons(f"{dsn}?connect_timeout=1")
        assert told == {f"no connection to PostgreSQL at 127.0.0.1:{port}/runs: connection timeout expired"}

    async def test_nobody_waits_longer_for_that_since_others_wait_too(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as mute:
            store = PostgresStore(f"postgresql://me@127.0.0.1:{mute.getsockname()[1]}/runs?connect_timeout=1")
            told = await asyncio.gather(*[store.aread("x") for _ in range(5 * SIZE)], return_exceptions=True)
            mute.setblocking(False)
            tried = 0
            with contextlib.suppress(BlockingIOError):
                while True:
                    mute.accept()[0].close()
                    tried += 1
        assert {type(error) for error in told} == {psycopg.errors.ConnectionTimeout}
        assert tried == SIZE  # the others are told what these waited for

    async def test_the_reason_that_the_server_gives_is_told(self, postgres: str) -> None:
        base, _, options = postgres.partition("?")
        for dsn, reason in (
            (f"{base}-not?{options}", f'database "{base.rpartition("/")[2]}-not" does not exist'),
            (postgres.replace("//postgres", "//nobody"), 'role "nobody" does not exist'),
        ):
            told = await self.reasons(dsn)
            assert [text.rpartition(": FATAL:  ")[2] for text in told] == [reason]

    async def test_one_that_is_cut_again_and_again_is_told_with_its_place(
        self, postgres: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def cut(*args: Any, **rest: Any) -> Any:
            yield "SELECT pg_terminate_backend(pg_backend_pid())", ()

        PostgresStore(postgres).list()
        for name in ("read", "list_all", "take"):
            monkeypatch.setattr(steps, name, cut)
        where = f"no connection to PostgreSQL at {address_of(postgres)}: "
        assert await self.reasons(postgres) == {f"{where}terminating connection due to administrator command"}

    @contextlib.contextmanager
    def role(self, dsn: str, limits: str) -> Iterator[tuple[psycopg.Connection[Any], str]]:
        """A connection of the database's owner, and the address for somebody who may do less."""
        base, _, options = dsn.partition("?")
        name = base.rpartition("/")[2]
        with psycopg.connect(dsn, autocommit=True) as db:
            db.execute(f"CREATE ROLE {name} LOGIN {limits}")
            db.execute(f"GRANT ALL ON SCHEMA public TO {name}")
            try:
                yield db, f"postgresql://{name}:wrong@/{name}?{options}"
            finally:
                db.execute(f"DROP OWNED BY {name}")
                db.execute(f"DROP ROLE {name}")

    def test_a_wrong_password_is_told_and_not_shown(self, postgres: str) -> None:
        with self.role(postgres, "PASSWORD 'right'") as (db, dsn):
            rules = Path(*db.execute("SHOW hba_file").fetchone() or ())
            kept = rules.read_bytes()
            rules.write_bytes(b"local all %s scram-sha-256\n" % db.info.dbname.encode() + kept)
            try:
                db.execute("SELECT pg_reload_conf()")
                told = asyncio.run(self.reasons(dsn))
            finally:
                rules.write_bytes(kept)
                db.execute("SELECT pg_reload_conf()")
            assert ["password authentication failed" in text and "wrong" not in text for text in told] == [True]

    async def test_many_at_once_share_a_few_connections(self, postgres: str) -> None:
        store = PostgresStore(postgres)
        assert await asyncio.gather(*[store.aread("x") for _ in range(3 * SIZE)]) == [None] * 3 * SIZE
        assert len(store._pools[asyncio.get_running_loop()].connections) == SIZE
        await store.aclose()

    async def test_a_farewell_in_the_middle_of_the_work_leaves_no_connection(self, postgres: str) -> None:
        store = PostgresStore(postgres)
        await store.alist()
        pool = store._pools[asyncio.get_running_loop()]
        waiting = [asyncio.ensure_future(store.aread("x")) for _ in range(3 * SIZE)]
        await asyncio.sleep(0)
        assert not pool._idle
        await store.aclose()
        assert await asyncio.gather(*waiting) == [None] * 3 * SIZE
        assert all(connection.closed for connection in pool.connections)

    async def test_a_connection_whose_statement_was_cancelled_is_not_used_again(self, postgres: str) -> None:
        store = PostgresStore(postgres)
        await store.alist()
        with psycopg.connect(postgres) as db:
            db.execute("LOCK TABLE fireside_states")
            waiting = [asyncio.ensure_future(store.aread("x")) for _ in range(3)]
            asked = (
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'relation'"
            )
            while db.execute(asked).fetchone() != (3,):
                db.execute("SELECT pg_stat_clear_snapshot()")
                await asyncio.sleep(0)
            for task in waiting:
                task.cancel()
            await asyncio.wait(waiting)
            assert all(task.cancelled() for task in waiting)
        assert [await store.aread("x") for _ in range(3)] == [None] * 3
        await store.aclose()

    async def test_a_lock_is_given_back_beside_the_loop(self, postgres: str) -> None:
        """Else a server that does not answer stands everything still that the loop has to do."""
        store = PostgresStore(postgres)
        held, go = threading.Event(), threading.Event()
        stood_still: list[bool] = []

        def wait_for_a_mute_server() -> None:
            assert store._locks is not None
            with store._locks._guard:
                held.set()
                stood_still.append(not go.wait(10))

        async def on_run_end(self: Reporter, state: State, error: BaseException | None) -> None:
            threading.Thread(target=wait_for_a_mute_server).start()
            await asyncio.to_thread(held.wait)
            asyncio.get_running_loop().call_later(0.01, go.set)

        reporter = type("Ends", (Reporter,), {"on_run_end": on_run_end})()
        assert await Agent(FakeModel(["fine"]), store=store, reporter=reporter).arun(State("x", id="x")) == "fine"
        assert stood_still == [False]
        assert store.holder("x") is None
        await store.aclose()

    def test_a_loop_ends_while_it_connects(self) -> None:
        async def impatient(dsn: str) -> None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(0.05):
                    await PostgresStore(dsn).alist()

        with socket.create_server(("127.0.0.1", 0)) as mute:
            dsn = f"postgresql://me@127.0.0.1:{mute.getsockname()[1]}/runs"
            ends = threading.Thread(target=lambda: asyncio.run(impatient(dsn)), daemon=True)
            ends.start()
            ends.join(30)
            assert not ends.is_alive()

    async def test_a_store_that_was_refused_goes_on_once_it_is_let_in(self, postgres: str) -> None:
        with self.role(postgres, "") as (db, dsn):
            store = PostgresStore(dsn)
            await asyncio.gather(*[store.alist() for _ in range(SIZE)])
            for _ in range(2):
                db.execute(f"ALTER ROLE {db.info.dbname} NOLOGIN")
                db.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = %s", [db.info.dbname]
                )
                with pytest.raises(psycopg.OperationalError, match="not permitted to log in"):
                    await store.aread("x")
                db.execute(f"ALTER ROLE {db.info.dbname} LOGIN")
                assert await store.aread("x") is None
            await store.aclose()

    def test_its_repr_keeps_the_password(self, postgres: str) -> None:
        store = PostgresStore("postgresql://me:secret@db.example/runs")
        assert "secret" not in repr(store)
        assert store == PostgresStore("postgresql://you:other@db.example:5432/runs")
