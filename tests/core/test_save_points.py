"""Agent: when a run saves, and what it takes up from its store."""

from __future__ import annotations

from pathlib import Path

import pytest
from fireside import Agent, FileStore, ResumeWarning, State, tool
from fireside.testing import FakeModel, tool_call

from tests.core.agents import add, results


class Counting(FileStore):
    """A real store that counts its writes."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.writes: list[list[str]] = []

    def write(self, state_id, entries, snapshot, *, create=False):  # type: ignore[no-untyped-def]
        super().write(state_id, entries, snapshot, create=create)
        self.writes.append([entry["kind"] for entry in entries])


class TestSavePoints:
    def test_every_step_is_saved_as_it_goes(self, tmp_path: Path) -> None:
        store = Counting(tmp_path)
        agent = Agent(FakeModel([tool_call("add", a=1, b=2), "3"]), tools=[add], store=store)
        agent.run("1 + 2?")
        assert store.writes == [["user", "run_start"], ["reply"], ["tool_result"], ["reply"], ["stop"]]

    def test_nothing_is_written_when_nothing_changed(self, tmp_path: Path) -> None:
        store, state = Counting(tmp_path), State("go")
        agent = Agent(FakeModel(["x"]), store=store)
        agent.run(state)
        count = len(store.writes)
        agent.save(state)
        assert len(store.writes) == count

    def test_with_an_interval_steps_wait_but_for_what_may_not_be_lost(self, tmp_path: Path) -> None:
        @tool
        def send() -> str:
            return "sent"

        store, state = Counting(tmp_path), State("go")
        calls = [tool_call("add", a=1, b=n) for n in range(4)]
        agent = Agent(FakeModel([*calls, tool_call("send"), "done"]), tools=[add, send], store=store, save_every=5)
        agent.run(state)
        assert store.writes[0] == ["user", "run_start"]
        # the call that can't be repeated is on disk before it runs
        assert [writes[-1] for writes in store.writes] == ["run_start", "reply", "reply", "stop"]
        assert [len(writes) for writes in store.writes] == [2, 5, 4, 3]
        assert store.load(state.id).to_json() == state.to_json()

    def test_data_of_a_run_that_could_not_begin_is_saved_by_the_next(self, tmp_path: Path) -> None:
        class Full(FileStore):
            full = True

            def write(self, *args, **kwargs):  # type: ignore[no-untyped-def]
                if self.full:
                    raise OSError(28, "No space left on device")
                return super().write(*args, **kwargs)

        store, state = Full(tmp_path), State("go", id="s", data={"a": 1})
        agent = Agent(FakeModel(["Hi"]), store=store)
        with pytest.raises(OSError, match="space"):
            agent.run(state)
        store.full = False
        agent.run(state)
        assert store.load("s").data == {"a": 1}

    def test_data_that_json_can_not_hold_is_told_before_the_next_request(self, tmp_path: Path) -> None:
        @tool
        def spoil(state: State) -> str:
            state.data["bad"] = object()
            return "ok"

        store, model = Counting(tmp_path), FakeModel([tool_call("spoil"), "never"])
        state = State("go")
        with pytest.raises(TypeError, match="'bad'"):
            Agent(model, tools=[spoil], store=store).run(state)
        assert len(model.requests) == 1
        assert "tool_result" in [entry.kind for entry in store.load(state.id).history]

    def test_a_state_that_is_behind_its_store_is_brought_up_to_date_first(self, tmp_path: Path) -> None:
        store = FileStore(tmp_path)
        Agent(FakeModel(["one"]), store=store).run(State("go", id="s"))
        mine, theirs = store.load("s"), store.load("s")
        theirs.add_user_message("theirs")
        Agent(FakeModel(["two"]), store=store).run(theirs)
        mine.add_user_message("mine")
        model = FakeModel(["three"])
        assert Agent(model, store=store).run(mine) == "three"
        assert [message.text for message in model.requests[0].messages] == ["go", "one", "theirs", "two", "mine"]
        assert store.load("s").to_json() == mine.to_json()

    def test_a_run_that_died_while_one_looked_on_does_not_run_its_calls_again(self, tmp_path: Path) -> None:
        store = FileStore(tmp_path)
        state = State("go", id="s")
        state._append("run_start", {"agent": {}})
        state._append("reply", {"blocks": [{"type": "tool_call", "id": "c", "name": "add", "args": {"a": 1, "b": 2}}],
                                "stop_reason": "tool_use", "usage": {}, "model": "m", "seen": 1, "prefix": ""})  # fmt: skip
        store.save(state)
        lock = store.lock("s")
        looking_on = store.load("s")
        assert len(looking_on.pending_calls) == 1
        lock.release()
        agent = Agent(FakeModel(["I will check"], name="fake"), tools=[add], store=store)
        with pytest.warns(ResumeWarning):
            agent.run(looking_on)
        assert results(looking_on)[0].startswith("(unknown: ")
