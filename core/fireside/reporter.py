"""`Reporter`: the events of a run, for who shows or logs them. It knows messages alone.

Each method does nothing by default and may be sync or async; it is called in the run's own thread. What one raises ends
the run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fireside.errors import ResumeWarning
    from fireside.history import HistoryEntry
    from fireside.messages import ToolCall
    from fireside.state import State


class Reporter:
    """Subclass it and override what you want to hear of.

    >>> class Printing(Reporter):
    ...     def on_text(self, state, text):
    ...         print(text, end="", flush=True)
    """

    def on_run_start(self, state: State) -> Any:
        """A run begins; its lock is held."""

    def on_think_start(self, state: State) -> Any:
        """A model request is about to leave; all that it rests on is saved."""

    def on_text(self, state: State, text: str) -> Any:
        """More words of the reply."""

    def on_thinking(self, state: State, text: str) -> Any:
        """More of what the model thinks."""

    def on_retry(self, state: State, error: Exception, attempt: int, delay: float) -> Any:
        """The request failed and is asked for again in `delay` seconds, as number `attempt`. What was streamed is void."""

    def on_think_end(self, state: State, entry: HistoryEntry) -> Any:
        """The reply is recorded."""

    def on_tool_start(self, state: State, call: ToolCall) -> Any:
        """A tool begins to work."""

    def on_tool_end(self, state: State, call: ToolCall, entry: HistoryEntry) -> Any:
        """A call has its result (also one that was denied or interrupted)."""

    def on_context_change(self, state: State) -> Any:
        """The context was compacted or cleared."""

    def on_save(self, state: State) -> Any:
        """New entries are in the store."""

    def on_warning(self, state: State, warning: ResumeWarning) -> Any:
        """The Agent differs from the one that saved the State."""

    def on_run_end(self, state: State, error: BaseException | None) -> Any:
        """The run is over; `error` is what ended it, `None` where it came to its stop."""
