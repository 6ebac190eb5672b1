"""`MCPServer`: a server whose tools an Agent may use, its tools, and who holds a connection to it at the moment.

It knows the tools and the event loops; what speaks with a server is `mcp_connection`, which is loaded with the first use.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import math
import os
import re
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self

from fireside.errors import MCPError, ToolError
from fireside.messages import Json, ToolCall
from fireside.state import State
from fireside.stores.base import to_its_end
from fireside.sync import in_thread, loop_here
from fireside.tools import InputError, Tool
from fireside.values import copied, need

if TYPE_CHECKING:
    from fireside.mcp_connection import Connection


class MCPServer:
    """An MCP server: a program that is started (`command`), or an address (`url`, streamable HTTP). Give one of them.

    An Agent's actions connect to it when they begin and let go of it when they end; actions in one event loop share the
    connection. `async with server:` holds it open over several of them. Needs `fireside[mcp]`. Its settings do not change.

    Args:
        name: what its tools' names begin with: the model knows the tool `read` of the server `files` as `files__read`.
        command: the program and its arguments, such as `["npx", "-y", "a-server"]`. No shell reads them.
        env: environment variables for the program, beside the few (`HOME`, `PATH` …) that it always gets.
        cwd: the folder that it is started in.
        url: an address that begins with `http://` or `https://`.
        headers: sent with each request to the address, such as `{"Authorization": "Bearer …"}`.
        tools: the tools to take, as the server calls them; left out, all of them.
        connect_timeout: seconds until it has to be there, with its tools.
        call_timeout: seconds that a tool may take; `None`: as long as it wants.

    Raises `ValueError` or `TypeError` for settings that can't be.

    >>> MCPServer("files", command=["files-server", "--root", "."])
    MCPServer('files', command='files-server')
    """

    def __init__(
        self,
        name: str,
        *,
        command: Sequence[str | os.PathLike[str]] | None = None,
        env: Mapping[str, str] | None = None,
        cwd: str | os.PathLike[str] | None = None,
        url: str | None = None,
        headers: Mapping[str, str] | None = None,
        tools: Iterable[str] | None = None,
        connect_timeout: float = 30.0,
        call_timeout: float | None = 300.0,
    ) -> None:
        if not re.fullmatch(r"(?!.*__)[a-zA-Z0-9_-]{0,63}[a-zA-Z0-9-]", need(name, str, "a server's name is a str")):
            raise ValueError(
                "a server's name has letters, digits, '_' and '-', at most 64, without '__' and with no '_' "
                f"at its end: not {name!r}"
            )
        if (command is None) == (url is None):
            raise ValueError("an MCPServer has a command or a url: give one of them")
        if url is None and headers is not None:
            raise ValueError("headers go with a url; a command takes env")
        if command is None and (env is not None or cwd is not None):
            raise ValueError("env and cwd go with a command; a url takes headers")
        self.name = name
        self.command = _words(command, "command", '["npx", "-y", "a-server"]') if command is not None else ()
        if command is not None and not self.command:
            raise ValueError("command is empty: it has the program and its arguments")
        self.env = _pairs(env, "env")
        self.cwd = None if cwd is None else _path(cwd, "cwd is a path")
        if url is not None and not re.match(r"https?://[^/?#\s]", need(url, str, "url is a str")):
            raise ValueError("url begins with http:// or https:// and has a host")
        self.url = url
        self.headers = _pairs(headers, "headers")
        for key, value in self.headers.items():
            if not (re.fullmatch(r"[!#$%&'*+.^`|~\w-]+", key, re.ASCII) and re.fullmatch(r"(?! )[ -~]*(?<! )", value)):
                raise ValueError(
                    f"the header {key!r} can't be sent: a name or a value has characters that HTTP refuses"
                )
        self.tools = None if tools is None else tuple(dict.fromkeys(_words(tools, "tools", '["read", "write"]')))
        self.connect_timeout = _seconds(connect_timeout, "connect_timeout")
        self.call_timeout = None if call_timeout is None else _seconds(call_timeout, "call_timeout")
        self._places: dict[asyncio.AbstractEventLoop, _Place] = {}
        self._made = True

    def __setattr__(self, key: str, value: Any) -> None:
        if hasattr(self, "_made"):
            raise AttributeError("an MCPServer's settings do not change; make another one")
        super().__setattr__(key, value)

    def __repr__(self) -> str:
        # arguments, addresses, headers and variables may all hold keys
        if self.url is None:
            return f"MCPServer({self.name!r}, command={self.command[0]!r})"
        host = re.sub(r"^(\w+://)(?:[^/?#]*@)?([^/?#]*).*", r"\1\2", self.url, flags=re.DOTALL)
        return f"MCPServer({self.name!r}, url={host!r})"

    async def __aenter__(self) -> Self:
        """Connects, and holds the connection for all actions in this event loop. Raises `MCPError`."""
        await _load()
        place = self._take()
        try:
            await _stand([place])
        except BaseException:
            await to_its_end(_let_go([place]))
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await to_its_end(_let_go([self._places[asyncio.get_running_loop()]]))

    def _take(self) -> _Place:
        place = self._places.setdefault(asyncio.get_running_loop(), _Place(self))
        place.take()
        return place

    def _connection(self) -> Connection | None:
        """The one of the event loop that this thread works in or for."""
        loop = loop_here()
        place = self._places.get(loop) if loop is not None else None
        return place.connections[-1] if place is not None else None

    def _tools_here(self) -> Mapping[str, MCPTool]:
        """Its tools, while there is a connection in this event loop."""
        connection = self._connection()
        return {} if connection is None else connection.tools

    async def _call(self, tool: str, args: dict[str, Json]) -> Json:
        connection = self._connection()
        if connection is None:
            raise ToolError(f"(not run: there is no connection to the MCP server {self.name!r})")
        return await connection.call(tool, args)


def servers_of(given: Iterable[MCPServer]) -> tuple[MCPServer, ...]:
    """The servers of an Agent. Raises `TypeError` for what is none, `ValueError` where two have one name."""
    servers = tuple(need(server, MCPServer, "mcp_servers holds MCPServer(…)s") for server in given)
    names = [server.name for server in servers]
    if twice := {name for name in names if names.count(name) > 1}:
        raise ValueError(f"two MCP servers have the name {sorted(twice)[0]!r}")
    return servers


# -- tools


@dataclass(frozen=True)
class MCPTool(Tool):
    """A tool of an MCP server. The hints are what the server says of it: as true as the server is."""

    server: MCPServer | None = None
    tool: str = ""
    """What the server calls it."""
    _schema: dict[str, Json] = field(default_factory=dict, repr=False)

    def check_parameters(self, *, later: bool = False) -> None:
        """The server knows its parameters."""

    @cached_property
    def schema(self) -> dict[str, Json]:
        """The JSON Schema of its arguments, as the server gave it."""
        return self._schema

    def check(self, asked: ToolCall) -> dict[str, Any]:
        """The arguments as they are: what is wrong with them, the server says."""
        if asked.unreadable is not None:
            raise InputError("the arguments are not a JSON object")
        return dict(copied(asked.args))

    async def run(self, state: State, args: dict[str, Any]) -> Json:
        """Calls it. Raises `ToolError` with what the model is to read."""
        assert self.server is not None
        return await self.server._call(self.tool, args)


def tool_of(server: MCPServer, name: str, told: Any) -> MCPTool:
    """The tool that a server told of, under the name that the model knows it by."""

    async def call(**args: Any) -> Json:
        return await server._call(told.name, args)

    hints = told.annotations
    return MCPTool(
        call,
        name,
        told.description or told.title or "",
        read_only=hints and hints.read_only_hint,
        destructive=hints and hints.destructive_hint,
        idempotent=hints and hints.idempotent_hint,
        open_world=hints and hints.open_world_hint,
        server=server,
        tool=told.name,
        _schema=told.input_schema,
    )


# -- who holds which connection


@contextlib.asynccontextmanager
async def connected(servers: Sequence[MCPServer]) -> AsyncIterator[None]:
    """Holds connections to all of them while an action goes on. Those that are not there, or were lost, are made.

    Raises `MCPError` for the first that fails. An action within another one finds the connections of that one.
    """
    if not servers:
        yield
        return
    await _load()
    places = [server._take() for server in servers]
    try:
        await _stand(places)
        yield
    finally:
        await to_its_end(_let_go(places))


class _Place:
    """A server in one event loop: how many hold it, and its connections: one that stands, behind those that were lost."""

    def __init__(self, server: MCPServer) -> None:
        self.server = server
        self.holders = 0
        self.connections: list[Connection] = []

    def take(self) -> None:
        self.holders += 1
        if not self.connections or self.connections[-1].lost:
            from fireside.mcp_connection import Connection

            self.connections.append(Connection(self.server))


async def _stand(places: Sequence[_Place]) -> None:
    """Waits until all connections stand; the first that fails ends the wait. Raises `MCPError`."""
    connections = [place.connections[-1] for place in places]
    await asyncio.wait([connection.ready for connection in connections], return_when=asyncio.FIRST_EXCEPTION)
    for connection in connections:
        if connection.ready.done() and (error := connection.ready.exception()):
            raise MCPError(str(error)) from error.__cause__  # its own for each who waits
    for connection in connections:
        await connection.renew()


async def _let_go(places: Sequence[_Place]) -> None:
    """Those that nobody else holds are closed, all at once."""
    over: list[Connection] = []
    for place in places:
        place.holders -= 1
        if not place.holders:
            del place.server._places[asyncio.get_running_loop()]
            over += place.connections
    await asyncio.gather(*(connection.close() for connection in over))


_loaded = False


async def _load() -> None:
    """Loads what speaks with servers: on a thread, since it takes a second."""
    global _loaded
    if _loaded:
        return
    try:
        await in_thread(importlib.import_module, "fireside.mcp_connection")
    except ImportError as error:
        raise MCPError("an MCPServer needs the mcp package: pip install 'fireside[mcp]'") from error
    _loaded = True


# -- what may be given


def _words(given: Iterable[Any], what: str, example: str) -> tuple[str, ...]:
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise TypeError(f"{what} is a list of str, such as {example}, not {type(given).__name__}")
    return tuple(_path(word, f"{what} is a list of str") for word in given)


def _path(given: Any, what: str) -> str:
    need(given, (str, os.PathLike), what)
    return os.fsdecode(given)


def _pairs(given: Mapping[str, str] | None, what: str) -> Mapping[str, str]:
    for pair in need({} if given is None else given, Mapping, f"{what} is a dict").items():
        for word in pair:
            need(word, str, f"{what} is a dict from str to str")
    return MappingProxyType(dict(given or {}))


def _seconds(given: float, what: str) -> float:
    if not 0 < need(given, (int, float), f"{what} is a number of seconds") < math.inf:
        raise ValueError(f"{what} is a number of seconds above 0")
    return float(given)
