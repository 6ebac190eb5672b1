"""The conversations of the app: open, send, stop, continue, delete, undo. No screen here; the widgets listen and show."""

from typing import TYPE_CHECKING, Any

from fireside_tui.conversations.approval import Approval
from fireside_tui.conversations.conversation import Conversation, Listener, NotSavedError
from fireside_tui.conversations.rows import Listed, Row, Titles, by_day, row_of
from fireside_tui.conversations.trouble import Trouble, explain

if TYPE_CHECKING:
    from fireside_tui.conversations.manager import Conversations

__all__ = [
    "Approval",
    "Conversation",
    "Conversations",
    "Listed",
    "Listener",
    "NotSavedError",
    "Row",
    "Titles",
    "Trouble",
    "by_day",
    "explain",
    "row_of",
]


def __getattr__(name: str) -> Any:
    if name == "Conversations":  # brings the library, which the first frame does without
        from fireside_tui.conversations.manager import Conversations

        return Conversations
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
