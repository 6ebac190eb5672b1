"""Code to coloured runs. Works by chunks: the highlighter's state at the end of one is the start of the next."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from threading import Thread
from typing import Any, NamedTuple

from fireside_tui.transcript.runs import Names, Run

_NAMES = {
    "Comment": "comment", "Keyword": "keyword", "String": "string", "Number": "number", "Function": "name",
    "Class": "name", "Decorator": "name", "Tag": "keyword", "Attribute": "name", "Builtin": "keyword",
    "Operator": "operator", "Heading": "name", "Inserted": "inserted", "Deleted": "deleted", "Error": "code",
}  # fmt: skip
_LANGUAGE = re.compile(r"[A-Za-z0-9+#._-]{1,32}")


class State(NamedTuple):
    """Where a highlighter stands between two chunks."""

    stack: tuple[str, ...] = ("root",)
    comment: bool = False
    """Inside `/* … */`: many lexers match such a comment as a whole and do not know it when it is cut."""


ROOT = State()


def language_of(head: str) -> str:
    """The language that a fence's first line names, or ""."""
    words = head.split("\n", 1)[0].strip().lstrip("`~").split()
    match = _LANGUAGE.match(words[0].strip("{}.")) if words else None
    return match[0] if match else ""


def ready(language: str) -> bool:
    """Whether `highlight` can begin at once. Else the next `load` has a thread make the lexer: the first of a language
    takes up to 0.1 s, to compile its expressions."""
    if not language or language in _lexers:
        return True
    _wanted.add(language)
    return False


def load() -> None:
    """Begins to make the lexers that are wanted. To be called between frames: it slows down what goes on beside it."""
    for language in _wanted - _making:
        _making.add(language)
        Thread(target=_lexer, args=(language,), daemon=True, name=f"lexer for {language}").start()


def loading() -> bool:
    """Whether a lexer is being made."""
    return bool(_making)


# None of them goes: a text with more languages than are kept would make lexers for ever, and what is large about a lexer,
# its compiled expressions, pygments keeps by itself.
_lexers: dict[str, Any] = {}
_wanted: set[str] = set()
_making: set[str] = set()  # those of the wanted ones that a thread is at


def _lexer(language: str) -> Any:
    if language not in _lexers:
        try:
            from pygments.lexers import get_lexer_by_name  # type: ignore[import-untyped]

            lexer = get_lexer_by_name(language, stripnl=False, ensurenl=False)
        except Exception:  # there is none; or it is foreign code that fails, or is not there
            lexer = None
        _lexers[language] = lexer
        _wanted.discard(language)
        _making.discard(language)
    return _lexers.get(language)


@lru_cache(512)
def _names(token: Any) -> Names:
    for part in reversed(token):
        if part in _NAMES:
            return ("code", _NAMES[part])
    return ("code",)


def highlight(code: str, language: str, state: State = ROOT) -> tuple[list[Run], State]:
    """Runs of `code` and the state after it. Their text is `code`, whatever a lexer makes of it."""
    lexer = _lexer(language) if language else None
    if lexer is None or not code:
        return [Run(code, ("code",))], state
    runs: list[Run] = []
    rest = code
    if state.comment:
        end = code.find("*/")
        if end < 0:
            return [Run(code, ("code", "comment"))], state
        runs.append(Run(code[: end + 2], ("code", "comment")))
        rest = code[end + 2 :]
    try:
        tokens, stack = _tokens(lexer, rest, state.stack)
    except Exception:  # a lexer is foreign code that reads foreign text
        return [Run(code, ("code",))], ROOT
    last: Any = None
    value = ""
    for last, value in tokens:
        names = _names(last)
        if runs and runs[-1].names == names:
            runs[-1] = Run(runs[-1].text + value, names)
        else:
            runs.append(Run(value, names))
    if "".join([run.text for run in runs]) != code:
        return [Run(code, ("code",))], ROOT
    tail = runs[-1] if runs else Run("")
    opened = "comment" in tail.names and tail.text.lstrip().startswith("/*") and "*/" not in tail.text
    return runs, State(stack, opened)


def _tokens(lexer: Any, text: str, stack: tuple[str, ...]) -> tuple[list[tuple[Any, str]], tuple[str, ...]]:
    from pygments.lexer import RegexLexer  # type: ignore[import-untyped]

    if not isinstance(lexer, RegexLexer) or type(lexer).get_tokens_unprocessed is not RegexLexer.get_tokens_unprocessed:
        return [(token, value) for _, token, value in lexer.get_tokens_unprocessed(text)], ("root",)
    states = list(stack)
    return list(_walk(lexer, text, states)), tuple(states[:64])


def _walk(lexer: Any, text: str, stack: list[str]) -> Iterator[tuple[Any, str]]:
    """pygments' `RegexLexer.get_tokens_unprocessed`, leaving the stack of states to the caller (it keeps its own)."""
    from pygments.token import Error, Whitespace, _TokenType  # type: ignore[import-untyped]

    table = lexer._tokens
    if any(name not in table for name in stack):
        stack[:] = ["root"]
    pos, size, idle = 0, len(text), 0
    while pos < size:
        idle += 1
        if idle > 1000:
            raise RuntimeError("the lexer turns in place")
        for match_at, action, new in table[stack[-1]]:
            match = match_at(text, pos)
            if match is None:
                continue
            if action is not None:
                if type(action) is _TokenType:
                    yield action, match.group()
                else:
                    for _, token, value in action(lexer, match):
                        yield token, value
            if match.end() > pos:
                idle = 0
            pos = match.end()
            if new is not None:
                _step(stack, new)
            break
        else:
            if text[pos] == "\n":
                stack[:] = ["root"]
                yield Whitespace, "\n"
            else:
                yield Error, text[pos]
            pos += 1


def _step(stack: list[str], new: Any) -> None:
    if isinstance(new, tuple):
        for name in new:
            if name == "#pop":
                if len(stack) > 1:
                    stack.pop()
            elif name == "#push":
                stack.append(stack[-1])
            else:
                stack.append(name)
    elif isinstance(new, int):  # pop so many, but never the last
        if -new >= len(stack):
            del stack[1:]
        else:
            del stack[new:]
    else:  # "#push"
        stack.append(stack[-1])
