"""`@tool`: name, description and schema from a function; what comes back becomes the content of a result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import pytest
from fireside import Image, State, Text, ToolCall, tool
from fireside.tools import NO_OUTPUT, InputError, content_of
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
    @tool
    def star(*args: int) -> None: ...

    with pytest.raises(TypeError, match="args"):
        _ = star.schema


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


def test_hints_left_out_mean_the_worst() -> None:
    assert not send.safe_to_repeat
    assert tool(name="look", read_only=True)(lambda: None).safe_to_repeat
    assert tool(name="set", idempotent=True)(lambda: None).safe_to_repeat
