"""A request is valid whatever the conversation went through, and the same conversation gives the same request."""

from __future__ import annotations

import base64
import json
import math
from typing import Any

import pytest
from fireside.history import HistoryEntry
from fireside.items import UNKNOWN_RESULT
from fireside.messages import Image, Message, Text, Thinking, ToolCall, ToolResult, Unknown
from fireside.models.anthropic_wire import body_of
from fireside.requests import GO_ON, MISSING_START, NO_OUTPUT, Builder, Request, Requests, ToolSpec, build, tool_name
from fireside.state import State
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support import rules, signatures

PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n and more").decode()
MODEL = "claude-sonnet-5-5"


def user(*blocks: Any) -> tuple[Message, None]:
    return Message("user", tuple(Text(block) if isinstance(block, str) else block for block in blocks)), None


def said(*blocks: Any, prefix: str = "", model: str = MODEL) -> tuple[Message, HistoryEntry]:
    """What the model said, as the reply that answered `prefix`."""
    content = tuple(Text(block) if isinstance(block, str) else block for block in blocks)
    entry = State("x").history[0]
    reply = HistoryEntry(1, "reply", 0, entry.at, {"prefix": prefix, "model": model})
    return Message("assistant", content), reply


def result(call_id: str, *blocks: Any, is_error: bool = False) -> ToolResult:
    return ToolResult(call_id, tuple(Text(block) if isinstance(block, str) else block for block in blocks), is_error)


def blocks_of(request: Request) -> list[Any]:
    return [block for message in request.messages for block in message.content]


def accepted(request: Request) -> None:
    """Raises where the API would refuse the request."""
    body = body_of(request, MODEL, None)
    rules.check(rules.parse(json.dumps(body).encode()))


class TestWords:
    def test_blank_text_and_empty_messages_are_left_out(self) -> None:
        request = build([user("Hello", " \n", ""), said("\t"), user("Are you there?")])
        assert request.messages == (Message("user", (Text("Hello"), Text("Are you there?"))),)

    def test_half_a_character_is_replaced_everywhere(self) -> None:
        call = ToolCall("c1", "look", {"a\ud83d": ["\udc00", {"b": "x\ud83d"}]})
        request = build(
            [user("see \ud83d"), said("well \ud83d", call), user(result("c1", "got \ud83d"))],
            system="You \ud83d",
            tools=[ToolSpec("look", "Looks \ud83d", {"type": "object", "title": "\ud83d"})],
        )
        json.dumps(body_of(request, MODEL, None), ensure_ascii=False).encode()
        assert request.system == "You \ufffd"
        assert request.messages[1].calls[0].args == {"a\ufffd": ["\ufffd", {"b": "x\ufffd"}]}

    def test_two_halves_that_belong_together_are_joined(self) -> None:
        assert build([user("\ud83d\ude00")]).messages[0].text == "\U0001f600"

    def test_white_space_at_the_end_of_the_models_words_is_trimmed(self) -> None:
        request = build([user("Hello"), said("Well \n"), user("?")])
        assert request.messages[1].text == "Well"

    def test_a_blank_system_prompt_is_none(self) -> None:
        assert build([user("Hello")], system=" \n").system is None

    def test_numbers_that_json_does_not_have_become_words(self) -> None:
        request = build([user("Hello"), said(ToolCall("c", "t", {"x": math.nan, "y": [math.inf]}))])
        assert request.messages[1].calls[0].args == {"x": "nan", "y": ["inf"]}


class TestTurns:
    def test_messages_of_the_user_in_a_row_are_one(self) -> None:
        assert len(build([user("one"), user("two")]).messages) == 1

    def test_a_conversation_that_ends_with_the_model_goes_on(self) -> None:
        request = build([user("Hello"), said("Hi")])
        assert request.messages[-1] == Message("user", (Text(GO_ON),))

    def test_what_was_sent_then_is_sent_again_between_two_replies(self) -> None:
        first = [user("Hello"), said("Hi")]
        then = build(first)
        later = build([*first, said("More", Thinking("hm", "sig"), "!", prefix=then.prefix), user("Go")])
        assert later.messages[: len(then.messages)] == then.messages
        assert any(isinstance(block, Thinking) for block in later.messages[3].content)

    def test_a_conversation_that_begins_with_the_model_gets_a_beginning(self) -> None:
        request = build([said("Hi"), user("Who?")])
        assert [message.text for message in request.messages] == [MISSING_START, "Hi", "Who?"]


class TestCalls:
    def test_a_call_without_a_result_gets_the_unknown_one_right_after_it(self) -> None:
        request = build([user("Go"), said(ToolCall("c1", "t")), user("And?")])
        answer, question = request.messages[2].content
        assert answer == ToolResult("c1", (Text(UNKNOWN_RESULT),), True)
        assert question == Text("And?")

    def test_results_come_first_and_in_the_order_of_the_calls(self) -> None:
        calls = said(ToolCall("a", "t"), ToolCall("b", "t"))
        request = build([user("Go"), calls, user("wait"), user(result("b", "B"), result("a", "A"))])
        assert [getattr(block, "call_id", None) for block in request.messages[2].content] == ["a", "b", None]

    def test_a_result_without_its_call_is_dropped(self) -> None:
        request = build([user("Go", result("nobody", "x")), said(ToolCall("a", "t")), user(result("a"), result("a"))])
        assert request.messages[2].content == (ToolResult("a", (Text(NO_OUTPUT),)),)

    def test_ids_that_are_there_twice_become_unique_with_their_results(self) -> None:
        calls = said(ToolCall("a", "t"), ToolCall("a", "t"))
        request = build([user("Go"), calls, user(result("a", "1"), result("a", "2")), said(ToolCall("a", "t"))])
        sent = [call.id for message in request.messages for call in message.calls]
        assert sent == ["a", "a_2", "a_3"]
        assert [block.call_id for block in request.messages[2].content] == ["a", "a_2"]  # type: ignore[union-attr]
        accepted(request)

    def test_a_made_up_id_is_not_one_that_comes_later(self) -> None:
        request = build([user("Go"), said(ToolCall("a", "t"), ToolCall("a", "t"), ToolCall("a_2", "t"))])
        assert len({call.id for call in request.messages[1].calls}) == 3

    @pytest.mark.parametrize("name", ["", "files.read", "größe", "a" * 200, "two words\n"])
    def test_names_and_ids_match_the_pattern(self, name: str) -> None:
        tools = [ToolSpec(name, "", {"type": "object"})]
        request = build([user("Go"), said(ToolCall(name, name)), user(result(name, "x"))], tools=tools)
        assert request.tools[0].name == request.messages[1].calls[0].name == tool_name(name)
        accepted(request)

    def test_tools_whose_names_become_the_same_are_there_once(self) -> None:
        request = build([user("Go")], tools=[ToolSpec("a.b", "", {}), ToolSpec("a b", "", {})])
        assert [tool.name for tool in request.tools] == ["a_b"]
        accepted(request)

    def test_what_a_schema_may_not_have_at_its_top_is_told_in_words(self) -> None:
        schema = {"type": "object", "properties": {"a": {"anyOf": []}}, "anyOf": [{"required": ["a"]}]}
        request = build([user("Go")], tools=[ToolSpec("t", "Does it.", schema)])
        assert request.tools[0].schema == {"type": "object", "properties": {"a": {"anyOf": []}}}
        words = 'Does it.\n\nThe arguments also fit this JSON Schema: {"anyOf":[{"required":["a"]}]}'
        assert request.tools[0].description == words
        accepted(request)

    def test_an_error_takes_words_alone_and_its_picture_follows(self) -> None:
        picture = Image(PNG, "image/png")
        request = build([user("Go"), said(ToolCall("a", "t")), user(result("a", picture, is_error=True))])
        assert request.messages[2].content == (ToolResult("a", (Text(NO_OUTPUT),), True), picture)


class TestPictures:
    def test_one_of_a_kind_that_no_api_takes_becomes_words(self) -> None:
        bmp = base64.b64encode(b"BM and more").decode()
        assert "image/bmp" in build([user(Image(bmp, "image/bmp"))]).messages[0].text

    @pytest.mark.parametrize("data", ["", "no base64!", "QUJD\n"])
    def test_one_that_can_not_be_read_becomes_words(self, data: str) -> None:
        request = build([user(Image(data, "image/png"))])
        assert request.messages[0].text
        accepted(request)

    def test_a_wrong_media_type_is_put_right(self) -> None:
        request = build([user(Image(PNG, "image/jpeg"))])
        assert request.messages[0].content == (Image(PNG, "image/png"),)


class TestThinking:
    def test_it_goes_back_to_the_letter_while_what_it_followed_stands(self) -> None:
        thought = Thinking("  hm \n", "sig")
        first = build([user("Hello")], system="S")
        request = build([user("Hello"), said(thought, "Hi", prefix=first.prefix), user("And?")], system="S")
        assert request.messages[1].content == (thought, Text("Hi"))

    @pytest.mark.parametrize(
        "thought",
        [Thinking("hm"), Thinking("hm", ""), Thinking(redacted=""), Thinking("h\ud83dm", "sig")],
        ids=["unsigned", "empty signature", "empty seal", "half a character"],
    )
    def test_it_is_left_out_without_its_seal(self, thought: Thinking) -> None:
        first = build([user("Hello")])
        request = build([user("Hello"), said(thought, "Hi", prefix=first.prefix)])
        assert request.messages[1].content == (Text("Hi"),)

    def test_it_is_left_out_from_where_something_before_it_changed(self) -> None:
        first = build([user("Hello")], system="one")
        for system in ("one", "two"):
            request = build([user("Hello"), said(Thinking("", "s"), "Hi", prefix=first.prefix)], system=system)
            assert (len(request.messages[1].content) == 2) == (system == "one")

    def test_it_is_left_out_for_another_model(self) -> None:
        first = build([user("Hello")])
        talk = [user("Hello"), said(Thinking("", "s"), "Hi", prefix=first.prefix)]
        assert len(build(talk, model=MODEL).messages[1].content) == 2
        assert len(build(talk, model="claude-opus-5-5").messages[1].content) == 1

    def test_a_reply_of_thinking_alone_is_left_out(self) -> None:
        first = build([user("Hello")])
        request = build([user("Hello"), said(Thinking("hm", "s"), prefix=first.prefix), user("?")])
        assert len(request.messages) == 1

    def test_it_is_not_the_last_block(self) -> None:
        first = build([user("Hello")])
        request = build([user("Hello"), said("Hi", Thinking("hm", "s"), " ", prefix=first.prefix), user("?")])
        assert request.messages[1].content == (Text("Hi"),)

    def test_blocks_of_an_unknown_kind_are_left_out(self) -> None:
        request = build([user("Hello"), said("Hi", Unknown({"type": "new"}))])
        assert request.messages[1].content == (Text("Hi"),)


class TestTheSameAgain:
    def test_a_longer_conversation_begins_with_the_shorter_one(self) -> None:
        talk = [user("Hello"), said(ToolCall("a", "t"), ToolCall("a", "t")), user(result("a", "x")), said("done")]
        shorter = build(talk)
        longer = build([*talk, said("again"), user("bye")])
        assert longer.messages[: len(shorter.messages)] == shorter.messages

    def test_the_order_of_keys_does_not_change_the_prefix(self) -> None:
        one, two = ({"a": 1, "b": 2}, {"b": 2, "a": 1})
        prefixes = {build([user("Go"), said(ToolCall("c", "t", args))]).prefix for args in (one, two)}
        assert len(prefixes) == 1

    @pytest.mark.parametrize(
        "other",
        [[user("Hello ")], [user("Hel", "lo")], [user("Hello"), said("x")], [user(Image(PNG, "image/png"))]],
    )
    def test_anything_else_changes_it(self, other: list[Any]) -> None:
        assert build(other).prefix != build([user("Hello")]).prefix

    def test_what_is_stored_stays_as_it_was(self) -> None:
        state = State("see \ud83d")
        before = state.to_json()
        build(state._fold.messages())
        assert state.to_json() == before


def long_state(turns: int) -> State:
    state = State("begin")
    for n in range(turns):
        reply(state, [{"type": "tool_call", "id": f"c{n}", "name": "t", "args": {"n": n}}])
        state._append("tool_result", "a result", call=state.pending_calls[0])
    return state


def reply(state: State, blocks: list[Any], prefix: str = "") -> None:
    seen = state._next_seq - 1
    content = {"blocks": blocks, "stop_reason": "end_turn", "usage": {}, "model": MODEL, "seen": seen, "prefix": prefix}
    state._append("reply", content)


class TestALongConversation:
    def test_the_next_request_is_built_from_what_is_new(self, monkeypatch: pytest.MonkeyPatch) -> None:
        state, requests = long_state(50), Requests()
        first = requests.build(state._fold.items)
        state.add_user_message("more")
        add, added = Builder.add, []
        with monkeypatch.context() as patch:
            patch.setattr(Builder, "add", lambda *args: added.append(args) or add(*args))
            later = requests.build(state._fold.items)
        assert len(added) == 1
        assert later == build(state._fold.messages())
        assert later.messages[: len(first.messages) - 1] == first.messages[:-1]

    def test_a_changed_past_is_built_again(self) -> None:
        state, requests = long_state(5), Requests()
        requests.build(state._fold.items, system="one")
        state.clear_tool_results(keep_last=1)
        assert requests.build(state._fold.items, system="one") == build(state._fold.messages(), system="one")
        assert requests.build(state._fold.items, system="two") == build(state._fold.messages(), system="two")
        state.start_from("a summary")
        assert requests.build(state._fold.items, system="two") == build(state._fold.messages(), system="two")


# -- whatever happens to a conversation, the API takes it

words = st.text(st.sampled_from("ab \n\t\ud83d\ude00\u2028é[]\x1b"), max_size=6)
ids = st.sampled_from(["a", "a", "b", "a_2", "", "no good.", "\ud83d"])
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | words,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(words, inner, max_size=2),
    max_leaves=4,
)
pictures = st.builds(
    lambda data, media_type: {"type": "image", "data": data, "media_type": media_type},
    st.sampled_from([PNG, "", "%%%", base64.b64encode(b"BM").decode()]),
    st.sampled_from(["image/png", "image/jpeg", "image/bmp", "\ud83d"]),
)
texts = words.map(lambda text: {"type": "text", "text": text})
reply_blocks = st.lists(
    st.one_of(
        texts,
        st.builds(lambda text: {"type": "thinking", "text": text, "signature": "signed"}, words),
        st.builds(lambda text: {"type": "thinking", "redacted": "sealed", "hidden": text}, st.just("x")),
        st.just({"type": "thinking", "text": "unsigned"}),
        st.builds(
            lambda id, name, args: {"type": "tool_call", "id": id, "name": name, "args": args},
            ids,
            st.sampled_from(["t", "files.read", "\ud83d", ""]),
            st.dictionaries(words, json_values, max_size=2),
        ),
        st.just({"type": "unknown", "data": {"type": "brand_new"}}),
        st.just({"type": "image", "data": PNG, "media_type": "image/png"}),
        st.just({"type": "tool_result", "call": "a", "content": [], "is_error": False}),
    ),
    max_size=4,
)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("user"), words),
        st.tuples(st.just("picture"), pictures),
        st.tuples(st.just("notice"), words),
        st.tuples(st.just("reply"), reply_blocks),
        st.tuples(st.just("result"), st.lists(texts | pictures, max_size=2) | words, st.booleans()),
        st.tuples(st.just("results")),
        st.tuples(st.just("partial"), words),
        st.tuples(st.just("compact"), words),
        st.tuples(st.just("clear"), st.integers(0, 2)),
        st.tuples(st.just("checkpoint")),
        st.tuples(st.just("restore")),
        st.tuples(st.just("fork")),
        st.tuples(st.just("lose"), st.integers(0, 20)),
        st.tuples(st.just("system"), words),
    ),
    max_size=14,
)


class Conversation:
    """A conversation that lives through the steps as it would under an Agent, with an API that signs its thoughts."""

    def __init__(self) -> None:
        self.state = State("Hello")
        self.system = "You are."
        self.requests = Requests()

    def request(self) -> Request:
        request = self.requests.build(self.state._fold.items, system=self.system)
        assert request == build(self.state._fold.messages(), system=self.system)
        return request

    def take(self, step: tuple[Any, ...]) -> None:
        kind, *rest = step
        try:
            getattr(self, kind)(*rest)
        except (ValueError, LookupError):  # this step can't be taken here
            pass

    def user(self, text: str) -> None:
        self.state.add_user_message(text)

    def picture(self, image: dict[str, Any]) -> None:
        self.state.add_user_message("", Image(image["data"], image["media_type"]))

    def notice(self, text: str) -> None:
        self.state.add_notice(text)

    def reply(self, blocks: list[Any]) -> None:
        request = self.request()
        body = body_of(request, MODEL, None)
        turns = signatures.merge(body["messages"])
        sealed = []
        for block in blocks:
            if block.get("signature"):
                text = block["text"].encode("utf-8", "replace").decode()
                block = {**block, "text": text, "signature": signatures.sign(body.get("system"), turns, text)}
            elif block.get("redacted"):
                block = {"type": "thinking", "redacted": signatures.seal(body.get("system"), turns, "hidden")}
            sealed.append(block)
        reply(self.state, sealed, request.prefix)

    def result(self, content: Any, is_error: bool) -> None:
        if self.state.pending_calls:
            self.state._append("tool_result", content, call=self.state.pending_calls[0], is_error=is_error)

    def results(self) -> None:
        for call in self.state.pending_calls:
            self.state.deny(call, "no")

    def partial(self, text: str) -> None:
        content = {"seen": self.state._next_seq - 1, "attempt": 1, "delta": [[0, "text", text]], "cut": True}
        self.state._append("partial_reply", content)

    def compact(self, summary: str) -> None:
        self.state.start_from(summary)

    def clear(self, keep_last: int) -> None:
        self.state.clear_tool_results(keep_last)

    def checkpoint(self) -> None:
        self.state.checkpoint("here")

    def restore(self) -> None:
        if self.state.checkpoints:
            self.state.restore(self.state.checkpoints[-1])

    def fork(self) -> None:
        self.state = self.state.fork()

    def lose(self, n: int) -> None:
        """An entry is damaged on disk, and the State is loaded without it."""
        entries = [entry for entry in self.state._entries if entry.seq != n or n == 0]
        state = State()
        for entry in entries:
            try:
                state._fold.apply(entry)
            except (ValueError, LookupError, TypeError, KeyError):
                continue
            state._entries.append(entry)
        state._next_seq = self.state._next_seq
        self.state = state


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(steps)
def test_the_api_takes_every_request(steps: list[tuple[Any, ...]]) -> None:
    conversation = Conversation()
    for step in steps:
        if step[0] == "system":
            conversation.system = step[1]
        else:
            conversation.take(step)
        if conversation.state._fold.items:
            accepted(conversation.request())


def test_signed_thinking_is_kept_over_a_whole_conversation() -> None:
    conversation = Conversation()
    for n in range(3):
        conversation.take(("reply", [{"type": "thinking", "text": f"hm {n}", "signature": "signed"}, call(n)]))
        conversation.take(("results",))
    conversation.take(("reply", [{"type": "thinking", "text": "last", "signature": "signed"}, text("done")]))
    conversation.take(("user", "thanks"))
    request = conversation.request()
    accepted(request)
    assert len([block for block in blocks_of(request) if isinstance(block, Thinking)]) == 4


def call(n: int) -> dict[str, Any]:
    return {"type": "tool_call", "id": f"call{n}", "name": "t", "args": {}}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}
