"""Where code begins and ends in a Markdown text, line by line. It knows nothing else."""

from __future__ import annotations

import re

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")


def next_fence(line: str, fence: str) -> tuple[str, bool]:
    """The fence that is open after a line (empty: none), and whether the line belongs to a code block.

    >>> next_fence("```python", "")
    ('```', True)
    """
    match = _FENCE.match(line)
    if not fence:
        opens = match and not (match[1][0] == "`" and "`" in match[2])
        return (match[1], True) if match and opens else ("", False)
    closes = match and match[1][0] == fence[0] and len(match[1]) >= len(fence) and not match[2].strip()
    return ("" if closes else fence), True


__all__ = ["next_fence"]
