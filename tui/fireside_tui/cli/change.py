"""The commands that change conversations: `rename`, `fork`, `delete`."""

from __future__ import annotations

import sys

import click

from fireside_tui.cli import out
from fireside_tui.cli.frame import FAILED, IN_USE, OK, tell, words
from fireside_tui.cli.given import Given, find_id, ids_in
from fireside_tui.cli.options import common
from fireside_tui.safe_text import safe_line


@click.command()
@click.argument("id", metavar="ID")
@click.argument("title", metavar="TITLE")
@common
def rename(given: Given, id: str, title: str) -> None:
    """Give a conversation another title."""
    if not title.strip():
        raise click.UsageError("the title is empty")
    state = given.load(id)
    state.rename(title)
    given.store.save(state)


@click.command()
@click.argument("id", metavar="ID")
@common
def fork(given: Given, id: str) -> None:
    """Copy a conversation; print the new id."""
    from fireside_tui.conversations.rows import numbered

    copy = given.load(id).fork()
    if copy.title:
        copy.rename(numbered(copy.title, [row.title for row in given.store.list()]))
    given.store.save(copy)
    click.echo(copy.id)


@click.command()
@click.argument("ids", nargs=-1, required=True, metavar="ID…")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@common
def delete(given: Given, ids: tuple[str, ...], yes: bool) -> int:
    """Delete conversations for good, after asking once."""
    from fireside.errors import StateInUseError

    known = ids_in(given.kept)
    chosen = list(dict.fromkeys(find_id(given.store, id, known) for id in ids))
    if not yes and not _sure(given, chosen):
        return tell("nothing was deleted", FAILED)
    code = OK
    for id in chosen:
        try:
            given.store.delete(id)
        except StateInUseError as error:
            code = tell(words(error), IN_USE)
        except OSError as error:
            code = tell(f"{id} was not deleted: {words(error)}", FAILED)
    return code


def _sure(given: Given, ids: list[str]) -> bool:
    if not sys.stdin.isatty():
        raise click.UsageError("there is no terminal to ask on: --yes deletes without asking")
    titles = {row.id: row.title for row in given.store.list()}
    for id in ids:
        click.echo(f"  {id}  {safe_line(titles.get(id, ''), 60)}", err=True)
    return click.confirm(f"Delete {out.plural(len(ids), 'conversation')} for good?", err=True)
