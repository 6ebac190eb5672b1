"""What the tests of Agent share."""

from __future__ import annotations

from fireside import State, tool


@tool(read_only=True)
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


def results(state: State) -> list[str]:
    return [entry.text for entry in state.history if entry.kind == "tool_result"]
