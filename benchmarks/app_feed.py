"""The API server of the measurements, in a process of its own: it prints its address, then a line of JSON for each long answer.

Asked for `stream NAME`, it sends that text in deltas of 20 characters, one each 2 ms by the clock: a delta that was late
does not delay the next one. Anything else gets a short answer that ends in the last word of the question.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from typing import Any

from benchmarks.app_texts import deltas, mixed, table
from tests.support import ApiServer, Say, Text

EVERY = 0.002
END = "\u03b5\u03bd\u03b4"
"""What the last delta has: letters that stand nowhere else, and fit into any column."""
SIZES = {"mixed": 100_000, "table": 1_850, "tiny": 2_000}


def text_of(name: str) -> tuple[str, str]:
    """A text, and the last delta behind it."""
    if name == "table":
        return table(SIZES[name]), f"| {END} | 0 | 0 |\n"
    return mixed(SIZES[name]), f"\n\n{END}\n"


class Paced(Say):
    """An answer whose deltas come by the clock; tells on stdout when the first and the last one went out."""

    def events(self, content: list[dict[str, Any]]) -> Iterator[tuple[str, dict[str, Any], float, bool]]:  # type: ignore[override]
        """The events; each delay is worked out when the event is due."""
        start = last = 0.0
        count = 0
        for kind, data, _, counts in super().events(content):  # type: ignore[misc]
            delay = 0.0
            if counts:
                now = time.monotonic()
                start = start or now
                delay = max(0.0, start + count * EVERY - now)
                count += 1
            yield kind, data, delay, counts
            if counts:
                last = time.monotonic()
        print(json.dumps({"start": start, "end": last, "deltas": count}), flush=True)


def reply(body: dict[str, Any]) -> Say:
    """The answer to a request."""
    content = body["messages"][-1]["content"]
    said = content if isinstance(content, str) else "".join(block.get("text", "") for block in content)
    words = said.split()
    if words[:1] == ["stream"]:
        return Paced(Text(deltas(*text_of(words[1]))))
    return Say(f"Aye. The log has **three** lines on it:\n\n- wind\n- water\n- `sky`\n\nre-{words[-1]}")


def main() -> None:
    with ApiServer() as api:
        api.default = reply
        print(json.dumps({"url": api.url}), flush=True)
        sys.stdin.read()  # until the one who started it is done


if __name__ == "__main__":
    main()
