"""What FileStore does with files that a crash, a full disk, an editor or a bad sector left behind."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest
from fireside.errors import ConflictError
from fireside.state import State
from fireside.stores import label as labels
from fireside.stores.file import FileStore


def saved(store: FileStore, id: str = "x", messages: int = 5) -> State:
    """A State with `messages` entries, saved one by one."""
    state = State("message 0", id=id)
    store.save(state)
    for n in range(1, messages):
        state.add_user_message(f"message {n}")
        store.save(state)
    return state


def texts(state: State) -> list[str]:
    return [entry.text for entry in state.history if entry.kind == "user"]


def lines(root: Path) -> list[bytes]:
    return (root / "x/log.jsonl").read_bytes().split(b"\n")[:-1]


def put(root: Path, data: bytes) -> None:
    (root / "x/log.jsonl").write_bytes(data)


class TestTails:
    @pytest.mark.parametrize("torn", [b'{"seq":5,"kind":"us', b"\0" * 700, b"\xff\xfe", b'"', b"\xf0\x9f"])
    def test_a_torn_tail_is_left_out_and_cut_before_the_next_append(
        self, root: Path, store: FileStore, torn: bytes
    ) -> None:
        state = saved(store)
        whole = (root / "x/log.jsonl").read_bytes()
        put(root, whole + torn)
        loaded = FileStore(root).load("x")
        assert loaded.to_json() == state.to_json()
        record = store.read("x")
        assert record is not None
        assert (record.next_seq, record.damaged) == (5, 0)
        loaded.add_user_message("message 5")
        FileStore(root).save(loaded)
        assert (root / "x/log.jsonl").read_bytes().startswith(whole)
        assert texts(FileStore(root).load("x")) == [f"message {n}" for n in range(6)]
        assert torn in (root / "x/log.torn").read_bytes()

    def test_a_tail_cut_anywhere_loses_only_what_was_not_whole(self, root: Path, store: FileStore) -> None:
        saved(store)
        data = (root / "x/log.jsonl").read_bytes()
        (root / "x/snapshot.json").unlink()
        ends = [at + 1 for at, byte in enumerate(data) if byte == 0x0A]
        for size in range(ends[0], len(data) + 1, 3):
            put(root, data[:size])
            kept = sum(end <= size or end - 1 == size for end in ends)  # the newline alone may be missing
            assert texts(FileStore(root).load("x")) == [f"message {n}" for n in range(kept)]

    def test_a_last_line_without_its_newline_is_whole(self, root: Path, store: FileStore) -> None:
        state = saved(store)
        put(root, (root / "x/log.jsonl").read_bytes()[:-1])
        loaded = FileStore(root).load("x")
        assert loaded.to_json() == state.to_json()
        loaded.add_user_message("message 5")
        FileStore(root).save(loaded)
        assert texts(FileStore(root).load("x")) == [f"message {n}" for n in range(6)]
        assert b"\n\n" not in (root / "x/log.jsonl").read_bytes()

    def test_a_live_state_goes_on_over_a_tail_that_somebody_else_left(self, root: Path, store: FileStore) -> None:
        state = saved(store)
        with (root / "x/log.jsonl").open("ab") as file:
            file.write(b'{"seq":5,"ki')
        state.add_user_message("message 5")
        store.save(state)
        assert FileStore(root).load("x").to_json() == state.to_json()


class TestDamageInTheMiddle:
    @pytest.mark.parametrize(
        "spoil",
        [
            lambda line: line[: len(line) // 2],
            lambda line: b"\0" * len(line),
            lambda line: line.replace(b"message", b"\xff\xfe\xfd"),
            lambda line: b"[1, 2, 3]",
            lambda line: b"null",
            lambda line: b'{"seq": "two"}',
            lambda line: line.replace(b'"seq":2', b'"seq":987654321012'),
        ],
    )
    def test_a_damaged_line_is_told_and_stays_and_the_rest_is_there(
        self, root: Path, store: FileStore, spoil: object
    ) -> None:
        saved(store)
        before = lines(root)
        bad = spoil(before[2])  # type: ignore[operator]
        put(root, b"\n".join([*before[:2], bad, *before[3:], b""]))
        record = FileStore(root).read("x")
        assert record is not None
        assert (len(record.entries), record.next_seq, record.damaged) == (4, 5, 1)
        loaded = FileStore(root).load("x")
        assert texts(loaded) == ["message 0", "message 1", "message 3", "message 4"]
        assert "entries 2" in loaded.history[-1].text
        FileStore(root).save(loaded)
        assert lines(root)[2] == bad
        again = FileStore(root).load("x")
        assert again.to_json() == loaded.to_json()

    def test_a_whole_entry_glued_to_half_a_one_is_read(self, root: Path, store: FileStore) -> None:
        saved(store)
        before = lines(root)
        put(root, b"\n".join([*before[:2], before[2][:40] + before[3], before[4], b""]))
        assert texts(FileStore(root).load("x")) == ["message 0", "message 1", "message 3", "message 4"]

    def test_an_entry_behind_nuls_is_read(self, root: Path, store: FileStore) -> None:
        state = saved(store)
        before = lines(root)
        put(root, b"\n".join([*before[:2], b"\0" * 4096 + before[2], *before[3:], b""]))
        assert FileStore(root).load("x").to_json() == state.to_json()

    def test_a_line_broken_in_two_is_not_read_as_one(self, root: Path, store: FileStore) -> None:
        saved(store)
        before = lines(root)
        put(root, b"\n".join([*before[:2], before[2].replace(b"message", b"mess\nage"), *before[3:], b""]))
        assert texts(FileStore(root).load("x")) == ["message 0", "message 1", "message 3", "message 4"]

    def test_damaged_last_lines_keep_their_places(self, root: Path, store: FileStore) -> None:
        saved(store)
        before = lines(root)
        (root / "x/snapshot.json").unlink()
        put(root, b"\n".join([*before[:3], b"\0" * 9, b"garbage", b""]))
        record = FileStore(root).read("x")
        assert record is not None
        assert (record.next_seq, record.damaged) == (5, 2)
        loaded = FileStore(root).load("x")
        FileStore(root).save(loaded)
        assert "entries 3 to 4" in loaded.history[-1].text
        assert FileStore(root).load("x").to_json() == loaded.to_json()

    def test_whole_lines_that_were_lost_are_told_by_the_label(self, root: Path, store: FileStore) -> None:
        saved(store)
        put(root, b"\n".join([*lines(root)[:3], b""]))
        record = FileStore(root).read("x")
        assert record is not None
        assert (record.next_seq, record.damaged) == (5, 1)
        loaded = FileStore(root).load("x")
        assert "entries 3 to 4" in loaded.history[-1].text
        FileStore(root).save(loaded)
        assert FileStore(root).load("x").to_json() == loaded.to_json()

    def test_a_list_tells_nothing_of_lines_that_were_lost(self, root: Path, store: FileStore) -> None:
        state = saved(store)
        state.rename("Another title")
        store.save(state)
        log = root / "x" / "log.jsonl"
        log.write_bytes(b"".join(log.read_bytes().splitlines(True)[:-1]))
        for again in (store, FileStore(root)):
            assert [row.title for row in again.list()] == [again.load("x").title] != ["Another title"]

    def test_a_lost_log_is_told_and_the_state_goes_on(self, root: Path, store: FileStore) -> None:
        saved(store)
        (root / "x/log.jsonl").unlink()
        assert [row.task for row in FileStore(root).list()] == ["message 0"]
        loaded = FileStore(root).load("x")
        assert "entries 0 to 4" in loaded.history[0].text
        loaded.add_user_message("go on")
        FileStore(root).save(loaded)
        assert FileStore(root).load("x").to_json() == loaded.to_json()

    def test_every_single_byte_may_be_damaged(self, root: Path, store: FileStore) -> None:
        state = saved(store, messages=3)
        data = (root / "x/log.jsonl").read_bytes()
        kept = [entry["seq"] for entry in state.to_json()["entries"]]
        for at in range(0, len(data), 2):
            for value in (0, 0x0A, data[at] ^ 0x55):
                put(root, data[:at] + bytes([value]) + data[at + 1 :])
                record = FileStore(root).read("x")
                assert record is not None
                hit = data[:at].count(b"\n")
                there = {entry["seq"] for entry in record.entries}
                assert there >= set(kept) - {hit, hit + 1}
                FileStore(root).load("x")


class TestLabels:
    @pytest.mark.parametrize("label", [b"", b"{", b"\0" * 300, b"null", b"[]", b'{"v":1}', b"\xff", None])
    def test_a_damaged_label_is_computed_again(self, root: Path, store: FileStore, label: bytes | None) -> None:
        state = saved(store)
        saved(store, "other")
        expected = store.list()
        path = root / "x/snapshot.json"
        path.unlink()
        if label is not None:
            path.write_bytes(label)
        assert FileStore(root).list() == expected
        assert FileStore(root).load("x").to_json() == state.to_json()
        state.add_user_message("on")
        store.save(state)
        assert json.loads(path.read_bytes())["entries"] == 6

    @pytest.mark.parametrize("lost", [False, True])
    def test_a_next_place_far_behind_the_log_is_not_believed(self, root: Path, store: FileStore, lost: bool) -> None:
        state = saved(store)
        path, log = root / "x/snapshot.json", root / "x/log.jsonl"
        label = labels.decode(path.read_bytes())
        assert label is not None
        path.write_bytes(labels.encode(label.content, 2**60, label.size))
        if lost:
            log.unlink()
        record = FileStore(root).read("x")
        assert record is not None
        assert (record.next_seq, record.damaged) == (0 if lost else 5, 1)
        again = FileStore(root).load("x")
        assert lost or again.to_json() == state.to_json()
        again.add_user_message("go on")
        FileStore(root).save(again)
        assert FileStore(root).load("x").to_json() == again.to_json()
        label = labels.decode(path.read_bytes())
        assert label is not None
        assert label.next_seq == again.history[-1].seq + 1

    def test_half_a_label_is_computed_again(self, root: Path, store: FileStore) -> None:
        saved(store)
        expected = store.list()
        path = root / "x/snapshot.json"
        whole = path.read_bytes()
        for size in range(len(whole)):
            path.write_bytes(whole[:size])
            assert FileStore(root).list() == expected

    def test_a_stale_label_is_computed_again(self, root: Path, store: FileStore) -> None:
        state = saved(store)
        old = (root / "x/snapshot.json").read_bytes()
        state.rename("New title")
        state.add_user_message("newer")
        store.save(state)
        (root / "x/snapshot.json").write_bytes(old)
        (row,) = FileStore(root).list()
        assert (row.title, row.updated_at) == ("New title", state.updated_at)

    def test_a_label_of_another_state_is_not_believed(self, root: Path, store: FileStore) -> None:
        saved(store, "x")
        saved(store, "y")
        (root / "x/snapshot.json").write_bytes((root / "y/snapshot.json").read_bytes())
        assert sorted(row.id for row in FileStore(root).list()) == ["x", "y"]

    def test_a_label_of_a_newer_format_is_refused_whatever_its_sum(self, root: Path, store: FileStore) -> None:
        saved(store)
        (root / "x/snapshot.json").write_text('{"v": 2, "id": "x", "shape": "unknown"}')
        with pytest.raises(ValueError, match="newer"):
            FileStore(root).load("x")
        assert [row.id for row in FileStore(root).list()] == ["x"]

    def test_a_label_is_small_whatever_the_length(self, root: Path, store: FileStore) -> None:
        state = State("words " * 10_000, id="x")
        for _ in range(200):
            state.add_user_message("more " * 100)
        store.save(state)
        assert (root / "x/snapshot.json").stat().st_size < 600


class TestTheFolder:
    @pytest.mark.parametrize("path", ["", "a\0b"])
    def test_a_path_that_is_none_is_refused(self, path: str) -> None:
        with pytest.raises(ValueError, match="no place for a store"):
            FileStore(path)

    @pytest.mark.parametrize("below", ["", "/below"])
    def test_a_file_in_its_place_is_told_by_every_call(self, tmp_path: Path, below: str) -> None:
        (tmp_path / "file").write_text("x")
        store = FileStore(f"{tmp_path}/file{below}")
        calls = (store.list, lambda: store.save(State("hello", id="x")), lambda: store.load("x"))
        for call in (*calls, lambda: store.read("x"), lambda: store.delete("x"), lambda: store.lock("x")):
            with pytest.raises(NotADirectoryError, match="is a file or lies below one"):
                call()
        assert (tmp_path / "file").read_text() == "x"

    def test_foreign_things_hide_nothing(self, root: Path, store: FileStore) -> None:
        saved(store)
        (root / "a file").write_text("x")
        (root / "name").write_text("x")
        (root / "empty").mkdir()
        (root / "foreign").mkdir()
        (root / "foreign/notes.txt").write_text("x")
        (root / ".git").mkdir()
        (root / "with space").mkdir()
        (root / "with space/log.jsonl").write_text("{}")
        (root / "loop").symlink_to(root / "loop")
        (root / "unreadable").mkdir()
        (root / "unreadable/log.jsonl").mkdir()
        assert "x" in [row.id for row in FileStore(root).list()]
        assert store.read("empty") is None
        assert store.read("foreign") is None
        assert store.read("name") is None
        store.save(State("into an empty folder", id="empty"))
        assert store.load("empty").task == "into an empty folder"

    def test_a_conversation_of_garbage_is_listed_and_hides_nothing(self, root: Path, store: FileStore) -> None:
        saved(store, "good")
        saved(store, "x")
        put(root, os.urandom(3000) + b"\n")
        (root / "x/snapshot.json").write_bytes(os.urandom(300))
        assert sorted(row.id for row in FileStore(root).list()) == ["good", "x"]
        FileStore(root).load("x")

    def test_only_the_owner_can_read(self, root: Path, store: FileStore) -> None:
        before = os.umask(0)
        try:
            state = saved(store)
            with (root / "x/log.jsonl").open("ab") as file:
                file.write(b"torn")
            state.add_user_message("on")
            FileStore(root).save(state)
        finally:
            os.umask(before)
        for path in [root, *root.rglob("*")]:
            assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path

    def test_names_of_folders(self, root: Path, store: FileStore) -> None:
        for id in ("review-pr-42", "Ab", "aB", "con"):
            store.save(State("x", id=id))
        assert sorted(path.name for path in root.iterdir()) == [".locks", "=con", "Ab.1", "aB.2", "review-pr-42"]

    def test_what_a_cut_off_deletion_left_is_neither_listed_nor_kept(self, root: Path, store: FileStore) -> None:
        saved(store)
        (root / "x").rename(root / ".deleted-0123456789abcdef")
        fresh = FileStore(root)
        assert fresh.list() == []
        assert fresh.read("x") is None
        assert not (root / ".deleted-0123456789abcdef").exists()

    def test_what_a_cut_off_creation_left_goes_when_it_is_old(self, root: Path, store: FileStore) -> None:
        saved(store)
        for name in (".new-old", ".new-young"):
            (root / name).mkdir()
        os.utime(root / ".new-old", (0, 0))
        assert [row.id for row in FileStore(root).list()] == ["x"]
        assert not (root / ".new-old").exists()
        assert (root / ".new-young").exists()

    def test_nothing_is_made_by_looking(self, root: Path, store: FileStore) -> None:
        assert store.list() == []
        assert store.read("x") is None
        assert store.holder("x") is None
        store.delete("x")
        with pytest.raises(LookupError):
            store.load("x")
        assert not root.exists()

    def test_a_store_that_is_behind_reads_what_another_wrote(self, root: Path, store: FileStore) -> None:
        state = saved(store)
        other = FileStore(root).load("x")
        other.add_user_message("from the other")
        FileStore(root).save(other)
        with pytest.raises(ConflictError):
            store.write("x", [{**state.to_json()["entries"][0], "seq": 5}], None)
        state.add_user_message("and mine")
        store.save(state)
        assert texts(store.load("x"))[-2:] == ["from the other", "and mine"]
