"""`AnthropicModel`: the Messages API through the real SDK, and any server that speaks it. The SDK is loaded late."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import logging
import os
from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

from fireside.errors import AuthError, ContextTooLongError, ProviderError
from fireside.messages import Json
from fireside.models.anthropic_errors import as_provider_error
from fireside.models.anthropic_wire import ReplyReader, body_of, has_thinking, without_thinking
from fireside.models.base import ModelInfo, StreamPart
from fireside.models.known import EFFORTS, known
from fireside.requests import Request

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic, AsyncStream

IDLE_TIMEOUT = 90.0
"""How many seconds a server may be silent. While it has nothing to say, the API sends pings, which count."""
CONNECT_TIMEOUT = 15.0

_OWN_ADDRESS = "https://api.anthropic.com"
_NO_KEY = "none"  # the SDK wants one, and many local servers don't
_OTHER_CREDENTIALS = ("ANTHROPIC_PROFILE", "ANTHROPIC_IDENTITY_TOKEN", "ANTHROPIC_IDENTITY_TOKEN_FILE")


class AnthropicModel:
    """A model that the Anthropic Messages API serves.

    `base_url` is another server that speaks it (else `ANTHROPIC_BASE_URL`, else Anthropic's own). `api_key` goes to
    that server alone; without it, the environment's credentials are used, for Anthropic's own server and for the one
    that the environment names: a key is never sent to an address that it was not set for. `idle_timeout` is how many
    seconds the server may be silent, `connect_timeout` how many it may take to be reached.

    No key and no network is needed to create one: the SDK is loaded, in a thread, with the first request. It keeps one
    client for each event loop, which is closed with the loop, or by `aclose`.

    >>> AnthropicModel("claude-sonnet-5-5").info.context_window
    1000000
    """

    def __init__(
        self,
        name: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        idle_timeout: float = IDLE_TIMEOUT,
        connect_timeout: float = CONNECT_TIMEOUT,
    ) -> None:
        self.name = name
        self._base_url = base_url
        self._api_key = api_key
        self._idle_timeout = idle_timeout
        self._connect_timeout = connect_timeout
        self._infos: dict[str, ModelInfo] = {}
        self._clients: WeakKeyDictionary[asyncio.AbstractEventLoop, _Kept] = WeakKeyDictionary()

    def __repr__(self) -> str:
        where = f", base_url={self._base_url!r}" if self._base_url else ""
        return f"AnthropicModel({self.name!r}{where})"

    @property
    def info(self) -> ModelInfo | None:
        """What is known of the model: what `models` said of it, else what this version knows; `None`: nothing."""
        return self._infos.get(self.name) or known(self.name)

    async def stream(self, request: Request) -> AsyncIterator[StreamPart]:
        """Streams the reply. Raises `ProviderError` and its kinds; see `Model.stream`."""
        body = body_of(request, self.name, self.info)
        try:
            client = await self._client()
            events = await self._events(client, body)
            try:
                reader = ReplyReader(self.name, events.response.headers.get("request-id"))
                async for event in events:
                    for delta in reader.take(event):
                        yield delta
            finally:
                await events.close()
        except ProviderError:
            raise
        except Exception as error:
            raise self._told(error) from error
        if reader.stop_reason == "model_context_window_exceeded":
            raise ContextTooLongError(
                "the model's context window is full before the answer was whole; compact the conversation",
                request_id=events.response.headers.get("request-id"),
            )
        if (reply := reader.reply()) is not None:
            yield reply

    async def models(self) -> list[ModelInfo]:
        """The models that the server lists. Raises `ProviderError`."""
        try:
            client = await self._client()
            found = [_info(model.to_dict(mode="json")) async for model in client.models.list()]
        except ProviderError:
            raise
        except Exception as error:
            raise self._told(error) from error
        self._infos = {info.id: info for info in found}
        return found

    async def aclose(self) -> None:
        """Closes the client of the running event loop, if there is one."""
        if (kept := self._clients.pop(asyncio.get_running_loop(), None)) is not None:
            await kept.keeper.aclose()

    # -- the request

    async def _events(self, client: AsyncAnthropic, body: dict[str, Json]) -> AsyncStream[object]:
        import anthropic

        try:
            return await _post(client, body)
        except anthropic.BadRequestError as error:
            # Sealed thoughts of another account or model: what was said stands without them.
            said = (error.api_message or "").lower()
            if not ("thinking" in said and ("signature" in said or "`data`" in said) and has_thinking(body)):
                raise
        return await _post(client, without_thinking(body))

    def _told(self, error: Exception) -> ProviderError:
        host = urlsplit(self._address()).hostname or self._address()
        return as_provider_error(error, model=self.name, host=host, idle=self._idle_timeout)

    # -- the client

    def _address(self) -> str:
        return self._base_url or os.environ.get("ANTHROPIC_BASE_URL") or _OWN_ADDRESS

    async def _client(self) -> AsyncAnthropic:
        loop = asyncio.get_running_loop()
        for closed in [other for other in self._clients if other.is_closed()]:
            del self._clients[closed]
        if loop not in self._clients:
            await asyncio.to_thread(_load_sdk)
        if loop not in self._clients:  # another request may have been first
            keeper = _keep(self._new_client())
            self._clients[loop] = _Kept(await anext(keeper), keeper)
        return self._clients[loop].client

    def _new_client(self) -> AsyncAnthropic:
        import anthropic
        import httpx2

        address = self._address()
        api_key, auth_token = self._credentials()
        timeout = httpx2.Timeout(self._idle_timeout, connect=self._connect_timeout)
        try:
            http = anthropic.DefaultAsyncHttpxClient(timeout=timeout, trust_env=not _is_loopback(address))
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
        given = self._base_url or os.environ.get("ANTHROPIC_BASE_URL") or None
        return anthropic.AsyncAnthropic(
            api_key=api_key,
            auth_token=auth_token,
            base_url=given,
            http_client=http,
            timeout=timeout,
            max_retries=0,
        )

    def _credentials(self) -> tuple[str | None, str | None]:
        """The API key or the token to use; neither where the SDK is to look for a profile itself."""
        if self._api_key:
            return _checked(self._api_key), None
        named = os.environ.get("ANTHROPIC_BASE_URL")
        if self._base_url and not _is_own(self._base_url) and not _is_same(self._base_url, named):
            return _NO_KEY, None
        if key := os.environ.get("ANTHROPIC_API_KEY", "").strip():
            return _checked(key), None  # given as an argument, so that the SDK does not log that a token is set
        if token := os.environ.get("ANTHROPIC_AUTH_TOKEN", "").strip():
            return None, _checked(token)
        if not _is_own(self._address()) and not any(os.environ.get(name) for name in _OTHER_CREDENTIALS):
            return _NO_KEY, None
        return None, None


@dataclass(frozen=True, slots=True)
class _Kept:
    """A client, and what closes it."""

    client: AsyncAnthropic
    keeper: AsyncGenerator[AsyncAnthropic, None]


async def _keep(client: AsyncAnthropic) -> AsyncGenerator[AsyncAnthropic, None]:
    """Closes the client in time: an event loop that ends closes the async generators that are still open in it."""
    try:
        yield client
    finally:
        await client.close()


async def _post(client: AsyncAnthropic, body: dict[str, Json]) -> AsyncStream[object]:
    # What `client.messages.create(stream=True)` does, but for its warnings (they would draw over a screen) and its
    # models of the events: as plain JSON they are kept to the letter, also those that the SDK does not know.
    from anthropic import AsyncStream

    return await client.post("/v1/messages", body=body, cast_to=object, stream=True, stream_cls=AsyncStream[object])


def _load_sdk() -> None:
    import anthropic

    # With a handler, the SDK's warnings are not printed by logging's last resort; handlers of the user still get them.
    logging.getLogger(anthropic.__name__).addHandler(logging.NullHandler())


def _checked(key: str) -> str:
    key = key.strip()
    if not key.isascii() or not key.isprintable() or " " in key:
        raise AuthError("the API key holds characters that no key has (a line break, a space?); copy it once more")
    return key


def _is_loopback(address: str) -> bool:
    host = urlsplit(address).hostname or ""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return False


def _is_own(address: str) -> bool:
    parts = urlsplit(address)
    host = parts.hostname or ""
    return parts.scheme == "https" and (host == "anthropic.com" or host.endswith(".anthropic.com"))


def _is_same(address: str, other: str | None) -> bool:
    """Whether both are at the same server."""
    return urlsplit(address)[:2] == urlsplit(other or "")[:2]


def _info(model: dict[str, Any]) -> ModelInfo:
    can = model.get("capabilities") or {}
    efforts = can.get("effort") or {}
    thinking = (can.get("thinking") or {}).get("types") or {}
    return ModelInfo(
        model["id"],
        model.get("display_name") or model["id"],
        model.get("max_input_tokens"),
        model.get("max_tokens"),
        tuple(effort for effort in EFFORTS if effort in _supported(efforts)),
        _supported(thinking),
    )


def _supported(choices: dict[str, Any]) -> tuple[str, ...]:
    return tuple(name for name, choice in choices.items() if isinstance(choice, dict) and choice.get("supported"))
