"""Mouse and selection in a transcript."""

from __future__ import annotations

from textual.content import Content
from textual.events import Click, Leave, MouseMove
from textual.selection import Selection

from fireside_tui.safe_text import safe_line
from fireside_tui.transcript.finding import Finder
from fireside_tui.transcript.selection import line_at, selected_text, word_at


class Pointer(Finder):
    """Clicks, hovering, and what is selected."""

    ALLOW_SELECT = True

    def selection_updated(self, selection: Selection | None) -> None:
        """Repaints the rows whose selection changed."""
        self._redraw()

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """The selected text: what is seen, without drawings, wrapped lines whole."""
        self._join()
        return selected_text(self.roll, selection), "\n"

    # -- mouse
    def on_click(self, event: Click) -> None:
        """A link is chosen, a folded line toggled, else the message becomes the cursor's; twice selects the word, three
        times the line."""
        event.prevent_default()  # Textual's own would select the whole conversation
        x, y = event.x - self.gutter.left, event.y - self.gutter.top
        if event.button == 1 and event.chain > 1 and self._select_at(x, y, event.chain):
            return
        if event.button != 1 or self.text_selection is not None:
            return
        width = self.scrollable_content_region.width
        if self._more_below and y == self._height - 1 and width - len(self.CHIP) - 1 <= x < width:
            self.action_scroll_end()
            return
        if not 0 <= y < len(self._rows):
            return
        m, b, row = self._rows[y]
        item = self.roll.items[m]
        if url := self._painter.piece_at(row, x):
            words = "".join(piece.text for piece in row.pieces if piece.href == url)
            self.post_message(self.LinkChosen(self._self, item.key, url, words))
            return
        self.set_cursor(item.key)
        block = self.roll.block_at(m, b)
        if block is not None and block.kind == "fold":
            self.fold(item.key, not item.folded)

    def _select_at(self, x: int, y: int, chain: int) -> bool:
        """Selects the word or the line at a cell; whether there is one."""
        if not 0 <= y < len(self._rows):
            return False
        m, b, row = self._rows[y]
        block = self.roll.block_at(m, b)
        if block is None or block.kind in ("fold", "heading", "rule"):
            return False
        place = self._painter.place_at(row, x)
        if chain > 2 and place < 0:  # beside the text, or on a drawing: it is the row's line all the same
            place = row.start
        selection = (line_at if chain > 2 else word_at)(self.roll, m, b, place)
        if selection is None:
            return False
        self.screen.selections = {self: selection}
        return True

    def on_mouse_move(self, event: MouseMove) -> None:
        """A link under the mouse shows its target."""
        x, y = event.x - self.gutter.left, event.y - self.gutter.top
        url = self._painter.piece_at(self._rows[y][2], x) if 0 <= y < len(self._rows) else ""
        shown = safe_line(url, 200) if url else None
        if shown != getattr(self.tooltip, "plain", self.tooltip):
            self.tooltip = Content(shown) if shown else None  # Content: never markup

    def on_leave(self, event: Leave) -> None:
        """No link is under the mouse."""
        if self.tooltip is not None:
            self.tooltip = None

    def _deselect(self) -> None:
        if self.is_attached and self.is_running and self.text_selection is not None:
            self.screen.clear_selection()

    def _grow_selection(self) -> None:
        """While a drag at the edge scrolls, the selection ends at what is under the mouse now."""
        if not self.is_attached:
            return
        screen = self.screen
        state = screen._select_state
        if not screen._selecting or state is None or state.end is None or state.end.content_widget is not self:
            return
        widget, offset = screen.get_widget_and_offset_at(*state.screen_offset)
        if widget is self and offset is not None:
            screen._select_state = state.update_end(state.screen_offset, state.end._replace(content_offset=offset))
