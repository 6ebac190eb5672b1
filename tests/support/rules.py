"""What the Messages API refuses, worded as it words it. Knows a request's JSON alone: no HTTP, no script."""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Iterator
from typing import Any

from .catalogue import MODELS
from .signatures import as_blocks, is_sealed, is_signed, merge

Json = dict[str, Any]
TOOL_NAME = "^[a-zA-Z0-9_-]{1,128}$"
CALL_ID = "^[a-zA-Z0-9_-]+$"
MAX_CACHE_MARKS = 4
# what an image of each kind begins with
IMAGE_STARTS = {
    "image/jpeg": b"\xff\xd8\xff",
    "image/png": b"\x89PNG\r\n\x1a\n",
    "image/gif": b"GIF8",
    "image/webp": b"RIFF",
}
PARAMETERS = {
    *("max_tokens", "messages", "model", "cache_control", "container", "diagnostics", "inference_geo", "metadata"),
    *("output_config", "service_tier", "speed", "stop_sequences", "system", "thinking", "tool_choice", "tools"),
    *("user_profile_id", "workspace_id", "stream"),
    # behind beta headers
    *("billing_policy", "compaction", "context_management", "fallback_credit_token", "fallbacks", "mcp_servers"),
    "thread",
}
# the fields of the blocks that a chat makes itself; other kinds are let through as they are
BLOCK_FIELDS = {
    "text": {"text", "cache_control", "citations"},
    "image": {"source", "cache_control", "transformations"},
    "document": {"source", "cache_control", "citations", "context", "title"},
    "thinking": {"thinking", "signature"},
    "redacted_thinking": {"data"},
    "tool_use": {"id", "name", "input", "cache_control", "caller", "toolset_name"},
    "tool_result": {"tool_use_id", "content", "is_error", "cache_control", "toolset_name"},
}
REQUIRED_FIELDS = {
    "text": ("text",),
    "image": ("source",),
    "document": ("source",),
    "thinking": ("signature", "thinking"),
    "redacted_thinking": ("data",),
    "tool_use": ("id", "input", "name"),
    "tool_result": ("tool_use_id",),
}
OTHER_BLOCKS = {"search_result", "server_tool_use", "container_upload", "compaction", "fallback"}
ASSISTANT_ONLY = {"thinking", "redacted_thinking", "tool_use"}
USER_ONLY = {"tool_result", "image", "document"}


class RefusedError(Exception):
    """A request that the API would not take."""

    def __init__(self, message: str, status: int = 400, type: str = "invalid_request_error") -> None:
        super().__init__(message)
        self.message, self.status, self.type = message, status, type


def parse(raw: bytes) -> Json:
    """The JSON of a request's body; refused if it is no JSON, no UTF-8, or holds half a character."""

    def no_constant(name: str) -> None:
        raise ValueError(f"unexpected {name}")

    try:
        body = json.loads(raw.decode("utf-8"), parse_constant=no_constant)
        json.dumps(body, ensure_ascii=False).encode("utf-8")
    except UnicodeDecodeError as error:
        raise RefusedError(f"The request body is not valid JSON: str is not valid UTF-8: {error.reason}") from None
    except UnicodeEncodeError:
        raise RefusedError("The request body is not valid JSON: no low surrogate in string") from None
    except ValueError as error:
        raise RefusedError(f"The request body is not valid JSON: {error}") from None
    if not isinstance(body, dict):
        raise RefusedError("Input should be a valid dictionary or object to extract fields from")
    return body


def check(body: Json, *, counting: bool = False) -> None:
    """Raises RefusedError for the first thing in the request that the API doesn't take."""
    try:
        _check_all(body, counting)
    except (AttributeError, KeyError, TypeError) as error:  # of a wrong type somewhere
        raise RefusedError(f"Input should be a valid request: {error!r}") from error


def _check_all(body: Json, counting: bool) -> None:
    _check_parameters(body, counting)
    _check_tools(body)
    _check_messages(body["messages"])
    _check_text(body.get("system"), "system")
    _check_cache_marks(body)
    turns = merge(body["messages"])
    _check_order(turns)
    _check_calls(turns)
    _check_thinking(body.get("system"), turns)


def _check_parameters(body: Json, counting: bool) -> None:
    for name in ("messages", "model") if counting else ("max_tokens", "messages", "model"):
        if body.get(name) is None:
            raise RefusedError(f"{name}: Field required")
    for name in body:
        if name not in PARAMETERS:
            raise RefusedError(f"{name}: Extra inputs are not permitted")
    if not isinstance(body["messages"], list) or not body["messages"]:
        raise RefusedError("messages: at least one message is required")
    _check_limits(body)


def _check_limits(body: Json) -> None:
    """What the model named in the request cannot do (a model that is not in the catalogue can do everything)."""
    limit, model_id = body.get("max_tokens"), body["model"]
    if limit is not None and (not isinstance(limit, int) or isinstance(limit, bool)):
        raise RefusedError("max_tokens: Input should be a valid integer")
    if limit is not None and limit < 1:
        raise RefusedError("max_tokens: Input should be greater than or equal to 1")
    known = next((entry for entry in MODELS if entry["id"] == model_id), None)
    if not known:
        return
    if limit is not None and limit > known["max_tokens"]:
        raise RefusedError(
            f"max_tokens: {limit} > {known['max_tokens']}, which is the maximum allowed number of output tokens for "
            f"{model_id}"
        )
    thinking = (body.get("thinking") or {}).get("type")
    types = known["capabilities"]["thinking"]["types"]
    if thinking is not None and not types.get(thinking, {}).get("supported"):
        raise RefusedError(f'thinking.type: "{thinking}" is not supported for this model')
    effort = (body.get("output_config") or {}).get("effort")
    if effort is not None and not known["capabilities"]["effort"].get(effort, {}).get("supported"):
        raise RefusedError(f'output_config.effort: "{effort}" is not supported for this model')


def _check_tools(body: Json) -> None:
    names: set[str] = set()
    for number, tool in enumerate(body.get("tools") or []):
        if tool.get("type") not in (None, "custom"):
            continue
        place = f"tools.{number}.custom"
        if not re.search(TOOL_NAME, tool.get("name", "")) or tool["name"].endswith("\n"):
            raise RefusedError(f"{place}.name: String should match pattern '{TOOL_NAME}'")
        if "input_schema" not in tool:
            raise RefusedError(f"{place}.input_schema: Field required")
        if tool["input_schema"].get("type") != "object":
            raise RefusedError(f"{place}.input_schema.type: Input should be 'object'")
        if {"oneOf", "allOf", "anyOf"} & tool["input_schema"].keys():
            raise RefusedError(
                f"{place}.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level"
            )
        if tool["name"] in names:
            raise RefusedError("tools: Tool names must be unique.")
        names.add(tool["name"])


def _check_messages(messages: list[Json]) -> None:
    for number, message in enumerate(messages):
        place = f"messages.{number}"
        if message.get("role") not in ("user", "assistant", "system"):
            raise RefusedError(f"{place}.role: Input should be 'user', 'assistant' or 'system'")
        for name in message:
            if name not in ("role", "content"):
                raise RefusedError(f"{place}.{name}: Extra inputs are not permitted")
        content = message.get("content")
        if not isinstance(content, str | list):
            raise RefusedError(f"{place}.content: Input should be a valid list")
        is_last_assistant = message["role"] == "assistant" and number == len(messages) - 1
        if not content and not is_last_assistant:
            raise RefusedError(
                f"{place}: all messages must have non-empty content except for the optional final assistant message"
            )
        _check_text(content, "messages")
        for index, block in enumerate(as_blocks(content)):
            _check_block(block, message["role"], f"{place}.content.{index}")


def _check_text(content: Any, where: str) -> None:
    if content == "":  # an empty system prompt, or an empty last assistant message
        return
    for block in as_blocks(content):
        if not isinstance(block, dict) or block.get("type") != "text" or not isinstance(block.get("text"), str):
            continue
        if not block["text"]:
            raise RefusedError(f"{where}: text content blocks must be non-empty")
        if not block["text"].strip():
            raise RefusedError(f"{where}: text content blocks must contain non-whitespace text")


def _check_block(block: Any, role: str, place: str) -> None:
    kind = block.get("type") if isinstance(block, dict) else None
    if kind is None:
        raise RefusedError(f"{place}.type: Field required")
    if kind not in BLOCK_FIELDS:
        if kind in OTHER_BLOCKS or kind.endswith("_tool_result"):
            return
        raise RefusedError(
            f"{place}: Input tag '{kind}' found using 'type' does not match any of the expected tags: "
            + ", ".join(f"'{name}'" for name in sorted(BLOCK_FIELDS))
        )
    for name in REQUIRED_FIELDS[kind]:
        if block.get(name) is None:
            raise RefusedError(f"{place}.{kind}.{name}: Field required")
    for name in block:
        if name not in BLOCK_FIELDS[kind] | {"type"}:
            raise RefusedError(f"{place}.{kind}.{name}: Extra inputs are not permitted")
    if kind in ASSISTANT_ONLY and role != "assistant":
        raise RefusedError(f"{place}: `{kind}` blocks can only be in `assistant` messages")
    if kind in USER_ONLY and role != "user":
        raise RefusedError(f"{place}: `{kind}` blocks can only be in `user` messages")
    if kind == "tool_use":
        _check_call(block, f"{place}.tool_use")
    elif kind == "image":
        _check_image(block["source"], f"{place}.image.source")
    elif kind == "tool_result":
        content = block.get("content")
        if content:
            _check_text(content, "messages")
        for index, inner in enumerate(as_blocks(content) if content else []):
            if isinstance(inner, dict) and inner.get("type") in ASSISTANT_ONLY | {"tool_result"}:
                raise RefusedError(f"{place}.tool_result.content.{index}: Input tag '{inner['type']}' is not expected")
            _check_block(inner, "user", f"{place}.tool_result.content.{index}")


def _check_call(block: Json, place: str) -> None:
    if not isinstance(block["input"], dict):
        raise RefusedError(f"{place}.input: Input should be a valid dictionary")
    if not re.fullmatch(CALL_ID, block["id"]):
        raise RefusedError(f"{place}.id: String should match pattern '{CALL_ID}'")
    if not re.fullmatch(TOOL_NAME, block["name"]):
        raise RefusedError(f"{place}.name: String should match pattern '{TOOL_NAME}'")


def _check_image(source: Json, place: str) -> None:
    if source.get("type") != "base64":
        return
    media_type = source.get("media_type")
    if media_type not in IMAGE_STARTS:
        raise RefusedError(
            f"{place}.base64.media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'"
        )
    try:
        data = base64.b64decode(source.get("data") or "", validate=True)
    except (binascii.Error, ValueError):
        raise RefusedError(f"{place}.base64: invalid base64 data") from None
    if not data:
        raise RefusedError(f"{place}.base64.data: image cannot be empty")
    if not data.startswith(IMAGE_STARTS[media_type]):
        raise RefusedError(f"{place}.base64.data: Image does not match the provided media type {media_type}")


def _check_cache_marks(body: Json) -> None:
    marks = sum(1 for block in _blocks(body) if block.get("cache_control")) + bool(body.get("cache_control"))
    if marks > MAX_CACHE_MARKS:
        raise RefusedError(f"A maximum of {MAX_CACHE_MARKS} blocks with cache_control may be provided. Found {marks}.")


def _blocks(body: Json) -> Iterator[Json]:
    """Everything that can carry a cache mark."""
    yield from body.get("tools") or []
    yield from as_blocks(body.get("system"))
    for message in body["messages"]:
        for block in as_blocks(message["content"]):
            yield block
            if block["type"] == "tool_result":
                yield from as_blocks(block.get("content"))


def _check_order(turns: list[Json]) -> None:
    if turns[0]["role"] != "user":
        raise RefusedError('messages: first message must use the "user" role')
    for number, turn in enumerate(turns):
        last = turn["content"][-1] if turn["content"] else {}
        if turn["role"] == "assistant" and last.get("type") in ("thinking", "redacted_thinking"):
            kind = last["type"]
            raise RefusedError(f"messages.{number}: The final block in an assistant message cannot be `{kind}`.")
    if turns[-1]["role"] == "assistant":
        if last.get("type") == "text" and last["text"] != last["text"].rstrip():
            raise RefusedError("messages: final assistant content cannot end with trailing whitespace")
        raise RefusedError(
            "This model does not support assistant message prefill. The conversation must end with a user message."
        )


def _check_calls(turns: list[Json]) -> None:
    seen: set[str] = set()
    open_calls: list[str] = []
    for number, turn in enumerate(turns):
        blocks = turn["content"]
        answered = _results_at_start(number, blocks, open_calls)
        missing = [call for call in open_calls if call not in answered]
        if missing:
            raise RefusedError(
                f"messages.{number}: `tool_use` ids were found without `tool_result` blocks immediately after: "
                f"{', '.join(missing)}. Each `tool_use` block must have a corresponding `tool_result` block in the "
                "next message."
            )
        open_calls = []
        for index, block in enumerate(blocks):
            if block["type"] == "tool_use":
                if block["id"] in seen:
                    raise RefusedError(f"messages.{number}.content.{index}: `tool_use` ids must be unique")
                seen.add(block["id"])
                open_calls.append(block["id"])


def _results_at_start(number: int, blocks: list[Json], open_calls: list[str]) -> set[str]:
    """The calls that the turn answers before it says anything else."""
    answered: set[str] = set()
    others_seen = False
    for index, block in enumerate(blocks):
        if block["type"] != "tool_result":
            others_seen = True
            continue
        call_id = block["tool_use_id"]
        if call_id not in open_calls:
            raise RefusedError(
                f"messages.{number}.content.{index}: unexpected `tool_use_id` found in `tool_result` blocks: "
                f"{call_id}. Each `tool_result` block must have a corresponding `tool_use` block in the previous "
                "message."
            )
        if call_id in answered:
            raise RefusedError(
                f"messages.{number}.content.{index}: each tool_use must have a single result. Found multiple "
                f"`tool_result` blocks with id: {call_id}"
            )
        if not others_seen:
            answered.add(call_id)
    return answered


def _check_thinking(system: Any, turns: list[Json]) -> None:
    for number, turn in enumerate(turns):
        for index, block in enumerate(turn["content"]):
            place = f"messages.{number}.content.{index}"
            if block["type"] == "thinking":
                if not is_signed(system, turns[:number], block["thinking"], block["signature"]):
                    raise RefusedError(f"{place}: Invalid `signature` in `thinking` block")
            elif block["type"] == "redacted_thinking" and not is_sealed(system, turns[:number], block["data"]):
                raise RefusedError(f"{place}: Invalid `data` in `redacted_thinking` block")
