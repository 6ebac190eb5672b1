"""A disk that is really full: a small tmpfs, where the system lets us mount one."""

from __future__ import annotations

import errno
import os
import sqlite3
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from fireside.state import State
from fireside.stores import open_store


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 512 KB."""
    place = tmp_path / "small"
    place.mkdir()
    if os.geteuid() != 0:
        pytest.skip("only root can mount a tmpfs")
    try:
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", place], capture_output=True)
    except FileNotFoundError:
        pytest.skip("there is no mount")
    if mounted.returncode:
        pytest.skip("a tmpfs can't be mounted here")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", place], check=True)


@pytest.mark.parametrize("kind", ["file", "sqlite"])
def test_a_full_disk_is_told_and_nothing_is_lost(small_disk: Path, kind: str) -> None:
    address = str(small_disk / "runs") if kind == "file" else f"sqlite:///{small_disk}/runs.db"
    store = open_store(address)
    filler = small_disk / "filler"
    filler.write_bytes(b"x" * 150_000)
    state = State("hello", id="x")
    store.save(state)
    acknowledged = []

    def fill() -> None:
        for n in range(400):
            state.add_user_message(f"{n} " + "words " * 500)
            store.save(state)
            acknowledged.append(len(state.history))

    with pytest.raises((OSError, sqlite3.OperationalError)) as told:
        fill()
    if isinstance(told.value, OSError):
        assert told.value.errno == errno.ENOSPC
    else:
        assert "full" in str(told.value)
    seen = open_store(address).read("x")
    assert seen is not None
    assert len(seen.entries) == acknowledged[-1]
    assert [row.id for row in open_store(address).list()] == ["x"]
    with pytest.raises((OSError, sqlite3.OperationalError)):
        store.save(state)
    filler.unlink()
    store.save(state)
    assert open_store(address).load("x").to_json() == state.to_json()
