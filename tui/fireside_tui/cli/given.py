"""`Given`: the options that a command was called with, and what follows from them: settings, store, conversation."""

from __future__ import annotations

import errno
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fireside import Agent, State, Store

    from fireside_tui.config import Config


class Given:
    """What was given. Nothing is opened before it is asked for."""

    def __init__(self) -> None:
        self.options: dict[str, Any] = {}
        self.config_file: Path | None = None

    @cached_property
    def config(self) -> Config:
        """The settings; raises `ConfigError`."""
        from fireside_tui.config import load_config

        return load_config(self.config_file, options=self.options)

    def config_despite(self) -> tuple[Config, str]:
        """The settings and what is wrong with the config file, a line for each: see `load_config`."""
        from fireside_tui.config import load_config

        told: list[str] = []
        config = load_config(self.config_file, options=self.options, despite=told)
        self.__dict__["config"] = config
        first, *rest = told or [""]
        return config, "\n".join([first, *(line.removeprefix(f"{config.source}, ") for line in rest)])

    @cached_property
    def store(self) -> Store:
        """Where the conversations are; raises `ConfigError` for an address that leads to no store."""
        from fireside.stores import open_store

        from fireside_tui.config import ConfigError

        place = self.config.place
        if "://" not in place:
            there = next((path for path in (Path(place), *Path(place).parents) if path.exists()), None)
            if there is not None and not there.is_dir():
                text = "this is a file; the store is a folder, or sqlite:///…"
                raise NotADirectoryError(errno.ENOTDIR, text, str(there))
        try:
            return open_store(place)
        except ValueError as error:
            raise ConfigError(str(error)) from None

    @property
    def kept(self) -> Store:
        """The store, for a command that makes none: where `--store` leads to nothing, `FileNotFoundError` says so."""
        place = getattr(self.store, "path", None)
        if "store" in self.options and place is not None and not Path(place).exists():
            raise FileNotFoundError(errno.ENOENT, "there is no store here", place)
        return self.store

    def id(self, start: str) -> str:
        """The whole id of a conversation, from a unique start of it. Raises `LookupError` that lists the choices."""
        return find_id(self.kept, start)

    def load(self, start: str) -> State:
        """The conversation with this id, or the only one whose id starts so."""
        return self.store.load(self.id(start))


def find_id(store: Store, start: str, ids: list[str] | None = None) -> str:
    """The id that `start` names in a store: all of it, or a unique start. `ids` are those of the store, if they are known."""
    from fireside.state import check_id

    check_id(start)
    ids = ids_in(store) if ids is None else ids
    if start in ids:
        return start
    found = [id for id in ids if id.startswith(start)]
    if len(found) == 1:
        return found[0]
    if not found and store.read(start) is not None:
        return start  # damaged beyond listing, but there
    if not found:
        raise LookupError(f"there is no conversation {start!r} (fireside list shows them)")
    shown = ", ".join(found[:5]) + (f" and {len(found) - 5} more" if len(found) > 5 else "")
    raise LookupError(f"{start!r} is the start of several ids: {shown}")


def ids_in(store: Store) -> list[str]:
    """The ids of a store, newest first; none where a user's own store can't list them."""
    from fireside.stores.base import Store

    if type(store).list is Store.list:
        return []
    return [row.id for row in store.list()]


def newest_id(store: Store) -> str:
    """The id of the conversation that was active last. Raises `LookupError` where there is none."""
    ids = ids_in(store)
    if not ids:
        raise LookupError("there is no conversation yet to continue")
    return ids[0]


def agent_of(given: Given, file: str | None) -> Agent:
    """The Agent that answers: a user's own from a file, or the one that the settings describe."""
    from fireside_tui.cli.agents import agent_as_told, load_agent, make_agent

    if file is None:
        return make_agent(given.config, given.store)
    agent = load_agent(file)
    changes = {key: given.options[key] for key in ("model", "system") if given.options.get(key)}
    if "store" in given.options or agent.store is None:
        changes["store"] = given.store
    return agent_as_told(lambda: agent.copy(**changes)) if changes else agent
