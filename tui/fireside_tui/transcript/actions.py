"""What one does in a transcript by key: pages, folding, the cursor over messages; and the messages that it posts."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, cast

from textual.binding import Binding, BindingType
from textual.message import Message

from fireside_tui.transcript.canvas import Canvas
from fireside_tui.transcript.items import FOLDS

if TYPE_CHECKING:
    from fireside_tui.transcript.view import Transcript


class TranscriptMessage(Message):
    """A message of a transcript."""

    def __init__(self, transcript: Transcript, key: str) -> None:
        super().__init__()
        self.transcript = transcript
        """The transcript it comes from."""
        self.key = key
        """The item that it is about."""

    @property
    def control(self) -> Transcript:
        """The transcript it comes from."""
        return self.transcript


class Actions(Canvas):
    """Moves and folds, and says so."""

    class LinkChosen(TranscriptMessage, namespace="transcript"):
        """A link was clicked. Nothing is opened: the app asks or opens `url`, which is http or https."""

        def __init__(self, transcript: Transcript, key: str, url: str, words: str) -> None:
            super().__init__(transcript, key)
            self.url = url
            """The target."""
            self.words = words
            """What stands for it in the row that was clicked."""

    class CursorMoved(TranscriptMessage, namespace="transcript"):
        """The cursor is on another item ("" for none)."""

    class Folded(TranscriptMessage, namespace="transcript"):
        """An item was folded, or opened."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "cursor(1)", "Next message", show=False),
        Binding("k", "cursor(-1)", "Message before", show=False),
        Binding("enter,space", "toggle_fold", "Fold or unfold", show=False),
    ]

    @property
    def _self(self) -> Transcript:
        return cast("Transcript", self)

    # -- pages, in real rows
    def _page(self, rows: int) -> None:
        if self.roll.items and self.roll.width:
            self._mark = None
            self.roll.move(rows)
            self._redraw()

    def action_page_up(self) -> None:
        """One screen up, less a row."""
        self._page(1 - self._height)

    def action_page_down(self) -> None:
        """One screen down, less a row."""
        self._page(self._height - 1)

    def action_scroll_home(self) -> None:
        """To the beginning."""
        self._mark = None
        self.roll.following, self.roll.anchor = False, (0, 0, 0)
        self.roll.settle() if self.roll.width else None
        self._redraw()

    def action_scroll_end(self) -> None:
        """To the end, and follow it."""
        self._mark = None
        self.roll.following = True
        self._redraw()

    # -- folding
    def fold(self, key: str, folded: bool) -> None:
        """Folds a tool call or thinking to one line, or opens it; its line stays where it is."""
        m = self._index(key)
        item = self.roll.items[m]
        if item.kind not in FOLDS or item.folded == folded:
            return
        self._keep_line(m, folded)
        self._redraw()
        self.post_message(self.Folded(self._self, key))

    def fold_all(self, kind: str, folded: bool) -> None:
        """Folds or opens all items of a kind ("thinking", "tool")."""
        for m, item in enumerate(self.roll.items):
            if item.kind == kind:
                self.roll.fold(m, folded)
        self.roll.settle()
        self._redraw_all()

    def _keep_line(self, m: int, folded: bool) -> None:
        place = next((y for y, (i, _, _) in enumerate(self._rows) if i == m), None)
        self.roll.fold(m, folded)
        if place is not None and self.roll.following and not folded:
            screen = self.roll.screen(self._height)
            if all(i != m or b != self.roll.doc(m).fold_block for i, b, _ in screen):
                self.roll.following = False  # what was opened is longer than the screen: show its beginning
                self.roll.anchor = (m, self.roll.doc(m).fold_block, 0)

    # -- the cursor over messages
    @property
    def cursor(self) -> str | None:
        """The key of the item that the cursor is on."""
        return self._cursor

    def set_cursor(self, key: str | None, show: bool = False) -> None:
        """Puts the cursor on an item (None: on none); `show` scrolls to it if its beginning is not in view."""
        if key is not None:
            m = self._index(key)
            if show and self.roll.width:
                self._show(m, 0, 0)
        moved = key != self._cursor
        self._cursor = key
        self._redraw()
        if moved:
            self.post_message(self.CursorMoved(self._self, key or ""))

    def watch_has_focus(self, _has_focus: bool) -> None:
        """Who comes here sees what the keys are for."""
        super().watch_has_focus(_has_focus)
        self._put_cursor()

    def _fit(self) -> bool:
        changed = super()._fit()
        if changed:
            self._put_cursor()  # who was here before anything had a place
        return changed

    def _put_cursor(self) -> None:
        """Puts the cursor on the last item in view, if one is needed and there is none; nothing moves for it."""
        if self.has_focus and self._cursor is None and self.roll.items and self.roll.width:
            rows = self.roll.screen(self._height)
            m = self._no_rule(rows[-1][0] if rows else len(self.roll.items) - 1, -1)
            if m is not None:
                self.set_cursor(self.roll.items[m].key)

    def move_cursor(self, delta: int) -> None:
        """Moves the cursor by so many items; from none, to the last item in view."""
        items = self.roll.items
        if not items or not self.roll.width:
            return
        if self._cursor is None:
            rows = self.roll.screen(self._height)
            m, step = (rows[-1][0] if rows else len(items) - 1), -1
        else:
            m, step = self.roll.index[self._cursor] + delta, 1 if delta > 0 else -1
        there = self._no_rule(max(0, min(m, len(items) - 1)), step)
        if there is not None:
            self.set_cursor(items[there].key, show=True)

    def _no_rule(self, m: int, step: int) -> int | None:
        """The next item with which something can be done."""
        items = self.roll.items
        while 0 <= m < len(items) and items[m].kind == "rule":
            m += step
        return m if 0 <= m < len(items) else None

    def action_cursor(self, delta: int) -> None:
        """Moves the cursor."""
        self.move_cursor(delta)

    def action_toggle_fold(self) -> None:
        """Folds or opens the cursor's item."""
        if self._cursor is not None:
            item = self.roll.items[self._index(self._cursor)]
            if item.kind in FOLDS:
                self.fold(item.key, not item.folded)

    def _show(self, m: int, b: int, row: int) -> None:
        """Scrolls so that a row is in view, if it is not; near the top, so that what follows is seen."""
        roll = self.roll
        target = roll.onward(m, b, row)
        if target is None:
            return
        rows = roll.rows(target[0], target[1])
        wanted = rows[min(target[2], len(rows) - 1)]
        if any(line is wanted for _, _, line in roll.screen(self._height)):
            return
        self._mark = None
        roll.following = False
        above = self._height // 4
        roll.anchor = target if target[2] >= above else roll.back(target[0], target[1], above - target[2])
