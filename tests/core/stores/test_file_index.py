"""The file in which FileStore keeps what its list found: `.list`."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from fireside.state import State
from fireside.stores import file_list, index
from fireside.stores import label as labels
from fireside.stores.file import FileStore
from fireside.stores.index import Index


@pytest.fixture(autouse=True)
def _worth(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index, "WORTH", 3)


def saved(store: FileStore, id: str) -> State:
    state = State("message 0", id=id)
    store.save(state)
    state.add_user_message("message 1")
    store.save(state)
    return state


def many(store: FileStore) -> dict[str, State]:
    return {f"id-{n}": saved(store, f"id-{n}") for n in range(5)}


def test_a_fresh_list_reads_it_in_place_of_the_labels(
    root: Path, store: FileStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    many(store)
    expected = store.list()
    assert (root / ".list").stat().st_mode & 0o777 == 0o600
    fresh = FileStore(root)
    monkeypatch.setattr(fresh._listing, "_row", None)
    assert fresh.list() == expected


def test_what_changed_since_is_read_anew(root: Path, store: FileStore) -> None:
    states = many(store)
    store.list()
    states["id-2"].rename("Another title")
    store.save(states["id-2"])
    saved(store, "id-9")
    rows = {row.id: row.title for row in FileStore(root).list()}
    assert rows["id-2"] == "Another title"
    assert len(rows) == 6


@pytest.mark.parametrize("data", [b"", b"{}", b"\0" * 500, b"00000000\n{}", None])
def test_it_is_not_believed_when_it_is_damaged(root: Path, store: FileStore, data: bytes | None) -> None:
    many(store)
    expected = store.list()
    path = root / ".list"
    path.write_bytes(path.read_bytes().replace(b"message", b"massage") if data is None else data)
    assert FileStore(root).list() == expected


def test_nothing_of_a_deleted_conversation_is_left(root: Path, store: FileStore) -> None:
    many(store)
    saved(store, "secret")
    store.list()
    store.delete("secret")
    assert not [path for path in root.rglob("*") if path.is_file() and b"secret" in path.read_bytes()]
    assert len(FileStore(root).list()) == 5


@pytest.mark.parametrize("left", [5, 3, 2])
@pytest.mark.parametrize("fresh", [True, False])
def test_nor_when_who_deleted_it_was_killed(root: Path, store: FileStore, left: int, fresh: bool) -> None:
    for n in range(left):
        saved(store, f"id-{n}")
    saved(store, "secret")
    store.list()
    shutil.rmtree(root / "secret")
    assert len((FileStore(root) if fresh else store).list()) == left
    assert not [path for path in root.rglob("*") if path.is_file() and b"secret" in path.read_bytes()]


def test_nor_when_who_wrote_it_down_was_killed(root: Path, store: FileStore) -> None:
    many(store)
    saved(store, "secret")
    store.list()
    (root / ".list-0123abcd").write_bytes((root / ".list").read_bytes())
    store.delete("secret")
    FileStore(root).list()
    assert not [path for path in root.rglob("*") if path.is_file() and b"secret" in path.read_bytes()]


def test_a_deletion_while_it_is_written_leaves_nothing_of_it(
    root: Path, store: FileStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    many(store)
    saved(store, "secret")
    write = Index._write

    def late(*args: Any) -> None:
        FileStore(root).delete("secret")
        write(*args)

    monkeypatch.setattr(Index, "_write", staticmethod(late))
    assert "secret" in [row.id for row in store.list()]
    assert not (root / ".list").exists()
    monkeypatch.setattr(Index, "_write", staticmethod(write))
    assert "secret" not in [row.id for row in store.list()]
    assert b"secret" not in (root / ".list").read_bytes()


def test_a_row_that_changed_is_added_to_it(root: Path, store: FileStore, monkeypatch: pytest.MonkeyPatch) -> None:
    states = many(store)
    store.list()
    before = (root / ".list").read_bytes()
    states["id-2"].rename("Another title")
    store.save(states["id-2"])
    expected = store.list()
    added = (root / ".list").read_bytes()
    assert added.startswith(before)
    assert added.count(b"\n") == before.count(b"\n") + 1
    store.list()
    assert (root / ".list").read_bytes() == added
    fresh = FileStore(root)
    monkeypatch.setattr(fresh._listing, "_row", None)
    assert fresh.list() == expected


def test_it_never_holds_more_than_twice_the_rows(root: Path, store: FileStore) -> None:
    states = many(store)
    for n in range(20):
        states["id-2"].rename(f"Title {n}")
        store.save(states["id-2"])
        store.list()
        assert (root / ".list").read_bytes().count(b'"id-') <= 2 * 2 * len(states)  # a name and an id for each row


def test_a_glance_shows_what_changed_last_as_it_is_now(root: Path, store: FileStore) -> None:
    states = many(store)
    store.list()
    assert FileStore(root).glance() == FileStore(root).list()
    states["id-2"].rename("Another title")
    store.save(states["id-2"])
    store.delete("id-3")
    store.list()
    states["id-1"].add_user_message("more")
    store.save(states["id-1"])
    rows = FileStore(root).glance()
    assert [row.id for row in rows] == ["id-1", "id-4", "id-2", "id-0"]
    assert rows == FileStore(root).list()


def test_a_glance_at_many_that_nobody_listed_shows_those_that_were_written_last(
    root: Path, store: FileStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index, "LAST", 3)
    states = many(store)
    for name, second in (("id-1", 5), ("id-3", 4), ("id-4", 3), ("id-0", 2), ("id-2", 1)):
        os.utime(root / name / "log.jsonl", (second, second))
    (root / "notes").mkdir()
    assert {row.id for row in FileStore(root).glance()} == {"id-1", "id-3", "id-4"}
    assert not (root / ".list").exists()
    monkeypatch.setattr(index, "WORTH", len(states) + 3)  # few are listed at once
    assert FileStore(root).glance() == []
    assert FileStore(root / "none").glance() == []


def test_a_glance_reads_the_end_alone(root: Path, store: FileStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index, "LINE", 1)
    monkeypatch.setattr(index, "LAST", 2)
    monkeypatch.setattr(index, "END", 500)
    many(store)
    store.list()
    assert (root / ".list").stat().st_size > 800
    assert FileStore(root).glance() == store.list()[:2]


def test_what_could_not_be_read_for_a_moment_is_read_again(
    root: Path, store: FileStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    many(store)

    def no_more(path: str, *args: Any) -> bytes:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE), path)

    with monkeypatch.context() as patch:
        patch.setattr(labels, "read_small", no_more)
        patch.setattr(file_list, "read_whole", no_more)
        assert [row.title for row in store.list()] == [""] * 5
    assert {row.title for row in store.list()} == {"message 0"}
    assert FileStore(root).list() == store.list()


def test_a_glance_finds_rows_with_long_texts_too(root: Path, store: FileStore) -> None:
    for n in range(index.LINE):
        state = State("\U0001f525" * 300, id=f"id-{n}-{'x' * 100}")
        state.rename("\U0001f525" * 300)
        store.save(state)
    expected = store.list()
    assert FileStore(root).glance() == expected


def test_a_glance_shows_the_last_of_many_that_changed_at_once(
    root: Path, store: FileStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index, "LINE", 1)
    monkeypatch.setattr(index, "LAST", 4)
    states = [saved(store, f"id-{n}") for n in range(40)]
    store.list()
    for state in states[15::-1]:
        state.add_user_message("more")
        store.save(state)
    before = (root / ".list").read_bytes()
    store.list()
    assert (root / ".list").read_bytes().startswith(before)
    assert FileStore(root).glance() == store.list()[:4]


def test_the_rows_of_another_version_are_not_believed(
    root: Path, store: FileStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    many(store)
    with monkeypatch.context() as patch:
        patch.setattr(index, "SHAPE", index.SHAPE + 1)
        patch.setattr(index, "_kept", lambda stamp, row: [*stamp, row.id, "another"])
        expected = FileStore(root).list()
        assert b"another" in (root / ".list").read_bytes()
    monkeypatch.setattr(file_list.Listing, "_newest", lambda self: {})
    assert FileStore(root).glance() == []
    assert FileStore(root).list() == expected
    assert FileStore(root).glance() == expected
