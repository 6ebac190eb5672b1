"""`fireside -p`: one question, its answer on stdout, the conversation saved."""

from __future__ import annotations

import contextlib
import select
import signal
import sys
from collections.abc import Iterator
from types import FrameType
from typing import TYPE_CHECKING, Any, TextIO

import click

from fireside_tui.cli import out
from fireside_tui.cli.frame import BROKEN_PIPE, FAILED, IN_USE, INTERRUPTED, OK, tell, tell_error
from fireside_tui.cli.given import Given, agent_of, find_id, ids_in, newest_id
from fireside_tui.cli.printing import AsJson, AsText, Both, Printer

if TYPE_CHECKING:
    from fireside import Agent, State, Store

PATIENCE = 3.0
"""Seconds that a stdin which says nothing is waited for without a word."""


def ask(given: Given, question: str, *, resume: str | None, newest: bool, agent_file: str | None, as_json: bool) -> int:
    """Asks, in a new conversation or a saved one; the exit code."""
    from fireside import State

    text = _joined(question, _piped(needed=not (question or newest or resume)))
    agent = agent_of(given, agent_file)
    store = agent.store or given.store
    if newest or resume is not None:
        state = store.load(newest_id(store) if resume is None else find_id(store, resume))
        if text:
            state.add_user_message(text)
        elif state.is_answered() or state.is_finished() or not state.context:
            raise click.UsageError('there is nothing to go on with: give a question, -p "…"')
    elif text:
        state = State(text)
    else:
        raise click.UsageError('there is no question: fireside -p "…", or text from a pipe')
    if agent_file is None:
        agent = _with_own_settings(agent, state, given.options)
    printer: Printer = (AsJson if as_json else AsText)()
    reporter = printer if agent.reporter is None else Both(printer, agent.reporter)
    agent = agent.copy(reporter=reporter)
    try:
        with _ended_by_signals():
            agent.run(state)
    except KeyboardInterrupt:
        code = INTERRUPTED
        printer.end(state, code, None)
        tell("stopped", code)
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else FAILED
        if code != BROKEN_PIPE:
            printer.end(state, code, None)
    except Exception as error:
        printer.end(state, FAILED, error)
        code = tell_error(error)
    else:
        code = FAILED if state.stopped_by == "limit" and state.answer is None else OK
        printer.end(state, code, None)
        return code
    if code not in (BROKEN_PIPE, IN_USE) and (id := _kept(store, state)):
        tell(f"the conversation is kept: fireside -p --resume {id} goes on with it")
    return code


def _with_own_settings(agent: Agent, state: State, options: dict[str, Any]) -> Agent:
    """A conversation keeps the model and the system prompt that it was begun with, as in the app; options go before."""
    from fireside_tui.conversations.conversation import SETTINGS, own_settings

    chosen = {key: options[key] for key in ("model", "system") if options.get(key)}
    if chosen and len(state.history) == 1:  # it begins here
        state.data[SETTINGS] = chosen
    changes = {key: value for key, value in own_settings(state).items() if key not in chosen}
    return agent.copy(**changes) if changes else agent


def _kept(store: Store, state: State) -> str:
    """The start of its id by which it can be found in the store; empty where what was asked is not there."""
    asked = max((entry.seq for entry in state.history if entry.kind == "user"), default=0)
    try:
        record = store.read(state.id)
        if record is None or record.next_seq <= asked:
            return ""
        return out.short_ids(ids_in(store)).get(state.id, state.id)
    except Exception:
        return ""  # why it failed is told already


@contextlib.contextmanager
def _ended_by_signals() -> Iterator[None]:
    """What asks the process to end ends the run as it should, so that what streamed is saved."""

    def end(number: int, frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    ended_by = [n for n in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(n) is not signal.SIG_IGN]  # nohup's
    before = {number: signal.signal(number, end) for number in ended_by}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _piped(*, needed: bool) -> str:
    """What comes through a pipe; nothing where a person types. A pipe that may be there by chance is told of when it is mute."""
    if sys.stdin.isatty():
        return ""
    try:
        if not needed and _is_mute(sys.stdin):
            tell("waiting for the end of stdin, which is added to the question (< /dev/null goes without)")
        return sys.stdin.buffer.read().decode(errors="replace")
    except (OSError, ValueError) as error:
        raise click.ClickException(f"stdin can't be read: {error}") from None


def _is_mute(stream: TextIO) -> bool:
    """Whether nothing comes through it, and no end, for a while: a daemon's or an ssh's stdin may stay open for ever."""
    try:
        return not select.select([stream], [], [], PATIENCE)[0]
    except (OSError, ValueError):
        return False  # nothing that can be asked


def _joined(question: str, piped: str) -> str:
    """The question first, then what it is about."""
    return "\n\n".join(part for part in (question.strip(), piped.strip("\r\n")) if part.strip())
