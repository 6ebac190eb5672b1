"""`@tool` and `Tool`: a typed function that a model may call, its JSON Schema made from the signature."""

from __future__ import annotations

import contextlib
import functools
import inspect
import json
import re
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, TypeVar, overload

from fireside.messages import Image, Json, Text, ToolCall
from fireside.requests import NO_OUTPUT, ToolSpec
from fireside.state import State
from fireside.sync import call
from fireside.values import copied, plain

if TYPE_CHECKING:
    from pydantic import BaseModel

F = TypeVar("F", bound=Callable[..., Any])


class InputError(Exception):
    """The model's arguments do not fit the tool; the text is for the model."""


@dataclass(frozen=True)
class Tool:
    """A function that a model may call. `@tool` makes one.

    The hints mean what MCP's annotations mean; where one is left out (`None`) the worst is assumed: not read-only,
    destructive, not idempotent, open to the world. Calls with `parallel=False` run one at a time, in order.
    """

    function: Callable[..., Any]
    name: str
    description: str
    parallel: bool = True
    read_only: bool | None = None
    destructive: bool | None = None
    idempotent: bool | None = None
    open_world: bool | None = None
    _lines: Mapping[str, str] = field(default_factory=dict, repr=False)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the function itself."""
        return self.function(*args, **kwargs)

    @property
    def safe_to_repeat(self) -> bool:
        """Whether running it twice does no harm."""
        return bool(self.read_only or self.idempotent)

    def check_parameters(self, *, later: bool = False) -> None:
        """Raises `TypeError` where the model can't fill in its parameters. `later`: a type may still be to come."""
        try:
            _ = self._parameters
        except TypeError as error:
            if not (later and isinstance(error.__cause__, NameError)):
                raise

    @cached_property
    def schema(self) -> dict[str, Json]:
        """The JSON Schema of its arguments."""
        schema = self._model.model_json_schema()
        schema.pop("title", None)
        for part in schema.get("properties", {}).values():
            part.pop("title", None)
        schema.setdefault("properties", {})
        return schema

    @property
    def spec(self) -> ToolSpec:
        """What a model is told of it."""
        return ToolSpec(self.name, self.description, self.schema)

    @cached_property
    def _parameters(self) -> tuple[dict[str, inspect.Parameter], dict[str, Any], str | None]:
        """The parameters that the model fills in, all types, and the name of the one that gets the State."""
        signature = inspect.signature(self.function)
        try:
            hints = _types_of(_written(self.function))
        except NameError as error:
            raise TypeError(f"the tool {self.name!r} has a parameter whose type is not there: {error}") from error
        shown: dict[str, inspect.Parameter] = {}
        state = None
        for name, parameter in signature.parameters.items():
            if hints.get(name) in (State, State | None):
                state = name
            elif parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
                raise TypeError(
                    f"the tool {self.name!r} has the parameter {parameter}, which no JSON object can fill in"
                )
            else:
                shown[name] = parameter
        return shown, hints, state

    @cached_property
    def _model(self) -> type[BaseModel]:
        from pydantic import ConfigDict, Field, create_model

        shown, hints, _ = self._parameters
        fields: dict[str, Any] = {}
        for name, parameter in shown.items():
            default = ... if parameter.default is parameter.empty else parameter.default
            told = self._lines.get(name)
            # An alias keeps names that a pydantic model can't have, such as "schema" or "_x".
            fields[f"p_{name}"] = (hints.get(name, Any), Field(default, alias=name, description=told))
        return create_model(self.name, __config__=ConfigDict(extra="forbid", arbitrary_types_allowed=True), **fields)

    def check(self, asked: ToolCall) -> dict[str, Any]:
        """The arguments of a call as Python values. Raises `InputError` where they do not fit."""
        from pydantic import ValidationError

        if asked.unreadable is not None:
            raise InputError("the arguments are not a JSON object")
        try:
            made = self._model.model_validate(copied(asked.args))
        except ValidationError as error:
            wrong = "; ".join(
                f"{'.'.join(str(part) for part in problem['loc']) or 'arguments'}: {problem['msg']}"
                for problem in error.errors(include_url=False)
            )
            raise InputError(wrong) from None
        return {name: getattr(made, f"p_{name}") for name in self._parameters[0]}

    async def run(self, state: State, args: dict[str, Any]) -> Json:
        """Runs it; a sync function on a thread of its own. The content of the result: text, or a list of blocks."""
        hidden = self._parameters[2]
        if hidden is not None:
            args = {**args, hidden: state}
        return content_of(await call(self.function, **args))


def content_of(value: Any) -> Json:
    """What a tool returned, as the content of a result: words stay words, pictures are kept, the rest becomes JSON."""
    if value is None or value == "":
        return NO_OUTPUT
    if isinstance(value, str):
        return value
    if isinstance(value, Image | Text):
        return [value.to_json()]
    if isinstance(value, list | tuple) and any(isinstance(part, Image | Text) for part in value):
        return [(part if isinstance(part, Image | Text) else Text(_words(part))).to_json() for part in value]
    return _words(value)


def _words(value: Any) -> str:
    if isinstance(value, str):
        return value
    try:
        return json.dumps(
            plain(value),
            ensure_ascii=False,
            default=lambda part: made if (made := plain(part)) is not part else str(part),
        )
    except (TypeError, ValueError, RecursionError):  # in itself, keys that are no words, …
        with contextlib.suppress(Exception):
            return str(value)
    return f"(a {type(value).__name__} that can't be shown)"


@overload
def tool(function: F, /) -> Tool: ...
@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    parallel: bool = True,
    read_only: bool | None = None,
    destructive: bool | None = None,
    idempotent: bool | None = None,
    open_world: bool | None = None,
) -> Callable[[F], Tool]: ...
def tool(function: Callable[..., Any] | None = None, /, **settings: Any) -> Tool | Callable[[Any], Tool]:
    """Makes a tool of a typed function, sync or async.

    Name, description and schema come from the signature and the docstring (an `Args:` section describes the
    parameters). A parameter typed `State` is hidden from the model and gets the State. Raises `TypeError` for what is
    no function or has parameters that JSON can't fill in.

    >>> @tool(read_only=True)
    ... def add(a: int, b: int) -> int:
    ...     "Adds two numbers."
    ...     return a + b
    >>> add.name, add.schema["required"], add(1, 2)
    ('add', ['a', 'b'], 3)
    """
    if function is None:
        return lambda made: _make(made, **settings)
    return _make(function)


def _make(function: Callable[..., Any], name: str | None = None, description: str | None = None, **rest: Any) -> Tool:
    if not callable(function):
        raise TypeError(f"@tool goes over a function, not {function!r}")
    doc = inspect.getdoc(function) or ""
    own_name = str(name or _name_of(function))
    head, lines = _read_docstring(doc)
    made = Tool(function, own_name, description if description is not None else head, **rest, _lines=lines)
    if not re.fullmatch(r"[a-zA-Z0-9_-]{1,128}", made.name):
        raise ValueError(f"a tool's name has letters, digits, '_' and '-', at most 128: not {made.name!r}")
    made.check_parameters(later=True)
    return made


def _written(function: Callable[..., Any]) -> Callable[..., Any]:
    """Where the types of a callable stand: in a partial's function, in the class of an object."""
    while isinstance(function, functools.partial):
        function = function.func
    return function if inspect.isroutine(function) or inspect.isclass(function) else type(function).__call__


def _types_of(function: Callable[..., Any]) -> dict[str, Any]:
    """The types of its parameters; what it returns may be a class that is not there (of a function's own, say)."""
    try:
        return typing.get_type_hints(function, include_extras=True)
    except NameError:
        written = {name: kind for name, kind in function.__annotations__.items() if name != "return"}
        names = getattr(inspect.unwrap(function), "__globals__", {})
        return typing.get_type_hints(SimpleNamespace(__annotations__=written), names, include_extras=True)


def _name_of(function: Callable[..., Any]) -> str:
    while isinstance(function, functools.partial):
        function = function.func
    return getattr(function, "__name__", None) or type(function).__name__


_SECTION = re.compile(r"^(Args|Arguments|Parameters):\s*$", re.MULTILINE)
_OTHER = re.compile(r"^(Returns|Raises|Yields|Examples?|Notes?):\s*$", re.MULTILINE)


def _read_docstring(doc: str) -> tuple[str, dict[str, str]]:
    """The words before the sections of a Google-style docstring, and what it says of each parameter."""
    section = _SECTION.search(doc)
    if section is None:
        other = _OTHER.search(doc)
        return (doc[: other.start()] if other else doc).strip(), {}
    lines: dict[str, str] = {}
    name = ""
    for line in doc[section.end() :].split("\n"):
        if line and not line[0].isspace():
            break
        if found := re.match(r"^\s{1,8}\*{0,2}(\w+)\s*(?:\([^)]*\))?:\s*(.*)$", line):
            name = found[1]
            lines[name] = found[2]
        elif name and line.strip():
            lines[name] += " " + line.strip()
    return doc[: section.start()].strip(), lines


def as_tool(given: Tool | Callable[..., Any]) -> Tool:
    """A tool as it is, a plain function made into one."""
    return given if isinstance(given, Tool) else _make(given)
