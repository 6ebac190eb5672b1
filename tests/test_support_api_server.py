"""The loopback Messages API keeps its promises to the tests that lean on it, seen through the real SDK."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anthropic
import httpx2
import pytest

from tests.support import (
    ApiServer,
    Disconnect,
    ErrorEvent,
    Event,
    Fin,
    Hold,
    Html,
    HttpError,
    RawBytes,
    Redacted,
    Say,
    Text,
    Thinking,
    ToolUse,
    Truncated,
    UnknownBlock,
    fixtures,
)

api, clean_environment = fixtures.api, fixtures.clean_environment
MODEL = "claude-sonnet-5-5"
PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n rest").decode()
USER = {"role": "user", "content": "hi"}
MARK = {"cache_control": {"type": "ephemeral"}}
TOOL = {"name": "get_weather", "input_schema": {"type": "object"}}


@pytest.fixture(scope="module")
def http() -> Iterator[httpx2.Client]:
    """One for all tests: each new one loads the certificates again, 50 ms."""
    with httpx2.Client(trust_env=False, timeout=10, limits=httpx2.Limits(max_keepalive_connections=0)) as made:
        yield made


@pytest.fixture
def client(api: ApiServer, http: httpx2.Client, clean_environment: object) -> anthropic.Anthropic:
    return connect(api, http)


def connect(api: ApiServer, http: httpx2.Client) -> anthropic.Anthropic:
    return anthropic.Anthropic(base_url=api.url, api_key="a key", max_retries=0, http_client=http)


def ask(client: anthropic.Anthropic, *messages: Any, **settings: Any) -> Any:
    """The finished message of a streamed request."""
    request = {"model": MODEL, "max_tokens": 1000, "messages": messages or [USER], **settings}
    with client.messages.stream(**request) as stream:
        return stream.get_final_message()


def call(call_id: str, **fields: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": "get_weather", "input": {}, **fields}


def result(call_id: str, **fields: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call_id, "content": "sunny", **fields}


def assistant(*blocks: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


def user(*blocks: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


def text(words: str, **fields: Any) -> dict[str, Any]:
    return {"type": "text", "text": words, **fields}


def image(media_type: str, data: str = PNG) -> dict[str, Any]:
    return {"type": "image", "source": {"type": "base64", "media_type": media_type, "data": data}}


class TestAnswers:
    def test_without_a_script_it_echoes_and_keeps_the_request(self, api, client):
        message = ask(client)
        assert message.content[0].text == "You said: hi"
        assert message.stop_reason == "end_turn"
        (request,) = api.messages
        assert request.body["messages"] == [USER]
        assert request.headers["authorization"] == "Bearer a key"
        assert request.said == "hi"

    def test_replies_come_in_order_in_the_chunks_that_were_asked_for(self, api, client):
        api.reply(Say(Text("abcdefg", chunk=3)), Say(Text(["one ", "two"])))
        for chunks in (["abc", "def", "g"], ["one ", "two"]):
            with client.messages.stream(model=MODEL, max_tokens=9, messages=[USER]) as stream:
                assert list(stream.text_stream) == chunks

    def test_a_request_without_stream_gets_the_same_message(self, api, client):
        api.reply(Say("Look", ToolUse("get_weather", {"city": "Bern"})))
        message = client.messages.create(model=MODEL, max_tokens=9, messages=[USER])
        assert [block.type for block in message.content] == ["text", "tool_use"]
        assert message.stop_reason == "tool_use"

    def test_a_reply_may_be_a_function_of_the_request_or_wait_for_its_own(self, api, client):
        api.reply("for the other", when="other")
        api.reply(lambda body: f"{len(body['messages'])} message", times=2)
        assert ask(client).content[0].text == "1 message"
        assert ask(client, {"role": "user", "content": "the other"}).content[0].text == "for the other"
        assert ask(client).content[0].text == "1 message"

    def test_a_tool_call_makes_its_round(self, api, client):
        api.reply(Say(ToolUse("get_weather", {"city": "Zürich", "days": [1, 2]})), "Sunny.")
        first = ask(client, tools=[TOOL])
        assert first.content[0].input == {"city": "Zürich", "days": [1, 2]}
        turn = {"role": "assistant", "content": first.content}
        last = ask(client, USER, turn, user(result(first.content[0].id)), tools=[TOOL])
        assert last.content[0].text == "Sunny."

    def test_usage_and_stop_reason_are_scripted(self, api, client):
        api.reply(Say("cut", stop_reason="max_tokens", usage={"output_tokens": 77, "cache_read_input_tokens": 5}))
        message = ask(client)
        assert message.stop_reason == "max_tokens"
        assert (message.usage.output_tokens, message.usage.cache_read_input_tokens) == (77, 5)

    def test_an_empty_reply_has_no_content(self, api, client):
        api.reply(Say())
        message = ask(client)
        assert (message.content, message.stop_reason) == ([], "end_turn")

    def test_unknown_events_and_blocks_pass_through_the_sdk(self, api, client):
        api.reply(Say(Event(), UnknownBlock(), "after all"))
        assert ask(client).content[-1].text == "after all"

    def test_models_come_in_pages_with_limits_and_abilities(self, client):
        models = list(client.models.list(limit=2))
        assert len(models) == 4
        assert models[0].max_input_tokens == 1_000_000
        assert models[1].capabilities.thinking.types.disabled.supported is False
        assert client.models.retrieve(MODEL).display_name == "Claude Sonnet 5.5"

    def test_tokens_are_counted(self, client):
        assert client.messages.count_tokens(model=MODEL, messages=[USER]).input_tokens > 5

    async def test_it_serves_the_async_client_too(self, api, clean_environment):
        async with (
            anthropic.AsyncAnthropic(base_url=api.url, api_key="k", max_retries=0) as client,
            client.messages.stream(model=MODEL, max_tokens=9, messages=[USER]) as stream,
        ):
            assert await stream.get_final_text() == "You said: hi"

    async def test_one_connection_serves_many_requests(self, api, clean_environment):
        async with anthropic.AsyncAnthropic(base_url=api.url, api_key="k", max_retries=0) as client:
            for number in range(3):
                asked = {"role": "user", "content": str(number)}
                async with client.messages.stream(model=MODEL, max_tokens=9, messages=[asked]) as stream:
                    assert await stream.get_final_text() == f"You said: {number}"
            assert [request.said for request in api.messages] == ["0", "1", "2"]


class TestThinking:
    @pytest.fixture
    def history(self, api, client):
        """Two rounds with thinking, as they were really given."""
        api.reply(Say(Thinking("Hm, a greeting."), Redacted(), "Hello."), Say(Thinking("Again."), "Yes."))
        first = ask(client, USER, system="Be kind.")
        assert first.content[0].thinking == "Hm, a greeting."
        history = [USER, {"role": "assistant", "content": [b.to_dict() for b in first.content]}, user(text("More?"))]
        second = ask(client, *history, system="Be kind.")
        return [*history, {"role": "assistant", "content": [b.to_dict() for b in second.content]}, user(text("Bye"))]

    def test_is_taken_back_word_for_word_also_by_another_server(self, client, http, history):
        assert ask(client, *history, system="Be kind.").content[0].text == "You said: Bye"
        with ApiServer() as other:
            ask(connect(other, http), *history, system="Be kind.")
            other.check()

    def test_doesnt_mind_cache_marks_long_forms_and_merged_turns(self, client, history):
        history[0] = user(text("hi", **MARK))
        history[2:3] = [{"role": "user", "content": "More?"}]
        ask(client, *history, {"role": "user", "content": "really"}, system=[text("Be kind.", **MARK)])

    @pytest.mark.parametrize(
        ("edit", "place"),
        [
            (lambda h: h.__setitem__(0, user(text("hello"))), "messages.1.content.0: Invalid `signature`"),
            (lambda h: h[1]["content"][0].update(thinking="Hm."), "messages.1.content.0: Invalid `signature`"),
            (lambda h: h[1]["content"][0].update(signature="SIG=="), "messages.1.content.0: Invalid `signature`"),
            (lambda h: h[1]["content"][0].pop("signature"), "messages.1.content.0.thinking.signature: Field required"),
            (lambda h: h[1]["content"][1].update(data="AAAA"), "messages.1.content.1: Invalid `data`"),
            (lambda h: h[1]["content"][2].update(text="Hello!"), "messages.3.content.0: Invalid `signature`"),
            (lambda h: h.__delitem__(slice(1, 3)), "messages.1.content.0: Invalid `signature`"),
            (lambda h: h[1]["content"].pop(), "The final block in an assistant message cannot be `redacted_thinking`"),
        ],
    )
    def test_is_refused_when_it_or_what_stood_before_was_changed(self, api, client, history, edit, place):
        api.expect_refusals()
        edit(history)
        with pytest.raises(anthropic.BadRequestError) as caught:
            ask(client, *history, system="Be kind.")
        assert place in caught.value.api_message

    def test_is_refused_under_another_system_prompt(self, api, client, history):
        api.expect_refusals()
        with pytest.raises(anthropic.BadRequestError, match="Invalid `signature`"):
            ask(client, *history, system="Be rude.")

    def test_is_left_out_but_signed_when_the_request_or_the_model_omits_it(self, api, client):
        api.reply(Say(Thinking("Hm."), "Yes."), times=3)
        omitted = ask(client, thinking={"type": "adaptive", "display": "omitted"})
        assert omitted.content[0].thinking == ""
        ask(client, USER, {"role": "assistant", "content": omitted.content}, USER)
        api.thinking_display = "omitted"
        assert ask(client).content[0].thinking == ""

    def test_can_come_unsigned_as_from_a_cut_stream(self, api, client):
        api.reply(Say(Thinking("Hm", signature=None), "x"))
        assert not ask(client).content[0].signature


REFUSED = {
    "blank text": ([user(text(""))], "text content blocks must be non-empty"),
    "white text": ([user(text(" \n"))], "text content blocks must contain non-whitespace text"),
    "white string": ([{"role": "user", "content": " "}], "text content blocks must contain non-whitespace text"),
    "blank text in a result": (
        [USER, assistant(call("a")), user(result("a", content=[text("")]))],
        "text content blocks must be non-empty",
    ),
    "empty user turn": ([{"role": "user", "content": ""}], "messages.0: all messages must have non-empty content"),
    "empty assistant turn": ([USER, assistant(), USER], "messages.1: all messages must have non-empty content"),
    "call without result": ([USER, assistant(call("a")), USER], "`tool_use` ids were found without `tool_result`"),
    "one of two results": (
        [USER, assistant(call("a"), call("b")), user(result("a"))],
        "`tool_result` blocks immediately after: b.",
    ),
    "result too late": (
        [USER, assistant(call("a")), USER, assistant(text("x")), user(result("a"))],
        "messages.2: `tool_use` ids were found without",
    ),
    "text before result": (
        [USER, assistant(call("a")), user(text("x"), result("a"))],
        "messages.2: `tool_use` ids were found without",
    ),
    "result without call": ([user(result("a"))], "unexpected `tool_use_id` found in `tool_result` blocks: a."),
    "two results": (
        [USER, assistant(call("a")), user(result("a"), result("a"))],
        "each tool_use must have a single result",
    ),
    "repeated id": (
        [USER, assistant(call("a")), user(result("a")), assistant(call("a")), user(result("a"))],
        "`tool_use` ids must be unique",
    ),
    "odd id": ([USER, assistant(call("a b")), user(result("a b"))], "tool_use.id: String should match pattern"),
    "odd name": (
        [USER, assistant(call("a", name="get weather")), user(result("a"))],
        "tool_use.name: String should match pattern",
    ),
    "input no object": (
        [USER, assistant(call("a", input=[])), user(result("a"))],
        "Input should be a valid dictionary",
    ),
    "prefill": ([USER, assistant(text("I"))], "does not support assistant message prefill"),
    "prefill with a blank": ([USER, assistant(text("I "))], "cannot end with trailing whitespace"),
    "assistant first": ([assistant(text("I")), USER], 'first message must use the "user" role'),
    "thinking only": ([USER, assistant({"type": "thinking", "thinking": "x", "signature": "y"}), USER], "final block"),
    "call of the user": ([user(call("a"))], "`tool_use` blocks can only be in `assistant` messages"),
    "result of the assistant": ([USER, assistant(result("a")), USER], "can only be in `user` messages"),
    "unknown block": ([user({"type": "nonsense"})], "Input tag 'nonsense' found using 'type'"),
    "field of our own": ([user(text("x", id=3))], "messages.0.content.0.text.id: Extra inputs are not permitted"),
    "field of a message": ([{**USER, "at": 1}], "messages.0.at: Extra inputs are not permitted"),
    "role": ([{"role": "tool", "content": "x"}], "messages.0.role: Input should be"),
    "image type": ([user(image("image/bmp"))], "media_type: Input should be 'image/jpeg'"),
    "image of another type": ([user(image("image/gif"))], "Image does not match the provided media type image/gif"),
    "image broken": ([user(image("image/png", "?"))], "invalid base64 data"),
    "five marks": ([user(*(text("x", **MARK) for _ in range(5)))], "A maximum of 4 blocks with cache_control"),
    "not even a block": ([user("x")], "messages.0.content.0.type: Field required"),
}


class TestRefusals:
    @pytest.mark.parametrize("name", REFUSED)
    def test_messages(self, api, client, name):
        api.expect_refusals()
        messages, words = REFUSED[name]
        with pytest.raises(anthropic.BadRequestError) as caught:
            ask(client, *messages)
        assert words in caught.value.api_message
        assert caught.value.type == "invalid_request_error"
        assert [refusal.message for refusal in api.refusals] == [caught.value.api_message]

    @pytest.mark.parametrize(
        ("settings", "words"),
        [
            ({"extra_body": {"temperature": 1}}, "temperature: Extra inputs are not permitted"),
            ({"extra_body": {"top_p": 1}}, "top_p: Extra inputs are not permitted"),
            ({"extra_body": {"top_k": 1}}, "top_k: Extra inputs are not permitted"),
            ({"extra_body": {"max_tokens": None}}, "max_tokens: Field required"),
            ({"max_tokens": 0}, "max_tokens: Input should be greater than or equal to 1"),
            ({"max_tokens": 128_001}, "max_tokens: 128001 > 128000"),
            ({"messages": []}, "at least one message is required"),
            ({"system": [text("")]}, "system: text content blocks must be non-empty"),
            ({"tools": [{**TOOL, "name": "get weather"}]}, "tools.0.custom.name: String should match pattern"),
            ({"tools": [{**TOOL, "name": "x" * 129}]}, "tools.0.custom.name: String should match pattern"),
            ({"tools": [TOOL, TOOL]}, "Tool names must be unique"),
            ({"tools": [{"name": "x"}]}, "tools.0.custom.input_schema: Field required"),
            (
                {"tools": [{"name": "x", "input_schema": {"type": "object", "oneOf": []}}]},
                "input_schema does not support oneOf, allOf, or anyOf at the top level",
            ),
            ({"thinking": {"type": "enabled", "budget_tokens": 1024}}, "thinking.type"),
            (
                {
                    "system": [text("s", **MARK)],
                    "tools": [{**TOOL, **MARK}],
                    "cache_control": {"type": "ephemeral"},
                    "messages": [user(text("a", **MARK)), user(text("b", **MARK))],
                },
                "Found 5.",
            ),
        ],
    )
    def test_settings(self, api, client, settings, words):
        api.expect_refusals()
        with pytest.raises(anthropic.BadRequestError) as caught:
            ask(client, **settings)
        assert words in caught.value.api_message

    @pytest.mark.parametrize(
        ("body", "words"),
        [
            (rb'{"model": "\ud83d"}', "no low surrogate in string"),
            (b'{"model": "\xff"}', "not valid UTF-8"),
            (b'{"model": NaN}', "not valid JSON"),
            (b"[]", "valid dictionary"),
        ],
    )
    def test_bodies_that_are_no_json(self, api, http, body, words):
        api.expect_refusals()
        headers = {"x-api-key": "k", "anthropic-version": "2026-10-21"}
        answer = http.post(f"{api.url}/v1/messages", content=body, headers=headers)
        assert answer.status_code == 400
        assert words in answer.json()["error"]["message"]

    def test_too_much(self, api, client):
        api.expect_refusals()
        api.max_prompt_tokens = 100
        long = {"role": "user", "content": "word " * 200}
        with pytest.raises(anthropic.BadRequestError, match=r"prompt is too long: .* > 100 maximum"):
            ask(client, long)
        assert ask(client).content[0].text == "You said: hi"
        api.max_body_bytes = 500
        with pytest.raises(anthropic.RequestTooLargeError):
            ask(client, long)

    def test_keys(self, api, http, client):
        api.expect_refusals()
        api.key = "another key"
        with pytest.raises(anthropic.AuthenticationError):
            ask(client)
        assert http.get(f"{api.url}/v1/models").status_code == 401
        api.key = "a key"
        ask(client)

    def test_a_test_that_expects_none_fails(self, api, client):
        with pytest.raises(anthropic.BadRequestError):
            ask(client, assistant(text("x")))
        with pytest.raises(AssertionError, match="first message must use"):
            api.check()
        api.expect_refusals()
        api.check()

    def test_what_is_allowed_is_taken(self, client):
        ask(
            client,
            *(USER, USER, assistant(text("One moment."), call("a"), call("b"))),
            *(
                user(result("b", content=""), result("a", is_error=True, content=[image("image/png")])),
                user(text("so")),
            ),
            *(assistant(text("ends in blanks  \n")), user(image("image/png"), text("x", **MARK))),
            system=[text("s", **MARK)],
            tools=[{**TOOL, **MARK}],
            cache_control={"type": "ephemeral"},
            thinking={"type": "adaptive", "display": "summarized"},
            output_config={"effort": "low"},
        )


class TestFaults:
    def partial(self, client: anthropic.Anthropic, **settings: Any) -> tuple[str, BaseException | None, Any]:
        """What a stream gave before it went wrong, and how it did."""
        with client.messages.stream(model=MODEL, max_tokens=9, messages=[USER], **settings) as stream:
            caught = None
            try:
                for _ in stream:
                    pass
            except Exception as error:
                caught = error
            snapshot = stream.current_message_snapshot
        return "".join(block.text for block in snapshot.content), caught, snapshot.stop_reason

    def test_error_event(self, api, client):
        api.reply(Say(Text(["a", "b", "c"]), fault=ErrorEvent("overloaded_error", "Overloaded", after=2)))
        said, error, _ = self.partial(client)
        assert said == "ab"
        assert type(error) is anthropic.APIStatusError
        assert (error.status_code, error.type, error.api_message) == (200, "overloaded_error", "Overloaded")

    @pytest.mark.parametrize("fault", [Disconnect(after=2), Fin(after=2)])
    def test_lost_connection(self, api, client, fault):
        api.reply(Say(Text(["a", "b", "c"]), fault=fault))
        said, error, _ = self.partial(client)
        assert said == "ab"
        assert isinstance(error, httpx2.RemoteProtocolError | httpx2.ReadError)

    @pytest.mark.parametrize("after", [0, 2, 99])
    def test_clean_end_without_a_stop(self, api, client, after):
        api.reply(Say(Text(["a", "b", "c"]), fault=Truncated(after)))
        said, error, reason = self.partial(client)
        assert (said, error, reason) == ("abc"[:after], None, None)

    def test_stall_until_the_client_gives_up(self, api, client):
        hold = api.stall(Text(["a", "b", "c"]))
        said, error, _ = self.partial(client, timeout=httpx2.Timeout(5, read=0.2))
        assert said == "ab"
        assert isinstance(error, httpx2.ReadTimeout)
        assert hold.gone.wait(5)

    def test_stall_goes_on_when_it_is_released(self, api, client):
        hold = api.stall(Text(["a", "b", "c"]), ping_every=0.01)
        with client.messages.stream(model=MODEL, max_tokens=9, messages=[USER]) as stream:
            chunks = iter(stream.text_stream)
            assert [next(chunks), next(chunks)] == ["a", "b"]
            assert hold.reached.wait(5)
            hold.release()
            assert list(chunks) == ["c"]

    def test_hold_gives_no_byte_before_it_is_released(self, api, client):
        hold = api.hold("now")
        with pytest.raises(anthropic.APITimeoutError):
            ask(client, timeout=0.2)
        assert hold.reached.is_set()
        assert hold.gone.wait(5)
        released: Hold = api.hold("now")
        released.release()  # before it is there
        assert ask(client).content[0].text == "now"

    def test_a_held_request_does_not_keep_the_server_from_others_or_from_stopping(self, http, clean_environment):
        with ApiServer() as api:
            hold = api.hold(when="held")
            held = "import sys, urllib.request as u; u.urlopen(u.Request(sys.argv[1], sys.argv[2].encode(), {%s}))"
            headers = '"x-api-key": "k", "anthropic-version": "1", "content-type": "application/json"'
            body = {"model": MODEL, "max_tokens": 1, "messages": [{"role": "user", "content": "held"}]}
            command = [sys.executable, "-c", held % headers, f"{api.url}/v1/messages", json.dumps(body)]
            with subprocess.Popen(command, stderr=subprocess.DEVNULL) as other:
                assert hold.reached.wait(10)
                ask(connect(api, http))
                api.stop()
                assert other.wait(10) != 0

    @pytest.mark.parametrize(
        ("error", "kind"),
        [
            (HttpError(429, headers={"retry-after": "2"}), anthropic.RateLimitError),
            (HttpError(529, message="Overloaded"), anthropic.OverloadedError),
            (HttpError(401), anthropic.AuthenticationError),
            (HttpError(400, message="prompt is too long"), anthropic.BadRequestError),
            (HttpError(404, message="model: x"), anthropic.NotFoundError),
            (HttpError(500), anthropic.InternalServerError),
        ],
    )
    def test_http_errors(self, api, client, error, kind):
        api.reply(error)
        with pytest.raises(kind) as caught:
            ask(client)
        assert (caught.value.status_code, caught.value.api_message) == (error.status, error.message)
        assert caught.value.type == error.body["error"]["type"]
        assert caught.value.response.headers.get("retry-after") == error.headers.get("retry-after")
        assert not api.refusals

    def test_html_from_a_gateway(self, api, client):
        api.reply(Html())
        with pytest.raises(anthropic.InternalServerError) as caught:
            ask(client)
        assert caught.value.status_code == 502
        assert caught.value.type is None

    def test_the_sdk_retries_what_failed_before_the_answer_began(self, api, client):
        api.reply(HttpError(529, headers={"retry-after-ms": "1"}))
        assert ask(client.with_options(max_retries=2)).content[0].text == "You said: hi"
        assert len(api.wait_for_messages(2)) == 2

    def test_broken_json_in_the_stream(self, api, client):
        api.reply(Say("fine", RawBytes()))
        said, error, _ = self.partial(client)
        assert said == "fine"
        assert isinstance(error, ValueError | anthropic.APIError)

    def test_an_input_that_was_cut_off(self, api, client):
        api.reply(Say(ToolUse("get_weather", raw='{"city": "Zür'), stop_reason="max_tokens"))
        message = ask(client)
        assert message.stop_reason == "max_tokens"
        assert message.content[0].name == "get_weather"

    def test_a_fault_in_the_script_is_told(self, api, client):
        api.reply(lambda body: body["nonsense"])
        with pytest.raises(anthropic.InternalServerError):
            ask(client)
        with pytest.raises(AssertionError, match="nonsense"):
            api.check()
        api._errors.clear()


def test_it_runs_by_hand():
    command = [sys.executable, "-m", "tests.support.api_server", "--minutes", "1"]
    root = Path(__file__).parent.parent
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=root) as server:
        try:
            url = server.stdout.readline().strip()
            request = urllib.request.Request(f"{url}/v1/models", headers={"x-api-key": "k", "anthropic-version": "1"})
            opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
            with opener.open(request) as answer:
                assert json.load(answer)["data"][0]["id"] == MODEL
        finally:
            server.terminate()
