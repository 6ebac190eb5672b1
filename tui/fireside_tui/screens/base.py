"""What the commands of the main screen have in common: the conversations, the panes, how a word is said."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterable
from typing import TYPE_CHECKING, Any

from textual.screen import Screen
from textual.widget import Widget

from fireside_tui import clipboard
from fireside_tui.config import Config
from fireside_tui.conversations import Conversation, explain
from fireside_tui.pointing import OneWidget
from fireside_tui.safe_text import safe_line
from fireside_tui.widgets.chat import Chat
from fireside_tui.widgets.pane import Pane
from fireside_tui.widgets.sidebar import Sidebar

if TYPE_CHECKING:
    from fireside_tui.app import FiresideApp
    from fireside_tui.conversations import Conversations


class MainBase(Pane, OneWidget[None], Screen[None]):
    """The main screen without its commands."""

    config: Config
    conversations: Conversations
    ready: asyncio.Event
    """Set once the store is open."""
    files: tuple[str, ...]
    """The files that go along with the message that is being written."""

    @property
    def fireside(self) -> FiresideApp:
        """The app."""
        from fireside_tui.app import FiresideApp

        assert isinstance(self.app, FiresideApp)
        return self.app

    @property
    def chat(self) -> Chat:
        """The chat pane."""
        return self.query_one(Chat)

    @property
    def sidebar(self) -> Sidebar:
        """The list of conversations."""
        return self.query_one(Sidebar)

    @property
    def current(self) -> Conversation | None:
        """The conversation on the screen."""
        return self.chat.conversation

    @property
    def in_list(self) -> bool:
        """Whether the list has the focus."""
        return self.focused is self.sidebar.rows  # `has_focus` comes a moment later

    def say(self, words: str, *, error: bool = False) -> None:
        """Says something in passing."""
        self.app.notify(safe_line(words, 200), severity="error" if error else "information", markup=False, timeout=4)

    def copy(self, text: str, what: str) -> None:
        """Puts text on the clipboard; what may be too long for it stands in a file, too."""
        text = text.encode("utf-8", "replace").decode()  # a lone surrogate can't be copied
        self.app.copy_to_clipboard(text)
        if clipboard.fits(text):
            self.say(f"Copied {what}.")
            return
        size = f"{len(text.encode()) / 1000:,.0f} kB"
        try:
            path = clipboard.keep(text, self.fireside.paths.cache_dir)
        except OSError as error:
            self.say(f"{size} may be too long for this terminal's clipboard. {explain(error).line}", error=True)
        else:
            self.say(f"{size} may be too long for this terminal's clipboard: all of it is in {path}")

    async def ask(self, title: str, value: str = "", **options: Any) -> str | None:
        """What a person writes, in a line or in several (the options are those of `Ask`); `None` where nothing. To be
        awaited in a worker."""
        from fireside_tui.screens.ask import Ask

        return await self.app.push_screen_wait(Ask(title, value, **options))

    async def pick_one(self, title: str, choices: Iterable[tuple[str, str, str]], **options: Any) -> str | None:
        """The value of the choice (value, label, note) that a person picks, or `None`; the options are those of `Pick`. To
        be awaited in a worker."""
        from fireside_tui.screens.pick import Choice, Pick

        picked = Pick(title, [Choice(*choice) for choice in choices], **options)
        return await self.app.push_screen_wait(picked)

    async def told(self, work: Awaitable[Any]) -> bool:
        """Awaits something, and says what went wrong; whether all went well."""
        try:
            await work
        except Exception as error:
            self.failed(error)
            return False
        return True

    def failed(self, error: Exception) -> None:
        """Says what went wrong."""
        self.log.error(error)
        self.say(explain(error).line, error=True)

    # -- what `main.py` and `writing.py` give

    def show(self, conversation: Conversation, *, focus: bool = True) -> None:
        """Shows a conversation."""
        raise NotImplementedError

    async def open(self, id: str, *, focus: bool = True) -> bool:
        """Opens a conversation by its id; whether it could be."""
        raise NotImplementedError

    def pick(self, id: str) -> None:
        """Opens a conversation, in a while; what is typed by then is for it."""
        raise NotImplementedError

    def asking(self) -> list[Conversation]:
        """The conversations that wait for an answer to a tool call."""
        raise NotImplementedError

    def rows_changed(self) -> None:
        """The list is another one than before."""
        raise NotImplementedError

    def show_rows(self) -> None:
        """Draws the list at once: the next key is for a row of it."""
        raise NotImplementedError

    async def carry_out(self, name: str, argument: str) -> None:
        """Carries out a command, once the store is open if it needs one."""
        raise NotImplementedError

    def keep_draft(self) -> None:
        """Remembers what is being written."""
        raise NotImplementedError

    def set_files(self, files: tuple[str, ...]) -> None:
        """Other files go along."""
        raise NotImplementedError

    def show_list(self, shown: bool) -> None:
        """Opens or closes the list on a narrow screen, and moves the focus."""
        raise NotImplementedError

    def go_to(self, widget: Widget) -> None:
        """Moves the focus at once."""
        raise NotImplementedError

    async def edit_outside(self, text: str) -> str | None:
        """A text as it comes back from `$EDITOR`."""
        raise NotImplementedError

    async def page_outside(self, text: str) -> None:
        """Shows a text in `$PAGER`."""
        raise NotImplementedError
