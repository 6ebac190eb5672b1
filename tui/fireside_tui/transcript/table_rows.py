"""Tables to rows: columns as wide as the first chunk's cells need, cells that wrap, records where columns do not fit."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

from fireside_tui.transcript.cells import cell_len, wrap_cuts
from fireside_tui.transcript.inline import inline, parser
from fireside_tui.transcript.rows import Rows
from fireside_tui.transcript.runs import Piece, Row, Run, slice_runs, text_of

if TYPE_CHECKING:
    from markdown_it.token import Token

_NARROW = 4
Cells = list[list[list[Run]]]


def read_table(tokens: list[Token], base: tuple[str, ...] = ()) -> tuple[Cells, list[str]]:
    """The cells of all rows (the first is the head) and the columns' alignments."""
    cells: Cells = []
    aligned: list[str] = []
    for token in tokens:
        if token.type == "tr_open":
            cells.append([])
        elif token.type == "th_open":
            aligned.append(str(token.attrs.get("style", "")).rpartition(":")[2])
        elif token.type == "inline":
            cells[-1].append(inline(token, base if len(cells) > 1 else (*base, "th")))
    return cells, aligned


def natural_widths(cells: Cells) -> list[int]:
    """What each column would like."""
    count = max(map(len, cells), default=0)
    widths = [1] * count
    for row in cells:
        for c, runs in enumerate(row):
            widths[c] = max(widths[c], cell_len(text_of(runs)))
    return widths


def table_widths(source: str, env: dict[str, Any]) -> list[int]:
    """The columns of a long table: what its first chunk needs, and some room, for the later chunks keep them."""
    tokens = parser().parse(source, env)
    return [width + max(2, width // 4) for width in natural_widths(read_table(tokens)[0])]


def table_rows(
    rows: Rows, tokens: list[Token], prefix: list[Run], natural: list[int] | None = None, head: bool = True
) -> None:
    """Lays a table out; `head`: whether its first row is shown (a later chunk has it only to be read as a table)."""
    cells, aligned = read_table(tokens, rows.base)
    if not cells or not cells[0]:
        return
    count = len(cells[0])
    widths = (natural or natural_widths(cells))[:count]
    widths += [1] * (count - len(widths))
    room = rows.width - 3 * (count - 1) - sum(cell_len(run.text) for run in rows.prefix + prefix)
    if room < _NARROW * count and sum(widths) > room:
        _records(rows, cells, prefix)
        return
    widths = _shrink(widths, room)
    for n, row in enumerate(cells):
        if n == 0 and not head:
            continue
        _table_row(rows, [*rows.prefix, *prefix], row, widths, aligned)
        if n == 0:
            line = "─┼─".join("─" * w for w in widths)
            rows.row([*rows.prefix, *prefix, Run(line, ("grid",), drawn=True)])


def _shrink(widths: list[int], room: int) -> list[int]:
    """Takes from the widest until they fit."""
    if sum(widths) <= room:
        return widths
    low, high = _NARROW, max(widths)
    while low < high:  # the largest cap on a column with which all fit
        middle = (low + high + 1) // 2
        if sum(min(w, middle) for w in widths) <= room:
            low = middle
        else:
            high = middle - 1
    spare = room - sum(min(w, low) for w in widths)
    out = []
    for w in widths:
        more = 1 if w > low and spare > 0 else 0
        spare -= more
        out.append(min(w, low) + more)
    return out


def _table_row(rows: Rows, prefix: list[Run], row: list[list[Run]], widths: list[int], aligned: list[str]) -> None:
    """One row of the table as one line of text, its cells parted by tabs; a cell that wraps takes several rows."""
    start = rows.length
    columns: list[list[list[Piece]]] = []
    for c, width in enumerate(widths):
        runs = row[c] if c < len(row) else []
        text = text_of(runs)
        cuts = [0, *wrap_cuts(text, width), len(text)]
        lines = []
        for a, b in pairwise(cuts):
            part = slice_runs(runs, a, b)
            x = rows.length + a
            pieces = []
            for run in part:
                pieces.append(Piece(run.text, run.names, run.href, x))
                x += len(run.text)
            lines.append(pieces)
        columns.append(lines)
        rows.plain.append(text + ("\t" if c < len(widths) - 1 else "\n"))
        rows.length += len(text) + 1
    drawn = [Piece(run.text, run.names, "", -1) for run in prefix]
    for k in range(max(map(len, columns))):
        line = list(drawn)
        for c, lines in enumerate(columns):
            if c:
                line.append(Piece(" │ ", ("grid",), "", -1))
            pieces = _trimmed(lines[k]) if k < len(lines) else []
            space = widths[c] - sum(cell_len(piece.text) for piece in pieces)
            side = aligned[c] if c < len(aligned) else ""
            left = space if side == "right" else space // 2 if side == "center" else 0
            if left > 0:
                line.append(Piece(" " * left, (), "", -1))
            line += pieces
            if space - left > 0 and c < len(widths) - 1:
                line.append(Piece(" " * (space - left), (), "", -1))
        rows.rows.append(Row(line, start))


def _trimmed(pieces: list[Piece]) -> list[Piece]:
    if pieces and pieces[-1].text.endswith(" "):
        return [*pieces[:-1], pieces[-1]._replace(text=pieces[-1].text.rstrip(" "))]
    return pieces


def _records(rows: Rows, cells: Cells, prefix: list[Run]) -> None:
    """A table too wide for the screen: each row as lines of "head: cell"."""
    names = cells[0]
    for n, row in enumerate(cells[1:]):
        if n:
            rows.row([*rows.prefix, *prefix, Run("─" * 8, ("grid",), drawn=True)])
        for c, runs in enumerate(row):
            name = names[c] if c < len(names) else []
            rows.wrap([*name, Run(": " if name else "", ("th",)), *runs], prefix)
    if len(cells) == 1:
        for name in names:
            rows.wrap(name, prefix)
