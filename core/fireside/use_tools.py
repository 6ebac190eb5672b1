"""The pending calls of a turn: the person is asked, the tools run, each result is recorded and saved at once."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any

from fireside.errors import ToolError
from fireside.mcp import connected
from fireside.messages import Json, ToolCall
from fireside.run import close_others, is_inside, locked, said_by_a_person, save, step_saved, tell, try_to_save, words
from fireside.signals import from_signal_handler
from fireside.state import State
from fireside.sync import call as call_user
from fireside.tools import InputError, Tool

if TYPE_CHECKING:
    from fireside.agent import Agent


NOBODY_TO_ASK = "it waited for a person's answer, and here is nobody to ask"


async def use_tools(agent: Agent, state: State) -> None:
    """Runs the pending calls and records each result. Does nothing where none are pending.

    Outside of a run it holds the State's lock for the time, as a run does.
    """
    if not state.pending_calls:
        return
    async with contextlib.AsyncExitStack() as held:
        if not is_inside(state):
            await held.enter_async_context(locked(agent, state))
            close_others(state)
            await save(agent, state)  # brings a State that is behind its store up to date: calls may have run elsewhere
        elif state._foreign == state._fold.turn:
            state._close_cut_off()
        await held.enter_async_context(connected(agent.mcp_servers))
        work = await _checked(agent, state)
        await _approve(agent, state, work)
        work = [(call, tool, args) for call, tool, args in work if call in state.pending_calls]
        if any(not tool.safe_to_repeat for _, tool, _ in work):
            await save(agent, state)  # that the call is about to run is on disk before it does
        await _run_all(agent, state, work)
        await step_saved(agent, state)


async def _checked(agent: Agent, state: State) -> list[tuple[ToolCall, Tool, dict[str, Any]]]:
    """The calls that can run. The model is told of the others at once."""
    good = []
    for call in state.pending_calls:
        tool = agent.tools.get(call.name)
        try:
            if tool is None:
                known = ", ".join(agent.tools) or "there are none"
                raise InputError(f"there is no tool {call.name!r}; the tools are: {known}")
            good.append((call, tool, tool.check(call)))
        except InputError as error:
            await _record(agent, state, call, f"(input error: {error})", is_error=True)
    return good


async def _approve(agent: Agent, state: State, work: list[tuple[ToolCall, Tool, dict[str, Any]]]) -> None:
    """Asks for each call before any of them runs; the answers are on disk before the first one does.

    Calls that were waiting for an answer when their process died are asked about again; those answered are not.
    """
    fold = state._fold
    open_calls = [(call, tool) for call, tool, _ in work if call.n not in fold.approvals]
    if not open_calls or (agent.approve is None and not fold.asked):
        await _refuse(agent, state)
        return
    if agent.approve is None:
        # another Agent began to ask, and this one has nobody to ask: what waits for a yes got none
        for call, _ in open_calls:
            state._append("approval", {"allowed": False, "reason": NOBODY_TO_ASK}, call=call)
    else:
        unasked = [call.n for call, _ in open_calls if call.n not in fold.asked]
        if unasked:
            state._append("approval", {"asked": unasked})
        await save(agent, state)
        for call, tool in open_calls:
            answer = await call_user(agent.approve, state, call, tool)
            if not isinstance(answer, bool | str):
                raise TypeError(f"approve answers True, False or a reason (str), not {answer!r}")
            content: dict[str, Json] = {"allowed": answer is True}
            if isinstance(answer, str) and answer:
                content["reason"] = answer
            state._append("approval", content, call=call)
            await save(agent, state)  # nobody is asked twice what was answered once
    await save(agent, state)
    await _refuse(agent, state)


async def _refuse(agent: Agent, state: State) -> None:
    for call in state.pending_calls:
        answer = state._fold.approvals.get(call.n)
        if answer is not None and answer is not True:
            entry = state.deny(call, answer if isinstance(answer, str) else "the person refused this call")
            await tell(agent, "on_tool_end", state, call, entry)


async def _run_all(agent: Agent, state: State, work: list[tuple[ToolCall, Tool, dict[str, Any]]]) -> None:
    """All at once, but those with `parallel=False` one after the other. The first exception stops the rest."""

    async def one_by_one(these: list[tuple[ToolCall, Tool, dict[str, Any]]]) -> None:
        for call, tool, args in these:
            await _run_one(agent, state, call, tool, args)

    in_order = [item for item in work if not item[1].parallel]
    groups = [[item] for item in work if item[1].parallel] + ([in_order] if in_order else [])
    if len(groups) == 1:
        await one_by_one(groups[0])
        return
    tasks = [asyncio.create_task(one_by_one(group)) for group in groups]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _run_one(agent: Agent, state: State, call: ToolCall, tool: Tool, args: dict[str, Any]) -> None:
    await tell(agent, "on_tool_start", state, call)
    try:
        content = await tool.run(state, args)
    except ToolError as error:
        await _record(agent, state, call, str(error) or "(the tool failed and gave no reason)", is_error=True)
    except Exception as error:
        if not from_signal_handler(error):  # else it is the run's, and no result of this tool
            await _record(agent, state, call, f"({words(error)})", is_error=True, error=error)
        raise
    else:
        await _record(agent, state, call, content)


async def _record(agent: Agent, state: State, call: ToolCall, content: Json, **rest: Any) -> None:
    entry = state._result(call, content, **rest)
    if agent.save_every == 1 or said_by_a_person(state):
        # A failed save does not stop the other tools: the one at the end of the turn writes what is missing, or raises.
        await try_to_save(agent, state)
    await tell(agent, "on_tool_end", state, call, entry)
