"""Makes the stores of the measurements with the library: `python -m benchmarks.app_store FOLDER MESSAGES CONVERSATIONS`.

It runs in a process of its own, in which nothing waits for the disk: what it writes has to be read, not to survive.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from fireside import Agent, FileStore, State
from fireside.testing import FakeModel, tool_call

from benchmarks.app_texts import answer, question

LAST = "th\u03b5-last-words"
"""What ends the last message of a long conversation, and stands nowhere else."""
WORD = "quagmire"
"""What is typed into the filter."""
FILLERS = 45
"""Rows behind each depth of the filter: more than the screen has."""


def long_id(messages: int) -> str:
    return f"long-{messages}"


def read_log(day: int) -> str:
    """Reads the log of a day."""
    return f"day {day}: wind west 4, water clear\n" * 5


def make_long(store: FileStore, messages: int) -> None:
    """A conversation of so many messages: every tenth turn uses a tool."""
    turns = messages // 2
    replies: list[object] = []
    for n in range(turns):
        if n % 10 == 5:
            replies.append(tool_call("read_log", day=n))
        replies.append(answer(n) if n < turns - 1 else f"{answer(n)}\n\n{LAST}")
    agent = Agent(FakeModel(replies), tools=[read_log], store=store)  # type: ignore[arg-type]
    state = State(id=long_id(messages))
    for n in range(turns):
        state.add_user_message(question(n))
        agent.run(state)


def hit(depth: int) -> str:
    """What the first row has that is there once `depth` letters of the word are typed."""
    return f"\u03b8{depth}-row"


def titles(count: int) -> list[str]:
    """So many titles, the oldest first. Each further letter of the word brings up rows that were not on the screen."""
    shown: list[str] = []
    for depth in range(1, len(WORD) + 1):
        shown += [f"{hit(depth)} {WORD[:depth]}", *(f"under {WORD[:depth]}" for _ in range(FILLERS))]
    others = [f"talk {n} of the log" for n in range(max(0, count - len(shown) - 1))]
    return [*others, *reversed(shown), f"{hit(0)} the newest"]


def main() -> None:
    os.fsync = os.fdatasync = lambda fd: None  # type: ignore[assignment]
    folder, messages, conversations = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    store = FileStore(Path(folder))
    if messages:
        make_long(store, messages)
    if conversations:
        for n, title in enumerate(titles(conversations)):
            store.save(State(title, id=f"c{n:06}"))


if __name__ == "__main__":
    main()
