"""The app: themes, start, signals, the end. What is seen is in `screens/` and `widgets/`."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import signal
import sys
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from textual import events
from textual.app import App
from textual.binding import Binding, BindingType
from textual.command import Provider
from textual.driver import Driver
from textual.drivers.linux_driver import LinuxDriver
from textual.filter import DimFilter, Monochrome, NoColor
from textual.geometry import Offset
from textual.reactive import Reactive
from textual.theme import Theme
from textual.widget import Widget
from textual.widgets import Input, TextArea

from fireside_tui.commands import COMMANDS
from fireside_tui.config import Config, Paths, paths
from fireside_tui.control_filter import ControlFilter
from fireside_tui.conversations import Conversation, explain
from fireside_tui.driver import FiresideDriver
from fireside_tui.looks import selection
from fireside_tui.own_colours import OwnColours
from fireside_tui.palette import FiresideCommands
from fireside_tui.pointing import see_what_is_there
from fireside_tui.screens.main import MainScreen
from fireside_tui.screens.modal import Modal
from fireside_tui.theme import DEFAULT, THEMES

if TYPE_CHECKING:  # the library is loaded after the first frame
    from typing import TypeAlias

    from fireside import Agent, HistoryEntry

    from fireside_tui.conversations import Conversations

    First: TypeAlias = Conversation | Exception | list[HistoryEntry] | None

CATCH_UP = 3.0
"""Seconds that a key waits for the ones before it."""
MOST_TOASTS = 2
ACTS = frozenset({"ctrl+q", "ctrl+s", *(key for command in COMMANDS for key in command.keys)})
"""Keys that act on the app or a box, in place of being written."""
PATIENCE = 0.4
"""Seconds that the first frame waits for the conversation that was asked for: most are there by then."""
SAVING = 8.0
"""Seconds that the end waits for runs to be saved."""


class FiresideApp(App[int]):
    """Conversations on a screen."""

    TITLE = "fireside"
    ENABLE_COMMAND_PALETTE = True
    COMMANDS: ClassVar[set[type[Provider] | Any]] = {FiresideCommands}
    BINDINGS: ClassVar[list[BindingType]] = [Binding("ctrl+q", "quit", "Quit", show=False, priority=True)]
    CSS = """
    Screen { background: $background; color: $foreground; }
    ToastRack { dock: top; align: right top; margin: 2 0 0 0; }
    ModalScreen ToastRack { dock: bottom; align: right bottom; margin: 0; }
    Toast { width: auto; max-width: 44; padding: 0 1; margin: 0 0 1 0; }
    Screen:nocolor > .screen--selection { text-style: reverse; }
    """

    def __init__(
        self,
        config: Config,
        *,
        resume: str | None = None,
        newest: bool = False,
        agent: Agent | None = None,
        warning: str = "",
        places: Paths | None = None,
    ) -> None:
        super().__init__()
        self.config = config
        self.paths = places or paths()
        self.conversations: Conversations | None = None
        self.tools: dict[str, Any] = {}
        """The settings of the Agent that tools come from, as it was given: what "/tools on" goes back to."""
        self._resume, self._newest, self._agent, self._warning = resume, newest, agent, warning
        self._own_server = bool(config.server) or agent is not None
        self._loading: asyncio.Task[tuple[Conversations, str, First]] | None = None
        self._quit_asked = False
        self._task_of_run: asyncio.Task[Any] | None = None
        self._ending = self._warm = False
        if self.no_color:
            replaced = (NoColor, Monochrome, DimFilter)
            self._filters[:] = [*(one for one in self._filters if not isinstance(one, replaced)), OwnColours()]
        if config.theme in self.available_themes:
            self.theme = config.theme

    # As a default it stands before the style sheet is read; a theme that is set later has it read again (15 ms).
    theme = Reactive(DEFAULT)

    @property
    def available_themes(self) -> dict[str, Theme]:
        """The app's own themes, and Textual's."""
        return {**THEMES, **super().available_themes}

    def get_css_variables(self) -> dict[str, str]:
        """The theme's variables; selected text can be read in each of them."""
        variables = super().get_css_variables()
        variables.update(selection(variables))
        return variables

    def get_driver_class(self) -> type[Driver]:
        """Textual's driver, with a sound way for pastes."""
        found = super().get_driver_class()
        return FiresideDriver if found is LinuxDriver else found

    # -- the start

    def on_load(self) -> None:
        """From here on Ctrl+C cancels this task, until the terminal gives it as a key."""
        self._task_of_run = asyncio.current_task()

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl+C came in the middle of the start."""
        return self._task_of_run is not None and self._task_of_run.cancelling() > 0

    def _handle_exception(self, error: Exception) -> None:
        """After a Ctrl+C in the middle of the start half of the screen is missing: what fails for that is nobody's mistake."""
        if self.interrupted:
            self._close_messages_no_wait()
        else:
            super()._handle_exception(error)

    def on_mount(self) -> None:
        """The first frame shows the empty screen; all that takes time comes after it."""
        self._filters.append(ControlFilter())
        self.main = MainScreen(self.config)
        self.main.fit(self.size)
        if self._resume:
            self._loading = asyncio.create_task(self._load())
            self.main.waits = True
            self.set_timer(PATIENCE, self.main.appear)
        self.push_screen(self.main)
        if not self.is_headless:
            self._take_signals()
        self.app_resume_signal.subscribe(self, lambda _: self._redraw())
        (self.main.call_later if self._resume else self.main.call_after_refresh)(self._begin)

    async def on_event(self, event: events.Event) -> None:
        """A key that acts on the app waits until the box that has the focus has taken the keys before it; the mouse points
        at what is there now."""
        if isinstance(event, events.Key | events.Paste) and not event.is_forwarded:
            if isinstance(event, events.Key) and not event.is_printable and event.key in ACTS:
                await self._catch_up()
            top = self.screen_stack[-1] if self.screen_stack else None
            if isinstance(top, Modal):
                await top.box()
            elif isinstance(top, MainScreen) and await top.took(event):
                return
        elif isinstance(event, events.MouseEvent) and not event.is_forwarded and self.screen_stack:
            see_what_is_there(self.screen, event.x, event.y)
        await super().on_event(event)

    async def _catch_up(self) -> None:
        """Lets the box do what its keys say, and then what it told come up to the screen."""
        widget = self.focused
        if widget is None:
            return
        with contextlib.suppress(TimeoutError):  # a box that hangs must not hold Ctrl+Q
            async with asyncio.timeout(CATCH_UP):
                for node in (widget, *widget.ancestors_with_self):
                    if node is self or not node.is_running:
                        break
                    done = asyncio.Event()
                    node.call_later(done.set)
                    await done.wait()

    def _refresh_notifications(self) -> None:
        """The same words don't stand there twice, and never more than a few: they lie over what one reads."""
        kept: list[str] = []
        for note in reversed(list(self._notifications)):
            if note.message in kept or len(kept) == MOST_TOASTS:
                self._unnotify(note, refresh=False)
            else:
                kept.append(note.message)
        super()._refresh_notifications()

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
        from fireside_tui.conversations.outcome import told_of

        if conversation is not self.main.current and (words := told_of(conversation)):
            self.main.say(words, error=conversation.outcome in ("failed", "limit"))

    # -- the end

    async def action_quit(self) -> None:
        """Quits; with runs in flight it says so, and the second time stops and saves them."""
        running = self.conversations.running() if self.conversations else []
        if running and not self._quit_asked:
            self._quit_asked = True
            self.set_timer(6, self._forget_quit)
            what = "An answer is" if len(running) == 1 else f"{len(running)} answers are"
            self.notify(
                f"{what} still coming. Ctrl+Q again stops and saves {'it' if len(running) == 1 else 'them'}, then quits.",
                markup=False, severity="warning", timeout=6,
            )  # fmt: skip
            return
        await self.end(0)

    def _forget_quit(self) -> None:
        self._quit_asked = False

    async def end(self, status: int) -> None:
        """Stops and saves all that runs, keeps the draft, and ends the app with this status."""
        if self._ending:
            return
        self._ending = True
        lost = ""
        if self.conversations is not None:
            self.main.keep_draft()
            await self.conversations.close(SAVING)
            lost = "" if status == 128 + signal.SIGHUP else self.main.lost()
        self.exit(status, return_code=status, message=lost)

    def _take_signals(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            loop.add_signal_handler(number, partial(self._on_signal, number))

    def _on_signal(self, number: int) -> None:
        if number == signal.SIGHUP and isinstance(self._driver, FiresideDriver):
            self._driver.hung_up = True
        self.run_worker(self.end(128 + number), exit_on_error=False, group="end")

    # -- Textual's gaps

    @property
    def cursor_position(self) -> Offset:
        """Where the terminal's own cursor is put after each frame: input methods open there.

        Boxes tell Textual when they are mounted or get the focus, which is before they have a place; that of a box
        without the focus would stay until the next key.
        """
        focused = self.focused if self.screen_stack else None
        return focused.cursor_screen_offset if isinstance(focused, Input | TextArea) else self._cursor_at

    @cursor_position.setter
    def cursor_position(self, position: Offset) -> None:
        self._cursor_at = position

    def open_url(self, url: str, *, new_tab: bool = True) -> None:
        """Opens an address. Textual's own way runs whatever browser it finds on the app's terminal, and waits for it."""
        self.run_worker(self.main.browse(url), exit_on_error=False)

    def _redraw(self) -> None:
        """After fg the terminal is empty."""
        self.screen.refresh(layout=True, repaint=True)
        for widget in self.screen.walk_children():
            if isinstance(widget, Widget):
                widget.refresh()


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


def run_app(
    config: Config,
    *,
    resume: str | None = None,
    newest: bool = False,
    agent: Agent | None = None,
    warning: str = "",
) -> int:
    """Opens the app and gives its exit status. `warning` is shown at the top: a config file that could not be read, say."""
    app = FiresideApp(config, resume=resume, newest=newest, agent=agent, warning=warning)
    app.run()
    if app.interrupted:
        raise KeyboardInterrupt
    if isinstance(app._driver, FiresideDriver) and app._driver.hung_up:
        # what Python still holds for a terminal that is gone would turn the exit status into 120
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
    return app.return_code or 0
