"""`Conversation`: an open conversation with its State, its run and what went wrong. Listeners hear of all that happens.

A run belongs to the conversation that it began in, whatever is on the screen.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from fireside_tui.conversations.approval import Approval
from fireside_tui.conversations.attach import with_files
from fireside_tui.conversations.outcome import Outcome
from fireside_tui.conversations.rows import Status
from fireside_tui.conversations.trouble import Trouble, explain, file_trouble

if TYPE_CHECKING:
    from fireside import Agent, HistoryEntry, Holder, Image, ResumeWarning, State, Tool, ToolCall

SETTINGS = "fireside"
"""The key of `state.data` that holds the settings of a conversation: its model, its system prompt, its effort."""


def own_settings(state: State) -> dict[str, Any]:
    """What `Agent.copy` takes, for a conversation with settings of its own; an empty prompt or effort is none at all."""
    kept = state.data.get(SETTINGS)
    if not isinstance(kept, dict):
        return {}
    known = ("model", "system", "effort", "thinking")
    return {key: kept[key] or None for key in known if key in kept and (kept[key] or key != "model")}


class NotSavedError(Exception):
    """A message could not be saved; `trouble` says why. It is kept, and the next try saves that very one."""

    def __init__(self, trouble: Trouble) -> None:
        super().__init__(trouble.line)
        self.trouble = trouble


class Listener:
    """Hears of what happens in a conversation. Each method does nothing by default."""

    def on_entry(self, conversation: Conversation, entry: HistoryEntry) -> None:
        """The history has a new entry."""

    def on_stream(self, conversation: Conversation, kind: str, text: str) -> None:
        """More of a reply; `kind` is `"text"` or `"thinking"`."""

    def on_retry(self, conversation: Conversation, error: Exception, attempt: int, delay: float) -> None:
        """The request is asked for again: what streamed is void."""

    def on_tool(self, conversation: Conversation, call: ToolCall) -> None:
        """A tool begins to work."""

    def on_reload(self, conversation: Conversation) -> None:
        """The history is another one than before."""

    def on_change(self, conversation: Conversation) -> None:
        """Something else changed: the activity, the approval, the trouble, what is saved."""


class _Unsaved(NamedTuple):
    text: str
    files: tuple[str, ...]
    images: tuple[Image, ...]
    entry: HistoryEntry


class Conversation:
    """An open conversation. `changed` is called after each change, for the list; `ended` after each run."""

    def __init__(
        self,
        state: State,
        agent: Agent,
        saved: bool,
        changed: Callable[[Conversation], None],
        ended: Callable[[Conversation], None],
        always_allow: frozenset[str] = frozenset(),
    ) -> None:
        self.state = state
        self.agent = agent
        self.saved = saved
        """Whether the store has it."""
        self.changed, self.ended = changed, ended
        self.always_allow = always_allow
        self.activity = ""
        """What goes on: "asking", "thinking", "writing", "using read_file", "compacting", "stopping"; empty at rest."""
        self.approval: Approval | None = None
        self.trouble: Trouble | None = None
        self.outcome: Outcome = "stopped"
        """How the last run ended."""
        self.elsewhere: Holder | None = None
        """The other process that runs it; it is read-only here meanwhile."""
        self.allowed: set[str] = set()
        """Tools that run here without being asked about."""
        self.streaming: list[tuple[str, list[str]]] = []
        """What has come of the reply that streams: runs of `"text"` and `"thinking"`, each in pieces."""
        self._listeners: list[Listener] = []
        self._task: asyncio.Task[None] | None = None
        self._again = self._stopping = self._sending = False
        self._unsaved: _Unsaved | None = None
        self._told = 0
        self._last: HistoryEntry | None = None
        self._mark_told()

    @property
    def id(self) -> str:
        """The id of the conversation."""
        return self.state.id

    @property
    def running(self) -> bool:
        """Whether a run (or a compaction) of it is going on here."""
        return self._task is not None

    @property
    def status(self) -> Status:
        """The State's status; who holds an open run is known from the last look at the store, which is not asked."""
        status = self.state.stored_status
        return "interrupted" if status == "running" and not self.running and self.elsewhere is None else status

    @property
    def unsaved(self) -> bool:
        """Whether it holds a message that could not be saved."""
        return self._unsaved is not None

    @property
    def sending(self) -> bool:
        """Whether a message is being saved this moment."""
        return self._sending

    @property
    def empty(self) -> bool:
        """Whether nothing was ever said in it."""
        return not self.state.history

    @property
    def settings(self) -> dict[str, Any]:
        """Its own settings, over those of the app."""
        kept = self.state.data.get(SETTINGS)
        return dict(kept) if isinstance(kept, dict) else {}

    # -- who listens

    def listen(self, listener: Listener) -> None:
        """Adds a listener."""
        self._listeners.append(listener)

    def unlisten(self, listener: Listener) -> None:
        """Takes a listener away."""
        with contextlib.suppress(ValueError):
            self._listeners.remove(listener)

    def _tell(self, event: str, *args: Any) -> None:
        for listener in list(self._listeners):
            getattr(listener, event)(self, *args)

    def _mark_told(self) -> None:
        history = self.state.history
        self._told, self._last = len(history), history[-1] if history else None

    def tell_entries(self) -> None:
        """Tells the listeners of the entries that are new."""
        history = self.state.history
        if self._told > len(history) or (self._told and history[self._told - 1] is not self._last):
            self._mark_told()
            self._tell("on_reload")
            return
        new = history[self._told :]
        self._mark_told()
        for entry in new:
            if entry.kind == "reply" or (entry.kind == "partial_reply" and _is_end(entry)):
                self.streaming.clear()
            self._tell("on_entry", entry)

    def tell_change(self) -> None:
        """Tells the listeners and the list that something changed."""
        self._tell("on_change")
        self.changed(self)

    def replace(self, state: State) -> None:
        """Another State in its place: another process went on with it."""
        self.state, self.saved = state, True
        self._unsaved = None
        self._mark_told()
        self._tell("on_reload")
        self.tell_change()

    # -- a message

    async def send(self, text: str, files: tuple[str, ...] = (), images: tuple[Image, ...] = ()) -> None:
        """Saves a message, then runs. Raises `NotSavedError`, and `ValueError` for a message or a file that can't be.

        After a `NotSavedError` the same message saves the same entry, with its pictures; another one takes the unsaved
        entry back first.
        """
        if self._sending:
            return
        self._sending = True
        try:
            await self._stopped()
            await self._save_message(text, files, images)
        finally:
            self._sending = False
        self.tell_entries()
        self.run()

    async def _save_message(self, text: str, files: tuple[str, ...], images: tuple[Image, ...]) -> None:
        unsaved = self._unsaved
        same = unsaved is not None and (unsaved.text, unsaved.files) == (text, files)
        if unsaved is not None and not (same and images in ((), unsaved.images)):
            self.take_back()
            unsaved = None
        if unsaved is None:
            if self.empty and self.agent.model.name == "demo":  # else the next start would ask for a key
                self.state.data[SETTINGS] = {**self.settings, "model": "demo"}
            try:
                words, pictures = await asyncio.to_thread(with_files, text, files)
            except OSError as error:
                raise ValueError(file_trouble(error)) from error
            entry = self.state.add_user_message(words, *images, *pictures)
            self._unsaved = _Unsaved(text, files, images, entry)
        try:
            await self.agent.asave(self.state)
        except Exception as error:
            self.trouble = explain(error)
            self.tell_change()
            raise NotSavedError(self.trouble) from error
        self._unsaved, self.saved, self.trouble = None, True, None

    def take_back(self) -> None:
        """Takes the message back that could not be saved, if there is one."""
        unsaved, self._unsaved = self._unsaved, None
        if unsaved is None:
            return
        self.state.take_back(unsaved.entry)
        self.trouble = None
        self.tell_entries()
        self.tell_change()

    def use(self, agent: Agent) -> None:
        """Another Agent answers from now on: what went wrong with the model or the server before is over."""
        other = repr(agent.model) != repr(self.agent.model)
        self.agent = agent
        if other and self.trouble is not None and self.trouble.of_model:
            self.trouble = None
            self.tell_change()

    async def save(self) -> None:
        """Saves what else changed (a title, settings). Raises what the store raises."""
        if self.state.history:
            await self.agent.asave(self.state)
            self.saved = True
        self.tell_entries()
        self.tell_change()

    # -- a run

    def run(self) -> None:
        """Starts a run; one that goes on already takes a new message in by itself."""
        if self.running:
            self._again = True
            return
        self._begin(self._run())

    def compact(self) -> None:
        """Starts a compaction. Raises `ValueError` while a run goes on."""
        if self.running:
            raise ValueError("the run has to end first")
        self._begin(self._compact())

    def _begin(self, work: Awaitable[Outcome]) -> None:
        self.trouble = None
        self.activity = "asking"
        self._task = asyncio.ensure_future(self._watched(work))
        self.tell_change()

    async def _watched(self, work: Awaitable[Outcome]) -> None:
        self.outcome = "stopped"
        try:
            self.outcome = await work
        except (Exception, SystemExit) as error:
            self.trouble, self.outcome = explain(error), "failed"
        finally:
            again, self._again = self._again and self._stopping is False, False
            self._task, self._stopping, self.activity, self.approval = None, False, "", None
            self.tell_entries()
            self.streaming.clear()
            self.tell_change()
            self.ended(self)
            if again and not self.trouble and not self.state.is_answered():
                self.run()

    async def _run(self) -> Outcome:
        await self.agent.arun(self.state)
        return "limit" if self.state.stopped_by == "limit" else "answered"

    async def _compact(self) -> Outcome:
        self.set_activity("compacting")
        if await self.agent.acompact(self.state) is None:
            self.trouble = Trouble("There is nothing to summarise yet.")
        else:
            await self.agent.asave(self.state)
        return "compacted"

    def set_activity(self, activity: str) -> None:
        """Says what goes on."""
        if self._stopping:
            activity = "stopping"
        if activity != self.activity:
            self.activity = activity
            self._tell("on_change")

    def ask_to_stop(self) -> None:
        """Cancels the run; what streamed stays and is saved."""
        if self._task is not None and not self._stopping:
            self._stopping = True
            self.activity = "stopping"
            self._task.cancel()
            self._tell("on_change")

    async def stop(self) -> None:
        """Cancels the run, and waits until all is saved."""
        self.ask_to_stop()
        await self._stopped()

    async def _stopped(self) -> None:
        if self._stopping and self._task is not None:
            await asyncio.wait({self._task})

    async def finished(self) -> None:
        """Waits until no run of it goes on."""
        while self._task is not None:
            await asyncio.wait({self._task})

    # -- what the run reports (see `routes.py`)

    async def approve(self, call: ToolCall, tool: Tool) -> bool | str:
        """Asks the person about a call, unless the tool only reads or was allowed for good."""
        if tool.read_only or call.name in self.allowed or call.name in self.always_allow:
            return True
        self.approval = Approval(call, tool)
        self.tell_change()
        try:
            return await self.approval.answered
        finally:
            self.approval = None
            self.tell_change()

    def answer(self, allowed: bool | str, *, always: bool = False) -> None:
        """Answers the approval that waits; `always` allows the tool in this conversation from now on."""
        if self.approval is not None:
            if always:
                self.allowed.add(self.approval.call.name)
            self.approval.answer(allowed)

    def streamed(self, kind: str, text: str) -> None:
        """More of a reply has come."""
        self.set_activity("writing" if kind == "text" else "thinking")
        if not self.streaming or self.streaming[-1][0] != kind:
            self.streaming.append((kind, []))
        self.streaming[-1][1].append(text)
        self._tell("on_stream", kind, text)

    def retried(self, error: Exception, attempt: int, delay: float) -> None:
        """The request is asked for again."""
        self.streaming.clear()
        self.set_activity("asking again")
        self._tell("on_retry", error, attempt, delay)

    def tool_started(self, call: ToolCall) -> None:
        """A tool begins to work."""
        self.set_activity(f"using {call.name}")
        self._tell("on_tool", call)

    def warned(self, warning: ResumeWarning) -> None:
        """Another Agent saved it; the app's own settings show, so only a change of tools is worth a word."""
        gone: list[str] = []
        for key, shown in (("tools", "{}"), ("mcp_servers", "{}__…")):
            saved, now = warning.changes.get(key, ((), ()))
            gone += [shown.format(name) for name in sorted(set(saved or ()) - set(now or ()))]
        if gone:
            self.trouble = Trouble(f"Tools that this conversation had before are not here: {', '.join(gone)}.")
            self._tell("on_change")


def _is_end(partial: HistoryEntry) -> bool:
    return bool(partial.content.get("cut") or partial.content.get("void"))
