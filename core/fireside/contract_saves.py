"""The part of `StoreContract` that is about States: saved, loaded, met by another writer. It knows its driver.

These promises are kept by what `Store` builds on `write` and `read`, and so by every store that keeps its own.
"""

# ruff: noqa: D102, PT018  the name of each test is its promise; pytest itself is not imported here

from __future__ import annotations

import asyncio
import contextlib
from unittest import SkipTest

from fireside.contract_driver import HARD_TEXTS, Contract, Driven, label, promise, raises, row, with_open_call
from fireside.errors import ConflictError
from fireside.history import VERSION
from fireside.items import UNKNOWN_RESULT
from fireside.state import State
from fireside.stores.base import Store


class SavesContract(Contract):
    """What a store promises of a State that is saved and loaded."""

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
