"""What tests share: a strict Messages API on loopback, a real terminal, and a clean environment."""

from .replies import (
    Disconnect,
    ErrorEvent,
    Event,
    Fin,
    Hold,
    Html,
    HttpError,
    RawBytes,
    Redacted,
    Say,
    Stall,
    Text,
    Thinking,
    ToolUse,
    Truncated,
    UnknownBlock,
)
from .server import ApiServer, Refusal, Request
from .term import Term, clean_env, fireside, fireside_command

__all__ = [
    "ApiServer",
    "Disconnect",
    "ErrorEvent",
    "Event",
    "Fin",
    "Hold",
    "Html",
    "HttpError",
    "RawBytes",
    "Redacted",
    "Refusal",
    "Request",
    "Say",
    "Stall",
    "Term",
    "Text",
    "Thinking",
    "ToolUse",
    "Truncated",
    "UnknownBlock",
    "clean_env",
    "fireside",
    "fireside_command",
]
