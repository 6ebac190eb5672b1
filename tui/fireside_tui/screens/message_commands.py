"""The commands on messages: stop, retry, edit, copy, attach; and those on the message under the transcript's cursor."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from textual.selection import SELECT_ALL
from textual.widgets import TextArea

from fireside_tui.conversations.attach import check_file
from fireside_tui.conversations.trouble import file_trouble
from fireside_tui.safe_text import safe_line
from fireside_tui.screens.base import MainBase

if TYPE_CHECKING:
    from fireside import HistoryEntry

    from fireside_tui.conversations import Conversation
    from fireside_tui.screens.links import Chosen
    from fireside_tui.transcript import Item


class MessageCommands(MainBase):
    """Stop, retry, edit, copy, attach, pager, editor, and what a tool call is answered."""

    def do_stop(self, argument: str = "") -> None:
        """Stops the run; else takes a find away; else back to writing."""
        current = self.current
        if self.in_list:
            self.show_list(False)
        elif current is not None and current.running:
            current.ask_to_stop()
        else:
            self.chat.transcript.clear_find()
            self.go_to(self.chat.composer)

    async def do_retry(self, argument: str = "") -> None:
        """Continues, or asks again."""
        current = self.current
        if current is None or current.empty:
            return
        if current.running:
            self.say("It is being answered.")
            return
        conversation = await self.conversations.retry(current)
        if conversation is not current:
            self._show_fork(conversation)
            if not conversation.unsaved:
                self.say("Another answer, in a fork: the first one stays in its own conversation.")

    def _show_fork(self, fork: Conversation) -> None:
        """A message that could not be saved stands in the box, too: Enter tries again."""
        self.show(fork)
        if fork.unsaved:
            with self.prevent(TextArea.Changed):  # it would take the message back
                self.chat.composer.put(fork.state.history[-1].text)

    async def do_edit(self, argument: str = "") -> None:
        """Changes the last message."""
        current = self.current
        entries = [e for e in current.state.history if e.kind == "user"] if current else []
        if not entries:
            self.say("There is no message to edit yet.")
            return
        await self._edit(entries[-1])

    async def _edit(self, entry: HistoryEntry) -> None:
        current = self.current
        if current is None:
            return
        text = await self.ask("Edit and send again, in a fork", entry.text, verb="sends it", lines=True)
        if text is None or not text.strip():
            return
        try:
            fork = await self.conversations.edit_and_send(current, entry, text)
        except Exception:
            if not self.chat.composer.whole_text:
                self.chat.composer.put(text)
            raise
        self._show_fork(fork)

    def do_copy(self, argument: str = "") -> None:
        """The last answer."""
        if text := self._last_answer():
            self.copy(text, "the answer")
        else:
            self.say("There is no answer yet.")

    async def do_copy_code(self, argument: str = "") -> None:
        """A code block of the last answer that has one."""
        transcript = self.chat.transcript
        for item in reversed(transcript.items):
            if item.kind == "assistant" and (blocks := transcript.code_blocks(item.key)):
                await self._copy_one(blocks, argument)
                return
        self.say("There is no code yet.")

    async def _copy_one(self, blocks: list[str], argument: str = "") -> None:
        if argument.isdigit() and 1 <= int(argument) <= len(blocks):
            chosen: str | None = str(int(argument) - 1)
        elif len(blocks) == 1:
            chosen = "0"
        else:
            first = [(block.strip().splitlines() or [""])[0] for block in blocks]
            choices = [(str(n), f"{n + 1}  {line}", "") for n, line in enumerate(first)]
            chosen = await self.pick_one("Copy which code?", choices, verb="copies it")
        if chosen is not None:
            self.copy(blocks[int(chosen)], "the code")

    def _last_answer(self) -> str:
        return next((item.text for item in reversed(self.chat.transcript.items) if item.kind == "assistant"), "")

    async def do_attach(self, argument: str = "") -> None:
        """A file goes along."""
        name = argument or await self.ask("Attach a picture or a text file", verb="attaches it", placeholder="path")
        if not name or not name.strip():
            return
        try:
            file = str(check_file(name.strip().strip("'\"")))
        except (ValueError, OSError) as error:
            self.say(file_trouble(error) if isinstance(error, OSError) else str(error), error=True)
            return
        if file not in self.files:
            self.set_files((*self.files, file))

    def do_detach(self, argument: str = "") -> None:
        """No file goes along."""
        self.set_files(())

    async def do_editor(self, argument: str = "") -> None:
        """The message in `$EDITOR`."""
        composer = self.chat.composer
        text = await self.edit_outside(composer.whole_text)
        if text is not None:
            composer.put(text)
        composer.focus()

    async def do_pager(self, argument: str = "") -> None:
        """The last answer in `$PAGER`."""
        if text := self._last_answer():
            await self.page_outside(text)

    def do_copy_or_stop(self, argument: str = "") -> None:
        """What is selected is copied; else the run is stopped; else it is said how to quit."""
        focused = self.app.focused
        selected = self.get_selected_text() or getattr(focused, "selected_text", "")
        if selected:
            self.copy(selected, "the selection")
        elif self.current is not None and self.current.running:
            self.current.ask_to_stop()
        else:
            self.say("Ctrl+Q quits.")

    def do_select_all(self, argument: str = "") -> None:
        """All that was said here, to be copied."""
        if self.current is not None and not self.current.empty:
            self.selections = {self.chat.transcript: SELECT_ALL}
            self.go_to(self.chat.transcript)  # in the box, the next Ctrl+A is the box's own

    # -- the message under the transcript's cursor

    def _cursor_key(self) -> str | None:
        return self.chat.transcript.cursor

    def abilities_at_cursor(self) -> frozenset[str]:
        """What can be done with the message under the cursor."""
        key = self._cursor_key()
        if key is None:
            return frozenset()
        told = key.startswith("live") or key.partition(".")[0].isdigit()  # else a notice that passes
        return self.chat.transcript.abilities(key) | ({"entry"} if told else frozenset())

    def _item_at_cursor(self) -> Item | None:
        key = self._cursor_key()
        return next((item for item in self.chat.transcript.items if item.key == key), None)

    def do_message_unfold(self, argument: str = "") -> None:
        """A tool call or thinking, opened or folded again."""
        self.chat.transcript.action_toggle_fold()

    def do_message_copy(self, argument: str = "") -> None:
        """The message under the cursor."""
        item = self._item_at_cursor()
        if item is not None:
            self.copy(item.detail if item.kind == "tool" else item.text, "the message")

    async def do_message_code(self, argument: str = "") -> None:
        """Its code."""
        key = self._cursor_key()
        blocks = self.chat.transcript.code_blocks(key) if key else []
        if blocks:
            await self._copy_one(blocks)
        else:
            self.say("There is no code in this message.")

    async def do_message_links(self, argument: str = "") -> None:
        """Its links."""
        from fireside_tui.transcript.inline import links_of

        item = self._item_at_cursor()
        links = await asyncio.to_thread(links_of, item.text) if item is not None else {}
        if links:
            self.offer_links(links)
        else:
            self.say("There are no links in this message.")

    def offer_links(self, links: dict[str, str]) -> None:
        """Addresses with their words: one of them is opened, or copied, when the person says so."""
        from fireside_tui.screens.links import Links

        self.app.push_screen(Links(links), self._link_chosen)

    async def _link_chosen(self, chosen: Chosen | None) -> None:
        if chosen is not None and chosen.copy:
            self.copy(chosen.url, "the address")
        elif chosen is not None:
            self.run_worker(self.browse(chosen.url), group="commands", exit_on_error=False)

    async def browse(self, url: str) -> None:
        """Opens an address in a browser; copies it where there is none."""
        from fireside_tui import browser

        try:
            if await browser.browse(self.app, url):
                return
            why = "There is no browser here"
        except (OSError, ValueError) as error:
            why = safe_line(str(error), 80)
        self.app.copy_to_clipboard(url)
        self.say(f"{why}: the address is copied.")

    async def do_message_edit(self, argument: str = "") -> None:
        """The person's own message."""
        entry = self._entry_at_cursor()
        if entry is None or entry.kind != "user":
            self.say("Only a message of your own can be edited.")
            return
        await self._edit(entry)

    async def do_message_fork(self, argument: str = "") -> None:
        """All up to here, once more."""
        entry, current = self._entry_at_cursor(), self.current
        if entry is None or current is None:
            return
        fork = await self.conversations.fork(current.id, entry.seq)
        self.show(fork)

    async def do_message_pager(self, argument: str = "") -> None:
        """In `$PAGER`."""
        item = self._item_at_cursor()
        if item is not None:
            await self.page_outside(item.detail if item.kind == "tool" else item.text)

    def _entry_at_cursor(self) -> HistoryEntry | None:
        key, current = self._cursor_key(), self.current
        if key is None or current is None:
            return None
        if key.startswith("live"):
            return next((e for e in reversed(list(current.state.history)) if e.kind == "reply"), None)
        seq = key.partition(".")[0]
        return next((e for e in current.state.history if str(e.seq) == seq), None)

    # -- a tool call that waits

    def do_approval(self, argument: str = "") -> None:
        """To the call that waits; in another conversation, if none does here."""
        bar = self.chat.approval_bar
        if bar.approval is not None:
            self.show_list(False)
            self.go_to(bar)
            return
        if asking := self.asking():
            self.pick(asking[0].id)
        else:
            self.say("No tool call waits for an answer.")

    def do_approve_show(self, argument: str = "") -> None:
        """All of the call."""
        from fireside_tui.screens.call import CallView

        if approval := self.chat.approval_bar.approval:
            self.app.push_screen(CallView(approval.call))

    def do_approve_yes(self, argument: str = "") -> None:
        """It may run."""
        self._answer(True)

    def do_approve_no(self, argument: str = "") -> None:
        """It may not."""
        self._answer(False)

    def do_approve_always(self, argument: str = "") -> None:
        """It may, and this tool from now on."""
        self._answer(True, always=True)

    async def do_approve_reason(self, argument: str = "") -> None:
        """It may not, and why."""
        current = self.current
        if current is None or current.approval is None:
            return
        approval = current.approval
        reason = await self.ask(f"Why may Claude not use {approval.call.name}?", verb="refuses it")
        if reason is not None and current.approval is approval:
            approval.answer(reason.strip() or False)

    def _answer(self, allowed: bool, *, always: bool = False) -> None:
        if self.current is not None:
            self.current.answer(allowed, always=always)
