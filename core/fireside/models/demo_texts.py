"""What the demo says. It is the first thing that people see of the app, so it shows what an answer can look like."""

from __future__ import annotations

FIRST = """\
Hello! **This is the offline demo, not Claude.** It needs no key and no network, and its answers are prepared. \
Everything around them is real: this conversation is saved as we speak, and it will be here when you come back.

## Talk to Claude

Give a key, and start again:

```sh
export ANTHROPIC_API_KEY="sk-ant-..."   # from console.anthropic.com
fireside
```

A server on your own machine works too, if it speaks the Anthropic Messages API:

```sh
export ANTHROPIC_BASE_URL="http://127.0.0.1:11434"
fireside --model your-model
```

## Or look around first

| Say | and you will see |
|---|---|
| `code` | a highlighted function |
| `table` | figures in a table |
| `list` | lists in lists |
| `think` | thoughts before the answer |
| `slow`, `long` | an answer that takes its time |
| `use a tool` | a tool call, where there are tools |

Stop an answer in the middle, quit, come back: *nothing is lost.*
"""

INTRODUCTION = (
    "*This is the offline demo, not Claude: its answers are prepared. "
    "To talk to Claude, set `ANTHROPIC_API_KEY` and start again.*"
)

CODE = """\
Here is a small function, with what it rests on.

```python
from collections.abc import Iterable, Iterator


def windows(values: Iterable[float], size: int) -> Iterator[float]:
    \"\"\"The mean of each `size` values in a row.\"\"\"
    kept: list[float] = []
    for value in values:
        kept.append(value)
        if len(kept) > size:
            kept.pop(0)
        if len(kept) == size:
            yield sum(kept) / size


print(list(windows([3, 5, 10, 12, 8], size=3)))  # [6.0, 9.0, 10.0]
```

Two things to notice:

1. It is a **generator**, so a stream without an end is no problem.
2. `kept.pop(0)` moves the whole list. For a large `size`, take a `deque`:

```python
from collections import deque

kept = deque(maxlen=size)  # drops the oldest by itself
```
"""

TABLE = """\
The eight planets, from the Sun outwards:

| Planet | Radius (km) | Day (hours) | Moons |
|:---|---:|---:|---:|
| Mercury | 2,440 | 4,223 | 0 |
| Venus | 6,052 | 2,802 | 0 |
| Earth | 6,371 | 24.0 | 1 |
| Mars | 3,390 | 24.7 | 2 |
| Jupiter | 69,911 | 9.9 | 95 |
| Saturn | 58,232 | 10.7 | 274 |
| Uranus | 25,362 | 17.2 | 28 |
| Neptune | 24,622 | 16.1 | 16 |

A day here is the time from noon to noon. *Venus* turns so slowly, and backwards, that its day lasts longer than half \
of its year.
"""

LISTS = """\
How to make a fire that lasts:

1. **Choose the place.** Bare ground, out of the wind, nothing dry above it.
2. **Sort the wood** by thickness:
   - *tinder*: birch bark, dry grass, wood shavings
   - *kindling*: twigs, from a match to a pencil
   - *fuel*: splits, from a thumb to a wrist
3. **Build it loosely.** Fire is air before it is wood:
   - lean the twigs on each other like a tent
   - leave a door towards the wind
4. **Light the tinder** from below, and wait. Add wood when the last you gave has caught.

> A good fire is fed a little, often. So is a good conversation.

Before you leave, pour water on it until it no longer hisses.
"""

THOUGHTS = """\
The person would like to see me think. I am a demo, so these thoughts are prepared, but they stream as real ones do. \
First: what was asked? Then: what is the shortest answer that helps? Last: is there something I should not claim? \
I should not claim to be Claude.
"""

NO_TOOLS = """\
I would call a tool now, but this conversation offers me none. In a script it takes a few lines:

```python
from datetime import datetime

from fireside import Agent, tool


@tool
def what_time() -> str:
    \"\"\"The time on this machine.\"\"\"
    return datetime.now().strftime("%H:%M")


print(Agent("demo", tools=[what_time]).run("What time is it?"))
```
"""

BY_WORD = {"code": CODE, "python": CODE, "table": TABLE, "list": LISTS, "lists": LISTS}
"""The answers that a word in the message asks for."""

_PARTS = (CODE, TABLE, LISTS)


def in_turn(turn: int, said: str) -> str:
    """An answer to anything: it quotes what was said, and shows one thing after the other."""
    line = said.strip().partition("\n")[0]
    quoted = line if len(line) <= 120 else f"{line[:119]}…"
    opening = "I am the **offline demo**, so I can't answer that; with a key, Claude can. Here is something to look at:"
    return f"> {quoted}\n\n{opening}\n\n{_PARTS[turn % len(_PARTS)]}" if quoted else _PARTS[turn % len(_PARTS)]


def long_answer(chapters: int = 12) -> str:
    """Some 2,000 words, all of them prepared."""
    out = ["# A long answer\n\nYou may stop it at any time; what has come stays.\n"]
    for number in range(chapters):
        out.append(f"## Chapter {number + 1}\n\n{_PARTS[number % len(_PARTS)]}")
    return "\n".join([*out, "*That was all.*\n"])
