"""`Request`: what is asked of a model, and `build`, which makes it valid. It knows the messages and the fold's items.

This is the one place where what an API refuses is mended, on the way out: what is stored stays as it was. The same
conversation always gives the same request, and a longer one begins with what the shorter one was, so that caches hit and
thinking stays valid.
"""

from __future__ import annotations

import binascii
import json
import re
from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from operator import is_not
from typing import Any

from fireside.history import HistoryEntry
from fireside.items import UNKNOWN_RESULT, Item, message_of
from fireside.messages import Block, Image, Json, Message, Text, Thinking, ToolCall, ToolResult

GO_ON = "(go on)"
"""What the user says where the model is to speak again and nobody has said anything since its last words."""
MISSING_START = "(the beginning of this conversation is missing)"
"""The first message, where a conversation would begin with the model's words."""
NO_OUTPUT = "(no output)"
"""The result of a tool that said nothing."""

_NOT_IN_NAMES = re.compile(r"[^a-zA-Z0-9_-]", re.ASCII)
_NAME_LENGTH = 128
_NOT_AT_THE_TOP = ("allOf", "anyOf", "oneOf")
# What a picture of each accepted kind begins with; the API compares it with the media type.
_PICTURES = {
    "image/png": b"\x89PNG\r\n\x1a\n",
    "image/jpeg": b"\xff\xd8\xff",
    "image/gif": b"GIF8",
    "image/webp": b"RIFF",
}


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """What a model is told of a tool: `schema` is the JSON Schema of its arguments."""

    name: str
    description: str
    schema: dict[str, Json]


@dataclass(frozen=True, slots=True)
class Request:
    """One question to a model: messages that no API refuses, ending with the user's.

    `prefix` is a hash of what the reply will answer (system prompt and messages); `effort` and `thinking` are the
    provider's own words, `None` for its default.
    """

    messages: tuple[Message, ...]
    system: str | None = None
    tools: tuple[ToolSpec, ...] = ()
    max_tokens: int | None = None
    effort: str | None = None
    thinking: str | None = None
    prefix: str = ""


def build(
    messages: Iterable[tuple[Message, HistoryEntry | None]],
    *,
    system: str | None = None,
    tools: Sequence[ToolSpec] = (),
    max_tokens: int | None = None,
    effort: str | None = None,
    thinking: str | None = None,
    model: str | None = None,
) -> Request:
    """The request for a context: `messages` are those of the fold, each with the `reply` entry that it is, or `None`.

    What is mended: blank text, empty messages and blocks of an unknown kind are left out; lone surrogates become
    U+FFFD; each call gets one result, at the start of the user message after it (`UNKNOWN_RESULT` where there is none),
    and each result has its call; call ids are unique; names match the API's pattern; pictures that no API takes become
    words. Thinking is left out where it has no signature, where what stands before it is no longer what it answered, or
    where another model than `model` thought it (`None`: it is not asked whose it is). User messages in a row become
    one. Between two messages of the model in a row, and after the last where the conversation ends with one, the user
    says `GO_ON`.

    >>> request = build([(Message("user", (Text("Hello"), Text(" "))), None)], system="Be brief.")
    >>> request.messages
    (Message(role='user', content=(Text(text='Hello'),)),)
    """
    builder = Builder(system, model)
    for message, entry in messages:
        builder.add(message, entry)
    return builder.request(tools=tools, max_tokens=max_tokens, effort=effort, thinking=thinking)


@lru_cache(maxsize=1024)
def tool_name(name: str) -> str:
    """The name under which a model gets to know a tool: what the API's pattern does not allow becomes `_`.

    >>> tool_name("files.read")
    'files_read'
    """
    return _NOT_IN_NAMES.sub("_", name)[:_NAME_LENGTH] or "_"


def sendable_tools(tools: Sequence[ToolSpec]) -> tuple[ToolSpec, ...]:
    """The tools with names that match the API's pattern, each there once (the first wins), and schemas of objects.

    The API refuses `anyOf` and the like at the top of a schema, which servers say "one of these" with: a description may
    say anything.
    """
    out: dict[str, ToolSpec] = {}
    for tool in tools:
        name, description = tool_name(tool.name), tool.description
        schema = tool.schema if tool.schema.get("type") == "object" else {**tool.schema, "type": "object"}
        if refused := {key: schema[key] for key in _NOT_AT_THE_TOP if key in schema}:
            schema = {key: value for key, value in schema.items() if key not in refused}
            told = _sound_json(refused)[1].decode()
            description = f"{description}\n\nThe arguments also fit this JSON Schema: {told}".lstrip()
        out.setdefault(name, ToolSpec(name, _sound(description), _sound_json(schema)[0]))
    return tuple(out.values())


class Requests:
    """The requests of one conversation: each takes up where the last one ended, so that a step costs what is new.

    What stood before may change (a compaction, another system prompt): then all is built again.
    """

    def __init__(self) -> None:
        self._items: list[Item] = []
        self._for: tuple[str | None, str | None] = (None, None)
        self._builder: Builder | None = None

    def build(
        self, items: Sequence[Item], *, system: str | None = None, model: str | None = None, **settings: Any
    ) -> Request:
        """The request for the items of a fold; `settings` are those of `build`, which gives the same."""
        known = (system, model) == self._for and len(self._items) <= len(items)
        if self._builder is None or not known or any(map(is_not, self._items, items)):
            self._items, self._for, self._builder = [], (system, model), Builder(system, model)
        for item in items[len(self._items) :]:
            self._items.append(item)
            if (message := message_of(item)) is not None:
                self._builder.add(message, item if isinstance(item, HistoryEntry) else None)
        return self._builder.request(**settings)


class Builder:
    """Takes the messages of a conversation in order, and gives the request for those that it has."""

    def __init__(self, system: str | None = None, model: str | None = None) -> None:
        import hashlib  # it takes 5 ms to load: a conversation that is only shown needs none

        self._model = model
        self._system = _sound(system) if system and not system.isspace() else None
        self._turns: list[Message] = []  # the finished ones, as they are sent
        self._prefix = hashlib.blake2b(digest_size=16)  # over the system prompt and the finished turns
        self._prefix.update(_framed(b"system", (self._system or "").encode()))
        self._said: list[Block] = []  # in the user turn that is being put together
        self._calls: list[ToolCall] = []  # of the model's last turn
        self._ids: defaultdict[str, deque[str]] = defaultdict(deque)  # stored id → ids sent, without a result yet
        self._results: dict[str, ToolResult] = {}  # by the id sent
        self._used: dict[str, int] = {}

    def add(self, message: Message, entry: HistoryEntry | None = None) -> None:
        """Takes the next message; `entry` is the reply that it is, if it is one."""
        if message.role == "user":
            self._add_user(message)
        else:
            self._add_assistant(message, entry)

    def request(
        self,
        *,
        tools: Sequence[ToolSpec] = (),
        max_tokens: int | None = None,
        effort: str | None = None,
        thinking: str | None = None,
    ) -> Request:
        """The request for the messages so far. Others may be added after it."""
        last = self._user_turn()
        prefix = self._prefix.copy()
        prefix.update(_hashed(last))
        return Request(
            (*self._turns, last), self._system, sendable_tools(tools), max_tokens, effort, thinking, prefix.hexdigest()
        )

    # -- the user's turn

    def _add_user(self, message: Message) -> None:
        for block in message.content:
            if isinstance(block, Text):
                if text := _text(block):
                    self._said.append(text)
            elif isinstance(block, Image):
                self._said.append(_picture(block))
            elif isinstance(block, ToolResult):
                self._add_result(block)

    def _add_result(self, result: ToolResult) -> None:
        waiting = self._ids.get(result.call_id)
        if not waiting:
            return
        parts: list[Text | Image] = []
        for block in result.content:
            part = _picture(block) if isinstance(block, Image) else _text(block) if isinstance(block, Text) else None
            if isinstance(part, Image) and result.is_error:
                self._said.append(part)  # an error result takes words alone
            elif part is not None:
                parts.append(part)
        call_id = waiting.popleft()
        self._results[call_id] = ToolResult(call_id, tuple(parts) or (Text(NO_OUTPUT),), bool(result.is_error))

    def _user_turn(self) -> Message:
        """The turn as it stands: the results in the order of the calls, then what was said."""
        blocks = [
            self._results.get(call.id) or ToolResult(call.id, (Text(UNKNOWN_RESULT),), True) for call in self._calls
        ]
        said = self._said if blocks or self._said else [Text(GO_ON if self._turns else MISSING_START)]
        return Message("user", (*blocks, *said))

    # -- the model's turn

    def _add_assistant(self, message: Message, entry: HistoryEntry | None) -> None:
        blocks = [block for block in message.content if _can_be_said(block)]
        if all(isinstance(block, Thinking) for block in blocks):
            return  # also where there are none
        self._finish(self._user_turn())
        self._said, self._calls, self._results = [], [], {}
        self._ids.clear()
        if not self._is_unchanged(blocks, entry):
            blocks = [block for block in blocks if not isinstance(block, Thinking)]
        while isinstance(blocks[-1], Thinking):  # the API: the final block in an assistant message cannot be thinking
            blocks.pop()
        sent = [self._call(block) if isinstance(block, ToolCall) else _mended_text(block) for block in blocks]
        if isinstance(last := sent[-1], Text) and last.text[-1].isspace():
            sent[-1] = Text(last.text.rstrip())
        self._finish(Message("assistant", tuple(sent)))

    def _is_unchanged(self, blocks: list[Block], entry: HistoryEntry | None) -> bool:
        """Whether the thinking is sealed and the model's own, and what it followed still stands, to the letter."""
        thoughts = [block for block in blocks if isinstance(block, Thinking)]
        if not thoughts:
            return True
        if entry is None or not all(map(_is_sealed, thoughts)):
            return False
        if self._model is not None and entry.content.get("model") != self._model:
            return False  # the API: thinking is bound to its model, too
        return bool(entry.content.get("prefix") == self._prefix.copy().hexdigest())

    def _call(self, call: ToolCall) -> ToolCall:
        call_id = self._unused(tool_name(call.id))
        self._ids[call.id].append(call_id)
        name = tool_name(call.name)
        args = _sound_json(call.args)[0] if isinstance(call.args, dict) else {}
        if call_id != call.id or name != call.name or args is not call.args:
            call = replace(call, id=call_id, name=name, args=args)
        self._calls.append(call)
        return call

    def _unused(self, call_id: str) -> str:
        if call_id not in self._used:
            self._used[call_id] = 1
            return call_id
        while True:
            self._used[call_id] += 1
            suffix = f"_{self._used[call_id]}"
            other = call_id[: _NAME_LENGTH - len(suffix)] + suffix
            if other not in self._used:
                self._used[other] = 1
                return other

    def _finish(self, turn: Message) -> None:
        self._turns.append(turn)
        self._prefix.update(_hashed(turn))


# -- the hash


def _framed(kind: bytes, data: bytes) -> bytes:
    return b"%b %d %b" % (kind, len(data), data)


def _hashed(turn: Message) -> bytes:
    blocks = b"".join(map(_hashed_block, turn.content))
    return _framed(turn.role.encode(), blocks)


def _hashed_block(block: Block) -> bytes:
    match block:
        case Text():
            return _framed(b"text", block.text.encode())
        case ToolCall():
            return _framed(b"call", f"{block.id} {block.name} ".encode() + _sound_json(block.args)[1])
        case ToolResult():
            inner = b"".join(map(_hashed_block, block.content))
            return _framed(b"result", f"{block.call_id} {block.is_error:d} ".encode() + inner)
        case Image():
            return _framed(b"image", f"{block.media_type} {block.data}".encode())
        case Thinking():
            return _framed(b"thinking", f"{block.signature} {block.redacted} {block.text}".encode())
    return b""


# -- one block


def _can_be_said(block: Block) -> bool:
    return isinstance(block, ToolCall | Thinking) or (isinstance(block, Text) and not _is_blank(block.text))


def _is_blank(text: str) -> bool:
    return not text or text.isspace()


def _is_sealed(block: Thinking) -> bool:
    """Whether thinking may go back to the provider: with its signature, byte for byte."""
    seal = block.signature if block.redacted is None else block.redacted
    return bool(seal) and _sound(seal or "") is seal and _sound(block.text) is block.text


def _text(block: Text) -> Text | None:
    text = block.text
    if _is_blank(text):
        return None
    sound = _sound(text)
    return block if sound is text else Text(sound)


def _mended_text(block: Block) -> Block:
    return _text(block) or block if isinstance(block, Text) else block


def _sound(text: str) -> str:
    """The text without halves of characters: two that belong together are joined, a lone one becomes U+FFFD."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def sound(value: Json) -> Json:
    """The value itself where every server can read its JSON, else a copy without lone surrogates, NaN and infinity."""
    return _sound_json(value)[0]


_dumps = json.JSONEncoder(ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":")).encode


def _sound_json(value: Json) -> tuple[Any, bytes]:
    """The value itself where it is sound JSON, else a mended copy; and its bytes, with sorted keys."""
    try:
        return value, _dumps(value).encode()
    except (TypeError, ValueError):
        value = _mended(value)
        return value, _dumps(value).encode()


def _mended(value: Json) -> Json:
    match value:
        case str():
            return _sound(value)
        case dict():
            return {_sound(str(key)): _mended(item) for key, item in value.items()}
        case list() | tuple():
            return [_mended(item) for item in value]
        case None | bool() | int():
            return value
        case float():
            return value if value - value == 0 else str(value)  # JSON has no NaN and no infinity
    return _sound(str(value))


def _picture(image: Image) -> Image | Text:
    """The picture with the media type that it really has, or words in its place."""
    begin = _PICTURES.get(image.media_type)
    try:
        data = binascii.a2b_base64(image.data, strict_mode=True)
    except ValueError:
        return Text("(a picture that could not be read was here)")
    if begin is not None and data.startswith(begin):
        return image
    for media_type, begin in _PICTURES.items():
        if data.startswith(begin):
            return Image(image.data, media_type)
    return Text(f"(a picture was here, of a kind that can't be sent: {_sound(image.media_type)[:40]})")
