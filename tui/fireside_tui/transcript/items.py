"""What a transcript shows: a list of items, plain text only. Knows no width, no colour and no library."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["user", "assistant", "thinking", "tool", "notice", "error", "rule"]

#: Kinds that belong to the answer: one heading stands above a run of them.
ANSWER: frozenset[str] = frozenset({"assistant", "thinking", "tool"})
#: Kinds that fold to one line.
FOLDS: frozenset[str] = frozenset({"thinking", "tool"})


@dataclass(slots=True)
class Item:
    """One thing in the transcript. Its texts may hold anything: they are shown, never obeyed."""

    key: str
    """Names the item in every call; unique in a transcript."""
    kind: Kind
    text: str = ""
    label: str = ""
    """Right side of the heading line, such as a time."""
    title: str = ""
    """Tool: the call, `read_file(path="x")`; thinking: "thought for 4 s"; rule: the words in the rule."""
    state: str = ""
    """Tool: "running", "done · 2.1 kB", "refused"; an answer: "stopped", "cut off"."""
    detail: str = ""
    """Tool: arguments and result, shown when unfolded."""
    folded: bool = False
    name: str = ""
    """Who answers, over an answer that is not Claude's."""


def searched(item: Item) -> tuple[str, ...]:
    """The texts of an item that a search looks through, in the order in which they are shown."""
    if item.kind == "rule":
        return (item.title,)
    if item.kind == "tool":
        return (item.title, item.text, item.detail)
    return (item.text,)
