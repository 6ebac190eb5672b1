"""`Session`: a thin face over a State and its Store, for a task that is continued by its id. It knows no Agent."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from fireside.fold import Checkpoint
from fireside.ids import check_id
from fireside.label import Status
from fireside.messages import Json
from fireside.state import State
from fireside.stores import open_store
from fireside.stores.base import Store
from fireside.sync import drive, inline
from fireside.values import copied, dumps

STATE_KEY = "session_state"
"""The key of `state.data` under which `save_state` keeps the caller's dict."""

POSTGRES_VARIABLES = ("FIRESIDE_POSTGRES", "DATABASE_URL")
"""Where the address of `persistence="postgres"` comes from, in this order."""


class SavedSession(NamedTuple):
    """One row of `Session.list_all`."""

    session_id: str
    status: Status
    updated_at: datetime
    title: str


class Session:
    """A conversation that is continued by its id: `Agent(session=Session(session_id="task-123"))`.

    `persistence` is `"sqlite"`, `"file"` (both in the user's data folder), `"postgres"` (the address comes from
    `FIRESIDE_POSTGRES` or `DATABASE_URL`), an address as `open_store` takes it, or a `Store`. `checkpoint_interval` is
    how many steps lie between two saves.

    Raises `ValueError` for a wrong id, address or interval.
    """

    def __init__(self, session_id: str, persistence: str | Store = "sqlite", checkpoint_interval: int = 1) -> None:
        self.session_id = check_id(session_id)
        if isinstance(checkpoint_interval, bool) or not isinstance(checkpoint_interval, int) or checkpoint_interval < 1:
            raise ValueError("checkpoint_interval is a whole number, 1 or more")
        self.checkpoint_interval = checkpoint_interval
        self.store = _store_of(persistence)
        self._state: State | None = None

    def __repr__(self) -> str:
        return f"Session({self.session_id!r}, {self.store!r})"

    @property
    def state(self) -> State:
        """The session's State: the saved one, or a new one that is still empty."""
        if self._state is None:
            self._state = drive(self.astate, "state")
        return self._state

    async def astate(self) -> State:
        """`state`, for a running event loop."""
        if self._state is None:
            try:
                self._state = await self.store._load(self.session_id, inline=inline())
            except LookupError:
                self._state = State(id=self.session_id)
        return self._state

    async def _fresh(self) -> State:
        """`astate`, as its store has it now: another process may have gone on with it."""
        state = await self.astate()
        await self.store._refresh(state, inline=inline())
        return state

    def _now(self) -> State:
        return drive(self._fresh, "state")

    def _to_add_to(self) -> State:
        """The State, for what goes behind whatever others added: a save sees to that, without reading all of it again."""
        return self.state if self.state._kept else self._now()

    def checkpoint(self, state: Json = None, message: str = "") -> Checkpoint:
        """Records a checkpoint of the conversation, named `message`, with the caller's own `state`; saved at once."""
        own = self._to_add_to()
        made = own.checkpoint(message, state)
        self.store.save(own)  # it may come behind what another process added
        return next(point for point in reversed(own.checkpoints) if (point.message, point.at) == (message, made.at))

    def checkpoints(self) -> Sequence[Checkpoint]:
        """The checkpoints, oldest first; each has `message`, `data` (the caller's state) and `at`."""
        return self._now().checkpoints

    def resume_from_checkpoint(self, message: str | None = None) -> Any:
        """Goes back to the latest checkpoint, or the latest one named `message`; the `state` that it holds.

        Raises `LookupError` where there is none, `ValueError` while a run of the session is open.
        """
        state = self._now()
        found = [point for point in state.checkpoints if message is None or point.message == message]
        if not found:
            named = f" named {message!r}" if message is not None else ""
            raise LookupError(f"the session {self.session_id!r} has no checkpoint{named}")
        state.restore(found[-1])
        self.store.save(state)
        return found[-1].data

    def save_state(self, state: dict[str, Json]) -> None:
        """Keeps the caller's own dict with the session, saved at once. Raises `TypeError` for what is no JSON."""
        if not isinstance(state, dict):
            raise TypeError(f"save_state takes a dict, not {type(state).__name__}")
        kept = json.loads(dumps(state, "the state"))  # as it is now, whatever becomes of the dict
        own = self._to_add_to()
        own.data[STATE_KEY] = kept
        self.store.save(own)

    def restore_state(self) -> dict[str, Json] | None:
        """A copy of the dict that `save_state` kept last; `None` where there is none."""
        kept: dict[str, Json] | None = copied(self._now().data.get(STATE_KEY))
        return kept

    @staticmethod
    def list_all(persistence: str | Store = "sqlite") -> list[SavedSession]:
        """Every session, most recently updated first."""
        rows = _store_of(persistence).list()
        return [SavedSession(row.id, row.status, row.updated_at, row.title) for row in rows]


def _store_of(persistence: str | Store) -> Store:
    if isinstance(persistence, Store):
        return persistence
    if not isinstance(persistence, str):
        raise TypeError(f"persistence is a str or a Store, not {type(persistence).__name__}")
    if persistence == "postgres":
        for name in POSTGRES_VARIABLES:
            if address := os.environ.get(name):
                from fireside.stores.postgres import PostgresStore

                return PostgresStore(address)  # also in libpq's other form, "host=… dbname=…"
        raise ValueError(f"persistence='postgres' takes its address from {' or '.join(POSTGRES_VARIABLES)}: set one")
    if persistence in ("file", "sqlite"):
        from platformdirs import user_data_path

        folder = Path(user_data_path("fireside", appauthor=False))
        return open_store(str(folder / "sessions") if persistence == "file" else f"sqlite:///{folder / 'sessions.db'}")
    if "/" not in persistence and "\\" not in persistence and not persistence.startswith("."):
        raise ValueError(
            f"persistence {persistence!r} is none: give 'sqlite', 'file', 'postgres', an address "
            "('sqlite:///…', 'postgresql://…', a path with a '/'), or a Store"
        )
    return open_store(persistence)
