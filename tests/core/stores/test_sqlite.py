"""SQLiteStore: what only a database in a file can do wrong."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import stat
from pathlib import Path

import pytest
from fireside.contract_driver import label, row
from fireside.state import State
from fireside.stores import rows as rows_module
from fireside.stores import sqlite_tables as tables
from fireside.stores.record import SavedState
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


@pytest.mark.parametrize("content", [b"x", b"some other text\n", b"SQLite format 3"])
def test_a_small_file_of_something_else_is_not_written_over(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "notes"
    path.write_bytes(content)
    with pytest.raises(sqlite3.DatabaseError, match="not a database"):
        SQLiteStore(path).save(State("hello"))
    assert path.read_bytes() == content


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


@pytest.mark.parametrize("damage", [2**60, 2_000_000, 1, 0, -5])
def test_a_next_place_that_can_not_be_right_is_found_again_from_the_entries(tmp_path: Path, damage: int) -> None:
    store = SQLiteStore(tmp_path / "runs.db")
    state = State("task", id="a")
    state.add_user_message("more")
    store.save(state)
    with store._transaction() as db:
        db.execute("UPDATE states SET next_seq = ?", (damage,))
    record = store.read("a")
    assert record is not None
    assert (record.next_seq, record.damaged) == (2, 1)
    again = SQLiteStore(tmp_path / "runs.db").load("a")
    assert again.to_json() == state.to_json()
    again.add_user_message("and more")
    store.save(again)
    record = store.read("a")
    assert record is not None
    assert ([row["seq"] for row in record.entries], record.next_seq, record.damaged) == ([0, 1, 2], 3, 0)
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
