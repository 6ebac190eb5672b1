"""`Conversations`: all of them, open or not. The widgets ask here, and nothing here knows a widget."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from fireside import Agent, HistoryEntry, Image, Record, SavedState, State, Store

from fireside_tui.conversations.conversation import SETTINGS, Conversation, NotSavedError, own_settings
from fireside_tui.conversations.listing import Listing, own_rows
from fireside_tui.conversations.routes import Routes, approval_of
from fireside_tui.conversations.rows import Listed, Row, numbered, row_of
from fireside_tui.conversations.trouble import Trouble, explain
from fireside_tui.device import Device

KEEP_OPEN = 8
"""How many conversations at rest stay in memory; the others are loaded again when they are picked."""


class Deleted(NamedTuple):
    """A deleted conversation, as it was: its record, and what the device knew of it."""

    row: Row
    record: Record | None
    device: dict[str, Any]


class Conversations:
    """Opens, sends, stops, deletes and brings back. `on_rows` is called when the list is another one than before.

    The Agent is the app's; each conversation runs with a copy of it that has the conversation's own settings.
    """

    def __init__(
        self,
        store: Store,
        agent: Agent,
        device: Device,
        *,
        always_allow: frozenset[str] = frozenset(),
        on_rows: Callable[[], None] = lambda: None,
        on_ended: Callable[[Conversation], None] = lambda conversation: None,
    ) -> None:
        self.store = store
        self.device = device
        self.always_allow = always_allow
        self.on_rows = on_rows
        self.on_ended = on_ended
        self.deleted: list[Deleted] = []
        self.trouble: Trouble | None = None
        """Why the list can't be read; `None` when it can."""
        self.current: Conversation | None = None
        """The one on the screen: its answers are not marked as unread."""
        self._open: dict[str, Conversation] = {}
        self.glanced = False
        """Whether the list holds the last ones alone as yet."""
        self._listed = Listing()
        self._edits = 0  # how often one was deleted or brought back
        self._gone: set[str] = set()
        self._undoing = asyncio.Lock()
        self.agent = agent.copy(
            store=store,
            session=None,
            reporter=Routes(self._open.get, agent.reporter),
            approve=approval_of(self._open.get, agent),
        )

    # -- the list

    @property
    def items(self) -> list[Listed]:
        """Every conversation, as its row or what `row_of` makes it of: pinned first, then the most recent first."""
        return self._listed.with_own(self._own_rows())

    @property
    def rows(self) -> list[Row]:
        """The rows of all `items`."""
        return [row_of(item) for item in self.items]

    def row(self, id: str) -> Row | None:
        """The row of one conversation."""
        own = self._own_rows().get(id)
        listed = self._listed.get(id)
        return own or (row_of(listed) if listed is not None else None)

    def _own_rows(self) -> dict[str, Row]:
        here = {id: conversation for id, conversation in self._open.items() if id not in self._gone}
        return own_rows(here, self._listed, self.device, drafts=not self.glanced)

    def running(self) -> list[Conversation]:
        """Those that run here."""
        return [conversation for conversation in self._open.values() if conversation.running]

    def glance(self) -> None:
        """The last conversations, as far as they can be had at once: for a thread, before the first `refresh`."""
        with contextlib.suppress(Exception):  # what is wrong, `refresh` tells
            self._listed = Listing(self.store.glance())
            self.glanced = bool(self._listed)

    async def refresh(self) -> None:
        """Reads the store's list again, and what other processes did to the conversations that are open here."""
        try:
            listed, changed = await self._list()
        except Exception as error:
            self.trouble, self.glanced = explain(error), False
            self.on_rows()
            return
        over, self.trouble = self.trouble is not None, None
        before, self._listed = self._listed, listed
        changed, self.glanced = changed or self.glanced, False
        changed = self.device.take_over(lambda id: listed.get(id) is not None) or changed
        try:
            for id, conversation in list(self._open.items()):
                row = listed.get(id)
                if isinstance(row, SavedState):
                    await self._catch_up(conversation, row, moved=row is not before.get(id))
                elif before.get(id) is not None:
                    await self._let_vanish(conversation)
        except Exception as error:  # a store that is gone again; the next look may find it
            self.trouble = explain(error)
        if changed or over or self.trouble is not None:
            self.on_rows()

    async def _list(self) -> tuple[Listing, bool]:
        """What the store lists, and whether it is another list than before; once more where one was deleted meanwhile."""
        while True:
            edits = self._edits
            saved = await self.store.alist()
            found = await asyncio.to_thread(_compared, saved, self._listed)
            if edits == self._edits:
                return found

    async def _catch_up(self, conversation: Conversation, row: SavedState, *, moved: bool) -> None:
        """What another process did to an open conversation is read again, and where it runs is said.

        `moved`: the store may have more of it than at the last look. While it runs elsewhere that is what streams.
        """
        if conversation.running or conversation.sending or conversation.unsaved:
            return
        if row.id in self._gone:  # brought back
            self._gone.discard(row.id)
            conversation.trouble = None
            conversation.tell_change()
        holder = await asyncio.to_thread(self.store.holder, row.id) if row.status == "running" else None
        state = conversation.state
        behind = row.updated_at > state.updated_at or row.turn != state.turn or (row.title or "") != state.title[:200]
        ended = conversation.elsewhere is not None and holder is None
        over = holder is None and conversation.trouble is not None and conversation.trouble.elsewhere
        if holder != conversation.elsewhere or over:
            conversation.elsewhere = holder
            conversation.trouble = None if over else conversation.trouble
            conversation.tell_change()
        if behind or ended or (moved and holder is not None):
            with contextlib.suppress(LookupError, ValueError, OSError):
                loaded = await self.store.aload(row.id)
                if not (conversation.running or conversation.sending or conversation.unsaved):
                    conversation.replace(loaded)
                    conversation.agent = self._agent_for(loaded)

    async def _let_vanish(self, conversation: Conversation) -> None:
        """Another process deleted it: its row goes, and what was written in it and not sent stays as a draft.

        The one on the screen can still be read, and forked.
        """
        if conversation.running or conversation.sending or conversation.unsaved:
            return
        try:
            if await self.store.aread(conversation.id) is not None:
                return
        except Exception:  # it may be there
            return
        self._gone.add(conversation.id)
        if conversation is self.current:
            conversation.trouble = explain(LookupError())
            conversation.tell_change()
        else:
            self._open.pop(conversation.id, None)

    async def watch(self, every: float = 1.5) -> None:
        """Looks at the store for ever, first after a while; the longer a look takes, the less often."""
        took = 0.0
        while True:
            await asyncio.sleep(max(every, 20 * took))
            start = time.monotonic()
            await self.refresh()
            took = time.monotonic() - start

    # -- opening

    async def open(self, id: str) -> Conversation:
        """The conversation with this id. Raises `LookupError` where there is none, and what the store raises."""
        conversation = self._open.get(id) if id not in self._gone else None
        if conversation is None:
            try:
                state = await self.store.aload(id)
                saved = True
            except LookupError:
                if self.device.draft(id) is None:
                    raise
                state, saved = State(id=id), False  # an unsent draft of none, or of one that is deleted
            if id in self._gone:
                self._gone.discard(id)
                self._open.pop(id, None)
            conversation = self._open.get(id) or self._add(state, saved=saved)
            if saved and state.stored_status == "running":
                conversation.elsewhere = await asyncio.to_thread(self.store.holder, id)
        self._open[id] = self._open.pop(id)  # the one that was opened last stands last
        self.device.mark_unread(id, False)
        return conversation

    async def peek(self, id: str) -> list[HistoryEntry]:
        """The end of a long conversation that is not open yet, for who shows it while `open` reads all of it."""
        if self.get(id) is not None:
            return []
        with contextlib.suppress(Exception):  # what is wrong, `open` tells
            return await asyncio.to_thread(self.store.peek, id)
        return []

    def get(self, id: str) -> Conversation | None:
        """The conversation, if it is open."""
        return self._open.get(id)

    def new(self, id: str | None = None) -> Conversation:
        """A conversation in which nothing was said; the store has it from its first message on."""
        return self._add(State(id=id), saved=False)

    def _add(self, state: State, *, saved: bool) -> Conversation:
        conversation = Conversation(state, self.agent, saved, self._changed, self._ended, self.always_allow)
        try:
            conversation.agent = self._agent_for(state)
        except (ValueError, TypeError) as error:
            conversation.trouble = Trouble(f"Its own settings can't be used: {error}.", "/model picks another model.")
        self._open[state.id] = conversation
        self._let_go(conversation)
        return conversation

    def _let_go(self, but: Conversation) -> None:
        """Conversations at rest that were opened longest ago leave the memory."""
        resting = [
            one for one in self._open.values()
            if not (one is but or one is self.current or one.running or one.sending or one.unsaved)
        ]  # fmt: skip
        for one in resting[: max(0, len(resting) - KEEP_OPEN)]:
            del self._open[one.id]

    def _agent_for(self, state: State) -> Agent:
        changes = own_settings(state)
        return self.agent.copy(**changes) if changes else self.agent

    def _changed(self, conversation: Conversation) -> None:
        self.on_rows()

    def _ended(self, conversation: Conversation) -> None:
        there = conversation.saved and conversation.id not in self._gone
        if there and conversation is not self.current and conversation.outcome == "answered":
            self.device.mark_unread(conversation.id)
        self.on_rows()
        self.on_ended(conversation)

    # -- what a person does with one

    async def set_settings(self, conversation: Conversation, **changes: Any) -> None:
        """Gives a conversation its own model, system prompt, effort or thinking; `None` takes the app's again.

        Raises `ValueError` for a model that is not known, and what the store raises.
        """
        kept = {key: value for key, value in {**conversation.settings, **changes}.items() if value is not None}
        trial = State()
        trial.data[SETTINGS] = kept
        agent = self._agent_for(trial)
        if kept:
            conversation.state.data[SETTINGS] = kept
        else:
            conversation.state.data.pop(SETTINGS, None)
        conversation.use(agent)
        await conversation.save()

    def use_agent(self, **changes: Any) -> None:
        """Other settings for all conversations that have none of their own."""
        self.agent = self.agent.copy(**changes)
        for conversation in self._open.values():
            with contextlib.suppress(ValueError, TypeError):
                conversation.use(self._agent_for(conversation.state))

    async def rename(self, id: str, title: str) -> None:
        """Gives a conversation a title. Raises `ValueError` for an empty one, and what the store raises."""
        conversation = self._open.get(id)
        if conversation is not None:
            conversation.state.rename(title)
            await conversation.save()
            return
        state = await self.store.aload(id)
        state.rename(title)
        await self.agent.asave(state)
        await self.refresh()

    async def fork(self, id: str, at: int | None = None) -> Conversation:
        """A copy under a new id, up to the entry `at`; it is saved at once. Raises what the store raises."""
        conversation = self._open.get(id)
        state = conversation.state if conversation else await self.store.aload(id)
        forked = self._forked(state, at)
        if forked.history:
            await self.agent.asave(forked)
        added = self._add(forked, saved=bool(forked.history))
        self.on_rows()
        return added

    def _forked(self, state: State, at: int | None) -> State:
        """A fork, with a title that tells it from the original."""
        forked = state.fork(at=at)
        self._name_fork(forked, state.title)
        return forked

    def _name_fork(self, fork: State, title: str) -> None:
        if title and title != (name := numbered(title, [item.title for item in self.items])):
            fork.rename(name)

    async def edit_and_send(self, conversation: Conversation, message: HistoryEntry, text: str) -> Conversation:
        """Says something else in place of a message, in a fork: the old branch stays as it is. Its pictures go along.

        A fork whose message can't be saved is given too: the message is in it, unsaved, and `trouble` says why.
        """
        before = [entry.seq for entry in conversation.state.history if entry.seq < message.seq]
        if before:
            fork = self._add(self._forked(conversation.state, before[-1]), saved=False)  # it is saved with the message
        else:
            fork = self.new()
            if text == message.text:
                self._name_fork(fork.state, conversation.state.title)
            if settings := conversation.settings:
                await self.set_settings(fork, **settings)
        images = tuple(block for block in message.blocks if isinstance(block, Image))
        with contextlib.suppress(NotSavedError):
            await fork.send(text, images=images)
        self.on_rows()
        return fork

    async def retry(self, conversation: Conversation) -> Conversation:
        """Asks again: goes on where no answer came, else asks for another answer in a fork."""
        state = conversation.state
        if not state.is_answered():
            conversation.run()
            return conversation
        last = next(entry for entry in reversed(list(state.history)) if entry.kind == "user")
        return await self.edit_and_send(conversation, last, last.text)

    async def checkpoint(self, conversation: Conversation, message: str) -> None:
        """Names this point of the conversation, to go back to. Raises `ValueError`, and what the store raises."""
        conversation.state.checkpoint(message)
        await conversation.save()

    async def rewind(self, conversation: Conversation, seq: int) -> None:
        """Goes back to a checkpoint, or to before a message of the person; the model and the other settings stay.

        Raises `ValueError` while a run goes on, `LookupError` where there is none, and what the store raises.
        """
        settings = conversation.settings
        conversation.state.restore(seq)
        conversation.state.data.pop(SETTINGS, None)
        if settings:
            conversation.state.data[SETTINGS] = settings
        conversation.trouble = None
        await conversation.save()

    # -- deleting

    async def delete(self, id: str) -> Deleted:
        """Deletes a conversation; one that runs here is stopped first. `undo` brings it back.

        Raises `StateInUseError` where another process runs it, and what the store raises: it is then still there.
        """
        row = self.row(id)
        conversation = self._open.get(id)
        if conversation is not None:
            await conversation.stop()
            conversation.take_back()
        record = await self.store.aread(id)
        if record is not None:
            await self.store.adelete(id)
        self._gone.add(id)
        self._open.pop(id, None)
        self._listed.remove(id)
        self._edits += 1
        row = row or Row(id, "Untitled", "waiting", State().updated_at)
        deleted = Deleted(row, record, self.device.forget(id))
        self.deleted.append(deleted)
        self.on_rows()
        return deleted

    async def undo(self) -> Deleted | None:
        """Brings back what was deleted last, as it was; `None` where nothing was. Raises what the store raises."""
        async with self._undoing:  # the second of two brings back the one before
            return await self._undo() if self.deleted else None

    async def _undo(self) -> Deleted:
        deleted = self.deleted[-1]
        id, record = deleted.row.id, deleted.record
        if record is not None:
            write = getattr(self.store, "awrite", None)
            if write is not None:
                await write(id, record.entries, record.snapshot, create=True)
            else:
                await asyncio.to_thread(self.store.write, id, record.entries, record.snapshot, create=True)
        self.deleted.pop()
        self._gone.discard(id)
        self._edits += 1
        self.device.restore(id, deleted.device)
        if record is not None:
            self._listed.put(deleted.row._replace(here=False, unread=False, pinned=False, draft=False))
        self.on_rows()
        return deleted

    # -- the end

    async def close(self, within: float | None = None) -> None:
        """Stops every run and waits until what streamed is saved, at most `within` seconds; the drafts are written."""
        running = self.running()
        for conversation in running:
            conversation.ask_to_stop()
        ends = [asyncio.ensure_future(conversation.finished()) for conversation in running]
        if ends:
            await asyncio.wait(ends, timeout=within)
        await asyncio.to_thread(self.device.flush)


def _compared(saved: list[SavedState], before: Listing) -> tuple[Listing, bool]:
    """What was listed, and whether it is another list than before. On a thread: ten thousand are looked at."""
    listed = Listing(saved)
    return listed, listed != before
