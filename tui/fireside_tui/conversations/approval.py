"""`Approval`: a tool call that waits for the person's answer."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fireside import Tool, ToolCall


def call_line(call: ToolCall) -> str:
    """A call as one writes it: `read_file(path="x")`."""
    import json

    if call.unreadable is not None:
        return f"{call.name}({call.unreadable})"
    args = ", ".join(f"{key}={json.dumps(value, ensure_ascii=False, default=str)}" for key, value in call.args.items())
    return f"{call.name}({args})"


class Approval:
    """The call, its tool, and the answer to come: `True`, `False`, or the reason for a no."""

    def __init__(self, call: ToolCall, tool: Tool) -> None:
        self.call = call
        self.tool = tool
        self.answered: asyncio.Future[bool | str] = asyncio.get_running_loop().create_future()

    def answer(self, allowed: bool | str) -> None:
        """Gives the answer; a second one does nothing."""
        if not self.answered.done():
            self.answered.set_result(allowed)
