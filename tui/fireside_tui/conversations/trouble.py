"""`Trouble`: what went wrong, in words a person can act on."""

from __future__ import annotations

import errno
import os
import platform
from typing import TYPE_CHECKING, NamedTuple

from fireside_tui.no_key import WHAT_TO_DO, what_happened

if TYPE_CHECKING:
    from fireside import Holder


class Trouble(NamedTuple):
    """`text` says what happened, `hint` what one can do about it."""

    text: str
    hint: str = ""
    elsewhere: bool = False
    """Whether it is over once no other process has the conversation."""
    of_model: bool = False
    """Whether it is over once another model or server is chosen."""

    @property
    def line(self) -> str:
        """Both, in one line."""
        return f"{self.text} {self.hint}".rstrip()


DATABASES = ("sqlite3", "psycopg")
"""Whose errors are told as they are: a server that can't be reached is nothing unexpected."""

RETRY = "Ctrl+R asks again."


def elsewhere(holder: Holder | None) -> str:
    """Where another run of a conversation is."""
    if holder is None or not holder.pid:
        return "Another process is answering it."
    return f"Process {holder.pid} on {holder.host} is answering it, since {holder.since.astimezone():%H:%M}."


def answered_by(holder: Holder) -> str:
    """The same in a few words."""
    if not holder.pid:
        return "another process answers it"
    return f"process {holder.pid}{'' if holder.host == platform.node() else f' on {holder.host}'} answers it"


def explain(error: BaseException) -> Trouble:
    """An exception in words."""
    from fireside import (
        AuthError,
        ConflictError,
        ContextTooLongError,
        MCPError,
        OverloadedError,
        ProviderError,
        RateLimitError,
        StateInUseError,
    )

    text = _sentence(str(error) or type(error).__name__)
    match error:
        case AuthError():
            happened = what_happened(str(error))  # without advice to set a key, another key does not help
            hint = _sentence(WHAT_TO_DO) if happened != str(error) else RETRY
            return Trouble(_sentence(happened), hint, of_model=True)
        case RateLimitError():
            return Trouble(text, f"Wait a little. {RETRY}", of_model=True)
        case OverloadedError():
            return Trouble(text, RETRY, of_model=True)
        case ContextTooLongError():
            hint = "/compact replaces the conversation by a summary; /edit changes your last message."
            return Trouble(text, hint, of_model=True)
        case ProviderError():
            hint = RETRY if error.retryable else f"Change the message (/edit) or the model (/model), or {RETRY}"
            return Trouble(text, hint, of_model=True)
        case MCPError():
            return Trouble(" ".join(text.split()), f"/tools off goes on without it, or {RETRY}")
        case StateInUseError():
            return Trouble(
                elsewhere(error.holder), "Here it is read-only until then; /fork makes a copy of your own.", True
            )
        case ConflictError():
            return Trouble("Another window changed this conversation in the meantime.", "/fork keeps what is here.")
        case LookupError():
            return Trouble("This conversation was deleted in another window.", "/fork keeps what is here as a new one.")
        case OSError():
            return _of_system(error)
        case SystemExit():
            return Trouble("A tool tried to end the program.", RETRY)
    if type(error).__module__.partition(".")[0] in DATABASES:
        return Trouble(_sentence(str(error)))
    name = type(error).__name__
    return Trouble(text if isinstance(error, ValueError | TypeError) else f"{name}: {text}")


def _of_system(error: OSError) -> Trouble:
    what = error.strerror or str(error)
    where = f" ({error.filename})" if error.filename else ""
    match error.errno:
        case errno.ENOSPC | errno.EDQUOT:
            return Trouble(f"The disk is full{where}.", "Make room, then press Enter again.")
        case errno.EACCES | errno.EPERM | errno.EROFS if what != os.strerror(error.errno):  # the store has told it all
            return Trouble(_sentence(what), "fireside --store PLACE uses another one.")
        case errno.EACCES | errno.EPERM | errno.EROFS:
            return Trouble(
                f"The folder of the conversations can't be written{where}: {what}.",
                "Mend its rights, or start with --store and another place.",
            )
    return Trouble(f"{what}{where}.")


def file_trouble(error: OSError) -> str:
    """What is wrong with a file that a person named."""
    return f"{error.filename or 'The file'}: {_sentence(error.strerror or str(error))}"


def _sentence(text: str) -> str:
    text = text.strip()
    first = text.split(" ")[0].rstrip(".")
    text = text[:1].upper() + text[1:] if text[:1].islower() and not {*first} & {*"_."} else text
    return text if text.endswith((".", "!", "?", "…")) else f"{text}."
