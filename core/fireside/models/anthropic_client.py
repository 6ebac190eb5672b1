"""The SDK's client: loaded late, one for each event loop and setting, closed with its loop. Who gets which key."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import logging
import os
from collections.abc import AsyncGenerator
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

from fireside.errors import AuthError, ProviderError

if TYPE_CHECKING:
    import ssl

    from anthropic import AsyncAnthropic

OWN_ADDRESS = "https://api.anthropic.com"
_NO_KEY = "none"  # the SDK wants one, and many local servers don't
_OTHER_CREDENTIALS = ("ANTHROPIC_PROFILE", "ANTHROPIC_IDENTITY_TOKEN", "ANTHROPIC_IDENTITY_TOKEN_FILE")


class Connection(NamedTuple):
    """Where to connect and how. `base_url` is `None` for the SDK's choice; so are both credentials."""

    base_url: str | None
    api_key: str | None
    auth_token: str | None
    idle_timeout: float
    connect_timeout: float

    def __repr__(self) -> str:
        return f"Connection({self.base_url!r})"  # a key is a secret


_Kept = dict[Connection, tuple["AsyncAnthropic", AsyncGenerator["AsyncAnthropic", None]]]
_clients: WeakKeyDictionary[asyncio.AbstractEventLoop, _Kept] = WeakKeyDictionary()


async def client_for(connection: Connection) -> AsyncAnthropic:
    """The running event loop's client for that connection. Raises `ProviderError` for a wrong address or proxy."""
    loop = asyncio.get_running_loop()
    for closed in [other for other in list(_clients) if other.is_closed()]:
        _clients.pop(closed, None)
    if connection not in _clients.get(loop, {}):
        client = await asyncio.to_thread(_new_client, connection)  # to load the SDK takes a second
        kept = _clients.setdefault(loop, {})
        if connection not in kept:  # another request may have been first
            # An event loop that ends closes the async generators that are still open in it: so the client is closed in
            # time, without a warning about open sockets.
            keeper = _keep(loop, connection, client)
            kept[connection] = (await anext(keeper), keeper)
    return _clients[loop][connection][0]


async def _keep(
    loop: asyncio.AbstractEventLoop, connection: Connection, client: AsyncAnthropic
) -> AsyncGenerator[AsyncAnthropic, None]:
    try:
        yield client
    finally:
        kept = _clients.get(loop, {})
        kept.pop(connection, None)
        if not kept:
            _clients.pop(loop, None)
        await client.close()


@lru_cache(maxsize=1)
def _certificates() -> ssl.SSLContext:
    """Read once: it takes 35 ms, and each event loop has a client of its own."""
    import httpx2

    return httpx2.create_ssl_context()


def _new_client(connection: Connection) -> AsyncAnthropic:
    import anthropic
    import httpx2

    # With a handler, the SDK's warnings are not printed by logging's last resort; handlers of the user still get them.
    logger = logging.getLogger(anthropic.__name__)
    if not any(isinstance(handler, logging.NullHandler) for handler in logger.handlers):
        logger.addHandler(logging.NullHandler())
    timeout = httpx2.Timeout(connection.idle_timeout, connect=connection.connect_timeout)
    address = connection.base_url or OWN_ADDRESS
    scheme, host, _ = _server(address)
    if scheme not in ("http", "https") or not host:
        raise ProviderError(f"{address!r} is not the address of a server: base_url begins with http:// or https://")
    try:
        http = anthropic.DefaultAsyncHttpxClient(
            timeout=timeout, trust_env=not _is_loopback(address), verify=_certificates()
        )
    except ImportError:
        raise ProviderError(
            "the environment names a SOCKS proxy (ALL_PROXY or HTTPS_PROXY), which needs one more package: "
            "pip install 'httpx2[socks]'; or unset that variable"
        ) from None
    except ValueError:
        raise ProviderError(
            "the environment names a proxy (ALL_PROXY, HTTPS_PROXY or HTTP_PROXY) that can't be used: "
            "its address begins with http://, https:// or socks5://"
        ) from None
    except OSError as error:
        raise ProviderError("the certificates could not be read; check SSL_CERT_FILE and SSL_CERT_DIR") from error
    return anthropic.AsyncAnthropic(
        api_key=connection.api_key,
        auth_token=connection.auth_token,
        base_url=connection.base_url,
        http_client=http,
        timeout=timeout,
        max_retries=0,
    )


def credentials(base_url: str | None, api_key: str | None) -> tuple[str | None, str | None]:
    """The API key or the token for that address; neither where the SDK is to look for a profile itself.

    The environment's credentials go to Anthropic's own servers and to the one that the environment names, and nowhere
    else. Raises `AuthError` for a key that can't be one.
    """
    if api_key:
        return _checked(api_key), None
    named = os.environ.get("ANTHROPIC_BASE_URL")
    if base_url and not _is_own(base_url) and not _is_same(base_url, named):
        return _NO_KEY, None
    if key := os.environ.get("ANTHROPIC_API_KEY", "").strip():
        return _checked(key), None  # given as an argument, so that the SDK does not log that a token is set, too
    if token := os.environ.get("ANTHROPIC_AUTH_TOKEN", "").strip():
        return None, _checked(token)
    address = base_url or named or OWN_ADDRESS
    if not _is_own(address) and not any(os.environ.get(name) for name in _OTHER_CREDENTIALS):
        return _NO_KEY, None
    return None, None


def _checked(key: str) -> str:
    key = key.strip()
    if not key.isascii() or not key.isprintable() or " " in key:
        raise AuthError("the API key holds characters that no key has (a line break, a space?); copy it once more")
    return key


def address_of(base_url: str | None) -> str | None:
    """The address to connect to, without the `/v1` that the SDK adds itself; `None`: Anthropic's own, or a profile's."""
    given = base_url or os.environ.get("ANTHROPIC_BASE_URL") or ""
    return given.strip().rstrip("/").removesuffix("/v1") or None


def host_of(address: str | None) -> str:
    """The host's name, for a message."""
    return _server(address or OWN_ADDRESS)[1] or str(address)


def _server(address: str) -> tuple[str, str, int | None]:
    """Scheme, host and port; empty where it is no address."""
    try:
        parts = urlsplit(address)
        return parts.scheme, parts.hostname or "", parts.port
    except ValueError:
        return "", "", None


def _is_loopback(address: str) -> bool:
    host = _server(address)[1]
    if host == "localhost" or host.endswith(".localhost"):
        return True
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return False


def _is_own(address: str) -> bool:
    scheme, host, _ = _server(address)
    return scheme == "https" and (host == "anthropic.com" or host.endswith(".anthropic.com"))


def _is_same(address: str, other: str | None) -> bool:
    """Whether both are at the same server."""
    return _server(address) == _server(other or "")
