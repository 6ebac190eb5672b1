"""`StoreContract`: every promise of a store as a test. It knows the stores' contract, and needs pytest only to be run.

class TestMyStore(StoreContract):
    def make_store(self, tmp_path):
        return MyStore(tmp_path)
"""

# ruff: noqa: D102  the name of each test is its promise; pytest itself is not imported here

from __future__ import annotations

import functools

from fireside.contract_driver import HARD_TEXTS, HARD_VALUES, WRONG_IDS, Driven, label, promise, raises, row
from fireside.contract_saves import SavesContract
from fireside.errors import ConflictError, StateInUseError
from fireside.state import State


class StoreContract(SavesContract):
    """The test suite of a store: subclass it under a name that pytest collects, and return a fresh, empty store from
    `make_store` (it may be a coroutine). What the store does not give (`list`, `delete`, `lock`) is skipped.

    Where one place can be opened twice, `reopen` returns a second store for it. `use_async` drives a store that has both
    kinds of names through the async ones.
    """

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


__all__ = ["StoreContract", "promise", "raises"]
