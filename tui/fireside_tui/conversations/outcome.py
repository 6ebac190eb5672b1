"""How a run ended, and what is told of it to somebody who looks at another conversation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from fireside_tui.safe_text import safe_line

if TYPE_CHECKING:
    from fireside_tui.conversations.conversation import Conversation

Outcome: TypeAlias = Literal["answered", "limit", "compacted", "failed", "stopped"]
"""With an answer, at the limit of its turns, with a summary, with trouble, or as a person wished."""


def told_of(conversation: Conversation) -> str:
    """The words for the last run's end; none for one that a person stopped."""
    title = f"“{safe_line(conversation.state.title, 40)}”"  # what went wrong has to fit, too
    why = conversation.trouble.text if conversation.trouble is not None else ""
    match conversation.outcome:
        case "answered":
            return f"An answer came in {title}."
        case "limit":
            return f"{title} reached the limit of its turns before it was done."
        case "failed":
            return f"No answer in {title}: {why}"
        case "compacted":
            return f"{title}: {why}" if why else f"{title} is compacted."
        case "stopped":
            return ""
