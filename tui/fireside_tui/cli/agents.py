"""Agents for the command line: the one that the settings describe, and a user's own from a Python file."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from types import ModuleType

    from fireside import Agent, State, Store, Tool, ToolCall

    from fireside_tui.config import Config


def make_agent(config: Config, store: Store) -> Agent:
    """The Agent that the settings describe. Its tools run where a rule allows them; nobody is there to be asked."""
    from fireside import DEFAULT_MODEL, Agent

    def approve(state: State, call: ToolCall, tool: Tool) -> bool | str:
        if call.name in config.always_allow:
            return True
        return f"nobody is here to be asked; tools that may run are named in always_allow in {config.source}"

    return agent_as_told(
        lambda: Agent(
            config.model or DEFAULT_MODEL,
            system=config.system or None,
            store=store,
            approve=approve,
            base_url=config.base_url or None,
            effort=config.effort or None,
            thinking=config.thinking or None,
            max_tokens=config.max_tokens,
            save_partial_every=config.save_partial_every or None,
        )
    )


def agent_as_told(make: Callable[[], Agent]) -> Agent:
    """What `make` gives; what it refuses, a model that is none for instance, is a wrong setting: `ConfigError`."""
    from fireside_tui.config import ConfigError

    try:
        return make()
    except ValueError as error:
        raise ConfigError(str(error)) from None


def load_agent(place: str) -> Agent:
    """The Agent at `FILE.py:NAME` (`agent` without a name); it may be a function without arguments that makes one.

    Raises `click.UsageError` where it is not there, and `click.ClickException` that says where the file failed.
    """
    from fireside import Agent

    file, _, name = place.rpartition(":") if ":" in place and not place.endswith(".py") else (place, "", "agent")
    name = name or "agent"
    module = _module(Path(file).expanduser())
    there = [key for key, value in vars(module).items() if isinstance(value, Agent)]
    if not hasattr(module, name):
        has = f"it has {', '.join(there)}" if there else "it makes no Agent"
        raise click.UsageError(f"{file} has no {name!r}; {has}. Give --agent {file}:NAME")
    found = getattr(module, name)
    if callable(found) and not isinstance(found, Agent | type):
        try:
            found = found()
        except (Exception, SystemExit) as error:
            raise click.ClickException(f"{place}: {_where(error, file)}") from error
    if not isinstance(found, Agent):
        raise click.UsageError(f"{place} is no fireside.Agent but {type(found).__name__}")
    return found


def _module(file: Path) -> ModuleType:
    if not file.name:
        raise click.UsageError("--agent needs a FILE.py:NAME")
    if not file.is_file():
        raise click.UsageError(f"--agent: there is no file {file}")
    spec = importlib.util.spec_from_file_location(f"fireside_agent_{file.stem}", file)
    if spec is None or spec.loader is None:
        raise click.UsageError(f"--agent: {file} is no Python file (its name ends with .py)")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses and pickles look there
    sys.path.insert(0, str(file.resolve().parent))  # as for a script: what lies beside it can be imported
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise click.ClickException(f"{file}: {_where(error, str(file))}") from error
    return module


def _where(error: BaseException, file: str) -> str:
    """The line of the user's own file that failed, and how."""
    line = error.lineno if isinstance(error, SyntaxError) else None
    trace = error.__traceback__
    while trace is not None:
        if Path(trace.tb_frame.f_code.co_filename).resolve() == Path(file).expanduser().resolve():
            line = trace.tb_lineno
        trace = trace.tb_next
    where = f"line {line}: " if line is not None else ""
    return f"{where}{type(error).__name__}: {error.msg if isinstance(error, SyntaxError) else error}"
