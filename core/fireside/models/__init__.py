"""The models: one protocol, and who speaks it. Nothing here imports the SDK."""

from __future__ import annotations

import os

from fireside.models.base import Delta, Model, ModelInfo, StreamPart

__all__ = ["DEFAULT_MODEL", "Delta", "Model", "ModelInfo", "StreamPart", "resolve"]

DEFAULT_MODEL = "claude-sonnet-5-5"


def resolve(model: str | Model, *, base_url: str | None = None, api_key: str | None = None) -> Model:
    """The model of that name; a `Model` is given back as it is. No key and no network is needed here.

    `"claude-…"` and `"anthropic/…"` are the Anthropic Messages API; `"demo"` is offline; with a `base_url` (or
    `ANTHROPIC_BASE_URL`), any other name is a model of the server there, which speaks that API. `api_key` goes to that
    server alone; without it, the environment's credentials are used where they belong (see `AnthropicModel`).

    Raises `ValueError` for another name, `TypeError` for what is no model.

    >>> resolve("demo").name
    'demo'
    """
    if not isinstance(model, str):
        if isinstance(model, Model):
            return model
        raise TypeError(f"a model is a name (str) or an object with the Model protocol, not {type(model).__name__}")
    if model == "demo":
        from fireside.models.demo import DemoModel

        return DemoModel()
    name = model.removeprefix("anthropic/")
    at_a_server = base_url or os.environ.get("ANTHROPIC_BASE_URL")
    if name.strip() and (name.startswith("claude-") or name != model or at_a_server):
        from fireside.models.anthropic import AnthropicModel

        return AnthropicModel(name, base_url=base_url, api_key=api_key)
    raise ValueError(
        f"{model!r} is not a model that is known here: use 'claude-…' (such as {DEFAULT_MODEL!r}), 'anthropic/…', "
        "'demo' (offline), or any name together with the base_url of a server that speaks the Anthropic Messages API"
    )
