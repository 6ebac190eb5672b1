"""The demo says what it is, shows what an answer can look like, and is the same each time."""

from __future__ import annotations

import asyncio
import re

import pytest
from fireside.errors import ProviderError
from fireside.messages import Message, Reply, Text, Thinking, ToolCall, ToolResult
from fireside.models import Delta
from fireside.models.demo import DemoModel
from fireside.requests import Request, ToolSpec, build

CLOCK = ToolSpec("get_time", "The time.", {"type": "object", "properties": {}})
WEIGH = ToolSpec(
    "weigh",
    "Weighs.",
    {
        "type": "object",
        "properties": {
            "what": {"type": "string"},
            "times": {"type": "integer"},
            "unit": {"enum": ["kg", "lb"]},
            "exact": {"type": "boolean"},
            "tags": {"type": "array"},
            "more": {"type": "object"},
            "note": {"default": "x"},
            "left_out": {"type": "string"},
        },
        "required": ["what", "times", "unit", "exact", "tags", "more", "note"],
    },
)


def asking(*texts: str, tools: tuple[ToolSpec, ...] = ()) -> Request:
    """The texts of a conversation, the person's and the model's by turns."""
    roles = ("user", "assistant")
    talk = [(Message(roles[n % 2], (Text(text),)), None) for n, text in enumerate(texts)]  # type: ignore[arg-type]
    return build(talk, tools=tools)


async def answer(request: Request, model: DemoModel | None = None) -> tuple[list[Delta], Reply]:
    parts = [part async for part in (model or DemoModel(delay=0)).stream(request)]
    assert isinstance(parts[-1], Reply)
    return [part for part in parts if isinstance(part, Delta)], parts[-1]


async def test_the_first_answer_says_what_it_is_and_how_to_give_a_key() -> None:
    deltas, reply = await answer(asking("Hello"))
    assert "offline demo, not Claude" in reply.text
    assert "ANTHROPIC_API_KEY" in reply.text
    assert "ANTHROPIC_BASE_URL" in reply.text
    assert "".join(delta.text for delta in deltas) == reply.text
    assert len(deltas) > 100
    assert reply.usage.requests == 1
    assert reply.usage.cost is None


async def test_it_is_the_same_each_time() -> None:
    assert await answer(asking("Hello", "Hi", "and now?")) == await answer(asking("Hello", "Hi", "and now?"))


@pytest.mark.parametrize(
    ("word", "shown"),
    [("code", "```python"), ("Table", "|---"), ("a list, please", "1. **"), ("summary", "in this order")],
)
async def test_a_word_changes_the_answer(word: str, shown: str) -> None:
    _, reply = await answer(asking("Hello", "Hi", word))
    assert shown in reply.text


async def test_later_answers_differ_and_quote_what_was_said() -> None:
    texts = [(await answer(asking(*["Hello", "Hi"] * n, "why?")))[1].text for n in range(1, 4)]
    assert len(set(texts)) == 3
    assert all(text.startswith("> why?") for text in texts)


async def test_it_thinks_when_asked_to() -> None:
    deltas, reply = await answer(asking("think about it"))
    assert isinstance(reply.content[0], Thinking)
    assert [delta.kind for delta in deltas] == sorted((delta.kind for delta in deltas), reverse=True)


async def test_a_long_answer_is_long() -> None:
    _, reply = await answer(asking("a long one"))
    assert len(reply.text.split()) > 1000


async def test_it_fails_when_asked_to() -> None:
    with pytest.raises(ProviderError, match="as it was asked to"):
        await answer(asking("Fail!"))
    assert (await answer(asking("why did it fail?")))[1].text


class TestTools:
    @pytest.mark.parametrize("words", ["use a tool", "What time is it?", "call get_time as a tool"])
    async def test_it_calls_one_and_answers_with_its_result(self, words: str) -> None:
        first = asking(words, tools=(WEIGH, CLOCK))
        _, reply = await answer(first)
        (call,) = reply.calls
        assert (call.name, call.args, reply.stop_reason) == ("get_time", {}, "tool_use")
        result = Message("user", (ToolResult(call.id, (Text("12:34"),)),))
        talk = [(first.messages[0], None), (Message("assistant", reply.content), None), (result, None)]
        _, reply = await answer(build(talk, tools=(WEIGH, CLOCK)))
        assert "The tool `get_time` answered:\n\n> 12:34" in reply.text
        assert not reply.calls

    async def test_it_gives_what_the_schema_asks_for(self) -> None:
        _, reply = await answer(asking("use a tool", tools=(WEIGH,)))
        assert reply.calls[0].args == {
            "what": "demo",
            "times": 1,
            "unit": "kg",
            "exact": False,
            "tags": [],
            "more": {},
            "note": "x",
        }

    async def test_without_any_it_says_so(self) -> None:
        _, reply = await answer(asking("use a tool"))
        assert not any(isinstance(block, ToolCall) for block in reply.content)
        assert "offers me none" in reply.text


async def test_slow_is_slower_and_can_be_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    await answer(asking("Hello"), DemoModel(delay=0.01))
    await answer(asking("slow"), DemoModel(delay=0.01))
    assert min(waits) == 0.01
    assert max(waits) >= 0.1


@pytest.mark.parametrize(("value", "delay"), [("0", 0.0), ("0.5", 0.5), ("-1", 0.0), ("quick", 0.02)])
def test_the_environment_sets_the_pace(monkeypatch: pytest.MonkeyPatch, value: str, delay: float) -> None:
    monkeypatch.setenv("FIRESIDE_DEMO_DELAY", value)
    assert DemoModel()._delay == delay


async def test_its_code_is_code() -> None:
    """What it shows is read as an example, so it compiles."""
    _, reply = await answer(asking("long"))
    for code in re.findall(r"```python\n(.*?)```", reply.text, re.DOTALL):
        compile(code, "demo", "exec")


async def test_it_lists_itself() -> None:
    assert [info.id for info in await DemoModel().models()] == ["demo"]


@pytest.mark.parametrize("said", ["Hello", "code", "think", "long", "use a tool", "table"])
async def test_it_says_so_whatever_it_was_asked_first(said: str) -> None:
    first = Message("user", (Text(said),))
    replies = [part async for part in DemoModel(delay=0).stream(Request((first,)))]
    assert "offline demo" in replies[-1].text
    assert "ANTHROPIC_API_KEY" in replies[-1].text
    later = Request((first, Message("assistant", (Text("x"),)), first))
    again = [part async for part in DemoModel(delay=0).stream(later)]
    assert "offline demo, not Claude" not in again[-1].text
