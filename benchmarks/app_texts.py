"""What is said in the measurements: mixed Markdown of any length, one long table, and the messages of a long conversation."""

from __future__ import annotations

CHUNK = 20
"""Characters in a delta."""

SECTION = """## Part {n}: what the harbour log says

The *tide table* of day {n} gives `high = {n}` and a [note](https://example.com/{n}) on **spring tides**, which come \
twice a month; whoever plans a landing counts back from them and leaves an hour, since the wind moves the water too.

1. Read the gauge at the pier
2. Compare it with the table
   - above by more than `0.3`: wait
   - below: go on

```python
def level_{n}(hours: float) -> float:
    # twelfths, as sailors do it
    return {n} + 0.5 * hours if hours < 6 else {n}.0
```

| port | high | low |
|---|---:|---:|
| North {n} | 4.{n} | 0.{n} |
| **South** | 3.9 | `0.8` |

> Nobody trusts a table alone.

"""


def mixed(size: int) -> str:
    """So many characters of headings, prose, lists, code, tables and quotes."""
    parts: list[str] = []
    length = 0
    while length < size:
        parts.append(SECTION.format(n=len(parts)))
        length += len(parts[-1])
    return "".join(parts)[:size]


def table(rows: int) -> str:
    """One table with so many rows."""
    head = "| station | reading | remark |\n|---|---:|---|\n"
    return head + "".join(
        f"| buoy {n} | `{n * 7 % 1000}` | seen **{n}** times, {'' if n % 3 else 'not '}calm |\n" for n in range(rows)
    )


def deltas(text: str, last: str) -> list[str]:
    """The text in deltas, and a last one by which its end is known on the screen."""
    return [*(text[at : at + CHUNK] for at in range(0, len(text), CHUNK)), last]


def question(n: int) -> str:
    """What the person says in turn `n`."""
    return f"Question {n}: what does the log of day {n} say, and can I land before noon if the wind stays in the west?"


def answer(n: int) -> str:
    """What the model says in turn `n`: some 600 characters, prose or a bit of everything."""
    if n % 3:
        return SECTION.format(n=n)[:600].rpartition("\n")[0]
    return "\n\n".join(
        f"Paragraph {k} of answer {n}. " + "The wind is steady and the water is clear. " * 4 for k in range(3)
    )
