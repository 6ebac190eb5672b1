"""One library's store, driven by `benchmarks.stores` through stdin and stdout, in that library's own environment.

It imports nothing of the benchmarks, so that it runs under any Python that has the library.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

WORDS = "A message of a usual length: it says what was found, what is to be done next, and why. " * 3


def words(n: int) -> str:
    return f"{n}: {WORDS}"


class Bare:
    """What no store can beat: 300 bytes appended and synced."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.files: dict[int, int] = {}

    def build(self, n: int) -> None:
        self.files[n] = os.open(self.folder / f"{n}", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.write(self.files[n], words(0).encode() * n)

    def step(self, n: int) -> Callable[[], None]:
        line = words(1).encode() + b"\n"

        def call() -> None:
            os.write(self.files[n], line)
            os.fsync(self.files[n])

        return call


class Fireside:
    """fireside with one of its stores; `in_run`: the lock is held already, as it is while an Agent runs."""

    def __init__(self, folder: Path, kind: str = "file", in_run: bool = True) -> None:
        from fireside.stores import open_store

        self.store = open_store(str(folder / "runs") if kind == "file" else f"sqlite:///{folder}/runs.db")
        self.in_run = in_run
        self.states: dict[int, Any] = {}

    def _state(self, id: str, n: int) -> Any:
        from fireside.state import State

        state = State(words(0), id=id)
        for k in range(1, n):
            state.add_user_message(words(k))
        return state

    def build(self, n: int) -> None:
        state = self.states[n] = self._state(f"c-{n}", n)
        self.store.save(state)
        if self.in_run:
            state._running, state.lock = True, self.store.lock(state.id)

    def mixed(self, n: int) -> None:
        """A conversation that is half replies, each with a call, and half tool results."""
        from fireside.state import State

        state = State(words(0), id=f"mixed-{n}")
        usage = {"input": 1200, "output": 90, "cache_read": 9000, "requests": 1, "cost": 0.0123}
        while len(state.history) < n:
            k = len(state.history)
            call = {"type": "tool_call", "id": f"toolu_{k:020}", "name": "read_file", "args": {"path": f"src/{k}.py"}}
            reply = {"blocks": [{"type": "text", "text": words(k)}, call], "stop_reason": "tool_use", "usage": usage}
            state._append("reply", {**reply, "seen": k - 1, "prefix": "0123456789abcdef", "model": "claude-sonnet-5"})
            state._result(state.pending_calls[0], words(k + 1))
        self.store.save(state)

    def load_mixed(self, n: int) -> Any:
        return self.store.load(f"mixed-{n}")

    def step(self, n: int) -> Callable[[], None]:
        state = self.states[n]
        state.add_user_message(words(len(state.history)))
        return lambda: self.store.save(state)

    def load(self, n: int) -> Any:
        return self.store.load(f"c-{n}")

    def many(self, count: int) -> None:
        for k in range(count):
            self.store.save(self._state(f"many-{k}", 6))

    def list(self) -> Any:
        return self.store.list()


class Alpine:
    """alpineagents' FileStore."""

    def __init__(self, folder: Path) -> None:
        from alpineagents import FileStore

        self.store = FileStore(folder / "runs")
        self.states: dict[int, Any] = {}

    def _state(self, id: str, n: int) -> Any:
        from alpineagents import Message, State

        state = State(id=id, messages=[Message.user(words(0))])
        for k in range(1, n):
            state.add_message(Message.user(words(k)))
        return state

    def build(self, n: int) -> None:
        self.states[n] = self._state(f"c-{n}", n)
        self.store.save(self.states[n])

    def step(self, n: int) -> Callable[[], None]:
        from alpineagents import Message

        state = self.states[n]
        state.add_message(Message.user(words(1)))
        return lambda: self.store.save(state)

    load, many, list = Fireside.load, Fireside.many, Fireside.list


class OpenAI:
    """openai-agents' SQLiteSession: it keeps messages, and no run."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "runs.db"
        self.loop = asyncio.new_event_loop()
        self.sessions: dict[int, Any] = {}

    def _session(self, n: int) -> Any:
        from agents import SQLiteSession

        return SQLiteSession(f"c-{n}", self.path)

    def build(self, n: int) -> None:
        self.sessions[n] = self._session(n)
        items = [{"role": "user", "content": words(k)} for k in range(n)]
        self.loop.run_until_complete(self.sessions[n].add_items(items))

    def step(self, n: int) -> Callable[[], None]:
        item = {"role": "user", "content": words(1)}
        return lambda: self.loop.run_until_complete(self.sessions[n].add_items([item]))

    def load(self, n: int) -> Any:
        return self.loop.run_until_complete(self._session(n).get_items())


class LangGraph:
    """langgraph with its SQLite checkpointer: each step writes the whole list of messages."""

    def __init__(self, folder: Path) -> None:
        import sqlite3

        from langgraph.checkpoint.sqlite import SqliteSaver
        from langgraph.graph import END, START, MessagesState, StateGraph

        graph = StateGraph(MessagesState)
        graph.add_node("answer", lambda state: {"messages": []})
        graph.add_edge(START, "answer")
        graph.add_edge("answer", END)
        saver = SqliteSaver(sqlite3.connect(folder / "runs.db", check_same_thread=False))
        self.graph = graph.compile(checkpointer=saver)

    def _config(self, n: int) -> Any:
        return {"configurable": {"thread_id": f"c-{n}"}}

    def build(self, n: int) -> None:
        self.graph.invoke({"messages": [("user", words(k)) for k in range(n)]}, self._config(n))

    def step(self, n: int) -> Callable[[], None]:
        return lambda: self.graph.invoke({"messages": [("user", words(1))]}, self._config(n)) and None

    def load(self, n: int) -> Any:
        return self.graph.get_state(self._config(n))


KINDS: dict[str, Callable[[Path], Any]] = {
    "bare": Bare,
    "fireside-file": Fireside,
    "fireside-file-save": lambda folder: Fireside(folder, in_run=False),
    "fireside-sqlite": lambda folder: Fireside(folder, "sqlite"),
    "alpineagents": Alpine,
    "openai-agents": OpenAI,
    "langgraph": LangGraph,
}


def written() -> int:
    """How many bytes this process has handed to write() so far; 0 where the system does not count them."""
    try:
        return int(Path("/proc/self/io").read_text().split("wchar: ")[1].split()[0])
    except (OSError, IndexError):
        return 0


def resident() -> float:
    """Megabytes in memory."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
    except OSError:
        return 0.0


def timed(call: Callable[[], Any]) -> dict[str, Any]:
    before, start = written(), time.perf_counter()
    result = call()
    seconds = time.perf_counter() - start
    del result
    return {"seconds": seconds, "bytes": written() - before}


def main() -> None:
    kind, folder = sys.argv[1], Path(sys.argv[2])
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a library prints is no answer
    sync, no_sync = os.fsync, lambda fd: None
    try:
        worker = KINDS[kind](folder)
    except ImportError as error:
        out.write(json.dumps({"missing": str(error)}) + "\n")
        out.flush()
        return
    out.write("{}\n")
    out.flush()
    for line in sys.stdin:
        asked = json.loads(line)
        name, n = asked["do"], asked.get("n", 0)
        answer: dict[str, Any] = {}
        if not hasattr(worker, name):
            answer = {"missing": name}
        elif name in ("build", "many", "mixed"):
            os.fsync = no_sync  # type: ignore[assignment]
            getattr(worker, name)(n)
            os.fsync = sync
        elif name == "step":
            answer = timed(worker.step(n))
        elif name in ("load", "load_mixed"):
            load = getattr(worker, name)
            load(10)
            gc.collect()
            before = resident()
            start = time.perf_counter()
            kept = load(n)
            answer = {"seconds": time.perf_counter() - start, "grown": resident() - before}
            del kept
        elif name == "list":
            answer = timed(worker.list)
        out.write(json.dumps(answer) + "\n")
        out.flush()


if __name__ == "__main__":
    main()
