"""SQLiteStore and PostgresStore: what only a database can do wrong."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
import sqlite3
import stat
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from fireside.contract_driver import label, row
from fireside.errors import StateInUseError
from fireside.state import State
from fireside.stores import open_store
from fireside.stores import rows as rows_module
from fireside.stores import sqlite_tables as tables
from fireside.stores.base import SavedState
from fireside.stores.file import FileStore
from fireside.stores.postgres import PostgresStore
from fireside.stores.postgres_pool import SIZE
from fireside.stores.sqlite import SQLiteStore


class TestSQLite:
    def test_it_keeps_a_write_ahead_log_and_syncs_it(self, tmp_path: Path) -> None:
        store = SQLiteStore(tmp_path / "deep/er/runs.db")
        store.save(State("hello", id="x"))
        with store._connected(create=False) as db:
            assert db is not None
            assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
            assert db.execute("PRAGMA synchronous").fetchone() == (2,)
        for path in (tmp_path / "deep").rglob("*"):
            assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path
        store.close()

    def test_nothing_is_made_by_looking(self, tmp_path: Path) -> None:
        store = SQLiteStore(tmp_path / "runs.db")
        assert store.list() == []
        assert store.read("x") is None
        store.delete("x")
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize("content", [b"not a database " * 100, b"\0" * 8192, b"SQLite format 3\0" + b"\xff" * 4080])
    def test_what_is_no_database_is_told_and_left(self, tmp_path: Path, content: bytes) -> None:
        path = tmp_path / "runs.db"
        path.write_bytes(content)
        store = SQLiteStore(path)
        for call in (lambda: store.save(State("x")), store.list, lambda: store.load("x")):
            with pytest.raises(sqlite3.DatabaseError, match=r"runs\.db"):
                call()
        assert path.read_bytes() == content

    def test_a_damaged_page_is_told_and_left(self, tmp_path: Path) -> None:
        path = tmp_path / "runs.db"
        store = SQLiteStore(path)
        state = State("hello", id="x")
        for n in range(300):
            state.add_user_message(f"{n} " * 50)
        store.save(state)
        store.close()
        data = bytearray(path.read_bytes())
        data[4096 * 2 :] = os.urandom(len(data) - 4096 * 2)
        path.write_bytes(data)
        with pytest.raises(sqlite3.DatabaseError, match="left as it is"):
            SQLiteStore(path).load("x")
        assert path.read_bytes() == data

    def test_the_database_of_another_program_is_refused(self, tmp_path: Path) -> None:
        path = tmp_path / "other.db"
        db = sqlite3.connect(path)
        db.execute("CREATE TABLE theirs (x)")
        db.commit()
        db.close()
        with pytest.raises(ValueError, match="another program"):
            SQLiteStore(path).save(State("x"))

    def test_a_newer_format_is_refused(self, tmp_path: Path) -> None:
        path = tmp_path / "runs.db"
        SQLiteStore(path).save(State("hello", id="x"))
        db = sqlite3.connect(path)
        db.execute("PRAGMA user_version = 2")
        db.close()
        with pytest.raises(ValueError, match="newer"):
            SQLiteStore(path).load("x")

    def test_a_failed_write_is_rolled_back_and_lets_others_write(self, tmp_path: Path) -> None:
        store = SQLiteStore(tmp_path / "runs.db")
        state = State("hello", id="x")
        store.save(state)
        good = {**state.to_json()["entries"][0], "seq": 1}
        with pytest.raises(TypeError):
            store.write("x", [good, {"seq": 2, "content": object()}], None)
        record = SQLiteStore(tmp_path / "runs.db").read("x")
        assert record is not None
        assert [entry["seq"] for entry in record.entries] == [0]
        SQLiteStore(tmp_path / "runs.db").write("x", [good], None)

    def test_a_damaged_row_is_told_and_the_rest_is_there(self, tmp_path: Path) -> None:
        store = SQLiteStore(tmp_path / "runs.db")
        state = State("message 0", id="x")
        for n in range(1, 5):
            state.add_user_message(f"message {n}")
        store.save(state)
        with store._transaction() as db:
            db.execute("UPDATE entries SET entry = '{half' WHERE seq = 2")
            db.execute("UPDATE states SET label = '{half', created_at = NULL")
        loaded = store.load("x")
        assert "entries 2" in loaded.history[-1].text
        assert [row.title for row in store.list()] == ["message 0"]

    def many(self, store: SQLiteStore) -> list[SavedState]:
        """Conversations of every kind that a list tells apart, and their rows."""
        for n, more in enumerate(
            (
                {},
                {"turn": 3, "status": "limit", "stopped_by": "limit"},
                {"status": "waiting", "stopped_by": "is_answered", "usage": {"input": 7, "requests": 2, "cost": 0.25}},
                {"usage": {"cache_read": 2**62}},
                {"usage": {"input": 2**70, "cost": 0.0}},  # no column holds it
                {"turn": 1, "title": "A ti\0tle"},
                {"status": "of another kind"},
            )
        ):
            store.write(f"id-{n}", [row(0), row(1)], label(f"id-{n}", minute=n, **more), create=True)
        return [
            SavedState.from_label(record.snapshot or {}, running=True)
            for record in (store.read(f"id-{n}") for n in reversed(range(7)))
            if record is not None
        ]

    def test_a_list_from_columns_is_that_of_the_labels(self, tmp_path: Path) -> None:
        store = SQLiteStore(tmp_path / "runs.db")
        assert self.many(store) == store.list()
        with store._connected(create=False) as db:
            assert db is not None
            assert len(tables._shown_rows(db)[0]) == 4

    def old(self, path: Path) -> None:
        """Takes the columns away that came later, as in a file that an older fireside made."""
        db = sqlite3.connect(path, isolation_level=None)
        for name in ("brief", "counts", "brief_seq"):
            db.execute(f"ALTER TABLE states DROP COLUMN {name}")
        db.close()

    def test_the_file_of_an_older_fireside_gets_the_columns(self, tmp_path: Path) -> None:
        path = tmp_path / "runs.db"
        rows = self.many(store := SQLiteStore(path))
        store.close()
        self.old(path)
        store = SQLiteStore(path)
        assert store.list() == rows
        with store._connected(create=False) as db:
            assert db is not None
            assert len(tables._shown_rows(db)[0]) == 4
            assert db.execute("PRAGMA user_version").fetchone() == (1,)  # so the older one goes on with it, too

    def test_what_an_older_fireside_writes_meanwhile_is_listed(self, tmp_path: Path) -> None:
        store = SQLiteStore(tmp_path / "runs.db")
        state = State("hello", id="x")
        store.save(state)
        state.rename("Another title")
        with store._transaction() as db:  # as it did: without the columns that it does not know
            db.execute("INSERT INTO entries VALUES (1, 1, ?)", (rows_module.text_of(state.history[1].to_json()),))
            db.execute("UPDATE states SET next_seq = 2, label = ?, label_seq = 2", (json.dumps(state._label()),))
        assert [row.title for row in store.list()] == ["Another title"]

    def test_an_older_file_that_can_only_be_read_is_listed_all_the_same(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        store = SQLiteStore(tmp_path / "runs.db")
        for n, usage in enumerate(({}, {"input": 7})):
            store.write(f"id-{n}", [row(0)], label(f"id-{n}", minute=n, usage=usage), create=True)
        rows = store.list()
        store.close()
        self.old(tmp_path / "runs.db")

        def refuse(db: sqlite3.Connection) -> None:
            db.execute("PRAGMA query_only = 1")
            db.execute("ALTER TABLE states ADD COLUMN brief TEXT")

        monkeypatch.setattr(tables, "add_columns", refuse)
        assert SQLiteStore(tmp_path / "runs.db").list() == rows

    @pytest.mark.parametrize(
        "damage", ["created_at = 'yesterday'", "brief = NULL", "counts = x'00'", "counts = 7", "created_at = NULL"]
    )
    def test_a_damaged_column_hides_nothing(self, tmp_path: Path, damage: str) -> None:
        store = SQLiteStore(tmp_path / "runs.db")
        for id in ("x", "y"):
            store.save(State("hello", id=id))
        expected = store.list()
        with store._transaction() as db:
            db.execute(f"UPDATE states SET {damage} WHERE id = 'x'")
        assert store.list() == expected


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

    async def test_the_reason_that_the_server_gives_is_told(self, postgres: str) -> None:
        base, _, options = postgres.partition("?")
        for dsn, reason in (
            (f"{base}-not?{options}", f'database "{base.rpartition("/")[2]}-not" does not exist'),
            (postgres.replace("//postgres", "//nobody"), 'role "nobody" does not exist'),
        ):
            told = await self.reasons(dsn)
            assert [text.rpartition(": FATAL:  ")[2] for text in told] == [reason]

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


class TestAddresses:
    def test_each_address_opens_its_store(self, tmp_path: Path) -> None:
        assert open_store(tmp_path / "runs") == FileStore(tmp_path / "runs")
        assert open_store(f"sqlite:///{tmp_path}/runs.db") == SQLiteStore(tmp_path / "runs.db")
        assert open_store("postgresql://db/runs") == open_store("postgres://db/runs")
        assert open_store("runs") != open_store("sqlite:///runs")

    @pytest.mark.parametrize("place", ["", "mysql://x", "sqlite://", "sqlite:///", "sqlite://runs.db", "a\0b"])
    def test_other_addresses_are_refused(self, place: str) -> None:
        with pytest.raises(ValueError, match=r"store|file"):
            open_store(place)

    def test_two_paths_for_one_place_are_equal(self, tmp_path: Path) -> None:
        (tmp_path / "link").symlink_to(tmp_path / "runs")
        (tmp_path / "runs").mkdir()
        assert FileStore(tmp_path / "link") == FileStore(tmp_path / "runs" / ".." / "runs")
        assert hash(FileStore(tmp_path / "link")) == hash(FileStore(tmp_path / "runs"))
        assert FileStore(tmp_path / "a") != FileStore(tmp_path / "b")


@pytest.mark.parametrize("content", [b"x", b"some other text\n", b"SQLite format 3"])
def test_a_small_file_of_something_else_is_not_written_over(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "notes"
    path.write_bytes(content)
    with pytest.raises(sqlite3.DatabaseError, match="not a database"):
        SQLiteStore(path).save(State("hello"))
    assert path.read_bytes() == content


@pytest.mark.parametrize("address", ["sqlite:runs.db", "postgresql:runs"])
def test_an_address_without_its_slashes_is_no_folder(address: str) -> None:
    with pytest.raises(ValueError, match="slashes"):
        open_store(address)


@pytest.mark.parametrize(
    "damage",
    [
        *(f"{column} = CAST(x'ff41' AS TEXT)" for column in ("title", "label", "brief")),
        *(f"{column} = {value}" for column in ("title", "task", "updated_at", "brief") for value in ("NULL", "x'00'")),
        "updated_at = '2026-01-01T00:00:00'",
        "counts = x'00'",
        "label = json_set(label, '$.updated_at', '2026-01-01'), created_at = NULL",
    ],
)
def test_a_value_that_is_damaged_hides_no_conversation(tmp_path: Path, damage: str) -> None:
    store = SQLiteStore(tmp_path / "runs.db")
    for id in "ab":
        store.save(State(f"task {id}", id=id))
    store.close()
    stale = ", brief_seq = NULL" if damage.startswith("label") else ""
    with contextlib.closing(sqlite3.connect(tmp_path / "runs.db")) as db:
        db.execute(f"UPDATE states SET {damage}{stale} WHERE id = 'a'")
        db.commit()
    assert {row.id: (row.task, row.title) for row in store.list()} == {"a": ("task a",) * 2, "b": ("task b",) * 2}
    assert store.load("a").task == "task a"
    store.close()


def test_an_id_that_is_none_hides_no_conversation(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "runs.db")
    store.save(State("task b", id="b"))
    with contextlib.closing(sqlite3.connect(tmp_path / "runs.db")) as db:
        db.execute("INSERT INTO states (id, next_seq) VALUES (CAST(x'ff41' AS TEXT), 0), (x'41', 0)")
        db.commit()
    assert "b" in [row.id for row in store.list()]
    store.close()


@pytest.mark.parametrize("damage", ["'x'", "x'00'", "1.5", "CAST(x'ff41' AS TEXT)"])
def test_a_next_place_that_is_no_number_is_found_again_from_the_entries(tmp_path: Path, damage: str) -> None:
    store = SQLiteStore(tmp_path / "runs.db")
    states = [State("task a", id="a"), State("task b", id="b")]
    for state in states:
        store.save(state)
    with store._transaction() as db:
        db.execute("UPDATE entries SET entry = '{half' WHERE state = 2")
        db.execute(f"UPDATE states SET next_seq = {damage}")
    assert {row.id: row.title for row in store.list()}["a"] == "task a"
    assert store.load("a").to_json() == states[0].to_json()
    for state in states:
        state.add_user_message("more")
        store.save(state)
    assert store.load("a").to_json() == states[0].to_json()
    assert [entry.seq for entry in store.load("b").history if entry.kind == "user"] == [1]
    with store._transaction() as db:
        assert db.execute("SELECT next_seq FROM states").fetchall() == [(2,), (2,)]
    store.close()
