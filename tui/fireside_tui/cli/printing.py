"""How an answer is written while it comes: as text for people and pipes, or one JSON event a line for programs."""

from __future__ import annotations

import errno
import json
import signal
import sys
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import click
from fireside.messages import ToolCall
from fireside.reporter import Reporter

from fireside_tui.cli import out
from fireside_tui.cli.frame import BROKEN_PIPE, tell, words
from fireside_tui.safe_text import safe, safe_line

if TYPE_CHECKING:
    from fireside import HistoryEntry, ResumeWarning, State


class Printer(Reporter):
    """What both ways share: when the reader goes away the run ends, and what came is saved."""

    def emit(self, text: str) -> None:
        """Writes it at once."""
        try:
            sys.stdout.write(text)
            sys.stdout.flush()
        except BrokenPipeError:
            raise SystemExit(BROKEN_PIPE) from None
        except OSError as error:
            if error.errno != errno.EIO:
                raise
            raise SystemExit(128 + signal.SIGHUP) from None  # the terminal is gone

    def end(self, state: State, code: int, error: BaseException | None) -> None:
        """The last words."""


def _changed(warning: ResumeWarning) -> str:
    """What is another setting than before, in words.

    >>> from fireside import ResumeWarning
    >>> _changed(ResumeWarning({"model": ("demo", "claude-x"), "system": (None, "a prompt"), "tools": (["look"], [])}))
    'model: claude-x (was demo); system: a prompt (was none); tools: none (was look)'
    """
    told = []
    for key, values in warning.changes.items():
        saved, now = (", ".join(map(str, value)) if isinstance(value, list) else value for value in values)
        told.append(f"{key.replace('_', ' ')}: {now or 'none'} (was {saved or 'none'})")
    return safe_line("; ".join(told))


class AsText(Printer):
    """The answer's words, and on stderr what happens besides. Exact in a pipe, harmless in a terminal."""

    def __init__(self) -> None:
        self._clean = safe if sys.stdout.isatty() else str
        self._open_line = False  # something stands on the last line
        self._said = ""  # what of the reply at hand was written
        self._rest = ""  # a CR whose LF may come

    def on_think_start(self, state: State) -> None:
        """A reply begins."""
        self._break()
        self._said = ""

    def on_text(self, state: State, text: str) -> None:
        """More words."""
        self._said += text
        text = self._rest + text
        self._rest = "\r" if text.endswith("\r") else ""
        text = text.removesuffix("\r")
        if text:
            self._open_line = not text.endswith("\n")
            self.emit(self._clean(text))

    def on_think_end(self, state: State, entry: HistoryEntry) -> None:
        """Writes what did not stream; says where the reply was cut off."""
        if not self._said and entry.text:
            self.on_text(state, entry.text)
        reason = entry.content.get("stop_reason", "")
        if reason not in ("end_turn", "tool_use", "stop_sequence", "pause_turn"):
            self._note(f"the reply was cut off ({reason})")

    def on_retry(self, state: State, error: Exception, attempt: int, delay: float) -> None:
        """What was written is void, and cannot be taken back."""
        when = f"in {delay:.0f} s" if delay >= 0.5 else "at once"
        again = "; the answer begins again below" if self._said else ""
        self._note(f"{words(error)}; asking again {when}{again}")
        self._said = ""

    def on_tool_start(self, state: State, call: ToolCall) -> None:
        """Which tool works, for who watches."""
        if sys.stderr.isatty():
            self._break()
            arguments = ", ".join(f"{key}={json.dumps(value, ensure_ascii=False)}" for key, value in call.args.items())
            click.echo(out.dim(safe_line(f"▸ {call.name}({arguments})", 100)), err=True)

    def on_warning(self, state: State, warning: ResumeWarning) -> None:
        """The Agent is another one."""
        self._note(f"this conversation goes on with other settings: {_changed(warning)}")

    def end(self, state: State, code: int, error: BaseException | None) -> None:
        """Ends the last line; writes an answer that was no reply."""
        self._break()
        answer = state.answer
        if code == 0 and state.is_finished() and answer is not None and answer != self._said:
            text = answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False, indent=2, default=str)
            self.emit(self._clean(text) + "\n")

    def _note(self, text: str) -> None:
        self._break()
        tell(text, what="fireside: note")

    def _break(self) -> None:
        if self._open_line:
            self._open_line = False
            self.emit("\n")


class AsJson(Printer):
    """One event a line: `start`, `text`, `thinking`, `retry`, `tool_call`, `tool_result`, `reply`, `warning`, then `end`."""

    def _event(self, event: str, **rest: Any) -> None:
        self.emit(json.dumps({"event": event, **rest}, default=str) + "\n")

    def on_run_start(self, state: State) -> None:
        """The run begins; the conversation is saved."""
        self._event("start", id=state.id, title=state.title)

    def on_text(self, state: State, text: str) -> None:
        """More words."""
        self._event("text", text=text)

    def on_thinking(self, state: State, text: str) -> None:
        """More thoughts."""
        self._event("thinking", text=text)

    def on_retry(self, state: State, error: Exception, attempt: int, delay: float) -> None:
        """The words since the last `reply` are void."""
        self._event("retry", error=words(error), attempt=attempt, delay=delay)

    def on_think_end(self, state: State, entry: HistoryEntry) -> None:
        """A reply is whole."""
        content = entry.content
        self._event(
            "reply", text=entry.text, stop_reason=content["stop_reason"], model=content["model"], usage=content["usage"]
        )

    def on_tool_start(self, state: State, call: ToolCall) -> None:
        """A tool begins."""
        self._event("tool_call", id=call.id, name=call.name, args=call.args)

    def on_tool_end(self, state: State, call: ToolCall, entry: HistoryEntry) -> None:
        """A call has its result."""
        self._event("tool_result", id=call.id, name=call.name, text=entry.text, is_error=entry.is_error)

    def on_warning(self, state: State, warning: ResumeWarning) -> None:
        """The Agent is another one."""
        self._event("warning", text=str(warning))

    def end(self, state: State, code: int, error: BaseException | None) -> None:
        """The whole outcome."""
        self._event(
            "end",
            id=state.id,
            answer=state.answer,
            status=state.status,
            stopped_by=state.stopped_by,
            usage=state.usage.to_json(),
            error=None if error is None else {"type": type(error).__name__, "text": words(error)},
        )


class Both(Reporter):
    """Tells two reporters of everything: ours, and the one that the user's Agent has."""

    def __init__(self, first: Reporter, second: Reporter) -> None:
        self._both = (first, second)


def _to_both(event: str) -> Callable[..., Awaitable[None]]:
    async def told(self: Both, *args: Any) -> None:
        for reporter in self._both:
            result = getattr(reporter, event)(*args)
            if isinstance(result, Awaitable):
                await result

    return told


for _event in [name for name in vars(Reporter) if name.startswith("on_")]:
    setattr(Both, _event, _to_both(_event))
