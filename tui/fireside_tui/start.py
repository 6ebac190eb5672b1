"""What the app is opened with: the store, the Agent, what is missing for an answer. Knows no screen."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from fireside import Agent, Record, Store, open_store

from fireside_tui.config import Config, ConfigError, Paths
from fireside_tui.conversations import Conversations, Row, explain
from fireside_tui.device import Device
from fireside_tui.no_key import SET_IT, credentials

NO_KEY = f"No API key: {SET_IT}. Or:"


class NoStore(Store):
    """Stands for a store that can't be opened: each use of it says why."""

    def __init__(self, why: Exception, named: str) -> None:
        self._why, self._named = why, named

    def _place(self) -> object:
        from fireside_tui.doctor import shown_place

        return ("none", shown_place(self._named))

    def write(self, state_id: str, entries: Any, snapshot: Any, *, create: bool = False) -> None:
        """Says why."""
        raise self._why

    def read(self, state_id: str) -> Record | None:
        """Says why."""
        raise self._why

    def list(self) -> Any:
        """Says why."""
        raise self._why


def conversations_for(config: Config, agent: Agent | None, places: Paths) -> tuple[Conversations, str]:
    """The conversations of these settings, and what could not be as it was wanted (in words, or empty)."""
    warning = ""
    store = agent.store if agent is not None else None
    own = store is None
    if store is None:
        try:
            store = open_store(config.place)
        except ConfigError as error:  # which is told with what else is wrong in the file
            own, store = False, NoStore(error, "")
        except Exception as error:
            own = False
            store, warning = NoStore(error, config.store), f"The store can't be opened: {explain(error).text}"
    if agent is None:
        try:
            agent = _agent(config, config.model)
        except (ValueError, TypeError) as error:
            agent, warning = _agent(config, ""), f"{warning}  {explain(error).text} The usual model answers.".strip()
    elif agent.save_partial_every is None and config.save_partial_every:
        agent = agent.copy(save_partial_every=config.save_partial_every)
    place = store.place or f"{type(store).__module__}.{type(store).__qualname__}"
    usual = own and "store" not in config.for_once
    device = Device(places.device_file(place), store=place, old=places.old_device_file, usual=usual)
    return Conversations(store, agent, device, always_allow=frozenset(config.always_allow)), warning


def _agent(config: Config, model: str) -> Agent:
    settings = {
        "system": config.system,
        "effort": config.effort,
        "thinking": config.thinking,
        "max_tokens": config.max_tokens,
        "base_url": config.server,
        "save_partial_every": config.save_partial_every,
        "model": model,
    }
    return Agent(**{key: value for key, value in settings.items() if value})  # type: ignore[arg-type]


def missing_for(agent: Agent) -> str:
    """What is missing for an answer of Anthropic's own server, in one line; empty where nothing seems to be."""
    if not agent.model.name.startswith("claude-"):
        return ""
    return "" if os.environ.get("ANTHROPIC_BASE_URL") or credentials() else NO_KEY


def resumed(start: str, rows: Iterable[Row]) -> str | None:
    """The id that begins so, if there is exactly one."""
    found = [row.id for row in rows if row.id.startswith(start)]
    return found[0] if len(found) == 1 else None
