"""`Agent`: settings, and the names that users call. The work lies in `run`, `think`, `use_tools` and `compact`."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from fireside import compact as _compact
from fireside import run as _run
from fireside import think as _think
from fireside import use_tools as _use_tools
from fireside.history import HistoryEntry
from fireside.loop import Loop, default_loop
from fireside.mcp import MCPServer, servers_of
from fireside.messages import ToolCall
from fireside.models import DEFAULT_MODEL, Model, resolve
from fireside.reporter import Reporter
from fireside.session import Session
from fireside.state import State
from fireside.stores.base import Store
from fireside.sync import call, drive
from fireside.tools import Tool, as_tool
from fireside.values import need

Approve = Callable[[State, ToolCall, Tool], bool | str | Awaitable[bool | str]]
Human = Callable[[str], str | Awaitable[str]]

_TEXT, _WHOLE = (str, "a str"), (int, "a whole number")
_KINDS: dict[str, tuple[Any, str]] = {
    **dict.fromkeys(("system", "name", "description", "base_url", "api_key", "effort", "thinking"), _TEXT),
    **dict.fromkeys(("save_every", "max_tokens", "context_window"), _WHOLE),
    "save_partial_every": ((int, float), "a number of seconds"),
    "store": (Store, "a Store, such as FileStore(path)"),
    "session": (Session, "a Session"),
}

CONTEXT_WINDOW = 200_000
"""Tokens, where neither the settings nor the model say how many there are."""


class Agent:
    """Settings for running conversations. They do not change; `copy(**changes)` gives another Agent.

    Creating one needs no key and no network. Any Agent may continue any State; one run at a time.

    Args:
        model: a name such as `"claude-sonnet-5"`, `"demo"` (offline), or an object with the `Model` protocol.
        system: the system prompt.
        tools: functions or `Tool`s that the model may call.
        mcp_servers: `MCPServer`s whose tools it may call, too.
        loop: what a run repeats; see `loop`.
        store: where each State is saved as its run goes.
        session: a `Session`, in place of a store; `start` and `resume` use it.
        reporter: who hears of the events of a run.
        human: answers the model's questions: `human(question)`, sync or async. The model gets a tool for it.
        approve: is asked before tools run: `approve(state, call, tool)` gives `True`, `False` or a reason (`str`).
        name, description: what a person calls the Agent.
        save_every: how many steps lie between two saves.
        save_partial_every: seconds between two saves of a reply while it streams; left out, it is saved when whole.
        base_url, api_key: another server that speaks the same API; the key that it wants.
        effort, thinking: the provider's own words, such as `"low"` and `"adaptive"`.
        max_tokens: the longest reply, in tokens.
        context_window: the model's limit, in tokens; the default loop compacts when it is nearly full.
        retries: how often a request that broke off is asked for again.

    Raises `ValueError` or `TypeError` for settings that can't be.

    >>> from fireside.testing import FakeModel
    >>> Agent(FakeModel(["4"])).run("What is 2 + 2?")
    '4'
    """

    def __init__(
        self,
        model: str | Model = DEFAULT_MODEL,
        *,
        system: str | None = None,
        tools: Iterable[Tool | Callable[..., Any]] = (),
        mcp_servers: Iterable[MCPServer] = (),
        loop: Loop = default_loop,
        store: Store | None = None,
        session: Session | None = None,
        reporter: Reporter | None = None,
        human: Human | None = None,
        approve: Approve | None = None,
        name: str | None = None,
        description: str | None = None,
        save_every: int | None = None,
        save_partial_every: float | None = None,
        base_url: str | None = None,
        api_key: str | None = None,
        effort: str | None = None,
        thinking: str | None = None,
        max_tokens: int | None = None,
        context_window: int | None = None,
        retries: int = 3,
    ) -> None:
        given = {key: value for key, value in locals().items() if key not in ("self", "__class__")}
        given["tools"] = tuple(tools)
        given["mcp_servers"] = servers_of(mcp_servers)
        for key, (kind, what) in _KINDS.items():
            if given[key] is not None:
                need(given[key], kind, f"{key} is {what}")
        if session is not None:
            if store is not None and store != session.store:
                raise ValueError("give a store or a session, not both: a session has its own store")
            store = session.store
            save_every = session.checkpoint_interval if save_every is None else save_every
        save_every = 1 if save_every is None else save_every
        if save_every < 1:
            raise ValueError("save_every is 1 or more")
        if save_partial_every is not None and not 0 < save_partial_every < math.inf:
            raise ValueError("save_partial_every is a number of seconds above 0")
        need(loop, Loop, "loop is made by @loop(…) over a function (agent, state)")
        if need(retries, int, "retries is a whole number") < 0:
            raise ValueError("retries is 0 or more")
        for key in ("max_tokens", "context_window"):
            if given[key] is not None and given[key] < 1:
                raise ValueError(f"{key} is 1 or more")
        for key in ("approve", "human"):
            if given[key] is not None and not callable(given[key]):
                raise TypeError(f"{key} is a function, not {type(given[key]).__name__}")
        if isinstance(reporter, type):
            raise TypeError(f"reporter is an object: {reporter.__name__}(), not the class itself")
        made = [as_tool(given_tool) for given_tool in given["tools"]]
        if human is not None:
            made.append(_ask_human(human))
        for tool in made:
            tool.check_parameters()
        names = [tool.name for tool in made]
        if twice := {name for name in names if names.count(name) > 1}:
            raise ValueError(f"two tools have the name {sorted(twice)[0]!r}")
        self._given = given
        self.model = resolve(model, base_url=base_url, api_key=api_key)
        self.system = system
        self.own_tools = {tool.name: tool for tool in made}
        self.mcp_servers = given["mcp_servers"]
        self.loop = loop
        self.store = store
        self.session = session
        self.reporter = reporter
        self.human = human
        self.approve = approve
        self.name = name
        self.description = description
        self.save_every = save_every
        self.save_partial_every = save_partial_every
        self.effort = effort
        self.thinking = thinking
        self.max_tokens = max_tokens
        self.retries = retries
        self._made = True

    @property
    def tools(self) -> dict[str, Tool]:
        """What the model may call now: its own tools, and those of the MCP servers to which there is a connection.

        Where one of its own has the name of a server's, it stands in its place.
        """
        if not self.mcp_servers:
            return self.own_tools
        out = dict(self.own_tools)
        for server in self.mcp_servers:
            for name, tool in server._tools_here().items():
                out.setdefault(name, tool)
        return out

    @property
    def context_window(self) -> int:
        """The model's limit, in tokens: as set, else what the model knows of itself."""
        info = getattr(self.model, "info", None)
        return self._given["context_window"] or (info and info.context_window) or CONTEXT_WINDOW

    def __setattr__(self, name: str, value: Any) -> None:
        if hasattr(self, "_made"):
            raise AttributeError(f"an Agent's settings do not change; agent.copy({name}=…) gives another Agent")
        super().__setattr__(name, value)

    def __repr__(self) -> str:
        servers = f", mcp_servers={[server.name for server in self.mcp_servers]}" if self.mcp_servers else ""
        return f"Agent({self.model.name!r}, name={self.name!r}, tools={list(self.own_tools)}{servers})"

    def copy(self, **changes: Any) -> Agent:
        """Another Agent with some settings changed. Raises `TypeError` for a setting that there is none of."""
        other = type(self)(**{**self._given, **changes})
        if not changes.keys() & {"model", "base_url", "api_key"}:
            object.__setattr__(other, "model", self.model)  # and with it the connections that it keeps
        return other

    # -- actions, each with its async twin

    def run(self, task_or_state: str | State) -> Any:
        """Runs the loop to its stop; the answer. A `str` is the task of a new State.

        Ctrl+C, an exception, `SystemExit` and cancellation end it alike: open calls are closed, and the State is saved.
        Raises `StateInUseError` where another run holds the State, `ValueError` where the store has its id, what the
        model, a tool or the store raise, and `TypeError` inside a running event loop (use `arun` there).
        """
        return drive(lambda: self.arun(task_or_state), "run")

    async def arun(self, task_or_state: str | State) -> Any:
        """`run`, for a running event loop."""
        state = State(task_or_state) if isinstance(task_or_state, str) else task_or_state
        return await _run.run(self, need(state, State, "run takes a task (str) or a State"))

    def think(self, state: State) -> HistoryEntry:
        """One model request; the reply is recorded. Raises `ValueError` while calls are pending or nothing was said."""
        return drive(lambda: self.athink(state), "think")

    async def athink(self, state: State) -> HistoryEntry:
        """`think`, for a running event loop."""
        return await _think.think(self, need(state, State, "think takes a State"))

    def use_tools(self, state: State) -> None:
        """Runs the pending calls and records each result; nothing to do where there are none."""
        drive(lambda: self.ause_tools(state), "use_tools")

    async def ause_tools(self, state: State) -> None:
        """`use_tools`, for a running event loop."""
        await _use_tools.use_tools(self, need(state, State, "use_tools takes a State"))

    def compact(self, state: State, instructions: str | None = None) -> HistoryEntry | None:
        """Replaces the context by the model's summary of it; `None` where there is nothing to summarise."""
        return drive(lambda: self.acompact(state, instructions), "compact")

    async def acompact(self, state: State, instructions: str | None = None) -> HistoryEntry | None:
        """`compact`, for a running event loop."""
        return await _compact.compact(self, need(state, State, "compact takes a State"), instructions)

    def ask(self, state: State, prompt: str, returns: Any = str) -> Any:
        """A side question; the context does not change. `returns` is the type of the answer."""
        return drive(lambda: self.aask(state, prompt, returns), "ask")

    async def aask(self, state: State, prompt: str, returns: Any = str) -> Any:
        """`ask`, for a running event loop."""
        return await _compact.ask(self, need(state, State, "ask takes a State"), prompt, returns)

    def save(self, state: State) -> None:
        """Saves everything that is not saved yet. Raises `ValueError` where the Agent has no store."""
        drive(lambda: self.asave(state), "save")

    async def asave(self, state: State) -> None:
        """`save`, for a running event loop."""
        if self.store is None:
            raise ValueError("this Agent has no store: Agent(store=FileStore(path)) saves")
        await _run.save(self, need(state, State, "save takes a State"))

    def start(self, task: str) -> Any:
        """Starts the session's task; the answer. Raises `ValueError` where the session has a task, or there is none."""
        return drive(lambda: self.astart(task), "start")

    async def astart(self, task: str) -> Any:
        """`start`, for a running event loop."""
        session = self._need_session("start")
        state = await session._fresh()
        if state.context:
            raise ValueError(
                f"the session {session.session_id!r} has a task already: agent.resume() continues it, "
                "another session_id starts a new one"
            )
        state.add_user_message(task)
        return await self.arun(state)

    def resume(self) -> Any:
        """Continues the session's task in flight; the answer, at once where there is nothing to do.

        Raises `LookupError` where the store has no such session, `ValueError` without a session.
        """
        return drive(self.aresume, "resume")

    async def aresume(self) -> Any:
        """`resume`, for a running event loop."""
        session = self._need_session("resume")
        state = await session._fresh()
        if not state.context:  # also where it went back to a checkpoint from before its start
            raise LookupError(
                f"there is no task in the session {session.session_id!r} to resume: agent.start(task) begins one"
            )
        if (state.is_answered() or state.is_finished()) and not state.pending_calls:
            if state._fold.run_open and state.status == "interrupted":  # killed between the answer and the run's end
                state._end_dead_run()
                await self.asave(state)
            return state.answer
        return await self.arun(state)

    def _need_session(self, what: str) -> Session:
        if self.session is None:
            raise ValueError(f"{what} needs a session: Agent(session=Session(session_id=…))")
        return self.session


def _ask_human(human: Human) -> Tool:
    async def ask_human(state: State, question: str) -> str:
        answer = str(await call(human, question))
        state._append("human", {"question": question, "answer": answer})
        return answer

    return Tool(
        ask_human,
        "ask_human",
        "Asks the person a question and waits for the answer. Use it where you can't go on without one.",
        parallel=False,
        read_only=True,
    )
