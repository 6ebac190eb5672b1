"""The models that the server lists, in the shape of the API's ModelInfo."""

from __future__ import annotations

from typing import Any

THINKING_TYPES = ("adaptive", "between_tools", "disabled", "enabled")
EFFORTS = ("low", "medium", "high", "xhigh", "max")


def _can(supported: bool) -> dict[str, bool]:
    return {"supported": supported}


def model(
    model_id: str,
    name: str,
    *,
    context: int,
    output: int,
    thinking: tuple[str, ...],
    efforts: tuple[str, ...] = (),
    lifecycle: str = "active",
    image: bool = True,
) -> dict[str, Any]:
    """One entry of `/v1/models`."""
    return {
        "type": "model",
        "id": model_id,
        "display_name": name,
        "created_at": "2026-11-01T00:00:00Z",
        "lifecycle": lifecycle,
        "line": model_id.split("-")[1],
        "max_input_tokens": context,
        "max_tokens": output,
        "deprecated_at": None if lifecycle == "active" else "2026-09-01T00:00:00Z",
        "retires_at": None if lifecycle == "active" else "2027-03-01T00:00:00Z",
        "capabilities": {
            "batch": _can(True),
            "citations": _can(True),
            "code_execution": _can(True),
            "context_management": {
                **_can(True),
                "clear_thinking_20251015": _can(True),
                "clear_tool_uses_20250919": _can(True),
                "compact_20260112": _can(True),
            },
            "effort": {**_can(bool(efforts)), **{name: _can(name in efforts) for name in EFFORTS}},
            "image_input": _can(image),
            "pdf_input": _can(image),
            "server_tools": {**_can(True), "code_execution": _can(True), "web_search": _can(True)},
            "structured_outputs": _can(True),
            "thinking": {
                **_can(bool(set(thinking) - {"disabled"})),
                "types": {name: _can(name in thinking) for name in THINKING_TYPES},
            },
        },
    }


MODELS = [
    model("claude-sonnet-5-5", "Claude Sonnet 5.5", context=1_000_000, output=128_000,
          thinking=("adaptive", "between_tools", "disabled"), efforts=EFFORTS),
    model("claude-opus-5-5", "Claude Opus 5.5", context=1_000_000, output=128_000,
          thinking=("adaptive", "between_tools"), efforts=EFFORTS),
    model("claude-haiku-5-5", "Claude Haiku 5.5", context=200_000, output=64_000,
          thinking=("adaptive", "disabled"), efforts=("low", "medium", "high")),
    model("claude-haiku-4-5", "Claude Haiku 4.5", context=200_000, output=64_000,
          thinking=("disabled", "enabled"), lifecycle="deprecated"),
]  # fmt: skip
