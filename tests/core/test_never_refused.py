"""Whatever is stopped, cut, killed, forked or compacted: the API never refuses what is sent next.

The server is the strict one of `tests/support`: its thinking signatures are bound to all that stood before, and it refuses
what the real API refuses. Each example is a random conversation through the real SDK.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from pathlib import Path

import pytest
from fireside import Agent, FileStore, ProviderError, State, tool
from fireside.models.anthropic import AnthropicModel

from tests.support import (
    ApiServer,
    Disconnect,
    ErrorEvent,
    Fin,
    Say,
    Text,
    Thinking,
    ToolUse,
    Truncated,
)
from tests.support import Redacted as RedactedThinking


@tool(read_only=True)
def look(where: str) -> str:
    """Looks somewhere."""
    return {"empty": "", "half": "half an emoji \ud83d"}.get(where, f"there is something at {where}")


@tool
def act(what: str) -> str:
    """Does something."""
    if what == "break":
        raise RuntimeError("broken")
    return "done"


WORDS = ["hello", "  \n", "half \ud83d", "trailing \n\n", "a" * 50, "[brackets]", "\x1b[2J", "ü\u2028x"]


def answer(rnd: random.Random) -> Say:
    blocks: list[object] = []
    if rnd.random() < 0.5:
        blocks.append(Thinking("let me think about it"))
    if rnd.random() < 0.2:
        blocks.append(RedactedThinking())
    if rnd.random() < 0.8:
        text = rnd.choice([word for word in WORDS if "\ud83d" not in word])
        blocks.append(Text(text))
    if rnd.random() < 0.4:
        for _ in range(rnd.randint(1, 3)):
            name, args = rnd.choice([("look", {"where": rnd.choice(["here", "empty", "half"])}),
                                     ("act", {"what": rnd.choice(["x", "break"])}), ("nothing", {}), ("look", {})])  # fmt: skip
            blocks.append(ToolUse(name, args, id=rnd.choice([None, "toolu_same"])))
    fault = rnd.choice([None] * 6 + [Disconnect(after=2), Fin(after=3), Truncated(after=1), ErrorEvent(after=2)])
    reason = rnd.choice([None] * 8 + ["max_tokens"])
    return Say(*blocks, fault=fault, stop_reason=reason)  # type: ignore[arg-type]


async def run(agent: Agent, state: State, rnd: random.Random, api: ApiServer) -> None:
    task = asyncio.create_task(agent.arun(state))
    if rnd.random() < 0.25:  # stopped somewhere on its way
        for _ in range(rnd.randint(1, 60)):
            await asyncio.sleep(0)
        if rnd.random() < 0.5 and not task.done():
            await asyncio.to_thread(api.wait_for_messages, len(api.messages), 0.05)
        task.cancel()
    with contextlib.suppress(asyncio.CancelledError, ProviderError, RuntimeError):
        await task


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.filterwarnings("ignore::fireside.ResumeWarning")
async def test_random_conversations(seed: int, tmp_path: Path, api: ApiServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fireside.think.FIRST_WAIT", 0.0)
    rnd = random.Random(seed)
    api.default = lambda body: answer(rnd)
    store = FileStore(tmp_path)
    model = AnthropicModel("claude-sonnet-5-5", base_url=api.url, api_key="k")
    agent = Agent(model, system="Be brief.", tools=[look, act], store=store, save_partial_every=0.005, retries=1)
    state = State("begin")
    for _ in range(14):
        step = rnd.random()
        if step < 0.5:
            with contextlib.suppress(ValueError):  # blank
                state.add_user_message(rnd.choice(WORDS))
            await run(agent, state, rnd, api)
        elif step < 0.6:
            state = store.load(state.id) if store.read(state.id) else state
        elif step < 0.68:  # what a kill leaves: the log, cut anywhere
            record = store.read(state.id)
            if record is not None:
                state = State(id=f"killed-{rnd.randrange(10**9)}")
                cut = record.entries[: rnd.randint(1, len(record.entries))]
                cut[0]["origin"]["id"] = state.id
                store.write(state.id, cut, None, create=True)
                state = store.load(state.id)
        elif step < 0.76:
            state = state.fork(at=rnd.choice(list(state.history)).seq)
        elif step < 0.82:
            with contextlib.suppress(ProviderError):
                await agent.acompact(state)
        elif step < 0.88:
            state.clear_tool_results(keep_last=1)
        elif step < 0.92:
            agent = agent.copy(system=rnd.choice(["Be brief.", "Be long.", None]))
        elif step < 0.96:
            state.restore(state.checkpoint("here"))
        else:
            state.add_notice("something changed")
        await run(agent, state, rnd, api)
    assert len(api.messages) > 5
