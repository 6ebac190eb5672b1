"""What the content of an entry must be: the fold reads it here, and what is malformed raises. It knows messages alone."""

from __future__ import annotations

from fireside.messages import Json, ToolCall, Usage, block_from_json, call_from_json


def must(held: bool) -> None:
    """Raises `ValueError` where an entry lacks what its kind needs."""
    if not held:
        raise ValueError("the entry lacks what its kind needs")


def calls_in(blocks: list[Json]) -> tuple[ToolCall, ...]:
    """The tool calls of a reply. Raises what a malformed block gives, without making the others for nothing."""
    calls: list[ToolCall] = []
    for raw in blocks:
        kind = raw["type"]
        if kind == "text":
            if type(raw["text"]) is not str:
                raise TypeError("a text is a str")
        elif kind == "tool_call":
            calls.append(call_from_json(raw, len(calls)))
        else:
            block_from_json(raw)
    return tuple(calls)


def usage_in(raw: Json) -> Usage:
    """The usage in an entry's content. Raises where it is none, so that no sum is ever spoiled."""
    usage = Usage.from_json(raw)
    input, output, read, written, requests, cost = usage
    if type(input) is type(output) is type(read) is type(written) is type(requests) is int and (
        cost is None or type(cost) is float
    ):
        return usage
    *tokens, cost = usage  # odd, but maybe right: numbers of another kind
    must(all(isinstance(value, int) for value in tokens) and (cost is None or isinstance(cost, int | float)))
    return usage


__all__ = ["calls_in", "must", "usage_in"]
