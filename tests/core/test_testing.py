"""The parts that a user's own tests rest on."""

from __future__ import annotations

import fireside.testing
import pytest
from fireside.messages import Message, Reply, Text, Thinking, ToolCall
from fireside.models import Delta
from fireside.requests import Request, build
from fireside.testing import Answer, FakeHuman, FakeModel, tool_call

REQUEST = build([(Message("user", (Text("Hi"),)), None)], system="S")


async def parts(model: FakeModel, request: Request = REQUEST) -> tuple[list[Delta], Reply]:
    given = [part async for part in model.stream(request)]
    assert isinstance(given[-1], Reply)
    return [part for part in given if isinstance(part, Delta)], given[-1]


class TestFakeModel:
    async def test_text_streams_in_a_few_pieces(self) -> None:
        deltas, reply = await parts(FakeModel(["Hello, world"]))
        assert [delta.text for delta in deltas] == ["Hel", "lo,", " wo", "rld"]
        assert (reply.text, reply.stop_reason, reply.model) == ("Hello, world", "end_turn", "fake")

    async def test_tool_calls_alone_and_with_text(self) -> None:
        model = FakeModel([tool_call("add", a=1), ["Let me see.", tool_call("add", a=2), tool_call("sub", a=3)]])
        _, first = await parts(model)
        _, second = await parts(model)
        assert [(call.name, call.args, call.n) for call in (*first.calls, *second.calls)] == [
            ("add", {"a": 1}, 0),
            ("add", {"a": 2}, 0),
            ("sub", {"a": 3}, 1),
        ]
        assert first.stop_reason == second.stop_reason == "tool_use"
        assert len({call.id for call in (*first.calls, *second.calls)}) == 3

    async def test_an_argument_may_be_called_name(self) -> None:
        assert tool_call("greet", name="Ada").args == {"name": "Ada"}

    async def test_other_blocks_and_whole_replies(self) -> None:
        whole = Reply((Text("x"),), "max_tokens", model="other")
        model = FakeModel([[Thinking("hm", "sig"), "Hi"], whole])
        deltas, reply = await parts(model)
        assert reply.content == (Thinking("hm", "sig"), Text("Hi"))
        assert deltas[0].kind == "thinking"
        assert (await parts(model))[1] is whole

    async def test_exceptions_are_raised(self) -> None:
        with pytest.raises(OSError, match="no"):
            await parts(FakeModel([OSError("no")]))

    async def test_a_function_sees_the_request(self) -> None:
        def reply(request: Request) -> Answer:
            return f"{request.system}: {request.messages[-1].text}"

        assert (await parts(FakeModel([reply])))[1].text == "S: Hi"

    async def test_what_it_was_asked_is_kept(self) -> None:
        model = FakeModel(["a"])
        await parts(model)
        assert model.requests == [REQUEST]

    async def test_out_of_replies(self) -> None:
        with pytest.raises(RuntimeError, match="no more replies: request 1"):
            await parts(FakeModel([]))

    async def test_it_lists_itself(self) -> None:
        assert [info.id for info in await FakeModel(name="mine").models()] == ["mine"]

    async def test_a_call_may_have_an_id_of_its_own(self) -> None:
        _, reply = await parts(FakeModel([ToolCall("mine", "add")]))
        assert reply.calls[0].id == "mine"


class TestFakeHuman:
    def test_answers_come_in_order(self) -> None:
        human = FakeHuman(["one", lambda question: question.upper()])
        assert [human("a"), human("b")] == ["one", "B"]
        assert human.questions == ["a", "b"]

    def test_exceptions_are_raised(self) -> None:
        with pytest.raises(KeyboardInterrupt):
            FakeHuman([KeyboardInterrupt()])("?")

    def test_out_of_answers(self) -> None:
        with pytest.raises(RuntimeError, match="no more answers: it was asked 'really"):
            FakeHuman()("really?")


def test_the_stores_contract_is_here_too() -> None:
    from fireside.store_contract import StoreContract

    assert fireside.testing.StoreContract is StoreContract


def test_other_names_are_not() -> None:
    with pytest.raises(AttributeError, match="nothing_like_it"):
        _ = fireside.testing.nothing_like_it
