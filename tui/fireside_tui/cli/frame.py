"""What every command stands in: its exit code, one clear line for whatever goes wrong, no traceback."""

from __future__ import annotations

import gc
import os
import sys
import warnings
from collections.abc import Sequence
from typing import Any, NoReturn, TextIO

OK, FAILED, USAGE, NO_CREDENTIALS, PROVIDER, IN_USE = range(6)
INTERRUPTED, BROKEN_PIPE = 130, 141
"""The exit codes. A signal's is 128 and its number, as a shell tells it."""

EXIT_CODES = """\
Exit codes: 0 done, 1 failed, 2 wrong use or settings, 3 no credentials or
refused ones, 4 the model's provider failed, 5 the conversation is in use
elsewhere, 130 Ctrl+C, 129, 143 and the like: 128 and the signal's number."""

COMPLETE = "_FIRESIDE_COMPLETE"
"""Set by the shell when it asks for completions; `_FIRESIDE_COMPLETE=bash_source fireside` prints how to switch that on."""


def main(args: Sequence[str] | None = None) -> NoReturn:
    """Runs the command line and exits. `args` are those behind the command's name."""
    gc.disable()  # what the start loads stays: to look through it again and again takes a fifth of the start
    _mend_streams()
    warnings.showwarning = _show_warning  # type: ignore[assignment]
    try:
        code = run(sys.argv[1:] if args is None else args)
    except KeyboardInterrupt:  # so early that what would tell it is not loaded
        code = tell("interrupted", INTERRUPTED)
    try:
        sys.stdout.flush()
    except (OSError, ValueError) as error:
        code = BROKEN_PIPE if isinstance(error, BrokenPipeError) else code or tell_error(error)
        _give_up(sys.stdout)
    sys.exit(code)


def run(args: Sequence[str]) -> int:
    """Runs the command line; the exit code."""
    try:
        return _parsed(args) if COMPLETE in os.environ else _app(args)
    except KeyboardInterrupt:
        return tell("interrupted", INTERRUPTED)
    except BrokenPipeError:
        _give_up(sys.stdout)
        return BROKEN_PIPE
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else FAILED
    except Exception as error:
        return tell_error(error)


def _app(args: Sequence[str]) -> int:
    """Opens the app at once where it is plain what is meant: the parser takes 30 ms to load."""
    match args:
        case []:
            to_open: dict[str, Any] = {}
        case ["-c" | "--continue"]:
            to_open = {"newest": True}
        case ["-r" | "--resume", start] if not start.startswith("-"):
            to_open = {"resume": start}
        case _:
            return _parsed(args)
    from fireside_tui.cli.given import Given
    from fireside_tui.cli.screen import open_app

    return open_app(Given(), **to_open)


def _parsed(args: Sequence[str]) -> int:
    import click

    from fireside_tui.cli.root import fireside

    try:
        if asked := os.environ.get(COMPLETE):
            from click.shell_completion import shell_complete

            return shell_complete(fireside, {}, "fireside", COMPLETE, asked)
        # not fireside.main: it would make an exit code 1 of a broken pipe
        with fireside.make_context("fireside", list(args)) as ctx:
            code = fireside.invoke(ctx)
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.UsageError as error:
        command = error.ctx.command_path if error.ctx else "fireside"
        return tell(f"{_sentence(error.format_message())} (see '{command} --help')", USAGE)
    except click.ClickException as error:
        return tell(_sentence(error.format_message()), error.exit_code)
    except click.Abort:
        return tell("interrupted", INTERRUPTED)
    return code if isinstance(code, int) else OK


def tell_error(error: Exception) -> int:
    """Says on stderr what went wrong; the exit code that tells it."""
    from fireside.errors import AuthError, ConflictError, FiresideError, ProviderError, StateInUseError

    from fireside_tui.config import ConfigError
    from fireside_tui.conversations.trouble import DATABASES

    if os.environ.get("FIRESIDE_DEBUG"):
        import traceback

        traceback.print_exception(error)
    message = words(error)
    match error:
        case ConfigError():
            return tell(message, USAGE)
        case AuthError():
            return tell(message, NO_CREDENTIALS)
        case ProviderError():
            return tell(message, PROVIDER)
        case StateInUseError() | ConflictError():
            return tell(message, IN_USE)
        case FiresideError() | OSError() | LookupError() | ValueError():
            return tell(message, FAILED)
    if type(error).__module__.partition(".")[0] in DATABASES:
        return tell(message, FAILED)
    return tell(f"{type(error).__name__}: {message} (FIRESIDE_DEBUG=1 shows where)", FAILED)


def words(error: BaseException) -> str:
    """What an exception says to a person, with its notes."""
    from fireside.errors import StateInUseError

    from fireside_tui.no_key import for_a_person

    if isinstance(error, OSError) and error.strerror:
        where = "" if error.filename is None else f"{os.fsdecode(error.filename)}: "
        text = f"{where}{error.strerror}"
    elif isinstance(error, StateInUseError):
        from fireside_tui.conversations.trouble import elsewhere

        where = elsewhere(error.holder).rstrip(".")
        text = f"the conversation is in use: {where[:1].lower()}{where[1:]}; wait until it is done"
    elif isinstance(error, KeyError):
        text = f"{error.args[0]!r} is missing" if error.args else "something is missing"
    else:
        text = for_a_person(str(error)) or type(error).__name__
    return "; ".join([text, *getattr(error, "__notes__", ())])


def tell(message: str, code: int = OK, *, what: str = "fireside") -> int:
    """Writes one harmless line on stderr; gives the code back."""
    from fireside_tui.safe_text import safe_line

    if sys.stderr is not None:
        try:
            print(f"{what}: {safe_line(message)}", file=sys.stderr, flush=True)
        except (OSError, ValueError):
            _give_up(sys.stderr)  # nobody is listening
    return code


def _sentence(message: str) -> str:
    message = " ".join(message.split())
    return message[:1].lower() + message[1:].rstrip(".") if message[1:2].islower() else message.rstrip(".")


def _show_warning(message: Warning | str, *_: object) -> None:
    tell(str(message), what="fireside: note")


def _mend_streams() -> None:
    """A closed stream becomes an empty one; what the terminal's encoding lacks becomes a question mark."""
    if sys.stdin is None:
        sys.stdin = open(os.devnull)  # noqa: SIM115  it lives as long as the process
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")


def _give_up(stream: TextIO) -> None:
    """Python flushes its streams once more when it ends; what can't be written would be complained of, or be the exit code."""
    devnull = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(devnull, stream.fileno())
    except (OSError, ValueError):
        pass
    finally:
        os.close(devnull)
