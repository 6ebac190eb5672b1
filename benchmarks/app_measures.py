"""The measures themselves: each starts the app as a person does, and does with it what a person does."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path
from statistics import median

from benchmarks.app_feed import END
from benchmarks.app_store import LAST, WORD, hit, long_id
from benchmarks.term import COLS, ROWS, Lost, Screen, script
from tests.support.term import clean_env

READY = "rite a message"
"""On the first frame; the cursor stands on the W."""
LETTERS = [chr(code) for code in range(0x410, 0x450)]
"""Keys that leave no doubt: nothing on the screen has Cyrillic letters."""
CONVERSATIONS = 10_000
BACKSPACE, CTRL_O, CTRL_N, DOWN, PAGE_UP = "\x7f", "\x0f", "\x0e", "\x1b[B", "\x1b[5~"


@dataclass
class Bench:
    """What the measures share: folders, the server, and the figures that they found."""

    root: Path
    folder: Path
    api: subprocess.Popen[str]
    samples: dict[str, list[float]]
    pages: int
    messages: int
    peers_python: str | None
    notes: list[str] = field(default_factory=list)
    url: str = ""

    def prepare(self, wanted: list[str]) -> None:
        """The server's address, the stores, and everything compiled and in the disk's cache."""
        self.url = json.loads(self._line())["url"]
        if {"open", "idle"} & {*wanted}:
            self._make(1_000, 0)
        if {"open", "page"} & {*wanted}:
            self._make(10_000, 0)
        if "rows" in wanted:
            self._make(0, CONVERSATIONS)
        for take in (start, bare, with_setting, elia):
            take(self)
        self.samples.clear()

    def _make(self, messages: int, conversations: int) -> None:
        place = str(self.store(messages, conversations))
        command = [sys.executable, "-m", "benchmarks.app_store", place, str(messages), str(conversations)]
        subprocess.run(command, cwd=self.root, check=True)

    def store(self, messages: int, conversations: int = 0) -> Path:
        """Where a store is."""
        return self.folder / f"store-{messages}-{conversations}"

    def _line(self) -> str:
        assert self.api.stdout is not None
        return self.api.stdout.readline()

    def feed(self) -> dict[str, float]:
        """When the last long answer began and ended."""
        told: dict[str, float] = json.loads(self._line())
        return told

    def add(self, **figures: float) -> None:
        """Keeps figures; a `_` in a name is a blank."""
        for name, value in figures.items():
            self.samples.setdefault(name.replace("_", " "), []).append(value)

    def open(self, argv: list[str], store: Path | None = None) -> Screen:
        """A program in a home that nobody has lived in; with `store`, its conversations are those."""
        home = tempfile.mkdtemp(dir=self.folder, prefix="home-")
        if store is not None:
            data = Path(home) / ".local/share/fireside"
            data.mkdir(parents=True, mode=0o700)
            (data / "conversations").symlink_to(store)
        env = clean_env(home, ANTHROPIC_BASE_URL=self.url, ANTHROPIC_API_KEY="k", OPENAI_API_KEY="k")
        return Screen(argv, env, home)

    def fireside(self, *args: str, store: Path | None = None, log: Path | None = None) -> Screen:
        """The installed command; with `log`, under the probe."""
        probe = [sys.executable, str(self.root / "benchmarks" / "app_probe.py"), str(log)] if log else []
        return self.open([*probe, script("fireside"), *args], store)


# -- the start


def start(bench: Bench) -> float:
    """It gives its seconds: what comes next, less a start of the same moment, tells more than less that of another one."""
    with bench.fireside() as screen:
        shown = screen.shown(READY) - screen.began
        bench.add(start=shown, start_cpu=screen.cpu(), start_memory=screen.memory("VmHWM"))
        return shown


def bare(bench: Bench) -> None:
    with bench.open([sys.executable, str(bench.root / "benchmarks" / "app_bare.py")]) as screen:
        shown = screen.shown(READY) - screen.began
        bench.add(bare=shown, bare_cpu=screen.cpu(), bare_memory=screen.memory("VmHWM"))


def with_setting(bench: Bench) -> None:
    with bench.fireside("--system", "Be brief.") as screen:
        bench.add(start_setting=screen.shown(READY) - screen.began)


def elia(bench: Bench) -> None:
    if bench.peers_python is None:
        return
    try:
        with bench.open([str(Path(bench.peers_python).parent / "elia")]) as screen:
            shown = screen.shown("Elia", timeout=30) - screen.began
            bench.add(elia=shown, elia_memory=screen.memory("VmHWM"))
    except Lost as why:
        bench.notes.append(f"elia did not start, left out: {why}")
        bench.peers_python = None


def starts(bench: Bench) -> None:
    for _ in range(4):
        start(bench)
        bare(bench)
        with_setting(bench)
    elia(bench)


# -- long conversations


def opening(bench: Bench) -> None:
    for messages in (1_000, 10_000):
        bare(bench)  # as often as the other, at the same moments: the two are compared
        first = start(bench)
        with bench.fireside("--resume", long_id(messages), store=bench.store(messages)) as screen:
            name = f"open {messages}"
            bench.add(**{name: screen.shown(LAST) - screen.began - first, f"{name} memory": screen.memory("VmHWM")})
            screen.rest(2.5)
            bench.add(**{f"{name} later": screen.memory("VmHWM")})


def idle(bench: Bench) -> None:
    with bench.fireside("--resume", long_id(1_000), store=bench.store(1_000)) as screen:
        screen.shown(LAST)
        screen.rest(2.5)
        took = []
        for letter in LETTERS[:40]:
            took.append(screen.key(letter))
            screen.rest(0.05)
        bench.add(idle_key=median(took), idle_key_worst=max(took))


def paging(bench: Bench) -> None:
    with bench.fireside("--resume", long_id(10_000), store=bench.store(10_000)) as screen:
        screen.shown(LAST)
        screen.rest(2.5)
        took, jumps = [], 0
        before = transcript(screen)
        for _ in range(bench.pages):
            took.append(screen.page(PAGE_UP))
            screen.rest(0.01)
            after = transcript(screen)
            jumps += after[-1] != before[0]  # a page keeps one line of the one before
            before = after
        bench.add(page=median(took), page_worst=max(took), page_jumps=jumps)


def transcript(screen: Screen) -> list[str]:
    """The lines of the transcript, as they are on the screen."""
    rows = screen.rows()
    left = next(row.index("╭") for row in rows if "╭" in row)
    box = next(n for n, row in enumerate(rows) if "╭" in row)
    return [row[left : COLS - 1] for row in rows[2:box]]  # above it are the heading and a blank line


# -- an answer that streams


def streaming(bench: Bench, name: str) -> None:
    log = bench.folder / f"stalls-{len(bench.samples.get(f'{name} cpu', []))}-{name}"
    with bench.fireside(log=log) as screen:
        screen.shown(READY)
        screen.send("good morning\r")  # loads the SDK
        screen.shown("re-morning", timeout=30)
        screen.rest(2)
        screen.send(f"stream {name}")
        screen.settle(0.2)
        cpu, place, frames = screen.cpu(), len(screen.out), screen.out.count(b"\x1b[?2026l")
        screen.send("\r")
        took = []
        for letter in LETTERS:
            screen.rest(0.2 - len(took) % 4 * 0.02)
            took.append(screen.key(letter))
            if screen.out.find(END.encode(), place) >= 0:
                break
        shown = screen.shown(END, place, timeout=120)
        cpu = screen.cpu() - cpu
        feed = bench.feed()
        late = stalls(log, feed["start"], shown)
        worst, collected = max(late, default=(0.0, 0.0))
        own = feed["end"] - feed["start"]
        figures = {
            "shown": (shown - feed["start"]) / own,
            "feed": own,
            "cpu": cpu,
            "stall": worst,
            "stall gc": collected,
            "key": median(took),
            "key worst": max(took),
            "frames": screen.out.count(b"\x1b[?2026l") - frames,
            "written": (len(screen.out) - place) / 1000,
            "memory": screen.memory(),
        }
        bench.add(**{f"{name} {key}": value for key, value in figures.items()})


def stalls(log: Path, start: float, end: float) -> list[tuple[float, float]]:
    """How late the heartbeats of that time were, and the garbage collector's part of it."""
    beats = [[float(word) for word in line.split()] for line in log.read_text().splitlines()]
    return [(late, collected) for at, late, collected in beats if start <= at - late and at <= end + 0.01]


# -- many conversations


def rows(bench: Bench) -> None:
    bare(bench)
    first = start(bench)
    with bench.fireside(store=bench.store(0, CONVERSATIONS)) as screen:
        bench.add(rows=screen.shown(hit(0)) - screen.began - first)
        bench.add(rows_whole=screen.shown(f"{CONVERSATIONS:,}") - screen.began - first)
        screen.rest(2.5)
        screen.send(CTRL_O)
        screen.settle()
        screen.send("/")
        screen.settle()
        took = []
        for depth, letter in enumerate(WORD, 1):
            took.append(screen.key(letter, hit(depth)))
            screen.rest(0.1)
        for depth in range(len(WORD) - 1, 0, -1):
            took.append(screen.key(BACKSPACE, hit(depth)))
            screen.rest(0.1)
        bench.add(filter=median(took), filter_worst=max(took), rows_memory=screen.memory("VmHWM"))


# -- an hour's use


def hour(bench: Bench) -> None:
    letters = cycle(LETTERS)
    took: list[float] = []
    first = 0.0
    with bench.fireside() as screen:
        screen.shown(READY)
        for n in range(bench.messages):
            took.append(screen.key(next(letters)))
            screen.key(BACKSPACE, READY)
            screen.key(f"note {n}: what does the log say w{n}\r", f"re-w{n}", timeout=30)
            if n % 10 == 9:  # another conversation
                screen.send(CTRL_O + DOWN * (n // 10 % 4 + 1))
                screen.settle(0.15)
                screen.send("\r")
                screen.rest(0.5)
            if n % 40 == 39:
                screen.send(CTRL_N)
                screen.settle(0.15)
            if n % 15 == 14:
                for cols in (90, COLS):
                    screen.resize(cols, ROWS)
                    screen.settle(0.15)
            if n == bench.messages // 4:
                first = screen.memory()
        last = screen.memory()
    bench.add(
        hour_growth=last / first - 1, hour_memory=last, hour_first=median(took[:20]), hour_last=median(took[-20:])
    )


MEASURES: dict[str, Callable[[Bench], None]] = {
    "start": starts,
    "open": opening,
    "stream": lambda bench: streaming(bench, "mixed"),
    "table": lambda bench: streaming(bench, "table"),
    "tiny": lambda bench: streaming(bench, "tiny"),
    "idle": idle,
    "page": paging,
    "rows": rows,
    "hour": hour,
}
UNASKED = [name for name in MEASURES if name != "tiny"]
