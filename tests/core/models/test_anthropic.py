"""AnthropicModel against a strict Messages API on loopback: real HTTP, real streams, the real SDK."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import gc
import json
import logging
import threading
import warnings
from collections.abc import Callable
from typing import Any

import anthropic
import httpx2
import pytest
from anyio._backends._asyncio import SocketStream
from fireside.errors import AuthError, ContextTooLongError, OverloadedError, ProviderError, RateLimitError
from fireside.messages import Image, Message, Reply, Text, Thinking, ToolCall, ToolResult, Unknown
from fireside.models import Delta, anthropic_wire
from fireside.models.anthropic import GATHER, AnthropicModel
from fireside.models.anthropic_client import _certificates, _clients
from fireside.requests import Request, ToolSpec, build
from fireside.state import State

from tests import support
from tests.support import ApiServer, HttpError, Say, signatures

pytestmark = pytest.mark.usefixtures("clean_environment")

MODEL = "claude-sonnet-5-5"
KEY = "sk-test-not-a-secret"
PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n and more").decode()
TOOL = ToolSpec("look", "Looks.", {"type": "object", "properties": {"at": {"type": "string"}}})


def model(api: ApiServer, name: str = MODEL, **settings: Any) -> AnthropicModel:
    return AnthropicModel(name, **{"base_url": api.url, "api_key": KEY, **settings})


def asking(text: str = "Hello", **settings: Any) -> Request:
    return build([(Message("user", (Text(text),)), None)], **settings)


async def parts(model: AnthropicModel, request: Request) -> tuple[list[Delta], Reply | None]:
    deltas: list[Delta] = []
    reply = None
    async with contextlib.aclosing(model.stream(request)) as stream:  # type: ignore[type-var]
        async for part in stream:
            if isinstance(part, Reply):
                reply = part
            else:
                deltas.append(part)
    return deltas, reply


async def whole(model: AnthropicModel, request: Request) -> Reply:
    _, reply = await parts(model, request)
    assert reply is not None
    return reply


class TestAReply:
    async def test_words_stream_and_come_whole_at_the_end(self, api: ApiServer) -> None:
        api.reply(Say(support.Text("One two three four.", chunk=5), usage={"input_tokens": 7, "output_tokens": 9}))
        deltas, reply = await parts(model(api), asking(system="Be brief."))
        assert reply is not None
        assert len(deltas) == 4
        assert "".join(delta.text for delta in deltas) == reply.text == "One two three four."
        assert (reply.stop_reason, reply.model) == ("end_turn", MODEL)
        assert reply.request_id
        assert (reply.usage.input, reply.usage.output, reply.usage.requests) == (7, 9, 1)
        assert reply.usage.cost == pytest.approx((7 * 2 + 9 * 10) / 1e6)

    async def test_what_can_not_be_written_is_told_as_an_error_of_the_request(self, api: ApiServer) -> None:
        with pytest.raises(ProviderError, match="can't be written") as told:
            await whole(model(api, "half \ud800"), asking())
        assert not told.value.retryable

    async def test_small_pieces_are_read_many_at_once(self, api: ApiServer, monkeypatch: pytest.MonkeyPatch) -> None:
        reads = 0
        read = SocketStream.receive

        async def counted(self: SocketStream, max_bytes: int = 65536) -> bytes:
            nonlocal reads
            reads += 1
            return await read(self, max_bytes)

        monkeypatch.setattr(SocketStream, "receive", counted)
        api.reply(Say(support.Text("word " * 400, chunk=5, delay=0.001)))
        deltas, reply = await parts(model(api), asking())
        assert reply is not None
        assert len(deltas) == 400
        assert reads < 200

    async def test_cached_tokens_are_counted(self, api: ApiServer) -> None:
        api.reply(Say("x", usage={"cache_read_input_tokens": 5, "cache_creation_input_tokens": 3}))
        reply = await whole(model(api), asking())
        assert (reply.usage.cache_read, reply.usage.cache_write) == (5, 3)

    async def test_tool_calls(self, api: ApiServer) -> None:
        api.reply(Say("Let me look.", support.ToolUse("look", {"at": "é"}, id="c1"), support.ToolUse("look", id="c2")))
        deltas, reply = await parts(model(api), asking(tools=[TOOL]))
        assert reply is not None
        assert reply.content[1:] == (ToolCall("c1", "look", {"at": "é"}, 0), ToolCall("c2", "look", {}, 1))
        assert reply.stop_reason == "tool_use"
        assert [delta for delta in deltas if delta.kind == "call"] == [
            Delta("call", "look", 1),
            Delta("call", "look", 2),
        ]
        assert api.messages[0].body["tools"][0]["name"] == "look"

    @pytest.mark.parametrize("raw", ['{"at": ', "[1]", "word", '{"at": NaN}', "[" * 100_000])
    async def test_arguments_that_are_no_object_are_kept_as_they_came(self, api: ApiServer, raw: str) -> None:
        api.reply(Say(support.ToolUse("look", raw=raw, chunk=4096)))
        reply = await whole(model(api), asking(tools=[TOOL]))
        assert (reply.calls[0].args, reply.calls[0].unreadable) == ({}, raw)

    async def test_work_on_the_pieces_is_no_wait_for_them(self, api: ApiServer, monkeypatch: Any) -> None:
        """On a slow machine each piece takes a while; to pause at each of them would let the answer fall behind."""
        from anthropic._streaming import ServerSentEvent

        read, sleep, pauses, worked = ServerSentEvent.json, asyncio.sleep, 0, 0.0

        def slow(event: ServerSentEvent) -> Any:
            nonlocal worked
            worked += 0.002
            return read(event)

        async def counted(delay: float, result: Any = None) -> Any:
            nonlocal pauses
            pauses += delay == GATHER
            return await sleep(delay, result)

        for clock in ("monotonic", "thread_time"):  # all the time that passes is the thread's own work
            monkeypatch.setattr(f"fireside.models.anthropic.{clock}", lambda: worked)
        api.reply(Say(support.Text("word " * 100, chunk=5)))
        monkeypatch.setattr(ServerSentEvent, "json", slow)
        monkeypatch.setattr(asyncio, "sleep", counted)
        deltas, _ = await parts(model(api), asking())
        assert len(deltas) >= 99
        assert worked > 0.1
        assert pauses == 0

    async def test_thinking_streams_and_goes_back_to_the_letter(self, api: ApiServer) -> None:
        thought = " hm, \n hm \u2028 é "
        api.reply(
            Say(support.Thinking(thought), support.Redacted(), "Hi", support.ToolUse("look", {"at": "x"}, id="c"))
        )
        api.reply(Say(support.Thinking(thought), "Done."))
        asked, talk = model(api), [(Message("user", (Text("Hello"),)), None)]
        state = State("x")
        for _ in range(2):
            request = build(talk, system="S", tools=[TOOL], model=asked.name)
            deltas, reply = await parts(asked, request)
            assert reply is not None
            assert "".join(delta.text for delta in deltas if delta.kind == "thinking") == thought
            entry = state._append(
                "reply",
                {
                    "blocks": [block.to_json() for block in reply.content],
                    "stop_reason": reply.stop_reason,
                    "usage": {},
                    "model": reply.model,
                    "seen": 0,
                    "prefix": request.prefix,
                },
            )
            talk.append((Message("assistant", entry.blocks), entry))  # type: ignore[arg-type]
            talk.append((Message("user", (ToolResult("c", (Text("seen"),)),)), None))
        await whole(asked, build(talk, system="S", tools=[TOOL], model=asked.name))
        sent = [block["type"] for message in api.messages[2].body["messages"] for block in message["content"]]
        assert sent.count("thinking") == 2
        assert sent.count("redacted_thinking") == 1

    async def test_what_this_version_does_not_know_is_passed_over(self, api: ApiServer) -> None:
        api.reply(Say("a", support.UnknownBlock(), support.Event(), "b"))
        reply = await whole(model(api), asking())
        assert reply.text == "ab"
        assert isinstance(reply.content[1], Unknown)

    async def test_an_empty_reply_is_one(self, api: ApiServer) -> None:
        api.reply(Say())
        reply = await whole(model(api), asking())
        assert reply.content == ()

    async def test_a_request_is_written_in_a_thread_and_piece_by_piece(
        self, api: ApiServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        pieces: list[tuple[int, str]] = []
        encode = anthropic_wire._encode

        def noted(value: Any) -> str:
            pieces.append((threading.get_ident(), encode(value)))
            return pieces[-1][1]

        monkeypatch.setattr(anthropic_wire, "_encode", noted)
        request = asking("words \u2028 and \ud83d half", system="Be brief.", tools=[TOOL])
        assert (await whole(model(api), request)).text
        assert threading.get_ident() not in {thread for thread, _ in pieces}
        assert len(pieces) == 1 + len(request.messages)
        body = anthropic_wire.body_of(request, MODEL, model(api).info)
        assert json.loads(anthropic_wire.encoded(body)) == body

    async def test_a_picture_is_sent(self, api: ApiServer) -> None:
        await whole(model(api), build([(Message("user", (Image(PNG, "image/png"), Text("?"))), None)]))
        assert api.messages[0].body["messages"][0]["content"][0]["source"]["media_type"] == "image/png"


class TestTheBody:
    async def test_never_more_than_four_cache_marks_and_none_is_stored(self, api: ApiServer) -> None:
        talk: list[Any] = []
        for n in range(8):
            talk.append((Message("user", (Text(f"{n}"),)), None))
            talk.append((Message("assistant", (ToolCall(f"c{n}", "look"),)), None))
            talk.append((Message("user", (ToolResult(f"c{n}", (Text("x"),)),)), None))
        await whole(model(api), build(talk, system="S", tools=[TOOL]))
        await whole(model(api), build(talk, tools=[TOOL]))
        for sent in api.messages:
            assert 2 <= sent.raw.count(b'"cache_control"') <= 4
            assert b'"cache_control"' in sent.raw[sent.raw.rindex(b'"tool_use_id"') :]

    @pytest.mark.parametrize(
        ("name", "asked", "thinking", "effort"),
        [
            ("claude-sonnet-5-5", {}, {"type": "adaptive", "display": "summarized"}, None),
            ("claude-sonnet-5-5", {"thinking": "disabled"}, {"type": "between_tools"}, None),
            ("claude-sonnet-5-5", {"thinking": "disabled", "effort": "max"}, {"type": "between_tools"}, "high"),
            ("claude-opus-5-5", {"thinking": "disabled"}, None, None),
            ("claude-opus-5-5", {"effort": "max"}, {"type": "adaptive", "display": "summarized"}, "max"),
            ("claude-haiku-5-5", {"effort": "max"}, {"type": "adaptive", "display": "summarized"}, "high"),
            ("claude-haiku-4-5-20251001", {}, None, None),
            ("claude-haiku-4-5", {"thinking": "adaptive", "effort": "low"}, None, None),
            ("claude-haiku-4-5", {"thinking": "enabled"}, {"type": "enabled", "budget_tokens": 16_000}, None),
            ("local", {}, None, None),
            ("local", {"thinking": "disabled", "effort": "low"}, {"type": "disabled"}, "low"),
        ],
    )
    async def test_a_model_is_asked_for_what_it_accepts(
        self, api: ApiServer, name: str, asked: dict[str, str], thinking: Any, effort: str | None
    ) -> None:
        await whole(model(api, name), asking(**asked))
        body = api.messages[0].body
        assert body.get("thinking") == thinking
        assert body.get("output_config", {}).get("effort") == effort

    async def test_what_the_server_says_of_a_model_counts_more(self, api: ApiServer) -> None:
        asked = model(api)
        infos = await asked.models()
        assert asked.info == infos[0]
        await whole(asked, asking(thinking="disabled"))
        assert api.messages[0].body["thinking"] == {"type": "disabled"}

    @pytest.mark.parametrize(
        ("name", "asked", "sent"),
        [
            ("claude-haiku-4-5", None, 64_000),
            ("claude-haiku-4-5", 10**6, 64_000),
            (MODEL, 100, 100),
            ("local", None, 8192),
        ],
    )
    async def test_how_long_an_answer_may_be(self, api: ApiServer, name: str, asked: int | None, sent: int) -> None:
        await whole(model(api, name), asking(max_tokens=asked))
        assert api.messages[0].body["max_tokens"] == sent


class TestModels:
    async def test_they_are_listed_with_their_limits(self, api: ApiServer) -> None:
        infos = await model(api).models()
        first = infos[0]
        assert (first.id, first.name, first.context_window) == (MODEL, "Claude Sonnet 5.5", 1_000_000)
        assert first.efforts == ("low", "medium", "high", "xhigh", "max")
        assert "adaptive" in first.thinking

    async def test_a_server_may_say_no_more_than_their_names(self, api: ApiServer) -> None:
        api.models = [{"id": "qwen", "object": "model", "lifecycle": "active"}]
        infos = await model(api, "qwen").models()
        assert [(info.id, info.name, info.context_window) for info in infos] == [("qwen", "qwen", None)]

    async def test_a_failure_is_told_like_any_other(self, api: ApiServer) -> None:
        api.expect_refusals()
        api.key = "another"
        with pytest.raises(AuthError):
            await model(api).models()


FAULTS = {
    "429": (HttpError(429, headers={"retry-after": "7"}), RateLimitError, True, 7.0),
    "429-ms": (HttpError(429, headers={"retry-after-ms": "1500"}), RateLimitError, True, 1.5),
    "429-date": (HttpError(429, headers={"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}), RateLimitError, True, 0.0),
    "429-odd": (HttpError(429, headers={"retry-after": "soon"}), RateLimitError, True, None),
    "529": (HttpError(529), OverloadedError, True, None),
    "401": (HttpError(401), AuthError, False, None),
    "403": (HttpError(403), AuthError, False, None),
    "404": (HttpError(404), ProviderError, False, None),
    "400": (HttpError(400), ProviderError, False, None),
    "408": (HttpError(408), ProviderError, True, None),
    "409": (HttpError(409), ProviderError, True, None),
    "500": (HttpError(500), ProviderError, True, None),
    "504": (HttpError(504), ProviderError, True, None),
    "413": (HttpError(413), ContextTooLongError, False, None),
    "too long": (
        HttpError(400, message="prompt is too long: 9 tokens > 5 maximum"), ContextTooLongError, False, None
    ),
    "html": (support.Html(502), ProviderError, True, None),
    "overloaded in mid-stream": (Say("abc" * 20, fault=support.ErrorEvent()), OverloadedError, True, None),
    "api_error in mid-stream": (Say("abc" * 20, fault=support.ErrorEvent("api_error")), ProviderError, True, None),
    "rate limit in mid-stream": (
        Say("abc" * 20, fault=support.ErrorEvent("rate_limit_error")), RateLimitError, True, None
    ),
    "reset": (Say("abc" * 20, fault=support.Disconnect()), ProviderError, True, None),
    "closed": (Say("abc" * 20, fault=support.Fin()), ProviderError, True, None),
    "broken JSON": (Say("a", support.RawBytes(), "b"), ProviderError, True, None),
    "broken UTF-8": (Say("a", support.RawBytes(b"event: x\ndata: {\xff\xfe}\n\n")), ProviderError, True, None),
    "window full": (Say("abc", stop_reason="model_context_window_exceeded"), ContextTooLongError, False, None),
}  # fmt: skip


class TestFaults:
    @pytest.mark.parametrize("fault", FAULTS)
    async def test_each_is_its_own_error(self, api: ApiServer, fault: str) -> None:
        answer, kind, retryable, after = FAULTS[fault]
        api.reply(answer)
        with pytest.raises(ProviderError) as raised:
            await whole(model(api), asking())
        error = raised.value
        assert type(error) is kind
        assert (error.retryable, error.retry_after) == (retryable, after)
        assert len(api.messages) == 1
        assert KEY not in str(error)
        assert error.__cause__ is not error
        if fault != "window full":
            assert isinstance(error.__cause__, anthropic.APIError | httpx2.HTTPError | ValueError)

    async def test_a_server_that_speaks_something_else_is_told_so_at_once(self, api: ApiServer) -> None:
        api.reply(support.Html(200, "<html>router login</html>"))
        with pytest.raises(ProviderError, match="does not speak the Anthropic Messages API") as raised:
            await whole(model(api), asking())
        assert not raised.value.retryable

    async def test_the_request_id_is_in_the_message(self, api: ApiServer) -> None:
        api.reply(HttpError(500), Say("abc" * 20, fault=support.ErrorEvent()))
        for _ in range(2):
            with pytest.raises(ProviderError, match="request id req_") as raised:
                await whole(model(api), asking())
            assert raised.value.request_id

    async def test_a_stream_that_ends_without_a_stop_reason_gives_no_reply(self, api: ApiServer) -> None:
        api.reply(Say("One two three four five six seven", fault=support.Truncated()))
        deltas, reply = await parts(model(api), asking())
        assert deltas
        assert reply is None

    async def test_silence_ends_it_and_pings_do_not_count_as_silence(self, api: ApiServer) -> None:
        hold = api.stall("One two three four five six seven", after=1, ping_every=0.1)
        asked = model(api, idle_timeout=0.5)
        task = asyncio.create_task(parts(asked, asking()))
        await asyncio.to_thread(hold.reached.wait, 10)
        done, _ = await asyncio.wait({task}, timeout=1.2)
        assert not done
        hold.release()
        _, reply = await task
        assert reply is not None

        api.stall("One two three four five six seven", after=1)
        with pytest.raises(ProviderError, match=r"no data .* for 0.5 s") as raised:
            await parts(asked, asking())
        assert raised.value.retryable
        api.hold()
        with pytest.raises(ProviderError, match=r"no data .* for 0.5 s"):
            await parts(asked, asking())

    @pytest.mark.parametrize("answer", ["stall", "hold"])
    async def test_a_cancelled_request_hangs_up_at_once(self, api: ApiServer, answer: str) -> None:
        hold = api.stall("One two three four", after=1) if answer == "stall" else api.hold()
        task = asyncio.create_task(parts(model(api), asking()))
        await asyncio.to_thread(hold.reached.wait, 10)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await asyncio.to_thread(hold.gone.wait, 10)

    async def test_nobody_is_there(self) -> None:
        asked = AnthropicModel(MODEL, base_url="http://127.0.0.1:1", api_key=KEY)
        with pytest.raises(ProviderError, match=r"127\.0\.0\.1 could not be reached") as raised:
            await parts(asked, asking())
        assert raised.value.retryable

    @pytest.mark.parametrize("address", ["localhost:80", "http://[half", "nowhere", "ftp://127.0.0.1"])
    async def test_an_address_that_is_none(self, address: str) -> None:
        asked = AnthropicModel(MODEL, base_url=address, api_key=KEY)
        with pytest.raises(ProviderError, match="http://") as raised:
            await parts(asked, asking())
        assert not raised.value.retryable

    async def test_an_address_may_end_in_v1(self, api: ApiServer) -> None:
        assert (await whole(model(api, base_url=f"{api.url}/v1/"), asking())).text

    async def test_thoughts_that_the_server_does_not_take_are_left_out(self, api: ApiServer) -> None:
        """Those of another account, say: the API refuses them, and nothing in the conversation tells."""
        api.expect_refusals()
        thought = Thinking("hm", signatures.sign(None, [], "something else"))
        talk = (
            Message("user", (Text("a"),)),
            Message("assistant", (thought, Text("b"))),
            Message("user", (Text("c"),)),
        )
        reply = await whole(model(api), Request(talk))
        assert reply.text == "You said: c"
        assert [block["type"] for block in api.messages[1].body["messages"][1]["content"]] == ["text"]


class TestKeys:
    async def test_without_one_the_error_says_how_to_give_it(self) -> None:
        with pytest.raises(AuthError, match="ANTHROPIC_API_KEY") as raised:
            await parts(AnthropicModel(MODEL), asking())
        assert isinstance(raised.value.__cause__, TypeError)

    async def test_a_refused_one_is_not_shown(self, api: ApiServer) -> None:
        api.expect_refusals()
        api.key = "another"
        with pytest.raises(AuthError, match="ANTHROPIC_API_KEY") as raised:
            await parts(model(api), asking())
        assert KEY not in repr(raised.value) + repr(model(api)) + repr(dict(_clients))

    @pytest.mark.parametrize("key", [f"{KEY}\nX-Other: 1", "sk-\u2026", "export KEY"])
    async def test_one_that_can_not_be_sent_is_not_shown_either(self, api: ApiServer, key: str) -> None:
        with pytest.raises(AuthError, match="characters") as raised:
            await parts(model(api, api_key=key), asking())
        assert key not in str(raised.value)

    async def test_white_space_around_it_does_not_matter(self, api: ApiServer) -> None:
        await whole(model(api, api_key=f" {KEY}\n"), asking())
        assert api.messages[0].headers["authorization"] == f"Bearer {KEY}"

    async def test_the_environments_key_goes_to_the_environments_address_alone(
        self, api: ApiServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
        await whole(AnthropicModel("local", base_url=api.url), asking())
        assert KEY not in api.messages[0].headers["authorization"]
        monkeypatch.setenv("ANTHROPIC_BASE_URL", api.url)
        await whole(AnthropicModel("local"), asking())
        await whole(AnthropicModel("local", base_url=f"{api.url}/"), asking())
        for sent in api.messages[1:]:
            assert sent.headers["authorization"] == f"Bearer {KEY}"

    async def test_a_local_server_needs_none(self, api: ApiServer, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", api.url)
        assert (await whole(AnthropicModel("local"), asking())).text

    async def test_a_key_beside_a_token_is_not_worth_a_warning(
        self, api: ApiServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        """The SDK logs one, which logging prints where nobody handles it: over the screen of an app."""
        for name, value in {"API_KEY": KEY, "AUTH_TOKEN": "other", "BASE_URL": api.url, "PROFILE": "p"}.items():
            monkeypatch.setenv(f"ANTHROPIC_{name}", value)
        await whole(AnthropicModel(MODEL), asking())
        assert api.messages[0].headers["authorization"] == f"Bearer {KEY}"
        assert not caplog.records
        assert any(isinstance(handler, logging.NullHandler) for handler in logging.getLogger("anthropic").handlers)


class TestProxies:
    async def test_loopback_never_goes_through_one(self, api: ApiServer, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, "http://127.0.0.1:1")
        assert (await whole(model(api), asking())).text
        monkeypatch.setenv("ALL_PROXY", "socks5://127.0.0.1:1")
        assert (await whole(model(api), asking())).text

    @pytest.mark.parametrize("address", ["socks5://user:secret@127.0.0.1:1", "what://127.0.0.1:1"])
    async def test_one_that_can_not_be_used_is_told(self, monkeypatch: pytest.MonkeyPatch, address: str) -> None:
        monkeypatch.setenv("ALL_PROXY", address)
        with pytest.raises(ProviderError, match="proxy") as raised:
            await parts(AnthropicModel(MODEL, api_key=KEY), asking())
        assert "secret" not in str(raised.value)
        assert not raised.value.retryable

    async def test_one_that_is_dead_is_told(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")
        with pytest.raises(ProviderError) as raised:
            await parts(AnthropicModel(MODEL, api_key=KEY), asking())
        assert raised.value.retryable


class TestClients:
    async def test_certificates_that_can_not_be_read_are_told(self, monkeypatch: pytest.MonkeyPatch) -> None:
        _certificates.cache_clear()
        monkeypatch.setenv("SSL_CERT_FILE", "/nowhere/certificates.pem")
        with pytest.raises(ProviderError, match="SSL_CERT_FILE"):
            await parts(AnthropicModel(MODEL, api_key=KEY), asking())

    def test_each_event_loop_has_its_own_and_closes_it(self, api: ApiServer) -> None:
        asked = model(api)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for _ in range(3):
                assert asyncio.run(whole(asked, asking())).text
                assert not _clients
            gc.collect()
        assert [str(warning.message) for warning in caught] == []

    async def test_requests_at_once_share_one(self, api: ApiServer) -> None:
        asked = model(api)
        replies = await asyncio.gather(*(whole(asked, asking(f"{n}")) for n in range(5)))
        assert [reply.text for reply in replies] == [f"You said: {n}" for n in range(5)]
        assert len(_clients[asyncio.get_running_loop()]) == 1

    async def test_the_sdk_asks_once_and_never_again_by_itself(self, api: ApiServer) -> None:
        api.reply(HttpError(529))
        with pytest.raises(OverloadedError):
            await whole(model(api), asking())
        assert len(api.messages) == 1


def test_creating_one_needs_no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> Callable[..., Any]:
        raise AssertionError("a request was made")

    monkeypatch.setattr(httpx2.AsyncClient, "send", refuse)
    assert AnthropicModel(MODEL).name == MODEL
