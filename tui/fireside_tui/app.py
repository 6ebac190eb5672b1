"""The app: themes, start, signals, the end. What is seen is in `screens/` and `widgets/`."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from textual import events
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
from fireside_tui.conversations import Conversation
from fireside_tui.driver import FiresideDriver
from fireside_tui.looks import selection
from fireside_tui.opening import Opening
from fireside_tui.own_colours import OwnColours
from fireside_tui.palette import FiresideCommands
from fireside_tui.pointing import see_what_is_there
from fireside_tui.screens.main import MainScreen
from fireside_tui.screens.modal import Modal
from fireside_tui.theme import DEFAULT, THEMES

if TYPE_CHECKING:  # the library is loaded after the first frame
    from fireside import Agent

CATCH_UP = 3.0
"""Seconds that a key waits for the ones before it."""
MOST_TOASTS = 2
ACTS = frozenset({"ctrl+q", "ctrl+s", *(key for command in COMMANDS for key in command.keys)})
"""Keys that act on the app or a box, in place of being written."""
PATIENCE = 0.4
"""Seconds that the first frame waits for the conversation that was asked for: most are there by then."""
SAVING = 8.0
"""Seconds that the end waits for runs to be saved."""


class FiresideApp(Opening):
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
        own_server = bool(config.server) or agent is not None
        super().__init__(resume=resume, newest=newest, agent=agent, warning=warning, own_server=own_server)
        self.config = config
        self.paths = places or paths()
        self._quit_asked = False
        self._task_of_run: asyncio.Task[Any] | None = None
        self._ending = False
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
