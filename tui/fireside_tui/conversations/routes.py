"""From an Agent's events to the conversation that they belong to, by the id of its State."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from fireside import Agent, HistoryEntry, Reporter, ResumeWarning, State, Tool, ToolCall

from fireside_tui.conversations.conversation import Conversation


class Routes(Reporter):
    """The reporter of all runs. Where the Agent came with a reporter of its own, that one hears everything, too."""

    def __init__(self, find: Callable[[str], Conversation | None], own: Reporter | None = None) -> None:
        self._find = find
        self._own = own

    async def _pass_on(self, event: str, *args: Any) -> None:
        if self._own is not None:
            result = getattr(self._own, event)(*args)
            if isinstance(result, Awaitable):
                await result

    async def on_run_start(self, state: State) -> None:
        """The run's first entries are saved."""
        self._told(state, "asking")
        await self._pass_on("on_run_start", state)

    async def on_think_start(self, state: State) -> None:
        """A request leaves."""
        self._told(state, "asking")
        await self._pass_on("on_think_start", state)

    async def on_text(self, state: State, text: str) -> None:
        """Words come."""
        if conversation := self._find(state.id):
            conversation.streamed("text", text)
        await self._pass_on("on_text", state, text)

    async def on_thinking(self, state: State, text: str) -> None:
        """Thoughts come."""
        if conversation := self._find(state.id):
            conversation.streamed("thinking", text)
        await self._pass_on("on_thinking", state, text)

    async def on_retry(self, state: State, error: Exception, attempt: int, delay: float) -> None:
        """It is asked for again."""
        if conversation := self._find(state.id):
            conversation.retried(error, attempt, delay)
        await self._pass_on("on_retry", state, error, attempt, delay)

    async def on_think_end(self, state: State, entry: HistoryEntry) -> None:
        """The reply is there."""
        self._told(state)
        await self._pass_on("on_think_end", state, entry)

    async def on_tool_start(self, state: State, call: ToolCall) -> None:
        """A tool works."""
        self._told(state)
        if conversation := self._find(state.id):
            conversation.tool_started(call)
        await self._pass_on("on_tool_start", state, call)

    async def on_tool_end(self, state: State, call: ToolCall, entry: HistoryEntry) -> None:
        """A tool has its result."""
        self._told(state)
        await self._pass_on("on_tool_end", state, call, entry)

    async def on_context_change(self, state: State) -> None:
        """It was compacted."""
        self._told(state)
        await self._pass_on("on_context_change", state)

    async def on_save(self, state: State) -> None:
        """New entries are in the store."""
        if conversation := self._find(state.id):
            conversation.saved = True
        await self._pass_on("on_save", state)

    async def on_warning(self, state: State, warning: ResumeWarning) -> None:
        """The Agent differs from the one before."""
        if conversation := self._find(state.id):
            conversation.warned(warning)
        await self._pass_on("on_warning", state, warning)

    async def on_run_end(self, state: State, error: BaseException | None) -> None:
        """The run is over; the conversation tells the rest itself."""
        await self._pass_on("on_run_end", state, error)

    def _told(self, state: State, activity: str = "") -> None:
        if conversation := self._find(state.id):
            conversation.tell_entries()
            if activity:
                conversation.set_activity(activity)


def approval_of(find: Callable[[str], Conversation | None], agent: Agent) -> Any:
    """The `approve` of all runs: the Agent's own where it has one, else the person at the screen."""
    if agent.approve is not None:
        return agent.approve

    async def approve(state: State, call: ToolCall, tool: Tool) -> bool | str:
        conversation = find(state.id)
        return True if conversation is None else await conversation.approve(call, tool)

    return approve
