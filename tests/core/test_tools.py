"""`@tool`: name, description and schema from a function; what comes back becomes the content of a result."""

from __future__ import annotations

import enum
import functools
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from fireside import Agent, FileStore, Image, Reply, State, Text, ToolCall, tool
from fireside.requests import NO_OUTPUT
from fireside.testing import FakeModel, tool_call
from fireside.tools import InputError, as_tool, content_of
from pydantic import BaseModel, Field


class Address(BaseModel):
    city: str


@tool
def send(
    to: Address,
    subject: str,
    kind: Literal["mail", "fax"] = "mail",
    copies: Annotated[int, Field(ge=1)] = 1,
) -> str:
    """Sends a letter.

    It is not read before.

    Args:
        to: Where it goes,
            in full.
        subject (str): What it is about.

    Returns:
        Nothing of use.
    """
    return f"{kind} to {to.city}: {subject} x{copies}"


def test_name_description_and_schema_come_from_the_function() -> None:
    assert send.name == "send"
    assert send.description == "Sends a letter.\n\nIt is not read before."
    properties = send.schema["properties"]
    assert list(properties) == ["to", "subject", "kind", "copies"]
    assert properties["to"]["description"] == "Where it goes, in full."
    assert properties["kind"] == {"default": "mail", "enum": ["mail", "fax"], "type": "string"}
    assert properties["copies"]["minimum"] == 1
    assert send.schema["required"] == ["to", "subject"]


async def test_arguments_arrive_as_what_the_signature_says() -> None:
    args = send.check(ToolCall("c", "send", {"to": {"city": "Rome"}, "subject": "hi"}))
    assert await send.run(State("x"), args) == "mail to Rome: hi x1"


@pytest.mark.parametrize(
    ("args", "named"),
    [
        ({"to": {}, "subject": "s"}, "to.city"),
        ({"to": {"city": "x"}, "subject": "s", "kind": "owl"}, "kind"),
        ({"to": {"city": "x"}, "subject": "s", "copies": 0}, "copies"),
        ({"subject": "s"}, "to"),
    ],
)
def test_wrong_arguments_are_named(args: dict, named: str) -> None:  # type: ignore[type-arg]
    with pytest.raises(InputError, match=named):
        send.check(ToolCall("c", "send", args))


def test_arguments_that_are_no_json_object_are_told() -> None:
    with pytest.raises(InputError, match="JSON object"):
        send.check(ToolCall("c", "send", {}, 0, '{"to": '))


def test_names_that_pydantic_can_not_have_work() -> None:
    @tool
    def odd(schema: int, _x: int, model_config: int = 0) -> int:
        return schema + _x + model_config

    assert odd.check(ToolCall("c", "odd", {"schema": 1, "_x": 2})) == {"schema": 1, "_x": 2, "model_config": 0}


def test_a_function_that_json_can_not_fill_in_is_refused() -> None:
    with pytest.raises(TypeError, match="args"):

        @tool
        def star(*args: int) -> None: ...


def test_a_type_that_is_never_there_is_told_when_the_agent_is_made() -> None:
    @tool
    def lost(a: Nowhere) -> None: ...  # type: ignore[name-defined]  # noqa: F821

    with pytest.raises(TypeError, match="Nowhere"):
        Agent("demo", tools=[lost])


def test_any_callable_becomes_a_tool() -> None:
    class Adds:
        def __call__(self, a: int, b: int = 1) -> int:
            return a + b

        def plus(self, a: int, state: State | None = None) -> int:
            return a + (state is not None)

    given = [Adds(), Adds().plus, functools.partial(_power, base=2)]
    assert [as_tool(each).name for each in given] == ["Adds", "plus", "_power"]
    model = FakeModel([[tool_call("Adds", a=1), tool_call("plus", a=1), tool_call("_power", exponent=3)], "done"])
    state = State("go")
    Agent(model, tools=given).run(state)
    assert [entry.text for entry in state.history if entry.kind == "tool_result"] == ["2", "2", "8"]


def _power(exponent: int, base: int) -> int:
    return base**exponent


def test_a_tool_that_changes_its_arguments_does_not_change_the_history(tmp_path: Path) -> None:
    @tool
    def spoil(payload: dict) -> None:  # type: ignore[type-arg]
        payload["inner"]["new"] = 1

    store, state = FileStore(tmp_path), State("go", id="s")
    Agent(FakeModel([tool_call("spoil", payload={"inner": {}}), "done"]), tools=[spoil], store=store).run(state)
    assert state.to_json() == store.load("s").to_json()


@pytest.mark.parametrize("name", ["two words", "é", "x" * 129])
def test_a_name_that_no_api_takes_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="name"):
        tool(name=name)(lambda: None)


@dataclass
class Point:
    x: int


@pytest.mark.parametrize(
    ("value", "content"),
    [
        ("words", "words"),
        (None, NO_OUTPUT),
        ("", NO_OUTPUT),
        (3, "3"),
        ({"a": [1, None]}, '{"a": [1, null]}'),
        (Point(1), '{"x": 1}'),
        ([Point(1)], '[{"x": 1}]'),
        (Address(city="Rome"), '{"city": "Rome"}'),
        (Text("t"), [{"type": "text", "text": "t"}]),
        (
            ["see", Image("aGk=", "image/png")],
            [{"type": "text", "text": "see"}, {"type": "image", "media_type": "image/png", "data": "aGk="}],
        ),
        ({1, 2}.__class__, "\"<class 'set'>\""),
    ],
)
def test_what_a_tool_returns_becomes_content(value: object, content: object) -> None:
    assert content_of(value) == content


def _in_itself() -> list[object]:
    out: list[object] = []
    out.append(out)
    return out


class Wordless:
    def __str__(self) -> str:
        raise ValueError


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (_in_itself(), "[[...]]"),
        ({(1, 2): 3}, "{(1, 2): 3}"),
        (10**5000, "(a int that can't be shown)"),
        (Wordless(), "(a Wordless that can't be shown)"),
    ],
    ids=["in itself", "keys", "huge", "wordless"],
)
def test_what_json_can_not_hold_is_told_in_words_and_the_run_goes_on(value: object, text: str) -> None:
    assert content_of(value) == text


def test_hints_left_out_mean_the_worst() -> None:
    assert not send.safe_to_repeat
    assert tool(name="look", read_only=True)(lambda: None).safe_to_repeat
    assert tool(name="set", idempotent=True)(lambda: None).safe_to_repeat


def test_a_result_may_be_a_str_of_its_own_class(tmp_path: Path) -> None:
    class Colour(enum.StrEnum):
        RED = "red"

    class Size(str, enum.Enum):  # noqa: UP042  the older way to write it
        BIG = "big"

    @tool
    def colour() -> Colour:
        """The colour."""
        return Colour.RED

    @tool
    def both() -> list[Any]:
        """Both."""
        return [Text(Size.BIG), Colour.RED]

    store, state = FileStore(tmp_path), State(Size.BIG, id="x")
    model = FakeModel([[tool_call("colour"), tool_call("both")], Reply((Text(Colour.RED),))])
    assert Agent(model, tools=[colour, both], store=store).run(state) == "red"
    told = [entry.text for entry in state.history if entry.kind == "tool_result"]
    assert told == ["red", "big\nred"] or told == ["red", "bigred"]
    assert store.load("x").to_json() == state.to_json()
