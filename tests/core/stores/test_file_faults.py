"""FileStore on a disk that fails at each call in turn, and on one whose power is cut after each call."""

from __future__ import annotations

import errno
import random
import shutil
from pathlib import Path

import pytest
from fireside.state import State
from fireside.stores.file import FileStore

from tests.core.stores.disks import FailingDisk, RecordingDisk

CODES = [errno.EIO, errno.ENOSPC, errno.EROFS]


def conversation(store: FileStore, acked: list[int], state: State | None = None) -> State:
    """Saves a State step by step; `acked` gets how many entries were acknowledged. Raises what the store raises."""
    state = state or State("message 0", id="x")
    for n in range(len(state.history), 6):
        store.save(state)
        acked.append(len(state.history))
        state.add_user_message(f"message {n}")
    store.save(state)
    acked.append(len(state.history))
    return state


def calls_of_a_run(path: Path) -> int:
    store = FileStore(path)
    store._disk = disk = FailingDisk()
    conversation(store, [])
    return disk.count


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "code" in metafunc.fixturenames:
        metafunc.parametrize("code", CODES, ids=[errno.errorcode[code] for code in CODES])


def test_each_call_may_fail_and_nothing_acknowledged_is_lost(tmp_path: Path, code: int) -> None:
    total = calls_of_a_run(tmp_path / "count")
    assert total > 30
    for at in range(total):
        for more in ((), (at + 1,), (at + 1, at + 2)):
            root = tmp_path / f"{at}-{len(more)}"
            store = FileStore(root)
            store._disk = disk = FailingDisk({at, *more}, code)
            state, acked = State("message 0", id="x"), list[int]()
            failed = None
            try:
                conversation(store, acked, state)
            except OSError as error:
                failed = error
                seen = FileStore(root).read("x")  # as the next process finds it
                kept = len(seen.entries) if seen else 0
                assert kept >= (acked[-1] if acked else 0)
                if not more:
                    assert kept == (acked[-1] if acked else 0)  # cut back at once
                if seen:
                    assert seen.damaged == 0
                    assert seen.entries == state.to_json()["entries"][:kept]
            assert failed is None or failed.errno == code
            disk.at = frozenset()
            conversation(store, acked, state)  # the same State goes on in the same store
            assert [entry.text for entry in state.history] == [f"message {n}" for n in range(6)], (at, failed)
            assert FileStore(root).load("x").to_json() == state.to_json(), (at, failed)
            assert [row.updated_at for row in FileStore(root).list()] == [state.updated_at]
            shutil.rmtree(root)


def test_a_deletion_that_fails_is_whole_or_not_at_all(tmp_path: Path, code: int) -> None:
    for at in range(8):
        root = tmp_path / f"{at}"
        store = FileStore(root)
        state = conversation(store, [])
        store._disk = FailingDisk({at}, code)
        try:
            store.delete("x")
        except OSError:
            loaded = FileStore(root).load("x")
            assert loaded.to_json() == state.to_json()
        else:
            assert FileStore(root).read("x") is None
            assert FileStore(root).list() == []
        store._disk = FailingDisk()
        store.delete("x")
        assert FileStore(root).list() == []


def test_what_a_failed_sync_left_is_written_again(tmp_path: Path) -> None:
    """After a failed fsync the system takes its pages for clean: to sync them again would promise what is not there."""
    store = FileStore(tmp_path)
    state = State("message 0", id="x")
    store.save(state)
    state.add_user_message("message 1")
    disk = store._disk = FailingDisk({2, 3})  # open_log, write, fsync, truncate
    with pytest.raises(OSError, match="Input/output"):
        store.save(state)
    assert disk.names == ["open_log", "write", "fsync", "truncate"]
    disk.names.clear()
    store.save(state)
    assert disk.names[:4] == ["open_log", "truncate", "write", "fsync"]
    assert FileStore(tmp_path).load("x").to_json() == state.to_json()


def test_a_step_costs_one_sync_and_few_bytes(tmp_path: Path) -> None:
    store = FileStore(tmp_path)
    state = State("message", id="x")
    store.save(state)
    disk = store._disk = FailingDisk()
    for n in range(50):
        state.add_user_message("a message of a usual length, which says something " * 4)
        disk.names.clear()
        store.save(state)
        assert disk.names.count("fsync") == 1, n
        assert disk.names.index("fsync") < disk.names.index("write_whole")
        assert len(disk.names) <= 9


@pytest.mark.parametrize("how", ["nothing", "names", "all", "any"])
def test_power_may_go_after_each_call(tmp_path: Path, how: str) -> None:
    root = tmp_path / "runs"
    root.mkdir()
    chance = random.Random(f"seed {how}")
    store = FileStore(root)
    disk = store._disk = RecordingDisk(root)  # type: ignore[assignment]
    state = State("message 0", id="x")
    acked, deleted, looks = [0], [False], [0]

    def look() -> None:
        for _ in range(4 if how == "any" else 1):
            looks[0] += 1
            after = tmp_path / f"after-{looks[0]}"
            disk.crash(after, chance, how)
            fresh = FileStore(after)
            record, rows = fresh.read("x"), fresh.list()
            assert len(rows) == (record is not None)
            if record is None:
                assert acked[0] == 0 or deleted[0]
            else:
                assert len(record.entries) >= (0 if deleted[0] else acked[0])
                assert record.entries == state.to_json()["entries"][: len(record.entries)]
                assert record.damaged == 0
                assert rows[0].title in ("message 0", "A title")
                loaded = fresh.load("x")
                loaded.add_user_message("on")
                fresh.save(loaded)
                assert FileStore(after).load("x").to_json() == loaded.to_json()
            shutil.rmtree(after)

    disk.on_call = look
    for n in range(1, 6):
        store.save(state)
        acked[0] = len(state.history)
        look()
        state.add_user_message(f"message {n}")
        if n == 3:
            state.rename("A title")
    store.save(state)
    record = store.read("x")
    assert record is not None
    deleted[0], acked[0] = True, 0
    store.delete("x")
    disk.on_call = lambda: None
    for crash in range(8):
        disk.crash(tmp_path / f"deleted-{crash}", chance, how)
        assert FileStore(tmp_path / f"deleted-{crash}").list() == []
    disk.on_call = look
    store.write("x", record.entries, record.snapshot, create=True)
    deleted[0], acked[0] = False, len(record.entries)
    look()
    assert looks[0] > 50
