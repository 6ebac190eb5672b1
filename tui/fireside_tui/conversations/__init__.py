"""The conversations of the app: open, send, stop, continue, delete, undo. No screen here; the widgets listen and show."""

from fireside_tui.conversations.approval import Approval
from fireside_tui.conversations.conversation import Conversation, Listener, NotSavedError
from fireside_tui.conversations.manager import Conversations
from fireside_tui.conversations.rows import Item, Row, Titles, by_day, row_of
from fireside_tui.conversations.trouble import Trouble, explain

__all__ = [
    "Approval",
    "Conversation",
    "Conversations",
    "Item",
    "Listener",
    "NotSavedError",
    "Row",
    "Titles",
    "Trouble",
    "by_day",
    "explain",
    "row_of",
]
