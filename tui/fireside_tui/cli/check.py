"""The command `doctor`."""

from __future__ import annotations

import click

from fireside_tui.cli import out
from fireside_tui.cli.frame import FAILED, OK
from fireside_tui.cli.given import Given
from fireside_tui.cli.options import common
from fireside_tui.safe_text import safe_line

MARKS = {"ok": ("✓", "green"), "note": ("!", "yellow"), "wrong": ("✗", "red"), "": (" ", None)}


@click.command()
@click.option("--json", "as_json", is_flag=True, help="One finding per line, as JSON.")
@common
def doctor(given: Given, as_json: bool) -> int:
    """Say what fireside finds on this machine.

    Versions, settings, credentials (never their value), store, terminal. Exits 1 where something has to be mended.
    """
    from fireside_tui.doctor import examine

    wrong, room = False, ""
    for finding in examine(given.config_file, given.options):
        wrong = wrong or finding.verdict == "wrong"
        if as_json:
            out.write_json(
                {"room": finding.room, "name": finding.name, "verdict": finding.verdict, "text": finding.text}
            )
            continue
        if finding.room != room:
            out.write(("\n" if room else "") + out.bold(finding.room))
            room = finding.room
        mark, colour = MARKS[finding.verdict]
        line = out.folded(f"    {finding.name:<14} {safe_line(finding.text)}", " " * 19)
        out.write(f"  {click.style(mark, fg=colour)}{line[3:]}")
    return FAILED if wrong else OK
