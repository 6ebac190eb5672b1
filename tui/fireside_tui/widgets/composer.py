"""`Composer`: where a message is written. Enter sends, Ctrl+J breaks the line, a paste of any size is one paste."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip
from textual.widgets import TextArea

from fireside_tui.widgets.pane import Steady

if TYPE_CHECKING:
    from fireside_tui.conversations import Conversation

LONGEST_PASTE = 8_000
"""A longer paste stands as one word in the box and goes out as a whole: a line of 1 MB takes 1.4 s a key in a TextArea."""
MOST_LINES = 200

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
NEWLINE_KEYS = frozenset({"ctrl+j", "shift+enter", "shift+\r", "ctrl+enter", "alt+enter"})


def clean_paste(text: str) -> str:
    """A paste without control characters, its lines ended as here. Nothing else changes.

    >>> clean_paste("a\\r\\nb\\x1b[2Jc\\td")
    'a\\nb[2Jc\\td'
    """
    return _CONTROL.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))


class Composer(Steady, TextArea):
    """The box at the bottom."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+underscore", "undo", "Undo", show=False),
        Binding("pageup", "page(-1)", "Scroll up", show=False),
        Binding("pagedown", "page(1)", "Scroll down", show=False),
    ]
    DEFAULT_CSS = """
    Composer {
        height: auto; min-height: 3; max-height: 12; border: round $border-blurred; background: $background;
        padding: 0 1; scrollbar-size-vertical: 1; color: $foreground;
        &:focus { border: round $border; background-tint: transparent; }
        & .text-area--cursor-line { background: transparent; }
        & .text-area--placeholder { color: $text-muted; }
        & .text-area--suggestion { color: $text-muted; }
    }
    """

    class Submitted(Message):
        """Enter was pressed, in what was written for `writing_for`. The text is still in the box."""

        def __init__(self, text: str, writing_for: Conversation | None) -> None:
            super().__init__()
            self.text = text
            self.writing_for = writing_for

    class Recalled(Message):
        """An earlier message (`by` = 1) or a later one (-1) is wanted."""

        def __init__(self, by: int) -> None:
            super().__init__()
            self.by = by

    class Completed(Message):
        """Tab was pressed in a `/command`."""

    class Paged(Message):
        """The transcript is to be scrolled."""

        def __init__(self, by: int) -> None:
            super().__init__()
            self.by = by

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id, soft_wrap=True, compact=False, highlight_cursor_line=False)
        self.placeholder = Content("Write a message")
        self.writing_for: Conversation | None = None
        """The conversation that the text belongs to, also when Enter is heard only after another one was opened."""
        self.recalling = False
        """Whether what stands there is an earlier message, as it was."""
        self._pastes: dict[str, str] = {}
        self._restyled = True

    # -- its text

    @property
    def whole_text(self) -> str:
        """What was written, with the long pastes that stand in it as one word."""
        text = self.text
        for word, pasted in self._pastes.items():
            text = text.replace(word, pasted)
        return text

    def put(self, text: str) -> None:
        """Puts another text into the box, the cursor at its end."""
        self._pastes = {}
        self.load_text(self._as_word(text) if _is_long(text) else text)
        self.move_cursor(self.document.end)
        self.recalling = False

    def empty(self) -> None:
        """Nothing is in the box."""
        self.put("")

    def _as_word(self, text: str) -> str:
        lines = text.count("\n") + 1
        size = f"{lines:,} lines" if lines > 1 else f"{len(text):,} characters"
        word = f"[pasted text {len(self._pastes) + 1}: {size}]"
        self._pastes[word] = text
        return word

    # -- keys

    async def _on_key(self, event: events.Key) -> None:
        key = event.key
        if key == "enter":
            event.prevent_default()
            event.stop()
            self.post_message(self.Submitted(self.whole_text, self.writing_for))
        elif key in NEWLINE_KEYS:
            event.prevent_default()
            event.stop()
            self.insert("\n")
        elif key == "tab" and self.text.startswith("/") and " " not in self.text:
            event.prevent_default()
            event.stop()
            self.post_message(self.Completed())
        elif key in ("up", "down") and (self.recalling or (key == "up" and not self.text)):
            event.prevent_default()
            event.stop()
            self.post_message(self.Recalled(1 if key == "up" else -1))
        else:
            if event.is_printable or key in ("backspace", "delete"):
                self.recalling = False
            await super()._on_key(event)

    async def _on_paste(self, event: events.Paste) -> None:
        event.prevent_default()
        event.stop()
        self.paste(event.text)

    def paste(self, text: str) -> None:
        """Puts a paste at the cursor."""
        text = clean_paste(text)
        if not text:
            return
        self.recalling = False
        self.replace(self._as_word(text) if _is_long(text) else text, *self.selection)

    def notify_style_update(self) -> None:
        """Its colours are to be read again."""
        self._restyled = True
        super().notify_style_update()

    def paint(self, crop: Region) -> list[Strip]:
        """The lines; the colours are read when they changed, and not each time."""
        if self._restyled:
            self._restyled = False
            return TextArea.render_lines(self, crop)
        return super(TextArea, self).render_lines(crop)

    def render_line(self, y: int) -> Strip:
        """A line; without any width, nothing (Textual 8.2.8 would divide by zero for the placeholder)."""
        return super().render_line(y) if self.content_size.width > 0 else Strip([])

    def action_page(self, by: int) -> None:
        """Scrolls the transcript, not the box."""
        self.post_message(self.Paged(by))


def _is_long(text: str) -> bool:
    return len(text) > LONGEST_PASTE or text.count("\n") > MOST_LINES
