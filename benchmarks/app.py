"""What the app costs, measured at the installed command in a pseudo-terminal of 120x36, beside a bare Textual app.

    python -m benchmarks.app                                       # all measures, some four minutes
    python -m benchmarks.app --rounds 1 --only open                # one measure, quickly
    python -m benchmarks.app --peers-python /path/to/venv/bin/python

Each round takes the measures in turn, so a busy machine is busy for all of them. A figure is the median of the rounds,
and is held against the goal; "worst" is the worst round. See benchmarks/README.md for what each measure does.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from benchmarks.app_measures import MEASURES, UNASKED, Bench
from benchmarks.app_rows import ROWS, Row

ELIA = 1.04
"""Seconds that elia took to start where the goals were set."""


@dataclass
class Told:
    """The lines of the table."""

    samples: dict[str, list[float]] = field(default_factory=dict)

    def lines(self) -> Iterator[str]:
        yield "| measure | median | worst | goal | |"
        yield "|---|---:|---:|---|---|"
        for row in ROWS:
            if values := self.samples.get(row.name):
                yield self._line(row, values)

    def _line(self, row: Row, values: list[float]) -> str:
        middle, verdict = median(values), ""
        most, goal = self._goal(row)
        if most is not None:
            verdict = "ok" if middle <= most else "**missed**" + self._at_the_goals_pace(row, middle, most)
        return f"| {row.title} | {row.show(middle)} | {row.show(max(values))} | {goal} | {verdict} |"

    def _at_the_goals_pace(self, row: Row, middle: float, most: float) -> str:
        """What seconds that are too many come to on the machine that the goals were set on, by how long elia took there."""
        if row.times is not None or row.unit not in ("s", "ms") or not (elia := self.samples.get("elia")):
            return ""
        there = middle * ELIA / median(elia)
        return f" here; {row.show(there)} at the pace of the goals' machine{': ok' if there <= most else ''}"

    def _goal(self, row: Row) -> tuple[float | None, str]:
        """What the row must reach, and how that is said."""
        if row.goal is None:
            return None, ""
        if row.times is None:
            return row.goal, f"≤ {row.show(row.goal)}"
        if not (base := self.samples.get(row.times)):
            return None, ""
        most = row.goal * median(base)
        return most, f"≤ {row.goal:g} × that below = {row.show(most)}"


@contextmanager
def server(root: Path) -> Iterator[subprocess.Popen[str]]:
    """The API server, in a process of its own."""
    with subprocess.Popen(
        [sys.executable, "-m", "benchmarks.app_feed"],
        cwd=root,
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        try:
            yield process
        finally:
            assert process.stdin is not None
            process.stdin.close()
            process.wait()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.app", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", choices=MEASURES, action="append", help="one measure; may be given several times")
    parser.add_argument("--pages", type=int, default=60, help="PageUp keys in a round (60)")
    parser.add_argument("--messages", type=int, default=150, help="messages in the hour's use, once in a run (150)")
    parser.add_argument("--peers-python", metavar="PYTHON", help="a Python beside which elia is installed")
    options = parser.parse_args()
    wanted = [name for name in MEASURES if name in (options.only or UNASKED)]
    told = Told()
    root = Path(__file__).parents[1]
    with tempfile.TemporaryDirectory(prefix="fireside-bench-") as folder, server(root) as api:
        bench = Bench(root, Path(folder), api, told.samples, options.pages, options.messages, options.peers_python)
        bench.prepare(wanted)
        for turn in range(options.rounds):
            for name in wanted:
                if turn == 0 or name != "hour":
                    begun = time.monotonic()
                    MEASURES[name](bench)
                    print(f"round {turn + 1}: {name}, {time.monotonic() - begun:.0f} s", file=sys.stderr, flush=True)
        for note in bench.notes:
            print(note, file=sys.stderr)
    load = " ".join(f"{value:.2f}" for value in os.getloadavg())
    print(f"{options.rounds} rounds, {os.cpu_count()} cores, load average {load}\n")
    print("\n".join(told.lines()))


if __name__ == "__main__":
    main()
