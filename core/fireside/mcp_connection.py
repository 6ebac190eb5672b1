"""`Connection`: one connection to one MCP server, in one event loop. It knows the `mcp` package, and is loaded late.

A task of its own opens, holds and closes it: anyio's cancel scopes have to be left where they were entered.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
from collections.abc import AsyncIterator
from typing import Any

import anyio
import httpx2
from mcp import Client, types
from mcp import MCPError as ProtocolError
from mcp.client.streamable_http import streamable_http_client

from fireside.errors import MCPError, ToolError
from fireside.mcp import MCPServer, MCPTool, tool_of
from fireside.mcp_content import content, names_of, words_of
from fireside.mcp_program import Program
from fireside.messages import Json
from fireside.requests import sound
from fireside.run import words

CLOSE = 1.0
"""How many seconds a server on the network gets to hear of the end."""

# With a handler, the SDK's warnings are not printed by logging's last resort; handlers of the user still get them.
for _name in ("mcp", "client"):
    logging.getLogger(_name).addHandler(logging.NullHandler())


class Connection:
    """Is made at once, and begins to connect; `ready` is done when it stands or has failed, and then raises `MCPError`."""

    def __init__(self, server: MCPServer) -> None:
        self.server = server
        self.ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.tools: dict[str, MCPTool] = {}
        """What the server offers, by the names that the model knows."""
        self.changed = False
        """Whether the server said that it offers other tools by now."""
        self.lost = False
        """Whether the next action is to make another one: this one broke, or a call through it got no answer."""
        self._client: Client | None = None
        self._over = asyncio.Event()
        self._scope = anyio.CancelScope()
        self._told = ""  # what is known of a failure beside the exception
        self._task = asyncio.create_task(self._live(), name=f"fireside MCP server {server.name}")

    async def close(self) -> None:
        """Ends it, and the server's program; a program that does not want to gets a moment."""
        self._end()
        if not self.ready.done():
            self._scope.cancel()
        await asyncio.wait([self._task])
        if not self._task.cancelled():
            self._task.exception()  # a second Ctrl+C, which is raised elsewhere, too

    def _end(self) -> None:
        self.lost = True
        self._over.set()

    async def _live(self) -> None:
        failed: BaseException | None = None
        try:
            with self._scope:
                self._scope.deadline = anyio.current_time() + self.server.connect_timeout
                async with self._connected() as client:
                    self._client = client
                    await self._list(client)
                    self._scope.deadline = math.inf
                    self.ready.set_result(None)
                    await self._over.wait()
                    self._scope.deadline = anyio.current_time() + CLOSE
        except Exception as error:
            failed = error
        finally:
            self._end()
            self._client = None
            if not self.ready.done():
                self.ready.set_exception(self._failure(failed))
                self.ready.exception()  # whoever waits hears of it; there may be nobody

    @contextlib.asynccontextmanager
    async def _connected(self) -> AsyncIterator[Client]:
        server = self.server
        async with contextlib.AsyncExitStack() as stack:
            transport: Any
            if server.url is None:
                transport = program = Program(server, self._end)
                stack.callback(lambda: setattr(self, "_told", program.last_words))  # when it has ended
            else:
                http = httpx2.AsyncClient(
                    headers=dict(server.headers),
                    timeout=httpx2.Timeout(server.connect_timeout, read=None),  # how long a call takes is the call's
                    event_hooks={"response": [self._note_status]},
                )
                await stack.enter_async_context(http)
                transport = streamable_http_client(server.url, http_client=http, max_sse_event_size=None)
            client = Client(transport, cache=None, message_handler=self._hear)
            yield await stack.enter_async_context(client)

    async def _note_status(self, response: httpx2.Response) -> None:
        self._told = f" (HTTP {response.status_code} {response.reason_phrase})" if response.is_error else ""

    async def _hear(self, message: Any) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            self.changed = True

    def _failure(self, error: BaseException | None) -> MCPError:
        server = self.server
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        if isinstance(error, MCPError):
            return error
        if self._scope.cancelled_caught or error is None:
            why = f"did not answer within {server.connect_timeout:g} seconds"
        elif isinstance(error, OSError) and server.url is None:
            why = f"can't be started: {error.strerror or error}: {error.filename or server.command[0]}"
        elif isinstance(error, ProtocolError) and error.code == types.CONNECTION_CLOSED:
            why = "ended before it could be used"
        elif isinstance(error, ProtocolError):
            why = f"can't be used: {error.message}"
        else:
            why = f"can't be reached: {words(error)}"
        made = MCPError(f"the MCP server {server.name!r} {why}{self._told}")
        made.__cause__ = error
        return made

    # -- tools

    async def renew(self) -> None:
        """Asks again for the tools, where the server said that they changed. Raises `MCPError`."""
        client = self._client
        if not self.changed or client is None:
            return
        self.changed = False
        try:
            async with asyncio.timeout(self.server.connect_timeout):
                await self._list(client)
        except (ProtocolError, TimeoutError) as error:
            raise MCPError(f"the MCP server {self.server.name!r} did not tell its tools: {words(error)}") from error

    async def _list(self, client: Client) -> None:
        found: dict[str, types.Tool] = {}
        if client.server_capabilities.tools is not None:
            cursor: str | None = None
            while True:  # it ends at the latest with the time to connect
                page = await client.list_tools(cursor=cursor)
                for tool in page.tools:
                    found.setdefault(tool.name, tool)
                if (cursor := page.next_cursor) is None:
                    break
        wanted = self.server.tools
        if wanted is not None:
            if lacking := [name for name in wanted if name not in found]:
                raise MCPError(
                    f"the MCP server {self.server.name!r} has no tool {lacking[0]!r}; "
                    f"its tools are: {', '.join(sorted(found)) or 'none'}"
                )
            found = {name: found[name] for name in wanted}
        # sorted: some servers list them in another order each time, and the provider's cache wants the same
        names = names_of(self.server.name, found)
        self.tools = {name: tool_of(self.server, name, found[tool]) for tool, name in names.items()}

    async def call(self, name: str, args: dict[str, Json]) -> Json:
        """Calls a tool; the content of its result. Raises `ToolError` with what the model is to read."""
        client, server = self._client, f"the MCP server {self.server.name!r}"
        if client is None or self._over.is_set():
            raise ToolError(f"(not run: the connection to {server} is lost)")
        try:
            result = await client.call_tool(name, sound(args), read_timeout_seconds=self.server.call_timeout)
        except ProtocolError as error:
            if error.code == types.CONNECTION_CLOSED:
                self.lost = True
                raise ToolError(_unknown(f"the connection to {server} was lost before it answered")) from error
            if error.code == types.REQUEST_TIMEOUT:
                raise ToolError(_unknown(f"{server} did not answer in time")) from error
            if error.code == types.INVALID_REQUEST and error.message == "Session terminated":
                self.lost = True  # it was started again, and knows this session no more
                raise ToolError(f"(not run: {server} has ended the connection)") from error
            raise ToolError(error.message or f"({server} refused the call)") from error
        except Exception as error:  # a result against the server's own schema, for instance
            raise ToolError(_unknown(f"the answer of {server} can't be used: {words(error)}")) from error
        if result.is_error:
            raise ToolError(words_of(result.content, result.structured_content))
        return content(result.content, result.structured_content)


def _unknown(why: str) -> str:
    return (
        f"(unknown: {why}, so the tool may or may not have run. "
        "Check whether it took effect before relying on it or running it again)"
    )
