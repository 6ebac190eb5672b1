"""Full text over a store: what is said is found, what is gone is not, and the index may be lost at any time."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest
from fireside.state import State
from fireside.stores.file import FileStore
from fireside_tui.search import SearchIndex
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st


@pytest.fixture
def store(tmp_path: Path) -> FileStore:
    return FileStore(tmp_path / "store")


@pytest.fixture
def index(tmp_path: Path, store: FileStore) -> Any:
    with SearchIndex(tmp_path / "cache" / "search.sqlite", store) as index:
        yield index


def add(store: FileStore, task: str, *more: str, id: str | None = None) -> State:
    state = State(task, id=id)
    for text in more:
        state.add_user_message(text)
    store.save(state)
    return state


def found(index: SearchIndex, query: str) -> list[str]:
    index.update()
    return [hit.id for hit in index.search(query)]


def test_finds_all_words_in_one_place_and_shows_it(store: FileStore, index: SearchIndex) -> None:
    add(store, "Why does the login test fail?", "It fails on Mondays, since\nthe fixture freezes the date", id="a")
    add(store, "A trip to Lisbon on Monday", id="b")
    assert found(index, "MONDAY lisbon") == ["b"]
    assert found(index, "monday login") == []
    (hit,) = index.search("fixture date")
    assert (hit.id, hit.title, hit.seq) == ("a", "Why does the login test fail?", 1)
    assert "the fixture freezes the date" in hit.snippet
    assert [hit.snippet[start:end] for start, end in hit.marks] == ["fixture", "date"]
    assert hit.at.tzinfo is not None


def test_one_hit_a_conversation_up_to_the_limit(store: FileStore, index: SearchIndex) -> None:
    for n in range(5):
        add(store, "spam", "spam and spam", "spam", id=f"s{n}")
    index.update()
    assert sorted(hit.id for hit in index.search("spam")) == [f"s{n}" for n in range(5)]
    assert len(index.search("spam", limit=3)) == 3
    assert index.search("spam", limit=0) == []


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("Crème brûlée", "creme BRULEE"),
        ("日本語の文章を検索する", "文章"),
        ("the 日本 trip", "日本"),
        ("Привет, мир", "привет"),
        ("snake_case_name", "case_name"),
        ("it's log-in.py", "log-in.py"),
        ("half a word", "wor"),
        ("emoji 🎉 party", "party"),
        ("हिन्दी में", "हिन्दी"),
    ],
)
def test_finds_in_any_script(store: FileStore, index: SearchIndex, text: str, query: str) -> None:
    add(store, text, id="a")
    assert found(index, query) == ["a"]
    hit = index.search(query)[0]
    assert hit.snippet == text
    assert hit.marks


def test_replies_and_tool_results_are_found_and_only_what_is_new_is_read(store: FileStore, index: SearchIndex) -> None:
    state = add(store, "hello", id="a")
    add(store, "other", id="b")
    assert index.update() == 2
    assert index.update() == 0
    call = {"type": "tool_call", "id": "c", "name": "t", "args": {}}
    blocks = [{"type": "text", "text": "walrus"}, {"type": "thinking", "text": "secret"}, call]
    state._append("reply", {"blocks": blocks, "stop_reason": "tool_use", "usage": {}, "seen": 0})
    state._append("tool_result", "penguin", call=state.pending_calls[0])
    store.save(state)
    assert index.update() == 1
    assert found(index, "walrus") == found(index, "penguin") == found(index, "hello") == ["a"]
    assert found(index, "secret") == []


def test_a_cut_reply_is_found_whole(store: FileStore, index: SearchIndex) -> None:
    state = add(store, "hello", id="a")
    state._append("partial_reply", {"seen": 0, "attempt": 1, "delta": [[0, "text", "half an ans"]]})
    state._append("partial_reply", {"seen": 0, "attempt": 1, "delta": [[0, "text", "wer"]], "cut": True})
    store.save(state)
    assert found(index, "answer") == ["a"]


def test_a_rename_is_found_and_the_old_title_is_not(store: FileStore, index: SearchIndex) -> None:
    state = add(store, "hello", id="a")
    state.rename("zebra")
    store.save(state)
    assert found(index, "zebra") == ["a"]
    assert index.search("zebra")[0].seq == -1
    state.rename("tiger")
    store.save(state)
    assert found(index, "zebra") == []
    assert index.search("tiger")[0].title == "tiger"


def test_deleted_conversations_are_gone_and_an_id_may_come_back(store: FileStore, index: SearchIndex) -> None:
    add(store, "first life", id="a")
    assert found(index, "life") == ["a"]
    store.delete("a")
    assert found(index, "life") == []
    add(store, "second", id="a")
    assert found(index, "second") == ["a"]
    assert found(index, "first") == []


def test_the_file_may_be_lost_damaged_or_of_another_version(tmp_path: Path, store: FileStore) -> None:
    add(store, "hello", id="a")
    path = tmp_path / "i.sqlite"
    for damage in (lambda: None, path.unlink, lambda: path.write_bytes(b"x" * 5000), lambda: _other_version(path)):
        damage()
        with SearchIndex(path, store) as index:
            assert found(index, "hello") == ["a"]
    assert path.stat().st_mode & 0o777 == 0o600


def _other_version(path: Path) -> None:
    db = sqlite3.connect(path)
    db.execute("PRAGMA user_version = 99")
    db.close()


def test_a_file_damaged_in_the_middle_of_its_use(tmp_path: Path, store: FileStore) -> None:
    for n in range(30):
        add(store, f"hello {n} " + "words " * 50, id=f"a{n}")
    path = tmp_path / "i.sqlite"
    with SearchIndex(path, store) as index:
        index.update()
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * 12000)
    with SearchIndex(path, store) as index:
        assert len(found(index, "hello")) == 30


def test_a_place_that_cannot_be_written_gives_an_index_in_memory(tmp_path: Path, store: FileStore) -> None:
    (tmp_path / "file").write_text("")
    add(store, "hello", id="a")
    with SearchIndex(tmp_path / "file" / "i.sqlite", store) as index:
        assert found(index, "hello") == ["a"]


def test_the_stores_error_is_raised_and_progress_is_told(tmp_path: Path, store: FileStore) -> None:
    for n in range(3):
        add(store, "x", id=f"a{n}")
    told: list[tuple[int, int]] = []
    with SearchIndex(tmp_path / "i.sqlite", store) as index:
        index.update(lambda done, of: told.append((done, of)))
        assert told == [(1, 3), (2, 3), (3, 3)]

        def fail() -> list[Any]:
            raise PermissionError("no")

        store.list = fail  # type: ignore[method-assign]
        with pytest.raises(PermissionError):
            index.update()
        assert index.search("x")


def test_two_indexes_share_a_file(tmp_path: Path, store: FileStore) -> None:
    add(store, "hello", id="a")
    with SearchIndex(tmp_path / "i.sqlite", store) as one, SearchIndex(tmp_path / "i.sqlite", store) as two:
        assert found(one, "hello") == found(two, "hello") == ["a"]
        add(store, "there", id="b")
        assert two.update() == 1
        assert one.update() == 0
        assert found(one, "there") == ["b"]


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(query=st.text() | st.text("\"'*^:(){}-+ANDORNOTEAR\x00\ud800日 "))
def test_no_query_raises(index: SearchIndex, query: str) -> None:
    index.search(query)


def test_nasty_text_is_indexed(store: FileStore, index: SearchIndex) -> None:
    add(store, "a\x00b \x02c\x03 \x1f \ud800 needle \u202e\x1b[2J", id="a")
    assert found(index, "needle") == ["a"]
    hit = index.search("needle")[0]
    assert [hit.snippet[start:end] for start, end in hit.marks] == ["needle"]
