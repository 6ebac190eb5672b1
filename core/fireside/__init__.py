"""Conversations that can be saved, stopped and resumed.

>>> from fireside import Agent, State
>>> from fireside.testing import FakeModel
>>> agent = Agent(FakeModel(["Hello!"]))
>>> agent.run(State("Hi"))
'Hello!'
"""

from fireside.agent import Agent
from fireside.errors import (
    AuthError,
    ConflictError,
    ContextTooLongError,
    FiresideError,
    Holder,
    MCPError,
    OverloadedError,
    ProviderError,
    RateLimitError,
    ResumeWarning,
    StateInUseError,
    ToolError,
)
from fireside.fold import Checkpoint
from fireside.history import HistoryEntry
from fireside.loop import Loop, default_loop, loop
from fireside.mcp import MCPServer
from fireside.messages import Image, Message, Reply, Text, Thinking, ToolCall, ToolResult, Usage
from fireside.models import DEFAULT_MODEL, Model
from fireside.reporter import Reporter
from fireside.session import Session
from fireside.state import State
from fireside.stores import open_store
from fireside.stores.base import Store
from fireside.stores.file import FileStore
from fireside.stores.record import Record, SavedState
from fireside.tools import Tool, tool

__version__ = "0.1.0"

__all__ = [
    "DEFAULT_MODEL",
    "Agent",
    "AuthError",
    "Checkpoint",
    "ConflictError",
    "ContextTooLongError",
    "FileStore",
    "FiresideError",
    "HistoryEntry",
    "Holder",
    "Image",
    "Loop",
    "MCPError",
    "MCPServer",
    "Message",
    "Model",
    "OverloadedError",
    "ProviderError",
    "RateLimitError",
    "Record",
    "Reply",
    "Reporter",
    "ResumeWarning",
    "SavedState",
    "Session",
    "State",
    "StateInUseError",
    "Store",
    "Text",
    "Thinking",
    "Tool",
    "ToolCall",
    "ToolError",
    "ToolResult",
    "Usage",
    "default_loop",
    "loop",
    "open_store",
    "tool",
]
