"""`AnthropicModel`: the Messages API through the real SDK, and any server that speaks it. The SDK is loaded late."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from time import monotonic, thread_time
from typing import TYPE_CHECKING, Any

from fireside.errors import ContextTooLongError, ProviderError
from fireside.messages import Json
from fireside.models.anthropic_client import Connection, address_of, client_for, credentials, host_of
from fireside.models.anthropic_errors import as_provider_error
from fireside.models.anthropic_wire import ReplyReader, body_of, encoded, has_thinking, without_thinking
from fireside.models.base import ModelInfo, StreamPart
from fireside.models.known import EFFORTS, known
from fireside.requests import Request

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic, AsyncStream

IDLE_TIMEOUT = 90.0
"""How many seconds a server may be silent. While it has nothing to say, the API sends pings, which count."""
CONNECT_TIMEOUT = 15.0
GATHER, AT_ONCE = 0.04, 0.0005
"""After a piece that was waited for (the thread was idle for longer than `AT_ONCE` seconds), nothing is read for `GATHER`
seconds: to read one piece from the network costs as much as to read all that came by then."""


class AnthropicModel:
    """A model that the Anthropic Messages API serves.

    `base_url` is another server that speaks it (else `ANTHROPIC_BASE_URL`, else Anthropic's own). `api_key` goes to
    that server alone; without it, the environment's credentials are used, for Anthropic's own server and for the one
    that the environment names: a key is never sent to an address that it was not set for. `idle_timeout` is how many
    seconds the server may be silent, `connect_timeout` how many it may take to be reached.

    No key and no network is needed to create one: the SDK is loaded, in a thread, with the first request. Its client is
    closed with the event loop that it serves.

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

    def __repr__(self) -> str:
        where = f", base_url={self._base_url!r}" if self._base_url else ""
        return f"AnthropicModel({self.name!r}{where})"

    @property
    def info(self) -> ModelInfo | None:
        """What is known of the model: what `models` said of it, else what this version knows; `None`: nothing."""
        return self._infos.get(self.name) or known(self.name)

    async def stream(self, request: Request) -> AsyncIterator[StreamPart]:
        """Streams the reply. Raises `ProviderError` and its kinds; see `Model.stream`."""
        body, data = await asyncio.to_thread(self._written, request)  # the longer it is, the longer it takes
        try:
            client = await self._client()
            events = await self._events(client, body, data)
            try:
                self._check_stream(events.response.headers.get("content-type", ""))
                reader = ReplyReader(self.name, events.response.headers.get("request-id"))
                asked, worked = monotonic(), thread_time()
                async for event in events:
                    # on a slow machine the work on a piece takes as long: that is no wait, and there may be more of them
                    waited = (monotonic() - asked) - (thread_time() - worked) > AT_ONCE
                    deltas = list(reader.take(event))
                    for delta in deltas:
                        yield delta
                    if deltas and waited:
                        await asyncio.sleep(GATHER)
                    asked, worked = monotonic(), thread_time()
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

    # -- the request

    def _written(self, request: Request) -> tuple[dict[str, Json], bytes]:
        """The body of a request, and as it is sent."""
        try:
            body = body_of(request, self.name, self.info)
            return body, encoded(body)
        except (TypeError, ValueError, LookupError) as error:
            raise ProviderError(f"the request can't be written as JSON: {error}") from error

    async def _events(self, client: AsyncAnthropic, body: dict[str, Json], data: bytes) -> AsyncStream[object]:
        import anthropic

        try:
            return await _post(client, data)
        except anthropic.BadRequestError as error:
            # Sealed thoughts of another account or model: what was said stands without them.
            said = (error.api_message or "").lower()
            if not ("thinking" in said and ("signature" in said or "`data`" in said) and has_thinking(body)):
                raise
        return await _post(client, await asyncio.to_thread(lambda: encoded(without_thinking(body))))

    def _check_stream(self, content_type: str) -> None:
        if content_type and not content_type.startswith("text/event-stream"):
            host = host_of(address_of(self._base_url))
            raise ProviderError(
                f"the server at {host} does not speak the Anthropic Messages API: it answered with "
                f"{content_type.partition(';')[0]} in place of a stream; check the address"
            )

    def _told(self, error: Exception) -> ProviderError:
        host = host_of(address_of(self._base_url))
        return as_provider_error(error, model=self.name, host=host, idle=self._idle_timeout)

    async def _client(self) -> AsyncAnthropic:
        api_key, auth_token = credentials(self._base_url, self._api_key)
        address = address_of(self._base_url)
        return await client_for(Connection(address, api_key, auth_token, self._idle_timeout, self._connect_timeout))


async def _post(client: AsyncAnthropic, data: bytes) -> AsyncStream[object]:
    # What `client.messages.create(stream=True)` does, but for its warnings (they would draw over a screen) and its
    # models of the events: as plain JSON they are kept to the letter, also those that the SDK does not know.
    from anthropic import AsyncStream

    return await client.post("/v1/messages", content=data, cast_to=object, stream=True, stream_cls=AsyncStream[object])


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
        model.get("lifecycle") or "",
    )


def _supported(choices: dict[str, Any]) -> tuple[str, ...]:
    return tuple(name for name, choice in choices.items() if isinstance(choice, dict) and choice.get("supported"))
