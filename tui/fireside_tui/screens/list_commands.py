"""The commands of the list, and those of the app."""

from __future__ import annotations

from fireside_tui.screens.conversation_commands import ConversationCommands
from fireside_tui.screens.message_commands import MessageCommands
from fireside_tui.screens.setting_commands import SettingCommands


class Commands(ConversationCommands, MessageCommands, SettingCommands):
    """All that `commands.py` declares."""

    def do_list_open(self, argument: str = "") -> None:
        """Opens the row under the cursor."""
        if id := self.sidebar.rows.cursor_id:
            self.pick(id)

    def do_list_filter(self, argument: str = "") -> None:
        """To the filter."""
        self.go_to(self.sidebar.filter)

    def do_filter_search(self, argument: str = "") -> None:
        """The words of the filter, in all texts."""
        self.do_search(self.sidebar.filter.value)

    def do_filter_rows(self, argument: str = "") -> None:
        """To the titles that the filter shows."""
        if self.sidebar.rows.cursor_id is not None:
            self.go_to(self.sidebar.rows)

    def do_list_delete(self, argument: str = "") -> None:
        """Deletes the row, after asking."""
        self.do_delete()

    async def do_list_undo(self, argument: str = "") -> None:
        """Brings back."""
        await self.do_undo()

    def do_list_rename(self, argument: str = "") -> None:
        """Another title."""
        self.do_rename()

    def do_list_pin(self, argument: str = "") -> None:
        """At the top, or no longer."""
        self.do_pin()

    async def do_list_fork(self, argument: str = "") -> None:
        """A copy."""
        await self.do_fork()

    async def do_list_export(self, argument: str = "") -> None:
        """To a file."""
        await self.do_export()

    def do_palette(self, argument: str = "") -> None:
        """All commands."""
        self.app.action_command_palette()

    def do_help(self, argument: str = "") -> None:
        """All keys."""
        from fireside_tui.screens.help import Help

        self.app.push_screen(Help())

    def do_suspend(self, argument: str = "") -> None:
        """Back to the shell."""
        self.app.action_suspend_process()

    async def do_quit(self, argument: str = "") -> None:
        """Saves and quits; with runs in flight it says so first."""
        await self.fireside.action_quit()
