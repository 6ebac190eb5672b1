"""The commands on a whole conversation: the one on the screen, or the row under the cursor of the list."""

from __future__ import annotations

import asyncio
import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from fireside_tui.conversations import explain
from fireside_tui.conversations.trouble import file_trouble
from fireside_tui.safe_text import safe_line
from fireside_tui.screens.base import MainBase

if TYPE_CHECKING:
    from fireside import State

    from fireside_tui.conversations import Conversation
    from fireside_tui.screens.search import Found
    from fireside_tui.search import SearchIndex


class ConversationCommands(MainBase):
    """New, list, search, rename, pin, fork, export, checkpoint, rewind, compact, delete, undo."""

    _deleting: str | None = None
    _index: SearchIndex | None = None

    def do_new(self, argument: str = "") -> None:
        """A new conversation."""
        current = self.current
        if current is not None and current.empty and not self.chat.composer.text:
            self.go_to(self.chat.composer)
            return
        self.show(self.conversations.new())

    def do_list(self, argument: str = "") -> None:
        """To the list, and back."""
        self.show_list(not (self.in_list or self.sidebar.filter.has_focus))

    def do_search(self, argument: str = "") -> None:
        """Words in all conversations."""
        from fireside_tui.screens.search import Search
        from fireside_tui.search import SearchIndex

        if self._index is None:
            self._index = SearchIndex(self.fireside.paths.search_index(self.config.place), self.conversations.store)
        # at once, not in a worker: the next keys are meant for it
        self.app.push_screen(Search(self._index, argument or self.sidebar.filter.value), self._found_hit)

    async def _found_hit(self, found: Found | None) -> None:
        if found is None or not await self.open(found.hit.id):
            return
        await self.chat.whole()
        await self.painted()  # one that was empty has rows from then on
        current, transcript = self.current, self.chat.transcript
        if current is None or current.id != found.hit.id:  # another one was opened meanwhile
            return
        if not transcript.find(found.words, words=True):  # it was found by its title
            transcript.clear_find()
            return
        for key in self._items_of(current, found.hit.seq):
            if await transcript.seek(key, found.hit.snippet):
                return
        await transcript.walk(1)

    def _items_of(self, current: Conversation, seq: int) -> list[str]:
        """The items of the transcript that tell an entry, by their keys."""
        keys = [item.key for item in self.chat.transcript.items]
        entry = next((entry for entry in current.state.history if entry.seq == seq), None)
        if entry is not None and entry.kind == "tool_result" and entry.call is not None:  # stands in its call's item
            return [key for key in keys if key.endswith(f".call{entry.call.n}") and int(key.partition(".")[0]) < seq][
                -1:
            ]
        if entry is not None and entry.kind == "partial_reply":  # is told from its first piece on
            before = [key for key in keys if key.partition(".")[0].isdigit() and int(key.partition(".")[0]) <= seq]
            seq = int(before[-1].partition(".")[0]) if before else seq
        return [key for key in keys if key.partition(".")[0] == str(seq)]

    async def do_find(self, argument: str = "") -> None:
        """Words in this conversation; alone, the next place."""
        await self.chat.whole()
        await self.painted()
        transcript = self.chat.transcript
        found = transcript.found
        if not argument or (found is not None and found.query == argument):
            await self.do_find_next()
        elif transcript.find(argument):
            await transcript.walk(-1)
        else:
            transcript.clear_find()
            self.say(f"“{safe_line(argument, 40)}” is not in this conversation.")

    async def do_find_next(self, argument: str = "") -> None:
        """The next place."""
        await self._walk(1)

    async def do_find_back(self, argument: str = "") -> None:
        """The place before."""
        await self._walk(-1)

    async def _walk(self, step: int) -> None:
        if self.chat.transcript.finding:
            await self.chat.transcript.walk(step)
        else:
            self.say("/find and words look for them here.")

    def _target(self) -> str | None:
        """The row under the cursor where the list has the focus, else the conversation on the screen."""
        if self.in_list:
            return self.sidebar.rows.cursor_id
        return self.current.id if self.current is not None and not self.current.empty else None

    def _title(self, id: str) -> str:
        row = self.conversations.row(id)
        return row.title if row is not None else "Untitled"

    def do_rename(self, argument: str = "") -> None:
        """Another title."""
        id = self._target()
        if id is None:
            self.say("There is nothing to rename yet.")
        elif argument:
            self.run_worker(self._rename(id, argument), group="commands", exit_on_error=False)
        else:  # at once, not in a worker: the next keys are meant for it
            from fireside_tui.screens.ask import Ask

            self.app.push_screen(Ask("Title", self._title(id), verb="renames"), partial(self._rename, id))

    async def _rename(self, id: str, title: str | None) -> None:
        if title and title.strip():
            await self.told(self.conversations.rename(id, title.strip()))
            self.chat.update_lines()

    def do_pin(self, argument: str = "") -> None:
        """At the top, or no longer."""
        if id := self._target():
            self.conversations.device.pin(id, not self.conversations.device.is_pinned(id))
            self.rows_changed()

    async def do_fork(self, argument: str = "") -> None:
        """A copy, which is shown."""
        id = self._target()
        if id is None:
            self.say("There is nothing to fork yet.")
            return
        self.show(await self.conversations.fork(id))
        self.say("This is a copy: the other one stays as it is.")

    async def do_export(self, argument: str = "") -> None:
        """To a file."""
        id = self._target()
        if id is None:
            self.say("There is nothing to export yet.")
            return
        await self.told(self._export(id, argument))

    async def _export(self, id: str, argument: str) -> None:
        from fireside_tui.export import file_name

        conversation = self.conversations.get(id)
        state = conversation.state if conversation else await self.conversations.store.aload(id)
        suggestion = str(Path.cwd() / file_name(state, "md"))
        name = argument or await self.ask("Export to (.md or .json)", suggestion, verb="exports")
        if name:
            try:
                path = await asyncio.to_thread(_write, state, name.strip())
            except OSError as error:
                self.say(file_trouble(error), error=True)
                return
            self.say(f"Written to {path}.")

    def do_copy_id(self, argument: str = "") -> None:
        """Its id."""
        if id := self._target():
            self.copy(id, "the id")

    async def do_checkpoint(self, argument: str = "") -> None:
        """A name for this point."""
        if self.current is None or self.current.empty:
            return
        name = argument or await self.ask("Name of the checkpoint", verb="sets it")
        if name and name.strip():
            await self.told(self.conversations.checkpoint(self.current, name.strip()))

    async def do_rewind(self, argument: str = "") -> None:
        """Back to before a message, which stands in the box again, or to a checkpoint."""
        current = self.current
        if current is None:
            return
        points = {point.seq: point.message for point in current.state.checkpoints}
        said = {entry.seq: entry for entry in current.state.history if entry.kind == "user"}
        named = [seq for seq, name in points.items() if name == argument]
        seq = str(named[-1]) if argument and named else None
        if seq is None:
            places = [entry for entry in current.state.history if entry.seq in points or entry.seq in said]
            choices = [
                (
                    str(entry.seq),
                    (points[entry.seq] or "(no name)") if entry.seq in points else f"before: {_first_line(entry.text)}",
                    f"{'checkpoint · ' if entry.seq in points else ''}{entry.at.astimezone():%Y-%m-%d %H:%M}",
                )
                for entry in reversed(places)
            ]
            if not choices:
                self.say("Nothing was said yet that one could go back to.")
                return
            seq = await self.pick_one("Go back, in this conversation", choices, verb="goes there")
        if seq is None or not await self.told(self.conversations.rewind(current, int(seq))):
            return
        entry = said.get(int(seq))
        if entry is not None and current is self.current and not self.chat.composer.whole_text:
            self.chat.composer.put(entry.text)
        self.say("What came after can still be read; Claude knows nothing of it.")

    def do_compact(self, argument: str = "") -> None:
        """A summary in place of the context."""
        if self.current is not None and not self.current.empty:
            try:
                self.current.compact()
            except ValueError as error:
                self.say(explain(error).line)

    # -- delete and undo

    def do_delete(self, argument: str = "") -> None:
        """Asks; `y` deletes."""
        id = self._target()
        if id is None:
            self.say("There is nothing to delete yet.")
            return
        self.show_list(True)
        self.sidebar.rows.set_cursor(id)
        self._deleting = id
        self.sidebar.ask(f"Delete “{self._title(id)}”?")

    async def delete_answered(self, yes: bool) -> None:
        """The answer to the question."""
        id, self._deleting = self._deleting, None
        self.offer_undo()
        if id is None or not yes:
            return
        self.keep_draft()
        neighbour = self.sidebar.rows.neighbour(id)
        was_open = self.current is not None and self.current.id == id
        if not await self.told(self.conversations.delete(id)):
            return
        self.offer_undo()
        self.show_rows()
        if was_open:
            if neighbour is None or not await self.open(neighbour, focus=False):
                self.show(self.conversations.new(), focus=False)
            self.go_to(self.sidebar.rows)

    def offer_undo(self) -> None:
        """Below the list stands what can be undone."""
        deleted = self.conversations.deleted
        self.sidebar.offer(f"Deleted “{deleted[-1].row.title}”\nu undo" if deleted else "")

    async def do_undo(self, argument: str = "") -> None:
        """Brings back what was deleted last."""
        deleted = await self.conversations.undo()
        self.offer_undo()
        if deleted is None:
            self.say("Nothing was deleted.")
            return
        self.show_rows()
        await self.open(deleted.row.id, focus=not self.in_list)


def _write(state: State, name: str) -> Path:
    from fireside_tui.export import export

    path = Path(name).expanduser()
    text = export(state, "json" if path.suffix == ".json" else "md")
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8", errors="replace", newline="\n") as file:
        file.write(text)
    return path


def _first_line(text: str) -> str:
    return text.strip().partition("\n")[0] or "(a picture)"
