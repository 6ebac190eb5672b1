"""Changes one top-level value of a TOML text and leaves every other byte as it is. It knows TOML alone."""

from __future__ import annotations

import errno
import json
import os
import re
import secrets
import tomllib
from pathlib import Path
from typing import Any


def dumps(value: Any) -> str:
    """The TOML of a text, a number, a truth value, or a list of these."""
    if isinstance(value, str):
        if any("\ud800" <= char <= "\udfff" for char in value):
            raise ValueError("a lone surrogate can't be written in TOML")
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(dumps, value)) + "]"
    return repr(value)


def with_value(text: str, key: str, value: Any) -> str:
    """`text` with the top-level `key` set to `value`, or without it where `value` is `None`.

    Raises `ValueError` where `text` is no TOML, or is written so that this can't be done.

    >>> with_value('# mine\\ntheme = "dark"  # at night\\n', "theme", "light")
    '# mine\\ntheme = "light"  # at night\\n'
    """
    before = _parsed(text)
    lines = _lines(text)
    newline = "\r\n" if "\r\n" in text else "\n"
    if before is None:
        raise ValueError("this is not TOML, so it is not changed")
    span = _span(lines, key)
    if span is None:
        if value is None:
            return text
        edited = _added(lines, f"{key} = {dumps(value)}{newline}", newline)
    elif value is None:
        edited = "".join(lines[: span[0]] + lines[span[1] :])
    else:
        first, last = lines[span[0]], lines[span[1] - 1]
        indent = first[: len(first) - len(first.lstrip())]
        comment = _comment(lines[span[0] : span[1]], key, before[key])
        ending = last[len(last.rstrip("\r\n")) :]
        edited = "".join(
            [*lines[: span[0]], f"{indent}{key} = {dumps(value)}{comment}{ending}", *lines[span[1] :]],
        )
    wanted = {**before, key: list(value) if isinstance(value, tuple) else value}
    if value is None:
        del wanted[key]
    if _parsed(edited) != wanted:
        raise ValueError(f"{key} is written in a way that can't be changed here; please edit the file")
    return edited


def line_of(text: str, key: str) -> int:
    """The number of the line on which a top-level key is set; 1 where that can't be told."""
    lines = _lines(text)
    start = next((n for n in range(len(lines)) if _begins(lines, n, key)), None)
    if start is None:  # a table, or a dotted key
        named = re.compile(rf"\s*\[*\s*[\"']?{re.escape(key)}[\"']?\s*[\].=]")
        start = next((n for n, line in enumerate(lines) if named.match(line)), 0)
    return start + 1


def replace_file(path: Path, text: str) -> None:
    """Puts `text` in the place of a file in one go; behind a link, of the file that it names."""
    path = Path(os.path.realpath(path))
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "this is no ordinary file, so it is not written", str(path))
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    mode = path.stat().st_mode & 0o777 if path.exists() else 0o600
    fresh = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
            file.write(text.encode())
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(path)
    finally:
        fresh.unlink(missing_ok=True)


def _lines(text: str) -> list[str]:
    return re.findall(r"[^\n]*\n|[^\n]+", text)  # TOML's lines end with \n alone, those of str.splitlines elsewhere too


def _parsed(text: str) -> dict[str, Any] | None:
    try:
        return tomllib.loads(text.removeprefix("\ufeff"))
    except (ValueError, RecursionError):  # also of a number or a list that is too large
        return None


def _begins(lines: list[str], n: int, key: str) -> bool:
    """Whether line `n` sets the key: it looks so, and is not inside a text of several lines or a table."""
    looks = re.match(rf"\ufeff?\s*[\"']?{re.escape(key)}[\"']?\s*=", lines[n])
    if not looks:
        return False
    above = _parsed("".join(lines[:n]))
    return above is not None and not any(
        re.match(r"\s*\[", line) and _heads(lines, i) for i, line in enumerate(lines[:n])
    )


def _heads(lines: list[str], n: int) -> bool:
    """Whether line `n`, which begins with a bracket, is the head of a table."""
    return _parsed("".join(lines[:n])) is not None


def _span(lines: list[str], key: str) -> tuple[int, int] | None:
    """The lines that the key's value takes: the first, and the one behind the last."""
    for start in range(len(lines)):
        if _begins(lines, start, key):
            ends = (end for end in range(start + 1, len(lines) + 1) if key in (_parsed("".join(lines[:end])) or ()))
            end = next(ends, None)
            return None if end is None else (start, end)
    return None


def _comment(lines: list[str], key: str, value: Any) -> str:
    """The comment behind the value on its last line, with the blanks before it."""
    *above, last = lines
    last = last.rstrip("\r\n")
    for at in (at for at, char in enumerate(last) if char == "#"):
        if _parsed("".join(above) + last[:at]) == {key: value}:
            return last[len(last[:at].rstrip()) :]
    return ""


def _added(lines: list[str], line: str, newline: str) -> str:
    """The text with one line more, at the end of what stands above the first table."""
    head = next((n for n, text in enumerate(lines) if re.match(r"\s*\[", text) and _heads(lines, n)), len(lines))
    if head and not lines[head - 1].endswith("\n"):
        line = newline + line
    return "".join([*lines[:head], line, *lines[head:]])


__all__ = ["dumps", "line_of", "replace_file", "with_value"]
