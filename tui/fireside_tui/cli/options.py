"""The options that every command has, `--store` and `--config`, and how they become a `Given`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from fireside_tui.cli.given import Given


def common(command: Callable[..., Any]) -> Callable[..., Any]:
    """Gives a command `--store` and `--config`, which may stand before or behind the subcommand's name, and `Given`."""
    given = click.make_pass_decorator(Given, ensure=True)
    place = click.option(
        "--store",
        metavar="PLACE",
        expose_value=False,
        callback=functools.partial(_keep, "store"),
        help="Where conversations are: a folder, sqlite:///…, postgresql://…",
    )
    config = click.option(
        "--config",
        metavar="FILE",
        expose_value=False,
        callback=functools.partial(_keep, "config"),
        help="The config file.",
    )
    return place(config(given(command)))


def _keep(name: str, ctx: click.Context, parameter: click.Parameter, value: str | None) -> None:
    given = ctx.ensure_object(Given)
    if value is None:
        return
    if not value:
        raise click.UsageError(f"--{name} needs a value", ctx)
    if name == "config":
        given.config_file = Path(value).expanduser()
    else:
        given.options[name] = value
