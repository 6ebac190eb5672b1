"""Other programs that take the terminal for a while: `$EDITOR`, `$PAGER`, a browser. The app's runs go on meanwhile."""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from textual.app import App, SuspendNotSupported


async def edit(app: App[Any], text: str) -> str:
    """The text as the editor leaves it. Raises `ValueError` where there is no editor or it failed, `OSError` as usual."""
    command = _command(("VISUAL", "EDITOR"), ("nano", "vim", "vi"))
    handle, name = tempfile.mkstemp(prefix="fireside-", suffix=".md")  # 0600
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(text.encode("utf-8", "surrogatepass"))
        await in_terminal(app, [*command, name])
        edited = _read(name)
    finally:
        os.unlink(name)
    return edited.removesuffix("\n") if not text.endswith("\n") else edited


async def page(app: App[Any], text: str) -> None:
    """Shows a text; control characters are taken out, since a pager may obey them. Raises as `edit`."""
    from fireside_tui.safe_text import safe

    command = _command(("PAGER",), ("less", "more"))
    handle, name = tempfile.mkstemp(prefix="fireside-", suffix=".md")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(safe(text))
        await in_terminal(app, [*command, name])
    finally:
        os.unlink(name)


def _read(name: str) -> str:
    return Path(name).read_bytes().decode("utf-8", "replace")


def _command(variables: Iterable[str], usual: Iterable[str]) -> list[str]:
    for variable in variables:
        if words := shlex.split(os.environ.get(variable, "")):
            return words
    for program in usual:
        if found := shutil.which(program):
            return [found]
    raise ValueError(f"no program found: set {next(iter(variables))}")


async def in_terminal(app: App[Any], command: list[str]) -> None:
    """Lends the terminal to a program until it ends. Raises as `edit`."""
    try:
        with app.batch_update(), app.suspend():  # nothing is drawn while the terminal is another one's
            process = await asyncio.create_subprocess_exec(*command)
            status = await process.wait()
    except SuspendNotSupported:
        raise ValueError("this terminal can't be lent to another program") from None
    if status:
        raise ValueError(f"{command[0]} ended with status {status}")
