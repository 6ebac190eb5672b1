"""Styled text on its way to the screen: runs (text with style names) and rows (segments that know their source)."""

from __future__ import annotations

from typing import NamedTuple

#: Names of looks, joined in this order; never made from outside text.
Names = tuple[str, ...]


class Run(NamedTuple):
    """Text of one look."""

    text: str
    names: Names = ()
    href: str = ""
    drawn: bool = False
    """A drawing (bar, padding): seen, but no part of the text that is copied."""


class Piece(NamedTuple):
    """A run in its row; `x` is where its text begins in the block's plain text, or -1 for a drawing."""

    text: str
    names: Names
    href: str
    x: int


class Row:
    """One line on the screen."""

    __slots__ = ("fill", "pieces", "start")

    def __init__(self, pieces: list[Piece], start: int, fill: Names = ()) -> None:
        self.pieces = pieces
        self.start = start
        """Where the row's text begins in the block's plain text."""
        self.fill = fill
        """The look of the rest of the line."""


def lines_of(runs: list[Run]) -> list[list[Run]]:
    """Runs split at their newlines."""
    lines: list[list[Run]] = [[]]
    for run in runs:
        if "\n" not in run.text:
            lines[-1].append(run)
            continue
        head, *rest = run.text.split("\n")
        lines[-1].append(run._replace(text=head))
        lines += [[run._replace(text=part)] for part in rest]
    return lines


def slice_runs(runs: list[Run], a: int, b: int) -> list[Run]:
    """The characters `a` to `b` of the runs."""
    out: list[Run] = []
    for run in runs:
        size = len(run.text)
        if a < size and b > 0:
            out.append(run if a <= 0 and b >= size else run._replace(text=run.text[max(a, 0) : b]))
        a -= size
        b -= size
        if b <= 0:
            break
    return out


def text_of(runs: list[Run]) -> str:
    """The runs' text."""
    return "".join([run.text for run in runs])
