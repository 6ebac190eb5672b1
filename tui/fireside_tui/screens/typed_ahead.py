"""`TypedAhead`: keys that come while a command is at work, which are meant for what it leaves."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeAlias, TypeVar

from textual.events import Key, Paste

from fireside_tui import commands

Typed: TypeAlias = Key | Paste
T = TypeVar("T")

AT_ONCE = frozenset({"quit", "help", "suspend", "palette"})
"""Commands that wait for nothing."""
_KEYS_AT_ONCE = frozenset(key for name in AT_ONCE for key in commands.BY_NAME[name].keys)


class TypedAhead:
    """Keeps keys and pastes in their order until the work is done, then `give` gets each, one after the other.

    Someone who picks a conversation and goes on typing writes into its box, however long it takes to load.
    """

    def __init__(self, give: Callable[[Typed], Awaitable[None]]) -> None:
        self._give = give
        self._works = 0
        self._held: list[Typed] = []
        self._given: Typed | None = None

    def during(self, work: Coroutine[Any, Any, T]) -> Coroutine[Any, Any, T]:
        """The work, to be awaited; what is typed from now on waits for its end."""
        self._works += 1
        return self._done(work)

    async def _done(self, work: Coroutine[Any, Any, T]) -> T:
        try:
            return await work
        finally:
            self._works -= 1
            await self._give_back()

    async def _give_back(self) -> None:
        if self._given is not None:
            return  # one gives already
        failed: Exception | None = None
        while self._held and not self._works:
            self._given = self._held.pop(0)
            try:
                await self._give(self._given)
            except Exception as error:  # the keys behind it are for something else
                failed = failed or error
            finally:
                self._given = None
        if failed is not None:
            raise failed

    def holds(self, event: Typed) -> bool:
        """Whether it is kept for later."""
        if event is self._given or (isinstance(event, Key) and event.key in _KEYS_AT_ONCE):
            return False
        if not (self._works or self._held or self._given is not None):
            return False
        self._held.append(event)
        return True

    def take_text(self) -> str:
        """What was written, when nobody is left to get it; no key acts any more."""
        held, self._held = self._held, []
        return "".join(event.text if isinstance(event, Paste) else (event.is_printable and event.character) or ""
                       for event in held)  # fmt: skip
