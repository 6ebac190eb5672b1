"""The rows of the app's table: what is measured, in what unit, and what it must reach (issue 4)."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Row:
    """A row; with `times` the goal is so many times what that one took."""

    name: str
    title: str
    unit: str
    goal: float | None = None
    times: str | None = None

    def show(self, value: float) -> str:
        """A value with its unit."""
        match self.unit:
            case "s":
                return f"{value:.2f} s"
            case "ms":
                return f"{value * 1000:.0f} ms"
            case "MB":
                return f"{value:.0f} MB"
            case "x":
                return f"{value:.3f} ×"
            case "%":
                return f"{value * 100:.0f} %"
        return f"{value:.0f}{self.unit}"


def _streamed(name: str, what: str) -> list[Row]:
    return [
        Row(f"{name} shown", f"{what}: all shown, of the feed's own time", "x", 1.03),
        Row(f"{name} feed", "– the feed's own time", "s"),
        Row(f"{name} cpu", "– CPU of the app", "s", 3.0),
        Row(f"{name} stall", "– longest stall of the event loop", "ms", 0.060),
        Row(f"{name} stall gc", "– of which garbage collection", "ms"),
        Row(f"{name} key", "– key to screen, median", "ms", 0.020),
        Row(f"{name} key worst", "– key to screen, worst of a round", "ms", 0.090),
        Row(f"{name} frames", "– frames", ""),
        Row(f"{name} written", "– written to the terminal", " kB"),
        Row(f"{name} memory", "– memory at the end", "MB"),
    ]


def _opened(messages: int, seconds: float, megabytes: float) -> list[Row]:
    name = f"open {messages}"
    return [
        Row(name, f"open {messages:,} messages: past the start", "s", seconds),
        Row(f"{name} memory", "– peak memory then", "MB", megabytes),
        Row(f"{name} later", "– peak memory 2.5 s later", "MB"),
    ]


ROWS = [
    Row("start", "first frame", "s", 1.2, times="bare"),
    Row("bare", "– bare Textual app", "s"),
    Row("start setting", "– with a setting given (--system)", "s"),
    Row("elia", "– elia", "s"),
    Row("start cpu", "CPU until the first frame", "s"),
    Row("bare cpu", "– bare Textual app", "s"),
    Row("start memory", "peak memory at the first frame", "MB", 1.3, times="bare memory"),
    Row("bare memory", "– bare Textual app", "MB"),
    Row("elia memory", "– elia", "MB"),
    *_opened(1_000, 0.15, 75),
    *_opened(10_000, 0.40, 110),
    *_streamed("mixed", "100 KB of mixed answer"),
    *_streamed("table", "an open table of 1,850 rows"),
    *(replace(row, goal=None) for row in _streamed("tiny", "2 KB of mixed answer")),
    Row("idle key", "key to screen in 1,000 messages, idle: median", "ms", 0.015),
    Row("idle key worst", "– worst of a round", "ms"),
    Row("page", "a page up in 10,000 messages: median", "ms"),
    Row("page worst", "– worst of a round", "ms"),
    Row("page jumps", "– jumps", ""),
    Row("rows", "10,000 conversations: first rows past the start", "s", 0.2),
    Row("rows whole", "– all of them", "s"),
    Row("filter", "– filter, key to screen: median", "ms", 0.020),
    Row("filter worst", "– filter, worst of a round", "ms"),
    Row("rows memory", "– peak memory", "MB"),
    Row("hour growth", "an hour's use: memory grown after its first quarter", "%", 0.10),
    Row("hour memory", "– memory at the end", "MB"),
    Row("hour last", "– key to screen, the last 20", "ms", 1.2, times="hour first"),
    Row("hour first", "– key to screen, the first 20", "ms"),
]
