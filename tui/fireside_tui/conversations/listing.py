"""`Listing`: what the store listed last, by order and by id, and what more is known here. Knows no store and no screen."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from operator import is_

from fireside import SavedState

from fireside_tui.conversations.conversation import Conversation
from fireside_tui.conversations.rows import UNTITLED, Listed, Row, in_order, row_of
from fireside_tui.device import Device


class Listing:
    """What a store listed, newest first. To make one takes a look at each of its rows, so it is made on a thread."""

    def __init__(self, saved: Iterable[SavedState] = ()) -> None:
        self._items = in_order(saved)
        self._by_id: dict[str, Listed] = {item.id: item for item in self._items}

    def __eq__(self, other: object) -> bool:
        """Whether it is the same list: mostly the very same rows, which a store keeps."""
        if not isinstance(other, Listing) or len(self._items) != len(other._items):
            return False
        return all(map(is_, self._items, other._items)) or self._items == other._items

    def __len__(self) -> int:
        return len(self._items)

    __hash__ = None  # type: ignore[assignment]

    def get(self, id: str) -> Listed | None:
        """What was listed under an id."""
        return self._by_id.get(id)

    def put(self, row: Row) -> None:
        """One that was brought back."""
        self.remove(row.id)
        self._by_id[row.id] = row
        self._items = in_order(self._items, [row])

    def remove(self, id: str) -> None:
        """One that was deleted."""
        if self._by_id.pop(id, None) is not None:
            self._items = [item for item in self._items if item.id != id]

    def with_own(self, own: dict[str, Row]) -> list[Listed]:
        """All of them in order, with rows of one's own, which stand in place of those of the same id."""
        if not own:
            return self._items
        return in_order([item for item in self._items if item.id not in own], own.values())


def own_rows(here: Mapping[str, Conversation], listed: Listing, device: Device, *, drafts: bool) -> dict[str, Row]:
    """The rows of which more is known than the store tells: those that are open here, drafts, and marked ones. Few.

    `drafts`: those of no conversation have rows of their own.
    """
    own = {id: _row_of(conversation) for id, conversation in here.items() if conversation.state.history}
    kept = device.drafts
    for id, draft in kept.items() if drafts else ():
        if id not in own and listed.get(id) is None and draft.text.strip():
            own[id] = Row(id, draft.text.strip().partition("\n")[0][:200], "draft", draft.at)
    for id in {*kept, *device.marked}:
        item = own.get(id) or listed.get(id)
        if item is not None:
            row = row_of(item)
            own[id] = row._replace(unread=device.is_unread(id), pinned=device.is_pinned(id), draft=id in kept)
    return own


def _row_of(conversation: Conversation) -> Row:
    state = conversation.state
    row = Row(state.id, state.title or UNTITLED, conversation.status, state.updated_at)
    if conversation.approval is not None:
        return row._replace(status="approval", here=True)
    if conversation.running:
        return row._replace(status="running", here=True)
    return row if conversation.saved else row._replace(status="unsaved")
