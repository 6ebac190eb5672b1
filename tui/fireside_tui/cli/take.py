"""The command that takes a conversation out: `export`."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import cast

import click

from fireside_tui.cli.frame import tell
from fireside_tui.cli.given import Given
from fireside_tui.cli.options import common


@click.command()
@click.argument("id", metavar="ID")
@click.option(
    "-f", "--format", "format_name", type=click.Choice(["md", "json"]), help="Markdown to read, or JSON, exactly."
)
@click.option("-o", "--output", metavar="FILE", help="A file, or a folder that gets one; without it, stdout.")
@click.option("--force", is_flag=True, help="Write over a file that is there.")
@common
def export(given: Given, id: str, format_name: str | None, output: str | None, force: bool) -> None:
    """Write a conversation as Markdown or JSON.

    The format follows the name of FILE where it is not given; else it is Markdown.
    """
    from fireside_tui import export as exports

    if output == "":
        raise click.UsageError("--output needs a FILE")
    if format_name is None:
        format_name = "json" if output is not None and output.lower().endswith(".json") else "md"
    chosen = cast(exports.Format, format_name)
    state = given.load(id)
    text = exports.export(state, chosen)
    if output is None or output == "-":
        sys.stdout.write(text)
        return
    file = Path(output).expanduser()
    if file.is_dir():
        file = file / exports.file_name(state, chosen)
    elif output.endswith(("/", os.sep)):
        raise click.ClickException(f"there is no folder {file}")
    flags = os.O_WRONLY | os.O_CREAT | (os.O_TRUNC if force else os.O_EXCL)
    try:
        with open(os.open(file, flags, 0o600), "w", encoding="utf-8") as handle:
            handle.write(text)
    except FileExistsError:
        raise click.ClickException(f"{file} is there already; --force writes over it") from None
    tell(f"written to {file}")
