"""What tests an agent without a network: a model and a person with prepared answers, and the stores' contract."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from fireside.messages import Block, Json, Reply, Text, Thinking, ToolCall, Usage
from fireside.models.base import Delta, ModelInfo, StreamPart
from fireside.requests import Request

if TYPE_CHECKING:
    from fireside.store_contract import StoreContract as StoreContract

__all__ = ["Answer", "FakeHuman", "FakeModel", "StoreContract", "tool_call"]

Answer: TypeAlias = "str | Block | Sequence[str | Block] | BaseException | Reply | Callable[[Request], Answer]"
"""What a `FakeModel` can be told to reply."""

_CHUNKS = 4


def tool_call(name: str, /, **args: Json) -> ToolCall:
    """A reply, or a part of one, that calls the tool `name`. Its id is made when it is given.

    >>> tool_call("add", a=1, b=2).args
    {'a': 1, 'b': 2}
    """
    return ToolCall("", name, args)


class FakeModel:
    """Gives prepared replies in order, and keeps what it was asked in `requests`.

    A reply is text; `tool_call("name", arg=value)`; a list of both (or of other blocks); an exception to raise; a whole
    `Reply`; or a function from the request to one of these. Text streams in a few pieces. Out of replies:
    `RuntimeError`.

    >>> from fireside import Agent
    >>> model = FakeModel(["Hello!"])
    >>> Agent(model).run("Hi")
    'Hello!'
    >>> model.requests[0].messages[0].text
    'Hi'
    """

    def __init__(self, replies: Iterable[Answer] = (), name: str = "fake") -> None:
        self.name = name
        self.requests: list[Request] = []
        self._replies = iter(replies)

    async def stream(self, request: Request) -> AsyncIterator[StreamPart]:
        """Streams the next reply; raises what the script says."""
        self.requests.append(request)
        reply = self._reply(request)
        for n, block in enumerate(reply.content):
            if isinstance(block, ToolCall):
                yield Delta("call", block.name, n)
            elif isinstance(block, Text | Thinking):
                kind = "text" if isinstance(block, Text) else "thinking"
                size = max(1, -(-len(block.text) // _CHUNKS))
                for start in range(0, len(block.text), size):
                    yield Delta(kind, block.text[start : start + size], n)  # type: ignore[arg-type]
        yield reply

    async def models(self) -> list[ModelInfo]:
        """Itself alone."""
        return [ModelInfo(self.name, self.name, 200_000, 64_000)]

    def _reply(self, request: Request) -> Reply:
        try:
            answer = next(self._replies)
        except StopIteration:
            raise RuntimeError(
                f"the FakeModel {self.name!r} has no more replies: request {len(self.requests)} came"
            ) from None
        while callable(answer):
            answer = answer(request)
        if isinstance(answer, BaseException):
            raise answer
        if isinstance(answer, Reply):
            return answer
        return self._made([answer] if isinstance(answer, str | Block) else answer)

    def _made(self, parts: Sequence[str | Block]) -> Reply:
        blocks: list[Block] = []
        calls = 0
        for part in parts:
            if isinstance(part, ToolCall):
                call_id = part.id or f"call_{len(self.requests)}_{calls}"
                blocks.append(ToolCall(call_id, part.name, part.args, calls, part.unreadable))
                calls += 1
            else:
                blocks.append(Text(part) if isinstance(part, str) else part)
        words = sum(len(block.text.split()) for block in blocks if isinstance(block, Text))
        usage = Usage(input=len(self.requests), output=words, requests=1)
        return Reply(tuple(blocks), "tool_use" if calls else "end_turn", usage, self.name)


class FakeHuman:
    """Answers questions in order, and keeps them in `questions`: an Agent's `human`.

    An answer is a `str`, an exception to raise, or a function from the question to one of these. Out of answers:
    `RuntimeError`.

    >>> human = FakeHuman(["blue"])
    >>> human("Which colour?"), human.questions
    ('blue', ['Which colour?'])
    """

    def __init__(self, answers: Iterable[Any] = ()) -> None:
        self.questions: list[str] = []
        self._answers = iter(answers)

    def __call__(self, question: str) -> str:
        """The next answer."""
        self.questions.append(question)
        try:
            answer = next(self._answers)
        except StopIteration:
            raise RuntimeError(f"the FakeHuman has no more answers: it was asked {question!r}") from None
        if callable(answer):
            answer = answer(question)
        if isinstance(answer, BaseException):
            raise answer
        return str(answer)


def __getattr__(name: str) -> Any:
    if name == "StoreContract":  # it needs pytest, which only tests have
        from fireside.store_contract import StoreContract

        return StoreContract
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
