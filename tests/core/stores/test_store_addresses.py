"""`open_store`: each address opens its store, and no other does."""

from __future__ import annotations

from pathlib import Path

import pytest
from fireside.stores import open_store
from fireside.stores.file import FileStore
from fireside.stores.sqlite import SQLiteStore


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


@pytest.mark.parametrize("address", ["sqlite:runs.db", "postgresql:runs"])
def test_an_address_without_its_slashes_is_no_folder(address: str) -> None:
    with pytest.raises(ValueError, match="slashes"):
        open_store(address)
