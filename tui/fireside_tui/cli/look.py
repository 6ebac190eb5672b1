"""The commands that look and change nothing: `list`, `show`, `search`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from fireside_tui.cli import out
from fireside_tui.cli.given import Given
from fireside_tui.cli.options import common
from fireside_tui.safe_text import safe, safe_line

if TYPE_CHECKING:
    from fireside import SavedState

    from fireside_tui.reading import Call, Passage, Said
    from fireside_tui.search import Hit

STATUSES = {
    "new": "has no answer yet",
    "running": "a run works on it at the moment",
    "approval": "a tool call waits for your yes or no",
    "waiting": "answered or stopped; your turn",
    "interrupted": "its process died in a run; Ctrl+R in the app goes on, or fireside -p --resume ID",
    "failed": "the last run failed",
    "limit": "the last run came to its limit",
    "finished": "its task is done",
}
"""Every status, in words."""


def _explained() -> str:
    return "\b\nSTATUS says where a conversation stands:\n" + "\n".join(
        f"  {name:<13}{words}" for name, words in STATUSES.items()
    )


@click.command("list", epilog=_explained())
@click.option("--json", "as_json", is_flag=True, help="One conversation per line, as JSON.")
@click.option("-n", "--limit", type=click.IntRange(min=1), metavar="N", help="Only the newest N.")
@click.option("-a", "--all", "also_empty", is_flag=True, help="Also those in which nothing was said yet.")
@common
def list_(given: Given, as_json: bool, limit: int | None, also_empty: bool) -> None:
    """Show the conversations, newest first."""
    rows = given.kept.list()
    short = out.short_ids([row.id for row in rows])
    shown = [row for row in rows if also_empty or row.title or row.turn][:limit]
    if as_json:
        for row in shown:
            out.write_json(row_json(row))
    elif shown:
        _table(shown, short)
    else:
        click.echo('No conversations yet: "fireside" opens the app, fireside -p "question" asks from here.', err=True)


def row_json(row: SavedState) -> dict[str, Any]:
    """A row of the list for programs."""
    return {
        "id": row.id,
        "title": row.title,
        "task": row.task,
        "status": row.status,
        "created_at": row.created_at.isoformat(),
        "updated_at": row.updated_at.isoformat(),
        "turn": row.turn,
        "stopped_by": row.stopped_by,
        "finished": row.finished,
        "usage": row.usage.to_json(),
    }


def _table(rows: list[SavedState], short: dict[str, str]) -> None:
    ids = max(2, *(len(short[row.id]) for row in rows))
    times = [out.ago(row.updated_at) for row in rows]
    at = max(7, *map(len, times))
    status = max(6, *(len(row.status) for row in rows))
    turns = max(5, *(len(str(row.turn)) for row in rows))
    room = out.width()
    left = max(room - (ids + at + status + turns + 8), 10) if room else None
    out.write(out.dim(f"{'ID':<{ids}}  {'UPDATED':<{at}}  {'STATUS':<{status}}  {'TURNS':>{turns}}  TITLE"))
    for row, time in zip(rows, times, strict=True):
        state = click.style(f"{row.status:<{status}}", fg=out.COLOURS.get(row.status))
        title = safe_line(row.title, left) or out.dim("(nothing said yet)")
        out.write(f"{short[row.id]:<{ids}}  {out.dim(f'{time:<{at}}')}  {state}  {row.turn:>{turns}}  {title}")


@click.command()
@click.argument("id", metavar="ID")
@click.option("--json", "as_json", is_flag=True, help="All of it, exactly: every entry, as JSON.")
@common
def show(given: Given, id: str, as_json: bool) -> None:
    """Show a conversation."""
    state = given.load(id)
    if as_json:
        from fireside_tui.export import to_json

        click.echo(to_json(state), nl=False)
        return
    from fireside_tui.reading import read

    facts = [state.id, state.status, out.plural(state.turn, "turn"), f"{state.created_at.astimezone():%Y-%m-%d %H:%M}"]
    out.write(f"{out.bold(safe_line(state.title) or 'Untitled')}\n{out.dim(' · '.join(facts))}")
    for passage in read(state):
        out.write("\n" + _passage(passage))


def _passage(passage: Passage) -> str:
    from fireside_tui.reading import Said

    if isinstance(passage, Said):
        return _said(passage)
    line = out.dim(f"── {safe_line(passage.text)}")
    return f"{line}\n{out.indented(passage.body)}" if passage.body else line


def _said(said: Said) -> str:
    from fireside.messages import Image, Text, Thinking

    from fireside_tui.reading import Call

    colour = "cyan" if said.who == "you" else "yellow"
    lines = [f"{click.style(said.name, fg=colour, bold=True)}  {out.dim(f'{said.at.astimezone():%H:%M}')}"]
    for part in said.parts:
        match part:
            case Text(text) if text.strip():
                lines.append(out.wrapped(safe(text).strip("\n")))
            case Thinking(text) if text.strip():
                lines.append(out.dim(out.indented(text, "┊ ")))
            case Image(data, media_type):
                lines.append(out.dim(f"[picture: {safe_line(media_type)}, {len(data) * 3 // 4:,} bytes]"))
            case Call():
                lines.append(_call(part))
    if said.end:
        lines.append(out.dim(f"({safe_line(said.end)})"))
    return "\n".join(lines)


def _call(call: Call) -> str:
    import json

    arguments = ", ".join(f"{key}={json.dumps(value, ensure_ascii=False)}" for key, value in call.call.args.items())
    given = call.call.unreadable if call.call.unreadable is not None else arguments
    outcome = call.outcome
    if call.result is not None:
        outcome += f" · {out.size(len(call.result.text))} characters"
    line = safe_line(f"▸ {call.call.name}({given})", max((out.width() or 120) - len(outcome) - 2, 20))
    return f"{line}  {click.style(outcome, fg='red' if call.outcome == 'failed' else None, dim=True)}"


@click.command()
@click.argument("words", nargs=-1, required=True, metavar="WORDS…")
@click.option("--json", "as_json", is_flag=True, help="One conversation per line, as JSON.")
@click.option(
    "-n", "--limit", type=click.IntRange(min=1), default=20, show_default=True, metavar="N", help="At most N."
)
@common
def search(given: Given, words: tuple[str, ...], as_json: bool, limit: int) -> int | None:
    """Find conversations by what was said.

    All the WORDS have to be in one message, a tool's result or the title; the last one may be the start of a word. Exits 1
    where nothing is found.
    """
    from fireside_tui.config import paths
    from fireside_tui.search import SearchIndex

    with SearchIndex(paths().search_index(given.config.place), given.kept) as index:
        index.update(_progress if sys.stderr.isatty() else None)
        hits = index.search(" ".join(words), limit)
        short = out.short_ids([row.id for row in given.store.list()]) if hits and not as_json else {}
    for n, hit in enumerate(hits):
        if as_json:
            out.write_json(
                {"id": hit.id, "title": hit.title, "snippet": hit.snippet, "seq": hit.seq, "at": hit.at.isoformat()}
            )
        else:
            out.write(("\n" if n else "") + _hit(hit, short.get(hit.id, hit.id)))
    if not hits:
        click.echo(f"Nothing found for {safe_line(' '.join(words))!r}.", err=True)
        return 1
    return None


def _hit(hit: Hit, short: str) -> str:
    room = out.width()
    text = safe_line(hit.snippet)  # mark for character, so the ranges stay true but for CRLF, which no snippet has
    cut = safe_line(text, room and room - 2)
    snippet, end = "", 0
    for first, last in hit.marks:
        snippet += cut[end:first] + out.bold(cut[first:last])
        end = last
    snippet += cut[end:]
    title = safe_line(hit.title, room and max(room - len(short) - 16, 10))
    return f"{short}  {out.bold(title)}  {out.dim(out.ago(hit.at))}\n  {snippet}"


def _progress(done: int, of: int) -> None:
    """One line that is written over, where there is much to take in."""
    if of >= 200 and (done % 50 == 0 or done == of):
        click.echo(f"\rindexing {done} of {of} conversations" + ("\r\x1b[K" if done == of else ""), err=True, nl=False)
