"""`Writing`: from the box to the conversation. Messages and `/commands` are sent, drafts are kept."""

from __future__ import annotations

import asyncio

from textual import events, on
from textual.content import Content
from textual.widgets import Input, Static, TextArea

from fireside_tui.commands import parse
from fireside_tui.conversations import Conversation, NotSavedError, explain
from fireside_tui.conversations.trouble import elsewhere
from fireside_tui.safe_text import safe, safe_line
from fireside_tui.screens.base import MainBase
from fireside_tui.widgets.command_hints import CommandHints
from fireside_tui.widgets.composer import Composer


class Writing(MainBase):
    """What the main screen does with what is written."""

    def __init__(self) -> None:
        super().__init__()
        self.files: tuple[str, ...] = ()
        self._recalled = 0
        self._flushing = False
        self._keeps = True

    @on(Composer.Submitted)
    def _on_submitted(self, event: Composer.Submitted) -> None:
        conversation, files = event.writing_for or self.current, self.files
        if conversation is not self.current and conversation is not None:
            draft = self.conversations.device.draft(conversation.id)
            files = draft.files if draft else ()
        self.run_worker(self._submit(event.text, conversation, files), group="send", exit_on_error=False)

    async def _submit(self, text: str, conversation: Conversation | None, files: tuple[str, ...]) -> None:
        await self.ready.wait()
        found = parse(text)
        if found is not None:
            command, argument = found
            if command is None:
                self.say(f"There is no command {safe_line(text.split()[0], 30)}. A space before it makes it a message.")
                return
            self.chat.composer.empty()
            await self.carry_out(command.name, argument)
            return
        conversation = conversation or self.current
        if conversation is None or conversation.sending or not (text.strip() or files):
            return
        if conversation.elsewhere is not None:
            self.say(f"{elsewhere(conversation.elsewhere)} The message stays here until then.")
            return
        try:
            await conversation.send(text, files)
        except NotSavedError:
            if self.current is conversation and self.chat.composer.whole_text != text:
                conversation.take_back()
            return
        except ValueError as error:
            self.say(f"{error}", error=True)
            return
        self._sent(conversation, text)

    def _sent(self, conversation: Conversation, text: str) -> None:
        """The message is saved: it leaves the box, and only it."""
        device = self.conversations.device
        if self.current is not conversation:
            draft = device.draft(conversation.id)
            if draft is not None and draft.text == text:
                device.set_draft(conversation.id, "")
            return
        composer = self.chat.composer
        written = composer.whole_text
        if written == text:
            composer.empty()
        elif written.startswith(text):
            composer.put(written.removeprefix(text))
        self.set_files(())
        self.keep_draft()
        self._recalled = 0
        self.chat.transcript.action_scroll_end()

    @on(TextArea.Changed, "#composer")
    def _on_changed(self) -> None:
        self.fireside.warm_up()
        composer = self.chat.composer
        self.query_one(CommandHints).offer(composer.text if len(composer.text) < 40 else "")
        current = self.current
        if current is not None and current.unsaved and not current.sending:
            current.take_back()

    @on(Composer.Completed)
    def _on_completed(self) -> None:
        if first := self.query_one(CommandHints).first:
            command = parse(first)
            self.chat.composer.put(first + (" " if command and command[0] and command[0].argument else ""))

    @on(Composer.Recalled)
    def _on_recalled(self, event: Composer.Recalled) -> None:
        """Earlier messages, the latest one first; behind them the box is empty again."""
        current = self.current
        said = [entry.text for entry in current.state.history if entry.kind == "user"] if current else []
        at = max(0, min(self._recalled + event.by, len(said)))
        self._recalled = at
        composer = self.chat.composer
        composer.put(said[-at] if at else "")
        composer.recalling = at > 0

    @on(Composer.Paged)
    def _on_paged(self, event: Composer.Paged) -> None:
        if not self.ready.is_set():
            return
        transcript = self.chat.transcript
        transcript.action_page_up() if event.by < 0 else transcript.action_page_down()

    def on_paste(self, event: events.Paste) -> None:
        """A paste that no box took goes to the composer."""
        if not isinstance(self.app.focused, TextArea | Input):
            self.chat.composer.focus()
            self.chat.composer.paste(event.text)

    def set_files(self, files: tuple[str, ...]) -> None:
        """What goes along is shown over the composer."""
        self.files = files
        line = self.query_one("#attached", Static)
        line.set_class(bool(files), "-shown")
        names = ", ".join(file.rpartition("/")[2] for file in files)
        line.update(Content(safe_line(f"with {names}  (/detach)" if files else "")))

    # -- drafts

    def keep_draft(self) -> None:
        """What is being written belongs to the conversation that is on the screen."""
        current = self.current
        if current is not None and all(gone.row.id != current.id for gone in self.conversations.deleted):
            composer = self.chat.composer
            text = "" if composer.recalling else composer.whole_text
            self.conversations.device.set_draft(current.id, text, self.files)

    def take_up_draft(self, conversation: Conversation) -> None:
        """What was being written in a conversation stands in the box again."""
        draft = self.conversations.device.draft(conversation.id)
        self._recalled = 0
        with self.prevent(TextArea.Changed):
            self.chat.composer.put(draft.text if draft else "")
        self.query_one(CommandHints).offer("")
        self.set_files(draft.files if draft else ())

    def look_at_draft(self) -> None:
        """Keeps it, and shows in the list whether there is one."""
        if not self.ready.is_set():
            return
        before = self.current is not None and self.conversations.device.draft(self.current.id) is not None
        self.keep_draft()
        after = self.current is not None and self.conversations.device.draft(self.current.id) is not None
        if before != after:
            self.rows_changed()
        self.flush_drafts()

    def lost(self) -> str:
        """What was written, not sent, and can't be kept: the terminal shows it after the end. Empty as a rule."""
        texts = self.conversations.device.unwritten if self.conversations.device.error else []
        return safe("\n\n".join(["fireside: what was not sent could not be kept:", *texts])) if texts else ""

    def flush_drafts(self) -> None:
        """Writes the drafts on a thread, one write at a time."""
        if not self._flushing:
            self._flushing = True
            self.run_worker(self._flushed(), group="flush", exit_on_error=False)

    async def _flushed(self) -> None:
        try:
            kept = await asyncio.to_thread(self.conversations.device.flush)
        finally:
            self._flushing = False
        if not kept and self._keeps:
            why = explain(self.conversations.device.error or OSError()).text
            self.say(f"What you write and don't send will be gone at the next start. {why}", error=True)
        self._keeps = kept
