"""Which calls run, and where: never one that another process runs, that a dead one left, or that nobody said yes to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from fireside import Agent, FileStore, Record, State, StateInUseError, Store, open_store, tool
from fireside.items import UNKNOWN_RESULT
from fireside.testing import FakeHuman, FakeModel, tool_call

from tests.core.agents import results
from tests.core.stores.children import Child


@pytest.fixture(params=["file", "sqlite"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return str(tmp_path / "runs") if request.param == "file" else f"sqlite:///{tmp_path / 'runs.db'}"


def runs_elsewhere(address: str) -> Child:
    """A process that runs the State "x" and is at its second call."""

    def work(tell: Any, wait: Any) -> None:
        @tool(parallel=False)
        def pay(n: int) -> str:
            """Pays."""
            if n == 2:
                tell("at it")
                wait()
            return f"paid {n}"

        model = FakeModel([[tool_call("pay", n=1), tool_call("pay", n=2)], "done"])
        Agent(model, tools=[pay], store=open_store(address)).run(State("t", id="x"))

    child = Child(work)
    assert child.said() == "at it"
    return child


class Payer:
    """An Agent with the same tool, and what it paid."""

    def __init__(self, store: Store, *replies: Any, **settings: Any) -> None:
        self.paid: list[int] = []

        @tool
        def pay(n: int) -> str:
            """Pays."""
            self.paid.append(n)
            return f"paid {n} again"

        self.agent = Agent(FakeModel(replies), tools=[pay], store=store, **settings)


def test_use_tools_refuses_what_another_process_runs(address: str) -> None:
    child = runs_elsewhere(address)
    store = open_store(address)
    here = Payer(store)
    state = store.load("x")
    assert state.status == "running"
    with pytest.raises(StateInUseError):
        here.agent.use_tools(state)
    assert here.paid == []
    child.go()
    child.end()
    here.agent.use_tools(state)  # it has run meanwhile: the State is brought up to date
    assert here.paid == []
    assert state.answer == "done"
    assert sorted(results(state)) == ["paid 1", "paid 2"]


@pytest.mark.parametrize("ahead", [False, True])
def test_use_tools_does_not_run_what_a_killed_process_left(address: str, ahead: bool) -> None:
    child = runs_elsewhere(address)
    store = open_store(address)
    here = Payer(store)
    state = store.load("x")
    child.kill()
    if ahead:  # somebody else goes on first
        Payer(store, "I see.").agent.run(store.load("x"))
    here.agent.use_tools(state)
    assert here.paid == []
    assert sorted(results(state)) == [UNKNOWN_RESULT, "paid 1"]
    assert results(store.load("x")) == results(state)


def test_ones_own_calls_run_without_a_run(address: str) -> None:
    store = open_store(address)
    here = Payer(store, tool_call("pay", n=1), "done")
    state = State("t", id="x")
    here.agent.think(state)
    here.agent.use_tools(state)
    here.agent.think(state)
    assert (here.paid, state.answer) == ([1], "done")
    assert store.holder("x") is None
    assert store.load("x").to_json() == state.to_json()


def test_what_waited_for_a_persons_yes_does_not_run_where_nobody_can_be_asked(tmp_path: Path) -> None:
    def work(tell: Any, wait: Any) -> None:
        def approve(state: State, call: Any, tool: Any) -> bool:
            tell("asked")
            wait()
            return True

        asking = Payer(FileStore(tmp_path), tool_call("pay", n=1), approve=approve)
        asking.agent.run(State("t", id="x"))

    child = Child(work)
    assert child.said() == "asked"
    child.kill()
    here = Payer(FileStore(tmp_path), "I see.")
    state = here.agent.store.load("x")  # type: ignore[union-attr]
    assert state.status == "approval"
    assert here.agent.run(state) == "I see."
    assert here.paid == []
    assert results(state) == ["(denied: it waited for a person's answer, and here is nobody to ask)"]


def test_what_a_person_answered_is_saved_before_all_else(tmp_path: Path) -> None:
    """However rarely it is saved: a person is not asked twice what was answered once."""

    def work(tell: Any, wait: Any) -> None:
        @tool(read_only=True, parallel=False)
        def stall() -> str:
            """Stalls."""
            tell("stalls")
            wait()
            return ""

        model = FakeModel([[tool_call("ask_human", question="Which?"), tool_call("stall")]])
        human = FakeHuman(["the blue one"])
        agent = Agent(model, tools=[stall], human=human, save_every=50, store=FileStore(tmp_path))
        agent.run(State("t", id="x"))

    child = Child(work)
    assert child.said() == "stalls"
    child.kill()
    assert results(FileStore(tmp_path).load("x"))[0] == "the blue one"


class Mine(Store):
    """A user's own store, with what CORE.md lists: `write`, `read`, `lock`. Nobody can be asked who holds it."""

    def __init__(self) -> None:
        self.rows: dict[str, dict[int, Any]] = {}
        self.held: set[str] = set()

    def write(self, state_id: str, entries: Any, snapshot: Any, *, create: bool = False) -> None:
        for entry in entries:
            self.rows.setdefault(state_id, {}).setdefault(entry["seq"], entry)

    def read(self, state_id: str) -> Record | None:
        rows = self.rows.get(state_id)
        return Record([rows[seq] for seq in sorted(rows)]) if rows else None

    def lock(self, state_id: str) -> Any:
        if state_id in self.held:
            raise StateInUseError(state_id)
        self.held.add(state_id)
        return Held(self, state_id)


class Held:
    def __init__(self, store: Mine, state_id: str) -> None:
        self.store, self.state_id = store, state_id

    def release(self) -> None:
        self.store.held.discard(self.state_id)


class Reached(Store):
    """The same, asynchronously; its lock is given back asynchronously, too."""

    def __init__(self) -> None:
        self.inner = Mine()

    async def awrite(self, *args: Any, **rest: Any) -> None:
        self.inner.write(*args, **rest)

    async def aread(self, state_id: str) -> Record | None:
        return self.inner.read(state_id)

    async def alock(self, state_id: str) -> Any:
        lock = self.inner.lock(state_id)

        class Awaited:
            async def release(self) -> None:
                lock.release()

        return Awaited()


@pytest.mark.parametrize("kind", [Mine, Reached])
async def test_a_store_that_has_a_lock_alone_tells_that_a_state_runs(kind: type[Store]) -> None:
    store = kind()
    seen: list[Any] = []

    @tool
    async def look() -> str:
        """Looks."""
        other = await store.aload("x")
        seen.append((other.status, len(other.pending_calls)))
        return "seen"

    await Agent(FakeModel([tool_call("look"), "done"]), tools=[look], store=store).arun(State("t", id="x"))
    assert seen == [("running", 1)]
    assert (await store.aload("x")).status == "waiting"


def test_a_tool_that_forks_can_run_an_agent_in_the_child(tmp_path: Path) -> None:
    @tool
    def fork() -> str:
        """Forks."""
        child = Child(lambda tell, wait: Agent(FakeModel(["from the child"])).run("hello"))
        try:
            return str(child.said())
        finally:
            child.end()

    assert Agent(FakeModel([tool_call("fork"), "done"]), tools=[fork]).run(state := State("t")) == "done"
    assert results(state) == ["from the child"]
