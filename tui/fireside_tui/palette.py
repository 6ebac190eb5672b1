"""The command palette's entries: every command, and conversations by their titles."""

from __future__ import annotations

from functools import partial

from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.content import Content

from fireside_tui.commands import COMMANDS, Command, key_name
from fireside_tui.conversations import Titles, row_of
from fireside_tui.safe_text import safe_line


class FiresideCommands(Provider):
    """What Ctrl+P finds."""

    async def discover(self) -> Hits:
        """All commands."""
        for command in COMMANDS:
            if command.slash:
                yield DiscoveryHit(_title(command), partial(self._run, command.name), help=command.help)

    async def search(self, query: str) -> Hits:
        """The commands and conversations that fit."""
        from fireside_tui.screens.main import MainScreen

        matcher = self.matcher(query)
        for command in COMMANDS:
            if command.slash and (score := matcher.match(f"{command.title} {command.slash_name}")) > 0:
                yield Hit(score, _title(command), partial(self._run, command.name), help=command.help)
        screen = self.screen
        if isinstance(screen, MainScreen) and screen.ready.is_set():
            for row in map(row_of, Titles(screen.conversations.items).with_words(query)[:20]):
                yield Hit(
                    0.5, Content(safe_line(row.title, 60)), partial(screen.open, row.id), help="Opens the conversation"
                )

    def _run(self, name: str) -> None:
        from fireside_tui.screens.main import MainScreen

        if isinstance(self.screen, MainScreen):
            self.screen.action_command(name)


def _title(command: Command) -> str:
    return f"{command.title}  ({key_name(command.keys[0])})" if command.keys else command.title
