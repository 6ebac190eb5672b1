"""`Opening`: from the first frame to a screen that is whole. The store and its list, the conversation that was asked for.

What takes time comes after the first frame, on threads: the library, the store, the transcript, and, once somebody writes,
the SDK.
"""

from __future__ import annotations

import asyncio
import gc
import os
import sys
from typing import TYPE_CHECKING, Any

from textual.app import App

from fireside_tui.config import Config, Paths
from fireside_tui.conversations import Conversation, explain

if TYPE_CHECKING:  # the library is loaded after the first frame
    from typing import TypeAlias

    from fireside import Agent, HistoryEntry

    from fireside_tui.conversations import Conversations
    from fireside_tui.screens.main import MainScreen

    First: TypeAlias = Conversation | Exception | list[HistoryEntry] | None


class Opening(App[int]):
    """What the app does until it is open."""

    config: Config
    paths: Paths
    main: MainScreen

    def __init__(
        self, *, resume: str | None, newest: bool, agent: Agent | None, warning: str, own_server: bool
    ) -> None:
        super().__init__()
        self.conversations: Conversations | None = None
        self.tools: dict[str, Any] = {}
        """The settings of the Agent that tools come from, as it was given: what "/tools on" goes back to."""
        self._resume, self._newest, self._agent, self._warning = resume, newest, agent, warning
        self._own_server = own_server
        self._loading: asyncio.Task[tuple[Conversations, str, First]] | None = None
        self._warm = False

    def _begin(self) -> None:
        self.run_worker(self._start(), exit_on_error=False, group="start")

    async def _start(self) -> None:
        try:
            await self._open_store()
        finally:
            _start_collecting()

    async def _load(self) -> tuple[Conversations, str, First]:
        """The store, what is wrong with it, and the conversation that was asked for, or the end of a long one: in threads,
        while the screen is made."""
        conversations, warning = await asyncio.to_thread(self._conversations)
        if not self._resume:
            return conversations, warning, None
        end = await conversations.peek(self._resume)
        return conversations, warning, end or await _opened(conversations, self._resume)

    def _conversations(self) -> tuple[Conversations, str]:
        from fireside_tui.start import conversations_for

        conversations, warning = conversations_for(self.config, self._agent, self.paths)
        conversations.glance()
        return conversations, warning

    async def _open_store(self) -> None:
        main = self.main
        listed = None
        if self._loading is not None:
            await main.chat.complete()
            conversations, warning, first = await self._loading
            main.list_of(conversations)
        else:
            conversations, warning, first = await self._load()
            main.list_of(conversations)
            if conversations.items:
                await main.painted()
            # a long list takes its time: it is read while the rest of the screen is made
            listed = asyncio.ensure_future(conversations.refresh())
            await asyncio.sleep(0)  # it begins now
            await asyncio.to_thread(_load_transcript)
            await main.chat.complete()
        from fireside_tui.start import missing_for, resumed

        self.conversations = conversations
        agent = conversations.agent
        own = tuple(tool for tool in agent.own_tools.values() if agent.human is None or tool.name != "ask_human")
        self.tools = {"tools": own, "mcp_servers": agent.mcp_servers, "human": agent.human}
        warnings = [words for words in (self._warning, warning) if words]
        if self.config.theme and self.config.theme not in self.available_themes:
            warnings.append(f"There is no theme {self.config.theme!r}.")
        main.warn("\n".join(warnings))
        conversations.on_ended = self._ended
        main.chat.missing = "" if self._own_server else missing_for(conversations.agent)
        if isinstance(first, list):
            first = await main.ahead.during(self._peek(conversations, first))
        else:
            self._begin_with(conversations, first)
        if first is not None:
            main.appear()
            await main.painted()
        _start_collecting()  # a store that is far away may take long to tell its list
        await (listed or conversations.refresh())
        if self._resume and not isinstance(first, Conversation) and main.current is not None and main.current.empty:
            id = resumed(self._resume, conversations.rows) or self._resume
            self._show_first(await _opened(conversations, id), last=True)
        elif self._newest and not main.chat.composer.text:
            newest = sorted(conversations.rows, key=lambda row: row.updated_at)[-1:]
            if newest:
                await main.open(newest[0].id)
            else:
                main.say("There is no conversation yet: this is a new one.")
        main.rows_changed()
        self.run_worker(conversations.watch(), exit_on_error=False, group="watch")

    async def _peek(self, conversations: Conversations, end: list[HistoryEntry]) -> Conversation | Exception:
        """Shows the end of the conversation that was asked for while it is opened; what is typed by then is for its box."""
        main, id = self.main, self._resume or ""
        with main.chat.peeking(main.title_of(id), end):
            main.appear()
            await main.painted()
            first = await _opened(conversations, id)
            self._begin_with(conversations, first)
            return first

    def _begin_with(self, conversations: Conversations, first: Conversation | Exception | None) -> None:
        self.main.begin(conversations, empty=not isinstance(first, Conversation))
        if first is not None:
            self._show_first(first)

    def _show_first(self, first: Conversation | Exception, *, last: bool = False) -> None:
        match first:
            case Conversation():
                self.main.show(first)
            case LookupError() | ValueError():
                if last:
                    known = isinstance(first, LookupError) or "not an id" in str(first)
                    self.main.say(
                        f"There is no conversation {self._resume}." if known else explain(first).line, error=True
                    )
            case _:
                self.main.warn(explain(first).line)

    def warm_up(self) -> None:
        """Somebody begins to write: what the answer needs is loaded meanwhile. Who only reads does without it."""
        if not self._warm and not self.is_headless:
            self._warm = True
            self.run_worker(self._warm_up(), exit_on_error=False, group="warm")

    async def _warm_up(self) -> None:
        await self.main.ready.wait()
        await asyncio.to_thread(_warm_up)

    def model_chosen(self, *, own_server: bool = False) -> None:
        """Another model answers now: what was missing may be there."""
        self._own_server = self._own_server or own_server
        if self.conversations is not None:
            from fireside_tui.start import missing_for

            self.main.chat.missing = "" if self._own_server else missing_for(self.conversations.agent)

    def _ended(self, conversation: Conversation) -> None:
        """An answer came, or failed: the app's, see there."""
        raise NotImplementedError


def _load_transcript() -> None:
    import fireside_tui.transcript  # noqa: F401  not on the first frame, and wanted next


def _start_collecting() -> None:
    """The start is over: what it made is left out, or the first collection would go through all of it."""
    gc.freeze()
    gc.enable()


async def _opened(conversations: Conversations, id: str) -> Conversation | Exception:
    try:
        return await conversations.open(id)
    except Exception as error:
        return error


def _warm_up() -> None:
    """Loads the SDK and what draws code while nobody waits for them."""
    if os.environ.get("FIRESIDE_NO_WARM_UP"):
        return
    from fireside_tui.transcript import warm_up

    turn = sys.getswitchinterval()
    sys.setswitchinterval(0.001)  # the keys go first
    gc.disable()
    try:
        warm_up()
        import anthropic  # noqa: F401
    finally:
        # A full collection went through all that the SDK brings, 200 ms in the middle of an answer. None of it ever goes.
        gc.freeze()
        gc.enable()
        sys.setswitchinterval(turn)


__all__ = ["Opening"]
