"""What the tests of MCP share: a good server and a bad one, as programs, and whether a process is there."""

from __future__ import annotations

import os
import select
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fireside import MCPServer

SUPPORT = Path(__file__).parents[1] / "support"
REAL, BAD = SUPPORT / "mcp_server.py", SUPPORT / "bad_mcp_server.py"


def good(name: str = "real", **settings: Any) -> MCPServer:
    return MCPServer(name, command=[sys.executable, REAL, "stdio"], **settings)


def bad(*flags: str, name: str = "bad", **settings: Any) -> MCPServer:
    return MCPServer(name, command=[sys.executable, BAD, *flags], **settings)


@contextmanager
def over_http() -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """The good server on loopback: its address and its process, which ends with this block."""
    with subprocess.Popen([sys.executable, REAL, "http"], stdin=-1, stdout=-1, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        yield f"http://127.0.0.1:{process.stdout.readline().strip()}/mcp", process
        process.stdin.close()


def is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def ends(pid: int) -> bool:
    """Waits until a process that is not ours has ended."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([handle], [], [], 30)[0])
    finally:
        os.close(handle)


def heard(at: Path) -> int:
    """The process that says itself in a named pipe, once it does so."""
    handle = os.open(at, os.O_RDONLY | os.O_NONBLOCK)
    try:
        assert select.select([handle], [], [], 30)[0], "nobody said anything"
        return int(os.read(handle, 100))
    finally:
        os.close(handle)
