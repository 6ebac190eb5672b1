"""`Entries`: what lies under a State. Its entries, their fold and what stores have of them, kept in step. It knows the fold.

An entry is made here alone; what the caller changed in `data` becomes one; a store's record becomes entries, and entries
that another writer added go in before one's own.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Self

from fireside.fold import Fold
from fireside.history import VERSION, HistoryEntry
from fireside.items import UNKNOWN_RESULT
from fireside.label import born_of, label_of
from fireside.messages import Json, ToolCall, plain_str
from fireside.replay import missing_notice, replay, untold
from fireside.requests import Requests
from fireside.turns import Turns
from fireside.values import copied, dumps, need, text_of

if TYPE_CHECKING:
    from fireside.stores.base import Store
    from fireside.stores.record import Record


class Entries:
    """The entries of a conversation and all that is kept in step with them. What users read and call is in `State`."""

    def _setup(self, id: str) -> None:
        self._id = id
        self._entries: list[HistoryEntry] = []
        self._fold = Fold()
        self._next_seq = 0
        self._made_at = datetime.now(UTC)
        self._fork: dict[str, Json] | None = None
        self._guard = threading.RLock()
        self._data: dict[str, Json] = {}
        self._data_saved: dict[str, str] = {}
        self._live_answer: tuple[Json, Any] = (None, None)
        # The stores' part: where the State is kept, and how many of its entries are there.
        self._store: Store | None = None
        self._saved = 0
        self._born: str | None = None  # when it was begun, as its label says: what it is known by beside its id
        self._kept = False  # the store has it, though maybe with no entry that can be read
        self._held = False  # somebody held its lock when it was loaded
        self._begins = False  # a run of this very object is about to get the lock
        self._running = False  # a run of this process holds the lock, for this very object
        self._foreign = (
            -1
        )  # the turn that came in from another writer, who may be at its calls: they are not ours to run
        self._loaded = False  # came from a store, and was not run since: a run looks whether its Agent is another
        self._unsaved_steps = 0
        self._requests = Requests()  # what was built for the last request, to take up from
        self._turns = Turns()  # its saves, one at a time

    def _append(self, kind: str, content: Json = None, **rest: Any) -> HistoryEntry:
        if isinstance(content, str):
            content = plain_str(content)
        with self._guard:
            origin = None
            if not self._entries:
                origin = {"v": VERSION, "id": self._id}
            entry = HistoryEntry(
                self._next_seq, kind, self._fold.turn, datetime.now(UTC), content, origin=origin, **rest
            )
            self._fold.apply(entry)
            self._entries.append(entry)
            self._next_seq += 1
            return entry

    def _result(self, call: ToolCall, content: Json, **rest: Any) -> HistoryEntry:
        if need(call, ToolCall, "a call is a ToolCall, such as those of pending_calls") not in self._fold.pending:
            raise ValueError(f"the call {call.name!r} ({call.id}) is not pending")
        return self._append("tool_result", content, call=call, **rest)

    def _end_dead_run(self) -> None:
        """Ends a run whose process is gone, where something else than another run comes next."""
        self._append("stop", {"end": True, "by": None, "cut": "the process was gone"}, closing=True)

    def _close_calls(self, text: str, calls: Iterable[ToolCall] | None = None) -> None:
        for call in self._fold.pending if calls is None else calls:
            self._result(call, text, is_error=True, closing=True)

    # -- the caller's data

    def record_data(self) -> None:
        """Makes an entry of what has changed in `data` since the last one.

        Raises `TypeError` that names the key of a value that JSON can't hold; the other keys are recorded first.
        """
        with self._guard:
            changed: dict[str, Json] = {}
            wrong: TypeError | None = None
            for key, value in list(self._data.items()):  # a tool in its thread may be at it
                try:
                    text = dumps(value, f"state.data[{key!r}]")
                    if not isinstance(key, str):
                        raise TypeError(f"the keys of state.data are str, not {type(key).__name__} ({key!r})")
                except TypeError as error:
                    wrong = wrong or error
                    continue
                if self._data_saved.get(key) != text:
                    changed[key] = json.loads(text)
                    self._data_saved[key] = text
            removed = [key for key in self._data_saved if key not in self._data]
            for key in removed:
                del self._data_saved[key]
            if changed or removed:
                self._append("data", {"set": changed, "removed": removed})
            if wrong is not None:
                raise wrong

    def _take_data(self) -> None:
        self._data.clear()
        self._data.update(copied(self._fold.data))
        self._note_data()

    def _note_data(self) -> None:
        """What the entries hold of `data`: what differs from it is new."""
        self._data_saved = {key: text_of(value) for key, value in self._fold.data.items()}

    def _is_noted(self, key: str, value: Json) -> bool:
        """Whether a value of `data` is in the entries, as it is."""
        try:
            return self._data_saved.get(key) == dumps(value, "data")
        except TypeError:  # what JSON can't hold: the next save tells of it
            return False

    # -- from and to a store

    def _drop_unsaved(self, first: int) -> None:
        """Takes back the entries from the place `first` on, which no store has yet."""
        with self._guard:
            self._next_seq = self._entries[first].seq
            kept = self._entries[:first]
            self._fold = Fold()
            self._entries.clear()
            self._replay(*kept)
            self._note_data()

    def _replay(self, *entries: HistoryEntry) -> tuple[list[range], list[ToolCall]]:
        """Takes entries that were in a history before; what a load would find missing among them, and calls without theirs."""
        missing: list[range] = []
        lone: list[ToolCall] = []
        for entry in entries:
            expected = self._entries[-1].seq + 1 if self._entries else 0
            if entry.seq > expected:
                missing.append(range(expected, entry.seq))
            if not self._fold.take(entry):  # what was skipped before is skipped here, too
                missing.append(range(entry.seq, entry.seq + 1))
                if entry.kind == "tool_result" and entry.call is not None:
                    lone.append(entry.call)
            self._entries.append(entry)
        return missing, lone

    @classmethod
    def _from_record(cls, id: str, record: Record, store: Store, *, held: bool) -> Self:
        """The State that a store holds. Unless a run holds it, what that run left open is closed.

        Raises `ValueError` where it was saved in a newer format.
        """
        state = cls.__new__(cls)
        state._setup(id)
        state._store = store
        state._loaded = True
        state._born = born_of(record.snapshot)
        missing, state._next_seq, lone = replay(id, record, state._fold, state._entries)
        state._saved = len(state._entries)
        state._kept, state._held = True, held
        state._take_data()
        if held:
            state._foreign = state._fold.turn
        else:
            state._close_cut_off(missing, lone)
        return state

    def _close_cut_off(self, missing: Iterable[range] = (), lone: Iterable[ToolCall] = ()) -> None:
        """What a run that died left open: calls without a result, and steps that can't be read."""
        waiting = self._fold.unasked
        if unheard := untold(missing, self._fold.told_missing):
            self._append("notice", missing_notice(unheard, [*self._fold.pending, *lone]), closing=True)
        self._close_calls(UNKNOWN_RESULT, [call for call in self._fold.pending if call not in waiting])

    def _rebase(self, record: Record, store: Store, own: list[HistoryEntry], *, held: bool) -> None:
        """Takes what another writer added, and puts one's own new entries behind it. `held`: that one may be running it."""
        fresh = self._from_record(self._id, record, store, held=held)
        with self._guard:
            if fresh._fold.turn != self._fold.turn:
                self._foreign = fresh._foreign
            unsaved = {key: value for key, value in self._data.items() if not self._is_noted(key, value)}
            removed = self._data_saved.keys() - self._data.keys()
            for entry in own:
                fresh._replay(replace(entry, seq=fresh._next_seq, turn=fresh._fold.turn))
                fresh._next_seq += 1
            self._entries[:] = fresh._entries
            self._fold, self._next_seq, self._saved = fresh._fold, fresh._next_seq, fresh._saved
            self._born, self._kept, self._held = fresh._born, True, held
            self._take_data()
            self._data.update(unsaved)
            for key in removed:
                self._data.pop(key, None)

    def _label(self) -> dict[str, Json]:
        """What a list shows, small whatever the length."""
        label = label_of(self._id, self._fold, self._next_seq)
        if self._born is not None:
            label["created_at"] = self._born
        return label


__all__ = ["Entries"]
