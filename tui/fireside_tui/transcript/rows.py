"""Runs laid out into rows of a width: wrapping, hanging indents, bars, and which text each cell stands for."""

from __future__ import annotations

from fireside_tui.transcript.cells import cell_len, fit, fold_cuts, wrap_cuts
from fireside_tui.transcript.highlight import ROOT, State, highlight, ready
from fireside_tui.transcript.runs import Names, Piece, Row, Run, lines_of, slice_runs, text_of

#: No layout is narrower: below, each row would hold a few letters.
NARROWEST = 8


class Rows:
    """The rows of one block. `plain` is the text that is copied; drawings are in the rows only."""

    def __init__(self, width: int, prefix: list[Run] | None = None, base: Names = ()) -> None:
        self.width = max(NARROWEST, width)
        self.prefix = prefix or []
        self.base = base
        self.rows: list[Row] = []
        self.plain: list[str] = []
        self.length = 0
        self.tail: list[Run] = []
        """The last row's runs, if the next chunk goes on with them."""
        self.hold = False
        """Whether the last line's last row is left to the next chunk."""
        self.sure = True
        """Whether all code is highlighted that can be."""

    def row(self, runs: list[Run], fill: Names = ()) -> None:
        """One row; the runs that are drawings take no part in the text."""
        pieces: list[Piece] = []
        start = self.length
        for text, names, href, drawn in runs:
            if not text:
                continue
            if drawn:
                pieces.append(Piece(text, names, "", -1))
            else:
                pieces.append(Piece(text, names, href, self.length))
                self.plain.append(text)
                self.length += len(text)
        self.rows.append(Row(pieces, start, fill))

    def newline(self) -> None:
        """Ends a line of the text."""
        self.plain.append("\n")
        self.length += 1

    def wrap(
        self,
        runs: list[Run],
        prefix: list[Run] | None = None,
        first: list[Run] | None = None,
        *,
        fold: bool = False,
        fill: Names = (),
        hang: list[Run] | None = None,
        last: bool = False,
    ) -> None:
        """Rows of the runs. `prefix` stands before each row (`first` before the first of all, `hang` before those that
        go on a line); with `fold` lines break at the edge. `last`: the block ends here, so a held row is held here."""
        prefix = prefix or []
        hang = prefix if hang is None else hang
        lead = prefix if first is None else first
        width = max(NARROWEST, self.width - sum([cell_len(run.text) for run in self.prefix + prefix]))
        lines = lines_of(runs)
        for n, line in enumerate(lines):
            text = text_of(line)
            cuts = (fold_cuts if fold else wrap_cuts)(text, width)
            bounds = [0, *cuts, len(text)]
            for k in range(len(bounds) - 1):
                part = slice_runs(line, bounds[k], bounds[k + 1]) if cuts else line
                if self.hold and last and n == len(lines) - 1 and k == len(bounds) - 2:
                    self.tail = part
                    return
                self.row(self.prefix + (lead if k == 0 else hang) + part, fill)
                if k == 0:
                    lead = prefix
            self.newline()

    # -- simple blocks
    def text(self, source: str, names: Names, prefix: list[Run], tail: list[Run]) -> None:
        """Text as it is."""
        source = source.removesuffix("\n") if not self.hold else source
        self.wrap([*tail, Run(source.expandtabs(4), names)], prefix, last=True)

    def code(
        self,
        code: str,
        language: str,
        prefix: list[Run] | None = None,
        *,
        tail: list[Run] | None = None,
        state: State = ROOT,
        label: bool = True,
    ) -> State:
        """Highlighted code on its own ground; long lines fold, marked at the left. Gives the highlighter's state after
        it."""
        prefix = prefix or []
        if ready(language):
            runs, state = highlight(code, language, state)
        else:
            runs, self.sure = [Run(code, ("code",))], False
        column = sum(len(run.text) for run in tail or [])
        runs = _expand([run._replace(names=self.base + run.names) for run in runs], column)
        if runs and not self.hold and runs[-1].text.endswith("\n"):
            runs[-1] = runs[-1]._replace(text=runs[-1].text[:-1])
        fill = ("code",)
        if label and language:
            mark = Run(" " + fit(language, self.width - 4), ("code", "language"), drawn=True)
            self.row([*self.prefix, *prefix, mark], fill)
        edge = [*prefix, Run("  ", fill, drawn=True)]
        hang = [*prefix, Run("↪ ", ("code", "comment"), drawn=True)]
        self.wrap([*(tail or []), *runs], edge, hang if tail else None, fold=True, fill=fill, hang=hang, last=True)
        return state

    def line(self, left: list[Run], right: list[Run]) -> None:
        """One line with something at its right edge; what is too long is cut, the left part first."""
        right = [run._replace(text=fit(run.text, self.width // 2)) for run in right if run.text]
        room = self.width - sum([cell_len(run.text) for run in right]) - 2 * bool(right)
        out: list[Run] = []
        for run in left:
            text = fit(run.text, room)
            room -= cell_len(text)
            out.append(run._replace(text=text))
        if right:
            out += [Run(" " * (room + 2), drawn=True), *right]
        self.row(out)
        self.newline()


def _expand(runs: list[Run], column: int) -> list[Run]:
    """Tabs to spaces, counted from the line's beginning."""
    out = []
    for run in runs:
        text = run.text
        if "\t" in text:
            pad = column % 4
            text = (" " * pad + text).expandtabs(4)[pad:]
        out.append(run if text is run.text else run._replace(text=text))
        cut = text.rfind("\n")
        column = len(text) - cut - 1 if cut >= 0 else column + len(text)
    return out
