"""`MainScreen`: the list, the chat, and what goes on between them."""

from __future__ import annotations

import asyncio
import inspect
import time
from typing import TYPE_CHECKING, ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.geometry import Size
from textual.widget import Widget

from fireside_tui import commands, outside
from fireside_tui.config import Config
from fireside_tui.conversations import Conversation
from fireside_tui.driver import FiresideDriver
from fireside_tui.safe_text import safe_line
from fireside_tui.screens.list_keys import ListKeys
from fireside_tui.screens.typed_ahead import AT_ONCE
from fireside_tui.screens.writing import Writing
from fireside_tui.terminal_title import title_of
from fireside_tui.widgets.approval_bar import ApprovalBar
from fireside_tui.widgets.chat import Chat
from fireside_tui.widgets.lines import KeyLine, MessageBar
from fireside_tui.widgets.pane import Pane
from fireside_tui.widgets.row_list import RowList
from fireside_tui.widgets.sidebar import Filter, Sidebar

if TYPE_CHECKING:
    from fireside_tui.conversations import Conversations
    from fireside_tui.transcript import Transcript

KEEP_DRAFT = 0.4
"""Seconds between two looks at what is being written."""
SHOW_ROWS = 0.1
"""Seconds between two drawings of the list: many changes make one."""
WORKS = frozenset({"list_undo", "list_fork"})
"""Commands whose end the next key waits for."""


def _is_first(command: commands.Command, key: str) -> bool:
    """Whether a key acts before the next one is given to whatever has the focus: so has what moves the focus to be.

    The others wait their turn behind the keys that move a cursor; Esc may be wanted by a widget.
    """
    return key != "escape" and (command.where in ("anywhere", "approval") or command.name == "list_filter")


class Panes(Pane, Horizontal):
    """The list and the chat, side by side."""


class MainScreen(ListKeys, Writing):
    """The list at the left, the chat at the right, the keys below."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(key, f"command('{command.name}')", command.title, show=False, priority=_is_first(command, key))
        for command in commands.COMMANDS
        for key in command.keys
    ]
    AUTO_FOCUS = "Composer"
    HORIZONTAL_BREAKPOINTS = [  # noqa: RUF012  Textual declares no class variable
        (0, "-narrow"),
        (80, "-wide"),
        (120, "-very-wide"),
    ]
    VERTICAL_BREAKPOINTS = [(0, "-tiny"), (9, "-low"), (16, "-high"), (30, "-tall")]  # noqa: RUF012
    DEFAULT_CSS = """
    MainScreen { layers: base drawer; }
    MainScreen #panes { height: 1fr; }
    MainScreen.-very-wide Sidebar { width: 34; }
    MainScreen.-narrow Sidebar { display: none; layer: drawer; dock: left; width: 32; max-width: 100%; }
    MainScreen.-narrow.-list Sidebar { display: block; }
    MainScreen.-low KeyLine, MainScreen.-tiny KeyLine, MainScreen.-tiny ChatHeading, MainScreen.-tiny StatusLine,
    MainScreen.-tiny #sidebar-title { display: none; }
    MainScreen.-tiny StatusLine.-trouble { display: block; }
    MainScreen.-tiny Composer { border: none; min-height: 1; max-height: 2; padding: 0; }
    MainScreen.-tiny Composer:focus { border: none; }
    MainScreen.-tall ChatHeading { margin: 0 0 1 0; }
    MainScreen.-low Composer { max-height: 4; }
    """

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        self.ready = asyncio.Event()
        self._styled = self._whole = False
        self.waits = False
        """Whether the first frame waits for a conversation that is being loaded."""
        self._rows_due, self._rows_shown = False, float("-inf")
        self._list_trouble = ""

    def fit(self, size: Size) -> None:
        """Takes the classes that this size gives. Before the mount, or all styles would have to be applied once more."""
        for breakpoints, length in (
            (self.HORIZONTAL_BREAKPOINTS, size.width),
            (self.VERTICAL_BREAKPOINTS, size.height),
        ):
            self.add_class(max((at, name) for at, name in breakpoints if at <= length)[1], update=False)

    def update_node_styles(self, animate: bool = True) -> None:
        """Not for Textual's first call: it comes as the screen is shown, when all styles have just been applied."""
        if self._styled:
            super().update_node_styles(animate)
        self._styled = True

    def _refresh_layout(self, size: Size | None = None, scroll: bool = False) -> None:
        """Not for Textual's first call either: half of the screen is not mounted then, and would be missing."""
        if self._whole:
            super()._refresh_layout(size, scroll)

    def appear(self) -> None:
        """The first frame: now, if it was not yet."""
        if not self._whole:
            self._whole = True
            self._refresh_layout(self.app.size)

    def compose(self) -> ComposeResult:
        """The panes."""
        with Panes(id="panes"):
            yield Sidebar(self.answered, id="sidebar")
            yield Chat(id="chat")
        yield KeyLine(id="keys")

    def on_mount(self) -> None:
        """The store is opened after the first frame."""
        self.chat.show_thinking = self.config.show_thinking
        self.chat.update_lines()
        if not self.waits:
            self.appear()
        self.set_interval(KEEP_DRAFT, self.look_at_draft)

    def list_of(self, conversations: Conversations) -> None:
        """The store is open: what is known of its list is shown."""
        self.conversations = conversations
        if conversations.items:
            self.show_rows()

    def begin(self, conversations: Conversations, *, empty: bool) -> None:
        """The store is open, and the chat is there. `empty`: a new conversation stands in it, else one is shown at once."""
        conversations.on_rows = self.rows_changed
        typed = self.chat.composer.text
        if typed or empty:  # what was typed by now is no answer in a conversation that nobody saw
            conversation = conversations.new()
            conversations.current = conversation
            self.chat.open(conversation)
        if typed:
            self.keep_draft()
        self.ready.set()

    # -- commands

    @property
    def where(self) -> commands.Where:
        """Where the focus is: the place whose keys mean something."""
        focused = self.app.focused
        if isinstance(focused, RowList) and not self.sidebar.asking:
            return "list"
        if isinstance(focused, Filter):
            return "filter"
        if self.chat.reading:
            return "message"
        return "approval" if isinstance(focused, ApprovalBar) else "anywhere"

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """A key of a place means something there alone."""
        command = commands.BY_NAME.get(str(parameters[0])) if action == "command" and parameters else None
        if command is not None and command.where == "approval" and not self.chat.approval_bar.listens:
            return False
        return command is None or command.where in ("anywhere", self.where)

    def action_command(self, name: str, argument: str = "") -> None:
        """Carries out a command: at once, so that the next key meets what it left; in a worker where it has to wait."""
        command = getattr(self, f"do_{name}")
        if inspect.iscoroutinefunction(command) or not (self.ready.is_set() or name in AT_ONCE):
            work = self.carry_out(name, argument)
            if name in WORKS:
                self.work(work)
            else:
                self.run_worker(work, group="commands", exit_on_error=False, name=name)
            return
        try:
            command(argument)
        except Exception as error:
            self.failed(error)

    async def carry_out(self, name: str, argument: str) -> None:
        """Carries out a command, once the store is open if it needs one."""
        if name not in AT_ONCE:
            await self.ready.wait()
        try:
            result = getattr(self, f"do_{name}")(argument)
            if inspect.isawaitable(result):
                await result
        except Exception as error:
            self.failed(error)

    # -- which conversation

    def show(self, conversation: Conversation, *, focus: bool = True) -> None:
        """Shows a conversation; the draft of the one before stays with it."""
        self.keep_draft()
        self.conversations.current = conversation
        self.chat.open(conversation)
        self.take_up_draft(conversation)
        self.sidebar.rows.set_open(conversation.id)
        if focus:
            self.remove_class("-list")
            self.go_to(self.chat.approval_bar if conversation.approval else self.chat.composer)
        self.rows_changed()
        self.flush_drafts()

    async def open(self, id: str, *, focus: bool = True) -> bool:
        """Opens a conversation, the end of a long one first; says why where it can't be."""
        try:
            end = await self.conversations.peek(id)
            with self.chat.peeking(self.title_of(id), end):
                if end:
                    await self.painted()
                self.show(await self.conversations.open(id), focus=focus)
        except LookupError:
            self.say("This conversation is not there any more.", error=True)
            await self.conversations.refresh()
            return False
        except Exception as error:
            self.failed(error)
            return False
        self.sidebar.rows.set_cursor(id)
        return True

    def title_of(self, id: str) -> str:
        """The title of a conversation, as the list has it."""
        row = self.conversations.row(id)
        return row.title if row is not None else ""

    def show_list(self, shown: bool) -> None:
        """Opens the list where it is a drawer, and moves the focus."""
        self.set_class(shown, "-list")
        if shown:
            if self.current is not None and not self.sidebar.rows.cursor_id:
                self.sidebar.rows.set_cursor(self.current.id)
            self.go_to(self.sidebar.rows)
        else:
            self.go_to(self.chat.composer)

    def go_to(self, widget: Widget) -> None:
        """Moves the focus at once, so that the next key goes there; a drawer that only opens now gets it a moment later."""
        self.set_focus(widget)
        if not widget.has_focus:
            widget.focus()

    # -- the list

    def rows_changed(self) -> None:
        """The list is drawn again: at once, unless it has just been."""
        if self._rows_due or not self.is_running:
            return
        self._rows_due = True
        wait = self._rows_shown + SHOW_ROWS - time.monotonic()
        if wait > 0:
            self.set_timer(wait, self.show_rows)
        else:
            self.call_later(self.show_rows)

    def show_rows(self) -> None:
        """Draws the list as it is now."""
        self._rows_due, self._rows_shown = False, time.monotonic()
        trouble = self.conversations.trouble
        self.sidebar.show(
            self.conversations.items,
            trouble.text if trouble else "",
            len(self.asking()),
            not self.conversations.glanced,
        )
        self.update_keys()
        self._tell_trouble(safe_line(f"The list of conversations can't be read. {trouble.line}") if trouble else "")
        current = self.current
        self._name_terminal("" if current is None or current.empty else current.state.title)
        self.sidebar.rows.set_open(current.id if current is not None else None)
        listed = current is not None and (not current.empty or self.conversations.device.draft(current.id) is not None)
        if current is not None and listed and not self.in_list and not self.sidebar.filter.has_focus:
            self.sidebar.rows.set_cursor(current.id)

    def _tell_trouble(self, words: str) -> None:
        """Says over the chat why there is no list, for which the list is too narrow; what stands there already stays."""
        if words != self._list_trouble:
            if str(self.query_one(MessageBar).content) in ("", self._list_trouble):
                self.warn(words)
            self._list_trouble = words

    def _name_terminal(self, title: str) -> None:
        driver = self.app._driver
        if isinstance(driver, FiresideDriver):
            driver.name(title_of(title))

    @on(Filter.Left)
    def _on_filter_left(self, event: Filter.Left) -> None:
        self.go_to(self.sidebar.rows)

    # -- the keys that are shown

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        """Other keys mean something now."""
        self.update_keys()
        self.chat.update_status()

    def asking(self) -> list[Conversation]:
        """The conversations that wait for an answer to a tool call."""
        running = self.conversations.running() if self.ready.is_set() else []
        return [conversation for conversation in running if conversation.approval is not None]

    def update_keys(self) -> None:
        """The keys of the place where the focus is, then those that always work."""
        where = self.where
        own = commands.at(where) if where != "anywhere" else []
        if where == "message":
            own = commands.on_message(self.abilities_at_cursor())
        general = commands.at("anywhere")
        running = self.current is not None and self.current.running
        if where == "approval" or not self.asking():
            general = [command for command in general if command.name != "approval"]
        else:  # whoever is elsewhere is told how to get to the call that waits, before anything else
            own, general = [commands.BY_NAME["approval"], *own], [c for c in general if c.name != "approval"]
        if not running or where == "list":
            general = [command for command in general if command.name != "stop"]
        elif where in ("anywhere", "filter"):
            general.sort(key=lambda command: command.name != "stop")
        self.query_one(KeyLine).say([*own, *general])

    @on(Chat.Turned)
    def _on_turned(self) -> None:
        self.update_keys()

    def on_transcript_cursor_moved(self) -> None:
        """Other keys mean something."""
        self.update_keys()

    def on_transcript_folded(self) -> None:
        """What was opened can be folded now."""
        self.update_keys()

    def on_transcript_find_moved(self) -> None:
        """Another place is on the screen."""
        self.chat.show_find()

    def on_transcript_link_chosen(self, event: Transcript.LinkChosen) -> None:
        """A link is opened when the person says so."""
        self.offer_links({event.url: event.words})

    # -- messages over the chat

    def warn(self, words: str) -> None:
        """Says something that stays until it is clicked away."""
        self.query_one(MessageBar).say(words)

    # -- other programs

    async def edit_outside(self, text: str) -> str | None:
        """A text as it comes back from `$EDITOR`; the runs go on meanwhile."""
        try:
            return await outside.edit(self.app, text)
        except (OSError, ValueError) as error:
            self.say(str(error), error=True)
            return None

    async def page_outside(self, text: str) -> None:
        """Shows a text in `$PAGER`."""
        try:
            await outside.page(self.app, text)
        except (OSError, ValueError) as error:
            self.say(str(error), error=True)
