"""`State`: one conversation. Commands append one entry each; every value is read from the fold. It stands on `entries`."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from fireside.entries import Entries
from fireside.fold import Checkpoint, shortened
from fireside.history import VERSION, History, HistoryEntry
from fireside.ids import check_id as check_id
from fireside.items import UNKNOWN_RESULT
from fireside.label import Status, stored_status
from fireside.messages import Image, Json, Message, ToolCall, Usage
from fireside.values import copied, dumps, need

_PATH: tuple[type[str | Path], ...] = (str, Path)


class State(Entries):
    """One conversation: its history, and all that follows from it.

    `task` is the first user message; without it the State starts empty. `id` names the conversation: letters, digits,
    `_` and `-`, 1 to 128 of them; random when left out. `data` is the caller's own dict of JSON values, which the model
    never sees.

    Raises `ValueError` for an id with other characters or an empty task, `TypeError` for values of another type.

    >>> state = State("What is 2 + 2?", id="sums")
    >>> state.task, state.title, state.status
    ('What is 2 + 2?', 'What is 2 + 2?', 'new')
    >>> [entry.kind for entry in state.history]
    ['user']
    """

    def __init__(self, task: str | None = None, *, id: str | None = None, data: dict[str, Json] | None = None) -> None:
        self._setup(os.urandom(16).hex() if id is None else check_id(id))
        if data is not None:
            self.data.update(need(data, dict, "data is a dict"))
        if task is not None:
            self.add_user_message(task)

    def __repr__(self) -> str:
        return f"State({self.title!r}, id={self._id!r}, entries={len(self._entries)})"

    # -- what it is

    @property
    def id(self) -> str:
        """The name of the conversation."""
        return self._id

    @property
    def task(self) -> str | None:
        """The first user message."""
        return self._fold.task

    @property
    def title(self) -> str:
        """What a list shows: the first line of the task, shortened, until it is renamed."""
        return self._fold.given_title or shortened(self._fold.task or "")

    @property
    def history(self) -> History:
        """Every entry in order, read-only."""
        return History(self._entries)

    @property
    def context(self) -> list[Message]:
        """What the model sees at the next `think`."""
        return [message for message, _ in self._fold.messages()]

    @property
    def data(self) -> dict[str, Json]:
        """The caller's own JSON values, which the model never sees; what changed in it is saved with the next save."""
        return self._data

    @data.setter
    def data(self, data: dict[str, Json]) -> None:
        self._data = need(data, dict, "data is a dict")

    @property
    def pending_calls(self) -> tuple[ToolCall, ...]:
        """Tool calls without a result yet."""
        return self._fold.pending

    @property
    def answer(self) -> Any:
        """What `finish` was given, else the text of the last reply without tool calls, else `None`."""
        fold = self._fold
        if not fold.finished or fold.finish_answer is None:
            return fold.last_answer
        saved, live = self._live_answer
        return live if saved is not None and saved is fold.finish_answer else copied(fold.finish_answer)

    @property
    def stopped_by(self) -> str | None:
        """Why the last run stopped: `"finish"`, `"limit"` or the name of the `until` function."""
        return self._fold.stopped_by

    @property
    def turn(self) -> int:
        """How many thinks succeeded."""
        return self._fold.turn

    @property
    def usage(self) -> Usage:
        """Tokens, requests and cost of all requests, summed."""
        return self._fold.usage

    @property
    def created_at(self) -> datetime:
        """When its first entry was made (UTC)."""
        return self._fold.created_at or self._made_at

    @property
    def updated_at(self) -> datetime:
        """When the last user message, notice, reply or result came (UTC)."""
        return self._fold.updated_at or self._made_at

    @property
    def checkpoints(self) -> tuple[Checkpoint, ...]:
        """The checkpoints, oldest first."""
        return tuple(point._replace(data=copied(point.data)) for point in self._fold.checkpoints.values())

    @property
    def forked_from(self) -> tuple[str, int] | None:
        """The id of the State that this one is a fork of, and the `seq` of the last entry that it took over."""
        origin = self._fold.origin or {}
        fork = self._fork or origin.get("fork")
        return (fork["id"], fork["seq"]) if fork else None

    @property
    def status(self) -> Status:
        """Where the conversation stands: see `fireside.label.Status`. It asks the lock where a run is open."""
        status = self.stored_status
        if status != "running" or self._running or self._is_held():
            return status
        return "interrupted"

    def _is_held(self) -> bool:
        """Whether somebody holds its lock; of a store that can be asked in an event loop alone, as of the load."""
        store = self._store
        if store is None or store._own("holder"):
            return store is not None and store.holder(self._id) is not None
        return self._held

    @property
    def stored_status(self) -> Status:
        """`status` as far as the history tells, without a look at the store: an open run is `"running"`, whoever holds it."""
        return stored_status(self._fold)

    # -- predicates, for `until`

    def is_answered(self) -> bool:
        """Whether the last reply has no tool calls, and nothing was said after it."""
        return self._fold.answered

    def wants_tools(self) -> bool:
        """Whether tool calls wait for their results."""
        return bool(self._fold.pending)

    def is_finished(self) -> bool:
        """Whether `finish` was called, and no user message came after it."""
        return self._fold.finished

    # -- commands

    def add_user_message(self, text: str, *images: Image | str | Path) -> HistoryEntry:
        """Adds what the person says, with pictures (or paths of them). While calls are pending it waits for them.

        Raises `ValueError` for a message without any words or pictures, `TypeError` where `text` is no `str`.
        """
        need(text, str, "a message is a str")
        pictures = [
            image
            if isinstance(image, Image)
            else Image.from_file(need(image, _PATH, "a picture is an Image or the path of one"))
            for image in images
        ]
        if not text.strip() and not pictures:
            raise ValueError("the message is empty")
        content = {"text": text, "images": [image.to_json() for image in pictures]} if pictures else text
        return self._append("user", content)

    def take_back(self, entry: HistoryEntry) -> None:
        """Takes an entry back, and all after it, while no store has them: a message that could not be saved, say.

        Raises `ValueError` where the entry is saved already, or is not in this history.
        """
        place = next((n for n in range(len(self._entries) - 1, -1, -1) if self._entries[n] is entry), None)
        if place is None or place < self._saved:
            raise ValueError("only an entry of this history that no store has can be taken back")
        self._drop_unsaved(place)

    def add_notice(self, text: str) -> HistoryEntry:
        """Adds what the model should know and no person said; it sees `[notice] …`. Raises as `add_user_message`."""
        if not need(text, str, "a notice is a str").strip():
            raise ValueError("the notice is empty")
        return self._append("notice", text)

    def deny(self, call: ToolCall, reason: str) -> HistoryEntry:
        """Refuses a pending call: the model gets `reason`. Raises `ValueError` where the call is not pending."""
        need(reason, str, "a reason is a str")
        return self._result(call, f"(denied: {reason})" if reason else "(denied)", is_error=True)

    def finish(self, answer: Any = None) -> HistoryEntry:
        """Ends the task with an answer: any JSON value, dataclass or pydantic model. A user message opens it again.

        Raises `TypeError` for what JSON can't hold. A loaded State gives models and dataclasses back as dicts.
        """
        saved = json.loads(dumps(answer, "the answer given to finish"))
        entry = self._append("stop", {"by": "finish", "answer": saved})
        self._live_answer = (saved, answer)
        return entry

    def start_from(self, summary: str) -> HistoryEntry:
        """Replaces the context by a summary. Raises `ValueError` while calls are pending or a run is open."""
        need(summary, str, "a summary is a str")
        self._settled("start_from", closed=True)
        if not summary.strip():
            raise ValueError("the summary is empty")
        return self._append("compact", {"summary": summary, "kept": [], "by": "start_from"})

    def clear_tool_results(self, keep_last: int = 5) -> HistoryEntry | None:
        """Takes all tool results but the last `keep_last` from the context; the history keeps them.

        Raises `ValueError` while calls are pending or a run is open, or for a negative number.
        """
        if need(keep_last, int, "keep_last is a whole number") < 0:
            raise ValueError("keep_last is 0 or more")
        self._settled("clear_tool_results", closed=True)
        there = [
            entry.seq
            for item in self._fold.items
            for _, entry in getattr(item, "results", ())
            if entry is not None and entry.seq not in item.cleared  # type: ignore[union-attr]
        ]
        cleared = there[: len(there) - keep_last]
        return self._append("clear", {"cleared": cleared}) if cleared else None

    def rename(self, title: str, by: Literal["person", "auto"] = "person") -> HistoryEntry | None:
        """Gives it a title; one given `by="auto"` never replaces a person's. Raises `ValueError` for an empty one."""
        if by not in ("person", "auto"):
            raise ValueError("by is 'person' or 'auto'")
        if not need(title, str, "a title is a str").strip():
            raise ValueError("the title is empty")
        if by == "auto" and self._fold.title_by == "person":
            return None
        return self._append("title", {"title": title.strip(), "by": by})

    def checkpoint(self, message: str, data: Json = None) -> Checkpoint:
        """Marks a point to go back to, at any time. `data` is kept with it. Raises `TypeError` for what is no JSON."""
        need(message, str, "a checkpoint's message is a str")
        kept = json.loads(dumps(data, "the checkpoint's data"))
        self.record_data()
        entry = self._append("checkpoint", {"message": message, "data": kept})
        return self._fold.checkpoints[entry.seq]._replace(data=copied(kept))

    def restore(self, checkpoint: Checkpoint | HistoryEntry | int) -> HistoryEntry:
        """Takes `context`, `data`, `answer` and `turn` back to a checkpoint, or to before a user message (or their `seq`).

        `history`, `usage` and `title` stay. Calls that were open there are closed as unknown. Raises `ValueError`
        while calls are pending or a run is open, `LookupError` where there is no such checkpoint or message.
        """
        seq = self._place_of(checkpoint) if isinstance(checkpoint, Checkpoint) else checkpoint
        if isinstance(seq, HistoryEntry):
            seq = seq.seq
        need(seq, int, "restore takes a Checkpoint, a user message's entry, or the seq of one")
        self._settled("restore", closed=True)
        if seq not in self._fold.checkpoints and not self._fold.may_go_before(seq):
            named = repr(checkpoint.message) if isinstance(checkpoint, Checkpoint) else f"or user message at {seq}"
            raise LookupError(f"the State {self._id!r} has no checkpoint {named}")
        point = self._fold.checkpoints.get(seq)
        entry = self._append(
            "restore", {"before": seq} if point is None else {"checkpoint": seq, "message": point.message}
        )
        self._take_data()
        self._close_calls(UNKNOWN_RESULT)
        return entry

    def _place_of(self, checkpoint: Checkpoint) -> int:
        """Its `seq` now: another one than it had, where entries of another writer came before it. -1: it is none of these."""
        made = checkpoint.message, checkpoint.at
        there = self._fold.checkpoints.get(checkpoint.seq)
        if there is not None and (there.message, there.at) == made:
            return checkpoint.seq
        return next((seq for seq, one in self._fold.checkpoints.items() if (one.message, one.at) == made), -1)

    def fork(self, id: str | None = None, at: int | None = None) -> State:
        """A new State that holds the entries up to the one with the `seq` `at` (all of them when left out).

        It remembers where it came from and starts its own `usage`; open calls are closed as unknown. Raises
        `ValueError` for a wrong id or this State's own, `LookupError` where there is no such entry.
        """
        new = os.urandom(16).hex() if id is None else check_id(id)
        if new == self._id:
            raise ValueError(f"a fork needs an id of its own, not {new!r}")
        if at is None:
            self.record_data()
        elif not any(entry.seq == need(at, int, "at is the seq of an entry") for entry in self._entries):
            raise LookupError(f"the State {self._id!r} has no entry {at}")
        with self._guard:
            taken = [entry for entry in self._entries if at is None or entry.seq <= at]
        fork = State(id=new)
        if not taken:
            return fork
        now = datetime.now(UTC)
        parent = {"id": self._id, "seq": taken[-1].seq, "at": now.isoformat()}
        first = replace(taken[0], origin={"v": VERSION, "id": new, "fork": parent})
        missing, lone = fork._replay(first, *taken[1:])
        fork._take_data()
        fork._next_seq = taken[-1].seq + 1
        fork._close_cut_off(missing, lone)
        fork._close_calls(UNKNOWN_RESULT)
        if fork._fold.run_open:
            fork._end_dead_run()
        return fork

    def to_json(self) -> dict[str, Json]:
        """The whole conversation as JSON values: `id`, `data` and the `entries` that a store keeps."""
        return {
            "id": self._id,
            "data": {key: json.loads(dumps(value, f"state.data[{key!r}]")) for key, value in self.data.items()},
            "entries": [entry.to_json() for entry in self._entries],
        }

    def _settled(self, what: str, *, closed: bool = False) -> None:
        if calls := self._fold.pending:
            names = ", ".join(call.name for call in calls)
            raise ValueError(f"{what} has to wait: these tool calls have no result yet: {names}")
        if closed and self._fold.run_open:
            if self.status != "interrupted":
                raise ValueError(f"{what} has to wait: a run of this State is open")
            self._end_dead_run()
