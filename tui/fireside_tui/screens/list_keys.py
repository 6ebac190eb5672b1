"""`ListKeys`: keys in the list act at once and in their order, and what is typed meanwhile waits for what they leave."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

from textual import events, on
from textual.worker import Worker

from fireside_tui.config import Config
from fireside_tui.screens.list_commands import Commands
from fireside_tui.screens.typed_ahead import Typed, TypedAhead
from fireside_tui.widgets.row_list import RowList


class ListKeys(Commands):
    """The commands, as the list's keys carry them out."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.config = config
        self.ahead = TypedAhead(self._type_again)
        self._opening: Worker[None] | None = None

    # -- what takes its time

    def work(self, work: Coroutine[Any, Any, None]) -> Worker[None]:
        """Does something in a worker; what is typed from now on waits for its end."""
        return self.run_worker(self.ahead.during(work), group="commands", exit_on_error=False)

    def pick(self, id: str) -> None:
        """Opens a conversation; what is typed from now on is for its box."""
        self._opening = self.work(self._pick(id))

    async def _pick(self, id: str) -> None:
        try:
            opened = await self.open(id)
        finally:
            self._opening = None
        if not opened:
            self._put_down()

    def _put_down(self) -> None:
        """What was typed for a conversation that is not opened stands in the box: it must neither act nor be lost."""
        if text := self.ahead.take_text():
            self.chat.composer.paste(text)
            self.go_to(self.chat.composer)

    @on(RowList.Picked)
    def _on_picked(self, event: RowList.Picked) -> None:
        self.pick(event.id)

    def answered(self, yes: bool) -> None:
        """The person answered what the line below the list asked."""
        self.work(self.delete_answered(yes))

    # -- keys

    async def took(self, event: Typed) -> bool:
        """Whether the app is done with a key or a paste.

        A key in the list acts here and at once. Textual would let it go up from the list to the app first: the keys
        behind it would come to the list before it had acted.
        """
        if isinstance(event, events.Key) and event.key == "escape" and self._opening is not None:
            self._put_down()
            self._opening.cancel()
            return True
        return self.ahead.holds(event) or await self._act(event)

    async def _act(self, event: Typed) -> bool:
        sidebar = self.sidebar
        if isinstance(event, events.Paste):
            sidebar.answer(False)
            return False
        if self.focused is sidebar.filter and event.key in ("enter", "down") and self.ready.is_set():
            self.do_filter_search() if event.key == "enter" else self.do_filter_rows()
            return True
        if not self.in_list:
            return False
        bound = self.active_bindings.get(event.key)
        if bound is not None and bound.binding.priority:
            return False
        if sidebar.asking and event.key not in ("tab", "shift+tab"):
            sidebar.take_key(event)
            return True
        return bound is not None and await self.app.run_action(bound.binding.action, bound.node)

    async def _type_again(self, event: Typed) -> None:
        await self.app.on_event(event)
