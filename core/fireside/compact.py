"""Compaction and side questions: requests whose replies are no turn of the conversation."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from fireside.errors import ProviderError
from fireside.history import HistoryEntry
from fireside.items import Results, messages_of
from fireside.mcp import connected
from fireside.messages import Json, Message, Reply, Text, Usage
from fireside.requests import build
from fireside.run import save_before_think, step_saved, tell
from fireside.state import State
from fireside.think import ask_model, settings_of
from fireside.values import need

if TYPE_CHECKING:
    from fireside.agent import Agent

SUMMARY_PROMPT = """\
The conversation is about to be replaced by your summary, which is all that you will remember of it. Write it for \
yourself: what the person wants, what was decided and why, what was done and with what result (names, paths, numbers, \
open questions, exact wording where it matters), and what the next step is. Use no tools. Write the summary alone."""


async def compact(agent: Agent, state: State, instructions: str | None = None) -> HistoryEntry | None:
    """Replaces the context by the model's summary of it. What was said since the last reply is kept as it is.

    `instructions` are added to what the summary is asked for by. `None` where there is nothing to summarise. Raises
    `ValueError` while calls are pending, and what `think` raises.
    """
    state._settled("compact")
    items = state._fold.items
    kept = len(items)
    while kept and isinstance(last := items[kept - 1], HistoryEntry) and last.kind in ("user", "notice"):
        kept -= 1
    if not any(isinstance(item, Results) or getattr(item, "kind", "") != "compact" for item in items[:kept]):
        return None
    await save_before_think(agent, state)
    prompt = SUMMARY_PROMPT + (f"\n\n{instructions}" if instructions else "")
    reply = await _side_reply(agent, state, messages_of(items[:kept]), prompt)
    summary = reply.text.strip()
    if not summary:
        state._append("ask", {"prompt": prompt, "answer": None, "usage": reply.usage.to_json()}, is_error=True)
        raise ProviderError("the model gave no summary")
    content = {
        "summary": summary,
        "kept": [item.seq for item in items[kept:]],
        "by": "model",
        "usage": reply.usage.to_json(),
    }
    entry = state._append("compact", content)
    await step_saved(agent, state)
    await tell(agent, "on_context_change", state)
    return entry


async def ask(agent: Agent, state: State, prompt: str, returns: Any = str) -> Any:
    """A side question about the conversation; the context does not change.

    `returns` is the type of the answer: `str`, or what pydantic can check (a model, a dataclass, `list[int]`, …). An
    answer that does not fit is asked for once more. Raises `ValueError` for one that still does not fit.
    """
    if not need(prompt, str, "a question is a str").strip():
        raise ValueError("the question is empty")
    if returns is str:
        reply = await _side_reply(agent, state, state._fold.messages(), prompt)
        answer: Any = reply.text
        saved: Json = answer
        usage = reply.usage
    else:
        answer, saved, usage = await _ask_typed(agent, state, prompt, returns)
    state._append("ask", {"prompt": prompt, "answer": saved, "usage": usage.to_json()})
    await step_saved(agent, state)
    return answer


async def _ask_typed(agent: Agent, state: State, prompt: str, returns: Any) -> tuple[Any, Json, Usage]:
    from pydantic import TypeAdapter, ValidationError

    adapter = TypeAdapter(returns)
    schema = json.dumps(adapter.json_schema())
    question = f"{prompt}\n\nAnswer with one JSON value alone, no other words, that fits this JSON Schema:\n{schema}"
    usage = Usage()
    for last_try in (False, True):
        reply = await _side_reply(agent, state, state._fold.messages(), question)
        usage += reply.usage
        try:
            answer = adapter.validate_json(_json_in(reply.text))
            return answer, adapter.dump_python(answer, mode="json"), usage
        except ValidationError as error:
            if last_try:
                state._append("ask", {"prompt": prompt, "answer": None, "usage": usage.to_json()}, is_error=True)
                raise ValueError(f"the model's answer does not fit {returns!r}: {error}") from error
            question += f"\n\nYour last answer was {reply.text!r}, which does not fit: {error}"
    raise AssertionError("unreachable")


def _json_in(text: str) -> str:
    """The JSON of an answer that may come in a fenced block."""
    text = text.strip()
    if text.startswith("```") and text.endswith("```"):
        text = text[3:-3].split("\n", 1)[-1]
    return text.strip()


async def _side_reply(
    agent: Agent, state: State, messages: Iterable[tuple[Message, HistoryEntry | None]], prompt: str
) -> Reply:
    asked = [*messages, (Message("user", (Text(prompt),)), None)]
    async with connected(agent.mcp_servers):
        # The tools go along: an API refuses calls and results in a conversation without them, and the cache stays warm.
        return await ask_model(agent, state, build(asked, **settings_of(agent)))
