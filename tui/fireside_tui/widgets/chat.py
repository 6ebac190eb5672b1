"""`Chat`: the chat pane. It listens to the conversation that is on the screen and shows what it hears."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import takewhile
from typing import TYPE_CHECKING, NamedTuple

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.message import Message
from textual.widget import Widget

from fireside_tui import clock
from fireside_tui.commands import BY_NAME, key_name
from fireside_tui.conversations import Conversation, Listener, explain
from fireside_tui.conversations.trouble import answered_by
from fireside_tui.safe_text import safe_line
from fireside_tui.widgets.approval_bar import ApprovalBar
from fireside_tui.widgets.command_hints import CommandHints
from fireside_tui.widgets.composer import Composer
from fireside_tui.widgets.lines import ChatHeading, Line, MessageBar, StatusLine
from fireside_tui.widgets.pane import Pane
from fireside_tui.widgets.welcome import Welcome

if TYPE_CHECKING:  # loaded after the first frame, as the library is
    from fireside import HistoryEntry, State, ToolCall

    from fireside_tui.transcript import Item, Transcript
    from fireside_tui.widgets.narrator import Narrator


GO_TO_IT = f"{key_name(BY_NAME['approval'].keys[0])}, then "


class _Peeked(NamedTuple):
    """The end of a conversation that is shown while all of it is read."""

    entries: Sequence[HistoryEntry]
    narrator: Narrator
    key: str  # of the first item

    def ends(self, history: Sequence[HistoryEntry]) -> bool:
        """Whether a history ends with just these entries."""
        last = history[-len(self.entries) :]
        return [(one.seq, one.kind, one.at) for one in last] == [(one.seq, one.kind, one.at) for one in self.entries]


class Chat(Pane, Vertical, Listener):
    """Heading, transcript, composer and status of one conversation."""

    DEFAULT_CSS = """
    Chat { width: 1fr; background: $background; }
    Chat Transcript { height: 1fr; }
    Chat #attached { display: none; color: $text-accent; }
    Chat #attached.-shown { display: block; }
    """

    class Turned(Message):
        """A run began or ended on the screen, or another conversation is shown: other keys mean something."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.conversation: Conversation | None = None
        self.show_thinking = False
        self.missing = ""
        """What is missing for an answer, in one line."""
        self._transcript: Transcript | None = None
        self._narrator: Narrator | None = None
        self._peeked: _Peeked | None = None
        self._whole = asyncio.Event()
        self._used = 0
        self._running = False

    def compose(self) -> ComposeResult:
        """From top to bottom; the transcript comes later, see `complete`."""
        yield ChatHeading(id="heading")
        yield MessageBar(id="message-bar")
        yield Welcome(id="welcome")
        yield ApprovalBar(id="approval")
        yield CommandHints(id="hints")
        yield Line(id="attached")
        yield Composer(id="composer")
        yield StatusLine(id="status")

    async def complete(self) -> None:
        """Puts the transcript in: a third of the first frame's styles are its own, and the first frame shows none of it."""
        from fireside_tui.widgets.find_line import FindLine

        await self.mount(self.transcript, FindLine(id="find"), after="#welcome")

    def on_unmount(self) -> None:
        """The screen is gone: what still goes on is for nobody to see."""
        if self.conversation is not None:
            self.conversation.unlisten(self)

    @property
    def transcript(self) -> Transcript:
        """The transcript. It is loaded when it is first asked for."""
        if self._transcript is None:
            from fireside_tui.transcript import Transcript

            self._transcript = Transcript(id="transcript")
            self._transcript.display = False
        return self._transcript

    @property
    def reading(self) -> bool:
        """Whether the transcript has the focus."""
        return self._transcript is not None and self.app.focused is self._transcript

    @property
    def composer(self) -> Composer:
        """The composer."""
        return self.query_one(Composer)

    @property
    def approval_bar(self) -> ApprovalBar:
        """The approval bar."""
        return self.query_one(ApprovalBar)

    # -- which conversation

    def open(self, conversation: Conversation) -> None:
        """Shows a conversation, from its end."""
        if self.conversation is not None:
            self.conversation.unlisten(self)
        self.conversation = self.composer.writing_for = conversation
        conversation.listen(self)
        self.reload()

    @contextlib.contextmanager
    def peeking(self, title: str, end: Sequence[HistoryEntry]) -> Iterator[None]:
        """Shows the end of a conversation, if there is one, while all of it is read. `open` follows; else all is as before."""
        if not end:
            yield
            return
        from fireside_tui.widgets.narrator import Narrator, last_part

        end = end[last_part(end) :]
        narrator, items = Narrator.of(end, live=False, today=clock.now(), show_thinking=self.show_thinking)
        self._narrator = None  # what is heard of the conversation that stood here goes into no other
        self._peeked = _Peeked(end, narrator, next(iter(items), ""))
        self.query_one(Welcome).display = False
        self.transcript.display = True
        self.transcript.load(items.values())
        narrator.view = self.transcript
        self.query_one(ChatHeading).say(title, "")
        self.query_one(StatusLine).say("", "", ())
        try:
            yield
        finally:
            if self._peeked is not None and self._peeked.narrator is narrator:
                self.reload()

    def reload(self) -> None:
        """Tells the whole conversation again: its end at once, what is before it a moment later."""
        from fireside_tui.widgets.narrator import Narrator, last_part

        conversation = self.conversation
        peeked, self._peeked = self._peeked, None
        if conversation is None:
            self.update_lines()
            return
        history = list(conversation.state.history)
        live, elsewhere = conversation.running, conversation.elsewhere is not None
        tell = partial(Narrator.of, live=live, elsewhere=elsewhere, today=clock.now(), show_thinking=self.show_thinking)
        if peeked is not None and not live and not elsewhere and peeked.ends(history):
            narrator, key, first = peeked.narrator, peeked.key, len(history) - len(peeked.entries)
        else:
            first = last_part(history)
            narrator, items = tell(history[first:])
            for kind, pieces in conversation.streaming:
                narrator.stream(kind, "".join(pieces))
            key = next(iter(items), "")
            self.transcript.load(items.values())
            narrator.view = self.transcript
        if words := _left_open(conversation):
            narrator.passing("left-open", words)
        self._used = next((_context_of(entry) for entry in reversed(history) if entry.kind in ("reply", "compact")), 0)
        self._narrator = narrator
        self._whole.clear()
        if first:
            self.run_worker(self._tell_before(narrator, key, partial(tell, history), self.show_thinking))
        else:
            self._whole.set()
        self.update_lines()

    async def _tell_before(
        self, narrator: Narrator, first: str, tell: Callable[[], tuple[Narrator, dict[str, Item]]], thinking: bool
    ) -> None:
        """Tells all in a thread, its thoughts shown if `thinking`, and puts what stands before the item `first` above it."""
        await self.painted()
        _, items = await asyncio.to_thread(tell)
        if self._narrator is narrator:
            before = list(takewhile(lambda item: item.key != first, items.values()))
            if narrator.show_thinking != thinking:  # thoughts were shown or folded meanwhile
                for item in before:
                    if item.kind == "thinking":
                        item.folded = not narrator.show_thinking
            self.transcript.prepend(before)
            self._whole.set()

    async def whole(self) -> None:
        """Waits until the transcript holds the conversation from its beginning."""
        await self._whole.wait()

    def narrate_thinking(self, shown: bool) -> None:
        """Whether thoughts that are still to come are shown."""
        if self._narrator is not None:
            self._narrator.show_thinking = shown

    # -- what is heard

    def on_entry(self, conversation: Conversation, entry: HistoryEntry) -> None:
        """One more entry."""
        if self._narrator is not None:
            self._narrator.take(entry)
        if entry.kind in ("reply", "compact"):
            self._used = _context_of(entry)
        if entry.kind in ("user", "reply", "compact", "stop"):
            self.update_lines()

    def on_stream(self, conversation: Conversation, kind: str, text: str) -> None:
        """More of a reply."""
        if self._narrator is not None:
            self._narrator.stream(kind, text)

    def on_retry(self, conversation: Conversation, error: Exception, attempt: int, delay: float) -> None:
        """It is asked for again."""
        if self._narrator is not None:
            self._narrator.retry(f"{explain(error).text} Asking again in {delay:.0f} s (try {attempt}).")

    def on_tool(self, conversation: Conversation, call: ToolCall) -> None:
        """A tool begins to work."""
        if self._narrator is not None:
            self._narrator.tool(call)

    def on_reload(self, conversation: Conversation) -> None:
        """It is another history than before. Who reads further up, in one that another process writes, is not disturbed."""
        if self._peeked is None and (conversation.elsewhere is None or self.transcript.following):
            self.reload()

    def on_change(self, conversation: Conversation) -> None:
        """The activity, the approval, the trouble or the settings."""
        self.update_lines()

    # -- the lines around the transcript

    def show_find(self) -> None:
        """Which of the places that were found is on the screen."""
        from fireside_tui.widgets.find_line import FindLine

        found = self.transcript.found
        self.query_one(FindLine).say(*(found or ("", 0, 0)))

    def update_lines(self) -> None:
        """Heading, approval, composer and status as they are now."""
        if self._peeked is not None:
            return
        conversation = self.conversation
        talks = conversation is not None and not conversation.empty
        # no class for it: the styles of all that is in the chat would be found anew
        if talks or self._transcript is not None:
            self.transcript.display = talks
        running = conversation is not None and conversation.running
        if running != self._running:
            self._running = running
            self.post_message(self.Turned())
            if conversation is not None and self._narrator is not None and (words := _left_open(conversation)):
                self._narrator.passing("left-open", words)
        welcome = self.query_one(Welcome)
        welcome.display = not talks
        heading = self.query_one(ChatHeading)
        if conversation is None:
            heading.say("fireside", "")
            welcome.say(self.missing)
            self.query_one(StatusLine).say("", "", ())
            return
        model = conversation.agent.model.name
        effort = conversation.agent.effort
        heading.say(conversation.state.title or "New conversation", f"{model} · {effort}" if effort else model)
        welcome.say(self.missing if model.startswith("claude-") else "")
        self._update_approval(conversation)
        self.update_status()

    def _update_approval(self, conversation: Conversation) -> None:
        bar = self.approval_bar
        if conversation.approval is bar.approval:
            return
        focused = self.screen.focused  # also while a box stands over this screen
        bar.say(conversation.approval)
        if conversation.approval is not None:
            if focused is self.composer and not self.composer.text:
                self._go_to(bar)
        elif focused is bar:
            self._go_to(self.composer)

    @on(ApprovalBar.Typed)
    def _on_typed(self, event: ApprovalBar.Typed) -> None:
        self.composer.insert(event.character)
        self._go_to(self.composer)

    def _go_to(self, widget: Widget) -> None:
        """At once, so that the next question finds the focus where it is; a bar that only appears gets it a moment later."""
        self.screen.set_focus(widget)
        if self.screen.focused is not widget:
            widget.focus()

    def update_status(self) -> None:
        """What goes on, and how to answer where that is asked for."""
        conversation = self.conversation
        if conversation is None or self._peeked is not None:
            return
        left, how = "", ""
        if conversation.elsewhere is not None:
            left, how = f"Read-only: {answered_by(conversation.elsewhere)}", "warning"
        elif conversation.approval is not None:
            there = self.app.focused is self.approval_bar
            left, how = f"waits for your answer: {'' if there else GO_TO_IT}y, n, a or r", "warning"
        elif conversation.running:
            left, how = f"{safe_line(conversation.activity)}… Esc stops", "accent"
            if conversation.activity == "stopping":
                left = "stopping…"
        elif conversation.trouble is not None:
            left, how = conversation.trouble.line, "error"
        self.query_one(StatusLine).say(left, how, self._facts(conversation))

    def _facts(self, conversation: Conversation) -> list[str]:
        if conversation.empty:
            return []
        window = conversation.agent.context_window
        usage = conversation.state.usage
        saved = "not saved" if conversation.unsaved or not conversation.saved else "saved"
        context = f"{_short(self._used)} of {_short(window)} context" if self._used else ""
        cost = _dollars(usage.cost) if usage.cost else ""
        facts = (context, cost, saved) if saved == "saved" else (saved, context, cost)
        return [fact for fact in facts if fact]


def _context_of(entry: HistoryEntry) -> int:
    """How much context a reply had read and written; 0 for other entries, and where a damaged one does not tell."""
    from fireside import Usage

    if entry.kind != "reply":
        return 0
    try:
        return Usage.from_json(entry.content["usage"]).context
    except (KeyError, TypeError, ValueError, AttributeError):
        return 0


def _dollars(cost: float) -> str:
    return "under $0.01" if cost < 0.005 else f"${cost:.2f}"


def _short(tokens: int) -> str:
    if tokens < 1000:
        return str(tokens)
    return f"{tokens / 1000:.0f}k" if tokens < 1_000_000 else f"{tokens / 1_000_000:g}M"


def _left_open(conversation: Conversation) -> str:
    """What a run that ended badly left, and how to go on."""
    if conversation.running or conversation.elsewhere is not None:
        return ""
    state = conversation.state
    match conversation.status:
        case "interrupted":
            unknown = [
                entry.call.name
                for entry in state.history
                if entry.kind == "tool_result" and entry.closing and entry.call is not None
            ]
            may = f" These tools may or may not have run: {', '.join(unknown)}." if unknown else ""
            return f"The program stopped in the middle of this answer.{may} Ctrl+R continues."
        case "approval":
            names = ", ".join(call.name for call in state.pending_calls)
            return f"Claude had asked whether it may use {names}. Ctrl+R asks again."
        case "new" if state.context and not conversation.unsaved:
            return "This message has no answer yet. Ctrl+R asks for one."
        case "waiting" if _is_unanswered(state):
            return "Your last message has no answer yet. Ctrl+R asks for one."
        case "waiting" if _is_stopped(state):
            return "This answer was stopped. Ctrl+R asks again."
    return ""


def _is_unanswered(state: State) -> bool:
    """Whether a message came that no reply has seen, not even one that was stopped."""
    seen = -1
    for entry in reversed(state.history):
        if entry.kind in ("reply", "partial_reply"):
            seen = max(seen, entry.content.get("seen", -1))
        elif entry.kind == "user":
            return bool(entry.seq > seen)
        elif entry.kind == "restore":  # to where all was answered: else the status would not be "waiting"
            return False
    return False


def _is_stopped(state: State) -> bool:
    """Whether the last that was said is an answer that was stopped."""
    from fireside_tui.reading import was_stopped

    for entry in reversed(state.history):
        if entry.kind in ("stop", "user", "reply", "restore", "compact"):
            return was_stopped(entry)
    return False
