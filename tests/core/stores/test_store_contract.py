"""Every store that is shipped, and what a user may write, keeps every promise of the contract."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
from fireside.contract_driver import label, row
from fireside.errors import ConflictError
from fireside.store_contract import StoreContract
from fireside.stores import open_store
from fireside.stores.base import Store
from fireside.stores.file import FileStore
from fireside.stores.postgres import PostgresStore
from fireside.stores.record import Record, SavedState
from fireside.stores.sqlite import SQLiteStore


class MemoryStore(Store):
    """The least that a user writes."""

    def __init__(self) -> None:
        self.kept: dict[str, Record] = {}

    def write(self, state_id: str, entries: Any, snapshot: Any, *, create: bool = False) -> None:
        entries, snapshot = copy.deepcopy((entries, snapshot))
        if create:
            if self.kept.setdefault(state_id, record := Record(entries, snapshot)) is not record:
                raise ValueError(f"there is a State {state_id!r}")
            return
        record = self.kept[state_id]
        there = {entry["seq"]: entry for entry in record.entries}
        for entry in entries:
            if there.setdefault(entry["seq"], entry) != entry:
                raise ConflictError(state_id, f"its entry {entry['seq']} is another one")
        self.kept[state_id] = Record(list(there.values()), snapshot or record.snapshot)

    def read(self, state_id: str) -> Record | None:
        return copy.deepcopy(self.kept.get(state_id))


class AsyncStore(Store):
    """A store that is reached asynchronously alone."""

    def __init__(self) -> None:
        self.inner = MemoryStore()

    async def awrite(self, state_id: str, entries: Any, snapshot: Any, *, create: bool = False) -> None:
        self.inner.write(state_id, entries, snapshot, create=create)

    async def aread(self, state_id: str) -> Record | None:
        return self.inner.read(state_id)

    async def alist(self) -> list[SavedState]:
        rows = []
        for record in self.inner.kept.values():
            try:
                rows.append(SavedState.from_label(record.snapshot or {}))
            except (KeyError, TypeError, ValueError):
                continue
        return sorted(rows, key=lambda row: row.updated_at, reverse=True)

    async def adelete(self, state_id: str) -> None:
        self.inner.kept.pop(state_id, None)


class TestFileStore(StoreContract):
    def make_store(self, tmp_path: Path) -> Store:
        return FileStore(tmp_path / "runs")

    def reopen(self, store: Store, tmp_path: Path) -> Store:
        return FileStore(tmp_path / "runs")


class TestFileStoreWithoutLocks(StoreContract):
    def make_store(self, tmp_path: Path) -> Store:
        return FileStore(tmp_path / "runs", locks=False)

    def reopen(self, store: Store, tmp_path: Path) -> Store:
        return FileStore(tmp_path / "runs", locks=False)


class TestFileStoreByAsyncNames(TestFileStore):
    use_async = True


class TestMemoryStore(StoreContract):
    def make_store(self, tmp_path: Path) -> Store:
        return MemoryStore()


class TestAsyncStore(StoreContract):
    async def make_store(self, tmp_path: Path) -> Store:
        return AsyncStore()


class TestSQLiteStore(StoreContract):
    def make_store(self, tmp_path: Path) -> Store:
        return SQLiteStore(tmp_path / "runs.db")

    def reopen(self, store: Store, tmp_path: Path) -> Store:
        return SQLiteStore(tmp_path / "runs.db")


class TestSQLiteStoreByAsyncNames(TestSQLiteStore):
    use_async = True


@pytest.mark.xdist_group("postgres")
class TestPostgresStore(StoreContract):
    @pytest.fixture(autouse=True)
    def _database(self, postgres: str) -> None:
        self.dsn = postgres

    def make_store(self, tmp_path: Path) -> Store:
        return open_store(self.dsn)

    def reopen(self, store: Store, tmp_path: Path) -> Store:
        return open_store(self.dsn)


class TestPostgresStoreByAsyncNames(TestPostgresStore):
    use_async = True


class TestPostgresStoreWithoutLocks(TestPostgresStore):
    def make_store(self, tmp_path: Path) -> Store:
        return PostgresStore(self.dsn, locks=False)

    def reopen(self, store: Store, tmp_path: Path) -> Store:
        return PostgresStore(self.dsn, locks=False)


@pytest.mark.parametrize(
    "kind", [FileStore, SQLiteStore, pytest.param(PostgresStore, marks=pytest.mark.xdist_group("postgres"))]
)
def test_a_store_opened_without_locks_has_none(kind: Any, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    place = request.getfixturevalue("postgres") if kind is PostgresStore else tmp_path / "runs"
    store, locked = kind(place, locks=False), kind(place)
    assert (store.has_locks(), locked.has_locks()) == (False, True)
    assert repr(store) == f"{repr(locked)[:-1]}, locks=False)"
    store.write("x", [row(0)], label("x", status="running"), create=True)
    locks = [store.lock("x"), store.lock("x")]
    assert (store.holder("x"), locked.holder("x")) == (None, None)
    held = locked.lock("x")
    assert (store.holder("x"), [saved.status for saved in store.list()]) == (None, ["interrupted"])
    for lock in (held, *locks):
        lock.release()
    if hasattr(store, "close"):
        store.close()
        locked.close()
