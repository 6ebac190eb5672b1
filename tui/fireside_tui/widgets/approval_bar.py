"""`ApprovalBar`: a tool call that waits for yes or no."""

from __future__ import annotations

from time import monotonic
from typing import ClassVar

from textual.content import Content
from textual.events import Click, Key
from textual.message import Message
from textual.widgets import Static

from fireside_tui.commands import BY_NAME, at, key_name
from fireside_tui.conversations import Approval
from fireside_tui.safe_text import safe_line
from fireside_tui.widgets.lines import carry_out, clickable, clicked

LINES = 8
"""So many lines are for the arguments, and one for each where there are more."""
AROUND = 12
"""So many lines of the screen are for all the rest."""


class ApprovalBar(Static, can_focus=True):
    """Shows the call and the keys; it has the focus unless something is being written."""

    DEFAULT_CSS = """
    ApprovalBar { height: auto; padding: 0 1; border: round $border-blurred; display: none;
        color: $foreground; }
    ApprovalBar.-shown { display: block; }
    ApprovalBar:focus { border: round $warning; }
    """

    def on_click(self, event: Click) -> None:
        """A click carries the words out."""
        if command := clicked(event):
            carry_out(self, command)

    GRACE: ClassVar[float] = 0.4
    """Seconds in which letters are no answers yet: whoever was about to write would say yes without having read."""

    class Typed(Message):
        """A letter that was meant for the message."""

        def __init__(self, character: str) -> None:
            super().__init__()
            self.character = character

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__("", id=id, markup=False)
        self.approval: Approval | None = None
        self._since = 0.0

    @property
    def listens(self) -> bool:
        """Whether a key is an answer already."""
        return monotonic() - self._since >= self.GRACE

    def on_key(self, event: Key) -> None:
        """What comes too soon to be an answer is written into the message."""
        if not self.listens and event.is_printable and event.character:
            event.stop()
            self.post_message(self.Typed(event.character))

    def say(self, approval: Approval | None) -> None:
        """Shows a call; `None` takes it away."""
        self.approval, self._since = approval, monotonic()
        self.set_class(approval is not None, "-shown")
        self.draw()
        if approval is not None and self.GRACE:
            self.set_timer(self.GRACE, self.screen.refresh_bindings)

    def on_resize(self) -> None:
        """It is laid out again."""
        self.draw()

    def watch_has_focus(self, has_focus: bool) -> None:
        """The keys work at once, or after Tab."""
        super().watch_has_focus(has_focus)
        self.draw()

    def draw(self) -> None:
        """The call, what the tool says of itself, the keys."""
        if self.approval is None:
            return
        call, tool = self.approval.call, self.approval.tool
        width = max(8, self.content_size.width)
        room = min(max(LINES, len(call.args)), max(3, self.app.size.height - AROUND))
        harm = " It may destroy something." if tool.destructive else ""
        lines: list[Content] = [Content(safe_line(f"May Claude use {call.name}?{harm}")).stylize("bold")]
        from fireside_tui.widgets.arguments import brief  # not on the first frame

        lines += brief(call.args, width, room)
        lines += self._keys(width)
        self.update(Content("\n").join(lines))

    def _keys(self, width: int) -> list[Content]:
        """The keys of the card, in as many lines as they need; whole words only."""
        before = "" if self.has_focus else f"{key_name(BY_NAME['approval'].keys[0])}, then"
        lines = [Content(before).stylize("$text-muted")] if before else []
        for command in at("approval"):
            words = Content.assemble((key_name(command.keys[0]), "bold $footer-key-foreground"), " ", command.short)
            words = words.stylize(clickable(command.name))
            if lines and lines[-1].cell_length + 3 + words.cell_length <= width:
                lines[-1] = Content.assemble(lines[-1], "   ", words)
            else:
                lines.append(words)
        return lines
