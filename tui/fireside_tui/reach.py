"""Whether something answers at an address. Asks nothing and sends nothing; knows no screen."""

from __future__ import annotations

import asyncio
import ipaddress
import os
import socket
import urllib.request
from urllib.parse import urlsplit

PATIENCE = 4.0
"""Seconds until an address counts as mute."""


async def why_not(address: str) -> str:
    """Why no connection to the host and port of a URL can be made; "" where one can, or where a proxy would make it."""
    parts = urlsplit(address)
    host = parts.hostname or ""
    if not _is_here(host) and parts.scheme in urllib.request.getproxies() and not urllib.request.proxy_bypass(host):
        return ""
    try:
        async with asyncio.timeout(PATIENCE):
            _, writer = await asyncio.open_connection(host, parts.port or (443 if parts.scheme == "https" else 80))
    except TimeoutError:
        return f"no connection within {PATIENCE:.0f} s."
    except socket.gaierror:
        return "there is no host of this name."
    except OSError as error:
        return f"{os.strerror(error.errno) if error.errno else error}."
    writer.close()
    return ""


def _is_here(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
