"""A real MCP server, made with the `mcp` package: `stdio`, or `http`, which prints its port and ends with its stdin."""

from __future__ import annotations

import os
import socket
import sys
import threading

import uvicorn
from mcp.server.mcpserver import Context, MCPServer
from mcp.types import CallToolResult, ImageContent, TextContent, ToolAnnotations

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

server = MCPServer("real", log_level="ERROR")


@server.tool(annotations=ToolAnnotations(read_only_hint=True, open_world_hint=False))
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


@server.tool()
def pid() -> str:
    """The process that it runs in."""
    return str(os.getpid())


@server.tool()
def die() -> str:
    """Ends the server in the middle of the call."""
    os._exit(3)


@server.tool()
def fail() -> CallToolResult:
    """Gives an error."""
    return CallToolResult(content=[TextContent(text="no such file")], is_error=True)


@server.tool()
def look() -> list[ImageContent | TextContent]:
    """Words and a picture."""
    return [TextContent(text="a dot"), ImageContent(data=PNG, mime_type="image/png")]


@server.tool()
def header(context: Context) -> str:
    """What the request says of who asks."""
    return str((context.headers or {}).get("authorization"))


@server.tool()
def echo(text: str) -> str:
    """Says it again."""
    return text


def over_http() -> None:
    """Serves until stdin ends, on a port that the system chooses."""
    listener = socket.create_server(("127.0.0.1", 0))
    app = server.streamable_http_app()
    asked = uvicorn.Server(uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=0))
    threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
    print(listener.getsockname()[1], flush=True)
    asked.run(sockets=[listener])


if __name__ == "__main__":
    over_http() if sys.argv[1] == "http" else server.run("stdio")
