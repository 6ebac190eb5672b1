"""What is known of Claude's models without asking: limits, and which thinking and effort each accepts.

Taken from the models' pages on platform.claude.com (October 2026). `models()` asks the server, whose word counts more.
"""

from __future__ import annotations

from fireside.models.base import ModelInfo
from fireside.models.prices import undated

EFFORTS = ("low", "medium", "high", "xhigh", "max")
"""The efforts in order."""

_MILLION = 1_000_000
_ALWAYS = ("adaptive",)
_OPTIONAL = ("adaptive", "disabled")
_BUDGET = ("enabled", "disabled")


def _model(
    id: str,
    thinking: tuple[str, ...],
    efforts: tuple[str, ...] = EFFORTS,
    window: int = _MILLION,
    output: int = 128_000,
) -> ModelInfo:
    words = id.removeprefix("claude-").split("-")
    name = f"Claude {words[0].capitalize()} {'.'.join(words[1:])}"
    return ModelInfo(id, name, window, output, efforts, thinking)


KNOWN = {
    info.id: info
    for info in (
        _model("claude-haiku-5-5", _OPTIONAL, ("low", "medium", "high")),
        _model("claude-sonnet-5-5", ("adaptive", "between_tools")),
        _model("claude-opus-5-5", _ALWAYS),
        _model("claude-fable-5-2", _ALWAYS),
        _model("claude-fable-5-1", _ALWAYS),
        _model("claude-mythos-5-1", _ALWAYS),
        _model("claude-sonnet-5", _OPTIONAL),
        _model("claude-fable-5", _ALWAYS),
        _model("claude-mythos-5", _ALWAYS),
        _model("claude-opus-5", _OPTIONAL),
        _model("claude-opus-4-8", _OPTIONAL),
        _model("claude-opus-4-7", _OPTIONAL),
        _model("claude-opus-4-6", _OPTIONAL, ("low", "medium", "high", "max")),
        _model("claude-sonnet-4-6", _OPTIONAL, ("low", "medium", "high", "max"), output=64_000),
        _model("claude-haiku-4-5", _BUDGET, (), 200_000, 64_000),
        _model("claude-opus-4-5", _BUDGET, ("low", "medium", "high"), 200_000, 64_000),
        _model("claude-sonnet-4-5", _BUDGET, (), 200_000, 64_000),
    )
}


def known(model: str) -> ModelInfo | None:
    """What is known of a model of that name, with or without a date.

    >>> known("claude-haiku-4-5-20251001").max_output
    64000
    """
    return KNOWN.get(undated(model))
