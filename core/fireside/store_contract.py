"""`StoreContract`: every promise of a store as a test. It knows the stores' contract, and needs pytest only to be run.

class TestMyStore(StoreContract):
    def make_store(self, tmp_path):
        return MyStore(tmp_path)
"""

# ruff: noqa: D102, PT017, PT018  the name of each test is its promise; pytest itself is not imported here

from __future__ import annotations

import asyncio
import contextlib
import functools
import inspect
import threading
from builtins import list as List
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from unittest import SkipTest

from fireside.errors import ConflictError, Holder, StateInUseError
from fireside.fold import UNKNOWN_RESULT
from fireside.history import VERSION
from fireside.messages import Json
from fireside.state import State
from fireside.stores.base import Lock, Record, SavedState, Store

Row = dict[str, Json]

HARD_TEXTS = (
    "plain",
    "",
    "line\nline\r\nline\rline",
    "\u2028 \u2029 \x85 \x0b \x0c \x1c",
    "NUL \0 and \x01 \x1b[2J \x7f",
    "half an emoji \ud83d and the other half \ude00 of another",
    "\ufeff 🔥 e\u0301 \U0010ffff",
    '"quotes" \\ back \\u0000 \\ud800 %s {} \'; drop table',
    "long " * 50_000,
)
"""Texts that stores have lost or spoiled."""

HARD_VALUES: tuple[Json, ...] = (
    None,
    True,
    0,
    -(2**63) - 1,
    10**30,
    0.1,
    1e308,
    {"": "", "nested": [[], {}, [None, [1, "a"]]], "\0": "\ud800"},
)

WRONG_IDS = ("", ".", "..", "../x", "/tmp/x", "a/b", "..\\x", "a\0", "a\n", "a b", "é", "a" * 129)


class Driven:
    """A store, called by its sync or its async names."""

    def __init__(self, store: Store, use_async: bool) -> None:
        self.store = store
        self.inline = not use_async and store._own("write") is not None

    def has(self, name: str) -> bool:
        return bool(self.store._own(name) or self.store._own(f"a{name}"))

    def needs(self, *names: str) -> None:
        """Skips a test of what the store does not give."""
        for name in names:
            there = self.store.has_locks() if name == "lock" else self.has(name)
            if not there:
                raise SkipTest(f"{type(self.store).__name__} has no {name}")

    async def _call(self, name: str, *args: Any, **rest: Any) -> Any:
        return await self.store._do(name, *args, inline=self.inline, **rest)

    async def write(self, id: str, entries: List[Row], snapshot: Row | None = None, *, create: bool = False) -> None:
        await self._call("write", id, entries, snapshot, create=create)

    async def read(self, id: str) -> Record:
        record = await self.find(id)
        assert record is not None, f"{id!r} is not in the store"
        return record

    async def find(self, id: str) -> Record | None:
        return await self._call("read", id)  # type: ignore[no-any-return]

    async def list(self) -> List[SavedState]:
        return await self._call("list")  # type: ignore[no-any-return]

    async def delete(self, id: str) -> None:
        await self._call("delete", id)

    async def lock(self, id: str) -> Lock:
        return await self._call("lock", id)  # type: ignore[no-any-return]

    async def holder(self, id: str) -> Holder | None:
        return await self._call("holder", id)  # type: ignore[no-any-return]

    async def release(self, lock: Lock) -> None:
        """In a thread where the store is async: a release may wait for its loop."""
        lock.release() if self.inline else await asyncio.to_thread(lock.release)

    @contextlib.asynccontextmanager
    async def locked(self, id: str) -> AsyncIterator[Lock]:
        lock = await self.lock(id)
        try:
            yield lock
        finally:
            await self.release(lock)

    async def save(self, state: State) -> bool:
        return self.store.save(state) if self.inline else await self.store.asave(state)

    async def load(self, id: str) -> State:
        return self.store.load(id) if self.inline else await self.store.aload(id)

    async def at_once(self, work: Sequence[Callable[[], Awaitable[Any]]]) -> List[Any]:
        """Runs calls at the same time, in threads of their own where the store is sync; what each gave or raised."""

        async def told(one: Callable[[], Awaitable[Any]]) -> Any:
            try:
                return await one()
            except Exception as error:
                return error

        if not self.inline:
            return await asyncio.gather(*map(told, work))
        ready = threading.Barrier(len(work))

        def alone(one: Callable[[], Awaitable[Any]]) -> Any:
            ready.wait()
            return asyncio.run(told(one))

        with ThreadPoolExecutor(len(work)) as pool:
            return list(pool.map(alone, work))


Promise = Callable[[Any, Driven], Awaitable[None]]


def promise(test: Promise) -> Callable[[Any, Path], None]:
    """Makes a pytest test of a coroutine that gets the store."""

    def run(self: StoreContract, tmp_path: Path) -> None:
        async def whole() -> None:
            made = self.make_store(tmp_path)
            store: Store = await made if inspect.isawaitable(made) else made
            try:
                self._tmp_path = tmp_path
                await test(self, Driven(store, self.use_async))
            finally:
                await _close(store)

        asyncio.run(whole())

    run.__name__, run.__doc__, run.__qualname__ = test.__name__, test.__doc__, test.__qualname__
    functools.update_wrapper(run, test, assigned=("__module__",), updated=())
    del run.__dict__["__wrapped__"]  # pytest would read the coroutine's own signature
    return run


async def _close(store: Store) -> None:
    for name in ("aclose", "close"):
        if close := getattr(store, name, None):
            closed = close()
            if inspect.isawaitable(closed):
                await closed
            return


@contextlib.contextmanager
def raises(kind: type[BaseException], *words: str) -> Iterator[None]:
    """The block raises this kind of exception, and its text holds the words."""
    try:
        yield
    except kind as error:
        for word in words:
            assert word in str(error), f"{word!r} is not in {str(error)!r}"
    else:
        raise AssertionError(f"{kind.__name__} was not raised")


def row(seq: int, content: Json = "words", kind: str = "user", **rest: Json) -> Row:
    """A history entry as a dict."""
    out = {"seq": seq, "kind": kind, "turn": 0, "at": f"2026-01-01T00:{seq // 60 % 60:02}:{seq % 60:02}.000000Z"}
    if seq == 0:
        out["origin"] = {"v": VERSION, "id": "x"}
    return {**out, "content": content, **rest}


def label(id: str, task: str = "words", minute: int = 0, **rest: Json) -> Row:
    """A label, as a State makes it."""
    at = f"2026-01-01T00:{minute:02}:00+00:00"
    return {"v": VERSION, "id": id, "entries": 1, "turn": 0, "task": task, "created_at": at, "updated_at": at, **rest}


def with_open_call(id: str, name: str = "send_mail") -> State:
    """A State whose model has asked for a tool."""
    state = State("Write to Ann.", id=id)
    call = {"type": "tool_call", "id": "call_1", "name": name, "args": {"to": "ann"}}
    state._append(
        "reply",
        {"blocks": [call], "stop_reason": "tool_use", "usage": {"input": 1, "requests": 1}, "seen": 0, "model": "m"},
    )
    return state


class StoreContract:
    """The test suite of a store: subclass it under a name that pytest collects, and return a fresh, empty store from
    `make_store` (it may be a coroutine). What the store does not give (`list`, `delete`, `lock`) is skipped.

    Where one place can be opened twice, `reopen` returns a second store for it. `use_async` drives a store that has both
    kinds of names through the async ones.
    """

    use_async = False
    _tmp_path: Path

    def make_store(self, tmp_path: Path) -> Any:
        """A fresh, empty store, or a coroutine that gives one. `tmp_path` is an empty folder."""
        raise NotImplementedError("return a fresh store from make_store")

    def reopen(self, store: Store, tmp_path: Path) -> Store:
        """A second store for the same place; the same object where there can't be one."""
        return store

    @contextlib.asynccontextmanager
    async def _again(self, db: Driven) -> AsyncIterator[Driven]:
        other = self.reopen(db.store, self._tmp_path)
        try:
            yield Driven(other, self.use_async)
        finally:
            if other is not db.store:
                await _close(other)

    # -- write and read

    @promise
    async def test_an_id_that_is_not_there_reads_as_none(self, db: Driven) -> None:
        assert await db.find("nobody") is None

    @promise
    async def test_what_was_written_is_read(self, db: Driven) -> None:
        entries, snapshot = [row(0, "a"), row(1, "b")], label("x")
        await db.write("x", entries, snapshot, create=True)
        await db.write("x", [row(2, "c")], label("x", minute=5))
        record = await db.read("x")
        assert record.entries == [*entries, row(2, "c")]
        assert record.snapshot == label("x", minute=5)
        assert (record.next_seq, record.damaged) == (3, 0)

    @promise
    async def test_another_store_for_the_place_reads_the_same(self, db: Driven) -> None:
        await db.write("x", [row(0)], label("x"), create=True)
        async with self._again(db) as other:
            assert await other.read("x") == await db.read("x")
            await other.write("x", [row(1)], label("x", minute=1))
            assert await other.read("x") == await db.read("x")
            await db.write("x", [row(2)], label("x", minute=2))
            assert await other.read("x") == await db.read("x")

    @promise
    async def test_a_snapshot_of_none_keeps_the_current_one(self, db: Driven) -> None:
        await db.write("x", [row(0)], label("x", "first"), create=True)
        await db.write("x", [row(1)], None)
        assert (await db.read("x")).snapshot == label("x", "first")

    @promise
    async def test_a_first_write_may_come_without_a_snapshot(self, db: Driven) -> None:
        await db.write("x", [row(0)], None, create=True)
        record = await db.read("x")
        assert record.entries == [row(0)]

    @promise
    async def test_every_text_comes_back_as_it_was(self, db: Driven) -> None:
        entries = [row(seq, text) for seq, text in enumerate((*HARD_TEXTS, *HARD_VALUES))]
        await db.write("x", entries, label("x", HARD_TEXTS[5]), create=True)
        record = await db.read("x")
        assert record.entries == entries
        assert record.snapshot == label("x", HARD_TEXTS[5])

    @promise
    async def test_the_order_of_a_dict_stays(self, db: Driven) -> None:
        await db.write("x", [row(0, {"z": 1, "a": 2, "m": 3})], None, create=True)
        assert list((await db.read("x")).entries[0]["content"]) == ["z", "a", "m"]

    @promise
    async def test_what_was_read_is_the_callers_own(self, db: Driven) -> None:
        mine, written = row(0, {"list": [1]}), row(0, {"list": [1]})
        await db.write("x", [mine], label("x"), create=True)
        mine["content"]["list"].append(2)
        read = await db.read("x")
        assert read.entries == [written]
        read.entries[0]["content"]["list"].append(3)
        assert (await db.read("x")).entries == [written]

    @promise
    async def test_nothing_is_written_to_what_is_not_there(self, db: Driven) -> None:
        with raises(LookupError):
            await db.write("x", [row(0)], label("x"))
        assert await db.find("x") is None

    @promise
    async def test_an_id_is_made_once(self, db: Driven) -> None:
        await db.write("x", [row(0, "first")], label("x", "first"), create=True)
        with raises(ValueError):
            await db.write("x", [row(0, "second"), row(1)], label("x", "second"), create=True)
        with raises(ValueError):
            await db.write("x", [row(0, "first")], label("x", "first"), create=True)
        record = await db.read("x")
        assert (record.entries, record.snapshot) == ([row(0, "first")], label("x", "first"))

    @promise
    async def test_of_many_that_make_an_id_one_wins(self, db: Driven) -> None:
        makers = [functools.partial(db.write, "x", [row(0, f"{n}")], label("x"), create=True) for n in range(6)]
        told = await db.at_once(makers)
        assert [type(one) for one in told].count(type(None)) == 1
        assert [type(one) for one in told].count(ValueError) == 5
        assert (await db.read("x")).entries == [row(0, f"{told.index(None)}")]

    @promise
    async def test_a_retried_write_is_skipped(self, db: Driven) -> None:
        await db.write("x", [row(0), row(1)], label("x"), create=True)
        await db.write("x", [row(1), row(2)], label("x"))
        await db.write("x", [row(1), row(2)], label("x"))
        assert (await db.read("x")).entries == [row(0), row(1), row(2)]

    @promise
    async def test_a_retried_write_of_hard_texts_is_skipped(self, db: Driven) -> None:
        entries = [row(seq, text) for seq, text in enumerate((*HARD_TEXTS, *HARD_VALUES))]
        await db.write("x", entries[:1], label("x"), create=True)
        await db.write("x", entries, label("x"))
        await db.write("x", entries, label("x"))
        assert (await db.read("x")).entries == entries

    @promise
    async def test_an_entry_that_differs_is_a_conflict_and_nothing_is_written(self, db: Driven) -> None:
        await db.write("x", [row(0), row(1, "mine")], label("x", "mine"), create=True)
        with raises(ConflictError, "'x'"):
            await db.write("x", [row(1, "yours"), row(2)], label("x", "yours"))
        record = await db.read("x")
        assert (record.entries, record.snapshot) == ([row(0), row(1, "mine")], label("x", "mine"))

    @promise
    async def test_of_many_that_write_one_entry_one_wins(self, db: Driven) -> None:
        await db.write("x", [row(0)], label("x"), create=True)
        told = await db.at_once([functools.partial(db.write, "x", [row(1, f"{n}")], label("x")) for n in range(6)])
        assert [type(one) for one in told].count(type(None)) == 1
        assert [type(one) for one in told].count(ConflictError) == 5
        assert (await db.read("x")).entries == [row(0), row(1, f"{told.index(None)}")]

    @promise
    async def test_states_are_written_side_by_side(self, db: Driven) -> None:
        async def one(id: str) -> None:
            await db.write(id, [row(0)], label(id), create=True)
            for seq in range(1, 6):
                await db.write(id, [row(seq, id)], label(id))

        told = await db.at_once([functools.partial(one, f"id-{n}") for n in range(6)])
        assert told == [None] * 6, told
        for n in range(6):
            assert [entry["seq"] for entry in (await db.read(f"id-{n}")).entries] == list(range(6))

    # -- ids

    @promise
    async def test_ids_that_look_alike_are_different_states(self, db: Driven) -> None:
        ids = ["abc", "ABC", "Abc", "aBc", "-abc", "_abc", "con", "CON", "nul", "com1", "LPT9", "a" * 128, "A" * 128]
        for id in ids:
            await db.write(id, [row(0, id)], label(id, id), create=True)
        for id in ids:
            assert (await db.read(id)).entries == [row(0, id)]
        if db.has("list"):
            assert sorted(saved.id for saved in await db.list()) == sorted(ids)
        if db.has("delete"):
            await db.delete("ABC")
            assert (await db.read("abc")).entries == [row(0, "abc")]

    @promise
    async def test_a_wrong_id_is_refused(self, db: Driven) -> None:
        for id in WRONG_IDS:
            with raises(ValueError, "letters"):
                await db.load(id)
        with raises(TypeError):
            await db.load(7)  # type: ignore[arg-type]

    # -- list

    @promise
    async def test_the_list_is_newest_first(self, db: Driven) -> None:
        db.needs("list")
        assert await db.list() == []
        for id, minute in (("b", 3), ("a", 9), ("c", 1)):
            await db.write(id, [row(0)], label(id, minute=minute), create=True)
        assert [saved.id for saved in await db.list()] == ["a", "b", "c"]
        await db.write("c", [row(1)], label("c", minute=20))
        assert [saved.id for saved in await db.list()] == ["c", "a", "b"]

    @promise
    async def test_the_list_shows_what_the_state_says(self, db: Driven) -> None:
        db.needs("list")
        state = State("Review pull request 42\nand be quick", id="review")
        await db.save(state)
        (saved,) = await db.list()
        assert (saved.id, saved.task, saved.title) == ("review", state.task, "Review pull request 42")
        assert (saved.created_at, saved.updated_at) == (state.created_at, state.updated_at)
        assert (saved.turn, saved.stopped_by, saved.status, saved.finished) == (0, None, "new", False)
        state.rename("The review")
        state.finish("done")
        await db.save(state)
        (saved,) = await db.list()
        assert (saved.title, saved.status, saved.finished) == ("The review", "finished", True)
        assert saved.stopped_by == "finish"

    @promise
    async def test_a_damaged_label_hides_no_other_state(self, db: Driven) -> None:
        db.needs("list")
        await db.write("good", [row(0)], label("good"), create=True)
        await db.write("bad", [row(0)], {"created_at": 7, "nonsense": [1]}, create=True)
        await db.write("none", [row(0)], None, create=True)
        assert "good" in [saved.id for saved in await db.list()]

    @promise
    async def test_an_open_run_without_its_lock_is_interrupted(self, db: Driven) -> None:
        db.needs("list", "lock")
        await db.write("x", [row(0)], label("x", status="running"), create=True)
        assert [saved.status for saved in await db.list()] == ["interrupted"]
        async with db.locked("x"):
            assert [saved.status for saved in await db.list()] == ["running"]

    # -- delete

    @promise
    async def test_what_is_deleted_is_gone(self, db: Driven) -> None:
        db.needs("delete")
        await db.write("x", [row(0)], label("x"), create=True)
        await db.write("y", [row(0)], label("y"), create=True)
        await db.delete("x")
        await db.delete("x")
        await db.delete("never-there")
        assert await db.find("x") is None
        assert (await db.read("y")).entries == [row(0)]
        if db.has("list"):
            assert [saved.id for saved in await db.list()] == ["y"]

    @promise
    async def test_a_late_write_does_not_bring_it_back(self, db: Driven) -> None:
        db.needs("delete")
        state = State("hello", id="x")
        await db.save(state)
        async with self._again(db) as other:
            await other.delete("x")
        state.add_user_message("late")
        with raises(LookupError):
            await db.write("x", [row(1)], label("x"))
        with raises(LookupError):
            await db.save(state)
        assert await db.find("x") is None

    @promise
    async def test_a_deleted_state_can_be_put_back(self, db: Driven) -> None:
        db.needs("delete")
        state = State("hello", id="x")
        await db.save(state)
        state.rename("A title")
        await db.save(state)
        record = await db.read("x")
        await db.delete("x")
        await db.write("x", record.entries, record.snapshot, create=True)
        assert await db.read("x") == record
        state.add_user_message("and on")
        await db.save(state)
        assert (await db.load("x")).to_json() == state.to_json()

    @promise
    async def test_a_new_state_may_have_a_deleted_ones_id(self, db: Driven) -> None:
        db.needs("delete")
        await db.write("x", [row(0, "old"), row(1, "old")], label("x", "old"), create=True)
        await db.delete("x")
        await db.write("x", [row(0, "new")], label("x", "new"), create=True)
        record = await db.read("x")
        assert (record.entries, record.snapshot, record.next_seq) == ([row(0, "new")], label("x", "new"), 1)

    @promise
    async def test_a_state_that_runs_is_not_deleted(self, db: Driven) -> None:
        db.needs("delete", "lock")
        await db.write("x", [row(0)], label("x"), create=True)
        async with db.locked("x"):
            with raises(StateInUseError, "'x'"):
                await db.delete("x")
        assert (await db.read("x")).entries == [row(0)]
        await db.delete("x")
        assert await db.find("x") is None

    # -- locks

    @promise
    async def test_a_lock_is_held_by_one(self, db: Driven) -> None:
        db.needs("lock")
        await db.write("x", [row(0)], label("x"), create=True)
        lock = await db.lock("x")
        async with self._again(db) as other:
            for one in (db, other):
                with raises(StateInUseError, "'x'"):
                    await one.lock("x")
            told = await db.at_once([functools.partial(db.lock, "x") for _ in range(2)])
            assert [type(one) for one in told] == [StateInUseError] * 2
            await db.release(lock)
            await db.release(lock)
            async with other.locked("x"):
                with raises(StateInUseError):
                    await db.lock("x")

    @promise
    async def test_a_lock_tells_who_holds_it(self, db: Driven) -> None:
        db.needs("lock", "holder")
        assert await db.holder("x") is None
        async with self._again(db) as other:
            async with db.locked("x"):
                for one in (db, other):
                    holder = await one.holder("x")
                    assert holder is not None
                    assert holder.since.tzinfo is not None
                with raises(StateInUseError, str(await db.holder("x"))):
                    await other.lock("x")
            assert await db.holder("x") is None
            assert await other.holder("x") is None

    @promise
    async def test_a_lock_is_for_one_state_and_for_writers(self, db: Driven) -> None:
        db.needs("lock")
        await db.write("x", [row(0)], label("x"), create=True)
        await db.write("y", [row(0)], label("y"), create=True)
        async with db.locked("x"):
            async with db.locked("y"):
                pass
            assert (await db.read("x")).entries == [row(0)]
            await db.write("x", [row(1)], label("x"))

    @promise
    async def test_a_save_is_refused_while_another_runs_it(self, db: Driven) -> None:
        db.needs("lock")
        state = State("hello", id="x")
        await db.save(state)
        state.add_user_message("more")
        async with self._again(db) as other, other.locked("x"):
            with raises(StateInUseError, "'x'"):
                await db.save(state)
        assert await db.save(state)
        assert (await db.load("x")).to_json() == state.to_json()

    # -- save and load

    @promise
    async def test_a_loaded_state_equals_the_saved_one(self, db: Driven) -> None:
        state = State("hello", id="x", data={"n": 1, "text": HARD_TEXTS[5]})
        await db.save(state)
        for text in HARD_TEXTS:
            if text.strip():
                state.add_user_message(text)
        state.data["n"] = [1, {"a": None}]
        state.checkpoint("here", {"k": 1})
        del state.data["text"]
        state.rename("Ein Titel")
        state.finish({"answer": 42})
        await db.save(state)
        async with self._again(db) as other:
            for one in (db, other):
                loaded = await one.load("x")
                assert loaded.to_json() == state.to_json()
                assert (loaded.answer, loaded.title, loaded.data) == (state.answer, "Ein Titel", state.data)
                assert [message.to_json() for message in loaded.context] == [one.to_json() for one in state.context]

    @promise
    async def test_a_save_without_news_writes_nothing(self, db: Driven) -> None:
        state = State("hello", id="x")
        assert await db.save(state) is True
        assert await db.save(state) is False
        loaded = await db.load("x")
        assert await db.save(loaded) is False

    @promise
    async def test_an_unknown_id_is_a_lookup_error(self, db: Driven) -> None:
        with raises(LookupError, "nobody"):
            await db.load("nobody")

    @promise
    async def test_a_new_state_with_a_taken_id_is_refused(self, db: Driven) -> None:
        await db.save(State("first", id="x"))
        with raises(ValueError, "load('x')"):
            await db.save(State("second", id="x"))
        assert (await db.load("x")).task == "first"

    @promise
    async def test_a_state_is_saved_in_one_store(self, db: Driven) -> None:
        state = State("hello", id="x")
        await db.save(state)
        state.add_user_message("more")

        class Elsewhere(Store):
            pass

        with raises(ValueError, "another store"):
            Elsewhere().save(state)
        async with self._again(db) as other:
            assert (other.store == db.store) and hash(other.store) == hash(db.store)
            assert await other.save(state)

    @promise
    async def test_what_cannot_be_json_is_told_and_the_rest_is_saved(self, db: Driven) -> None:
        state = State("hello", id="x", data={"good": 1, "bad": object()})
        with raises(TypeError, "'bad'"):
            await db.save(state)
        loaded = await db.load("x")
        assert (loaded.task, loaded.data) == ("hello", {"good": 1})

    @promise
    async def test_a_call_without_its_result_is_told_as_unknown(self, db: Driven) -> None:
        await db.save(with_open_call("x"))
        loaded = await db.load("x")
        assert loaded.pending_calls == ()
        assert loaded.history[-1].text == UNKNOWN_RESULT
        assert await db.save(loaded)
        assert (await db.load("x")).to_json() == loaded.to_json()

    @promise
    async def test_a_state_that_another_runs_is_loaded_as_it_stands(self, db: Driven) -> None:
        db.needs("lock", "holder")
        state = with_open_call("x")
        await db.save(state)
        async with self._again(db) as other, other.locked("x"):
            assert (await db.load("x")).to_json() == state.to_json()

    @promise
    async def test_of_two_writers_neither_loses_what_it_wrote(self, db: Driven) -> None:
        await db.save(State("hello", id="x"))
        async with self._again(db) as other:
            one, two = await db.load("x"), await other.load("x")
            one.add_user_message("from one")
            two.add_user_message("from two")
            two.rename("by two")
            await db.save(one)
            await other.save(two)
            loaded = await db.load("x")
        assert [entry.text for entry in loaded.history] == ["hello", "from one", "from two", "by two"]
        assert loaded.to_json() == two.to_json()

    @promise
    async def test_what_cannot_go_behind_is_a_conflict_and_can_be_kept(self, db: Driven) -> None:
        await db.save(State("hello", id="x"))
        async with self._again(db) as other:
            one, two = await db.load("x"), await other.load("x")
            one.add_user_message("from one")
            two.finish("from two")
            await db.save(one)
            with raises(ConflictError, "fork"):
                await other.save(two)
            assert two.answer == "from two"
            fork = two.fork("kept")
            await other.save(fork)
            assert (await db.load("kept")).answer == "from two"
            assert [entry.text for entry in (await db.load("x")).history] == ["hello", "from one"]

    @promise
    async def test_a_newer_format_is_refused_and_still_listed(self, db: Driven) -> None:
        first = row(0, "from the future", origin={"v": VERSION + 1, "id": "x"})
        await db.write("x", [first], label("x", v=VERSION + 1), create=True)
        await db.write("y", [row(0), row(1)], label("y", v=VERSION + 1), create=True)
        for id in "xy":
            with raises(ValueError, "newer"):
                await db.load(id)
        if db.has("list"):
            assert sorted(saved.id for saved in await db.list()) == ["x", "y"]

    @promise
    async def test_an_unknown_kind_stays_and_the_rest_is_there(self, db: Driven) -> None:
        strange = row(1, {"any": "thing"}, "hologram")
        await db.write("x", [row(0, "hello"), strange, row(2, "there")], label("x"), create=True)
        loaded = await db.load("x")
        assert [message.text for message in loaded.context][:2] == ["hello", "there"]
        assert "missing" in loaded.history[-1].text
        await db.save(loaded)
        again = await db.load("x")
        assert again.to_json() == loaded.to_json()
        assert strange in (await db.read("x")).entries

    @promise
    async def test_the_async_names_work_in_a_loop(self, db: Driven) -> None:
        state = State("hello", id="x")
        assert await db.store.asave(state)
        for n in range(5):
            state.add_user_message(f"{n}")
        await asyncio.gather(*[db.store.asave(state) for _ in range(3)])
        loaded = await db.store.aload("x")
        assert loaded.to_json() == state.to_json()
        if db.has("list"):
            assert [saved.id for saved in await db.store.alist()] == ["x"]
        if db.has("delete"):
            await db.store.adelete("x")
            assert await db.store.aread("x") is None

    @promise
    async def test_an_async_store_says_so(self, db: Driven) -> None:
        if db.store._own("write") is not None:
            raise SkipTest("it has sync names")
        with raises(TypeError, "arun"):
            db.store.save(State("hello"))
        with raises(TypeError, "aread"):
            db.store.load("x")

    @promise
    async def test_a_cancelled_save_is_whole_or_absent(self, db: Driven) -> None:
        state = State("hello", id="x")
        await db.store.asave(state)
        for n in range(5):
            state.add_user_message(f"{n}")
            task = asyncio.ensure_future(db.store.asave(state))
            for _ in range(n):
                await asyncio.sleep(0)
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
            stored = await db.store.aread("x")
            assert stored is not None
            assert stored.entries == state.to_json()["entries"][: len(stored.entries)]
        await db.store.asave(state)
        assert (await db.store.aload("x")).to_json() == state.to_json()


__all__ = ["StoreContract", "promise", "raises"]
