"""The transcript widget, the part that an app talks to: what is shown, and how it changes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, overload

from textual.await_remove import AwaitRemove

from fireside_tui.transcript.blocks import code_sources, has_code
from fireside_tui.transcript.inline import has_links, links_of
from fireside_tui.transcript.items import FOLDS, Item
from fireside_tui.transcript.pointer import Pointer


class Transcript(Pointer, can_focus=True):
    """A conversation. `load` it, `append` to it while a model writes, and answer its messages.

    It knows plain `Item`s only. It follows its end unless one scrolled up, and lays out only what is near the screen.
    """

    DEFAULT_CSS = """
    Transcript {
        overflow-x: hidden; overflow-y: scroll; scrollbar-size-vertical: 1; background: $background; color: $foreground;
    }
    """

    _able: tuple[object, frozenset[str]] | None = None  # what can be done with the item that was asked for last

    # -- what is shown
    @property
    def items(self) -> list[Item]:
        """The items, with all text that was streamed so far. Change them through `change`."""
        self._join()
        return self.roll.items

    @property
    def following(self) -> bool:
        """Whether the end is kept in view."""
        return self.roll.following

    @property
    def layouts(self) -> int:
        """Blocks laid out so far (for tests)."""
        return self.roll.layouts

    @property
    def parses(self) -> int:
        """Runs of the Markdown splitter so far (for tests)."""
        return self.roll.parses

    def load(self, items: Iterable[Item]) -> None:
        """Shows these items instead of all others, from their end."""
        self._pending.clear()
        self.roll.load(items)
        if self._cursor not in self.roll.index:
            self._cursor = None
            self.call_later(self._put_cursor)
        if self._search is not None:
            self._look_for(None)
        self._more_below = False
        self._drawn.clear()
        self._deselect()
        self._redraw_all()

    def add(self, item: Item) -> None:
        """Puts an item below the others."""
        self.roll.add(item)
        self._news = True
        self._schedule()

    def prepend(self, items: Iterable[Item]) -> None:
        """Puts items above the others; what is in view stays there."""
        self._join()
        count = len(self.roll.items)
        self.roll.prepend(items)
        if self._hit is not None:
            m, b, start, end = self._hit
            self._hit = (m + len(self.roll.items) - count, b, start, end)
        self._deselect()
        self._redraw_all()

    def append(self, key: str, text: str) -> None:
        """Streams more text onto an item; drawn soon, together with what else comes."""
        if key not in self.roll.index:
            raise KeyError(f"no item {key!r}: add it before text is streamed onto it")
        self._pending.setdefault(key, []).append(text)
        self._news = True
        self._schedule()

    def change(self, key: str, **fields: Any) -> None:
        """Sets fields of an item (`text`, `state`, `title`, `label`, `detail`, `folded`); an open stream ends before."""
        self._join()
        m = self._index(key)
        item = self.roll.items[m]
        folded = fields.pop("folded", None)
        for name, value in fields.items():
            if name in ("key", "kind") or not hasattr(item, name):
                raise ValueError(f"an item's {name} cannot be changed")
            setattr(item, name, value)
        self.roll.take(key)
        if folded is not None:
            self._keep_line(m, bool(folded))
        self.roll.settle()
        self._schedule()

    @overload
    def remove(self) -> AwaitRemove: ...
    @overload
    def remove(self, key: str) -> None: ...
    def remove(self, key: str | None = None) -> AwaitRemove | None:
        """Takes an item away; without a key, the widget itself (as every widget's `remove` does)."""
        if key is None:
            return super().remove()
        self._join()
        self.roll.remove(self._index(key))
        self._pending.pop(key, None)
        self._hit = None
        if self._cursor == key:
            self._cursor = None
            self.call_later(self._put_cursor)
        self._deselect()
        self._schedule()
        return None

    # -- what is in a message
    def code_blocks(self, key: str) -> list[str]:
        """The source of an item's code blocks, as it was written."""
        return code_sources(self._item(key).text)

    def abilities(self, key: str) -> frozenset[str]:
        """What can be done with an item: "own" (a person wrote it), "folded" or "unfolded", and whether it has "text",
        "code" and "links". It is asked for at each move of the cursor, so a very long text is only looked at."""
        item = self._item(key)
        state = (key, len(item.text), item.detail, item.folded)
        if self._able is None or self._able[0] != state:
            found = {
                "own": item.kind == "user",
                "folded": item.kind in FOLDS and item.folded,
                "unfolded": item.kind in FOLDS and not item.folded,
                "text": bool(item.text or item.detail),
                "code": has_code(item.text),
                "links": has_links(item.text),
            }
            self._able = (state, frozenset(name for name, there in found.items() if there))
        return self._able[1]

    def links(self, key: str) -> dict[str, str]:
        """The targets of an item's links (http and https only), each once, with the words that stand for it."""
        return links_of(self._item(key).text)

    def _item(self, key: str) -> Item:
        self._join()
        item = self.roll.items[self._index(key)]
        return item
