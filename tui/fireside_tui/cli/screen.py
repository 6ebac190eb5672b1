"""The command without a subcommand and without `-p`: it opens the app."""

from __future__ import annotations

import os
import sys

from fireside_tui.cli.frame import USAGE, tell
from fireside_tui.cli.given import Given, agent_of, find_id


def open_app(given: Given, *, resume: str | None = None, newest: bool = False, agent_file: str | None = None) -> int:
    """Opens the app; its exit code. A wrong config file is told in it."""
    config, warning = given.config_despite()
    agent = agent_of(given, agent_file) if agent_file is not None else None
    if resume is not None:
        store = agent.store if agent is not None and agent.store is not None else given.store
        resume = find_id(store, resume)
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return tell('the app needs a terminal; fireside -p "question" asks without one', USAGE)
    if os.environ.get("TERM") == "dumb":
        return tell('the app can\'t be shown in a terminal with TERM=dumb; fireside -p "question" works there', USAGE)
    from fireside_tui.app import run_app

    return run_app(config, resume=resume, newest=newest, agent=agent, warning=warning)
