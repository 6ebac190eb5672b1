"""What the stores cost, beside those of other libraries, on the same conversation, interleaved in one run.

    python -m benchmarks.stores                                  # fireside alone
    python -m benchmarks.stores --peers /path/to/venv/bin/python # beside the others; see benchmarks/README.md

Every figure is a median; the steps of all libraries are taken in turn, so a busy machine is busy for all of them.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

PEERS = ("alpineagents", "openai-agents", "langgraph")
PEER = "alpineagents"
"""The one by which the goals were set."""
OURS = ("fireside-file", "fireside-file-save", "fireside-sqlite")
TITLES = {
    "bare": "bare append + fsync",
    "fireside-file": "fireside FileStore (in a run)",
    "fireside-file-save": "fireside FileStore (a save alone, with its lock)",
    "fireside-sqlite": "fireside SQLiteStore (in a run)",
    "alpineagents": "alpineagents FileStore",
    "openai-agents": "openai-agents SQLiteSession",
    "langgraph": "langgraph SqliteSaver",
}


class Worker:
    """A library in a process of its own."""

    def __init__(self, kind: str, folder: Path, peers: str) -> None:
        self.kind, self.folder = kind, folder
        folder.mkdir(exist_ok=True)
        python = peers if kind in PEERS else sys.executable
        env = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
        script = str(Path(__file__).with_name("store_worker.py"))
        self.process = subprocess.Popen(
            [python, script, kind, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env
        )
        self.missing = "missing" in self._answer()

    def _answer(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        answer: dict[str, Any] = json.loads(line) if line else {"missing": "it ended"}
        return answer

    def ask(self, do: str, n: int = 0) -> dict[str, Any]:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"do": do, "n": n}) + "\n")
        self.process.stdin.flush()
        return self._answer()

    def end(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


def steps(kinds: list[str], root: Path, peers: str, count: int) -> dict[str, dict[str, float]]:
    workers = {kind: Worker(kind, root / kind, peers) for kind in kinds}
    for kind in [kind for kind, worker in workers.items() if worker.missing]:
        print(f"{kind} is not installed where it was looked for: left out", file=sys.stderr)
        workers.pop(kind).end()
    for worker in workers.values():
        for n in (10, 10_000):
            worker.ask("build", n)
    found: dict[str, dict[int, list[dict[str, Any]]]] = {kind: {10: [], 10_000: []} for kind in workers}
    for turn in range(count + 3):
        for n in (10, 10_000):
            for kind, worker in workers.items():
                if kind == "langgraph" and n == 10_000 and turn > 12:
                    continue  # seconds each
                answer = worker.ask("step", n)
                if turn >= 3:
                    found[kind][n].append(answer)
    for worker in workers.values():
        worker.end()
    out = {}
    for kind, by_length in found.items():
        small, large = (median(answer["seconds"] for answer in by_length[n]) * 1e3 for n in (10, 10_000))
        bytes_ = [median(answer["bytes"] for answer in by_length[n]) for n in (10, 10_000)]
        out[kind] = {"small": small, "large": large, "bytes": bytes_[0], "bytes large": bytes_[1]}
    return out


Ask = tuple[str, str]  # a library, and what it is to do


def fresh(asks: list[Ask], root: Path, peers: str, n: int, times: int) -> dict[Ask, list[dict[str, Any]]]:
    """Asks for each thing in a fresh process, in turn; the first time warms the caches."""
    found: dict[Ask, list[dict[str, Any]]] = {ask: [] for ask in asks}
    for turn in range(times + 1):
        for kind, do in asks:
            worker = Worker(kind, root / kind, peers)
            answer = {"missing": ""} if worker.missing else worker.ask(do, n)
            if do == "list" and "missing" not in answer:
                answer["again"] = worker.ask(do, n)["seconds"]
            worker.end()
            if turn and "missing" not in answer:
                found[kind, do].append(answer)
    return {ask: answers for ask, answers in found.items() if answers}


def middle(found: dict[Ask, list[dict[str, Any]]], ask: Ask, what: str) -> float | None:
    return median(answer[what] for answer in found[ask]) if ask in found else None


def ratio(took: float | None, peer: float | None) -> str:
    return f"{took / peer:.3f} ×" if took is not None and peer else ""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.stores", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--peers", help="a Python that has the other libraries")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--conversations", type=int, default=10_000)
    given = parser.parse_args()
    peers = given.peers or sys.executable
    kinds = ["bare", *OURS, *(PEERS if given.peers else ())]
    with tempfile.TemporaryDirectory(prefix="fireside-costs-") as made:
        root = Path(made)
        cost = steps(kinds, root, peers, given.steps)
        bare = cost["bare"]["small"]
        print("| one more step | 10 entries | 10,000 entries | growth | of a bare append | bytes written |")
        print("|---|---|---|---|---|---|")
        for kind, told in cost.items():
            print(
                f"| {TITLES[kind]} | {told['small']:.3f} ms | {told['large']:.3f} ms | {told['large'] / told['small']:.2f} "
                f"| {told['small'] / bare:.1f} × | {told['bytes']:,.0f} / {told['bytes large']:,.0f} |"
            )
        loading = [kind for kind in cost if kind not in ("bare", "fireside-file-save")]
        mixed = [kind for kind in loading if kind in OURS]
        for kind in mixed:
            worker = Worker(kind, root / kind, peers)
            for n in (10, 10_000):
                worker.ask("mixed", n)
            worker.end()
        asks = [(kind, "load") for kind in loading] + [(kind, "load_mixed") for kind in mixed]
        print("\n| load 10,000 entries, fresh process | time | of alpineagents | memory grown |\n|---|---|---|---|")
        loaded = fresh(asks, root, peers, 10_000, 5)
        peer = middle(loaded, (PEER, "load"), "seconds")
        for (kind, do), answers in loaded.items():
            title = TITLES[kind] + (", half replies with calls, half their results" if do == "load_mixed" else "")
            took = middle(loaded, (kind, do), "seconds")
            grown = median(answer["grown"] for answer in answers)
            print(f"| {title} | {took:.3f} s | {ratio(took, peer)} | {grown:.0f} MB |")
        lists = root / "lists"
        lists.mkdir()
        listing: list[str] = [kind for kind in ("fireside-file", "fireside-sqlite", "alpineagents") if kind in cost]
        for kind in listing:
            worker = Worker(kind, lists / kind, peers)
            worker.ask("many", given.conversations)
            worker.end()
        listed = fresh([(kind, "list") for kind in listing], lists, peers, 0, 7)
        print(
            f"\n| list {given.conversations:,} conversations of 6 entries | fresh process | of alpineagents "
            "| again in it | of alpineagents, fresh |\n|---|---|---|---|---|"
        )
        peer = middle(listed, (PEER, "list"), "seconds")
        for ask in listed:
            took, again = middle(listed, ask, "seconds"), middle(listed, ask, "again")
            print(f"| {TITLES[ask[0]]} | {took:.3f} s | {ratio(took, peer)} | {again:.3f} s | {ratio(again, peer)} |")


if __name__ == "__main__":
    main()
