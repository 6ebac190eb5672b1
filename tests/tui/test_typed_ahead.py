"""What is typed ahead of a command's end: in its order, once, and never stuck."""

from __future__ import annotations

import asyncio

import pytest
from fireside_tui.screens.typed_ahead import Typed, TypedAhead
from textual.events import Key, Paste


class Desk:
    """Takes what is given; `!` does not agree with it, and `w` sets off more work."""

    def __init__(self) -> None:
        self.ahead = TypedAhead(self.give)
        self.taken = ""
        self.go = asyncio.Event()
        self.works: list[asyncio.Task[None]] = []

    async def give(self, event: Typed) -> None:
        if self.ahead.holds(event):
            return
        await asyncio.sleep(0)
        character = event.text if isinstance(event, Paste) else event.character or ""
        if character == "!":
            raise ValueError(character)
        self.taken += character
        if character == "w":
            self.work()

    def work(self) -> None:
        self.works.append(asyncio.ensure_future(self.ahead.during(self._work())))

    async def _work(self) -> None:
        await self.go.wait()
        self.taken += "."

    async def type(self, text: str) -> None:
        for character in text:
            await self.give(Key(character, character))


async def test_all_comes_in_its_order_also_what_comes_while_it_is_given() -> None:
    desk = Desk()
    desk.work()
    await desk.type("ab")
    await desk.give(Paste("cd"))
    assert desk.taken == ""
    desk.go.set()
    await asyncio.sleep(0)
    await desk.type("ef")
    await desk.works[0]
    await desk.type("g")
    assert desk.taken == ".abcdefg"


async def test_work_that_a_key_sets_off_holds_the_keys_behind_it() -> None:
    desk = Desk()
    desk.go.set()
    desk.work()
    await desk.type("awbwc")
    while len(desk.works) < 3 or not all(work.done() for work in desk.works):  # noqa: ASYNC110
        await asyncio.sleep(0)
    assert desk.taken == ".aw.bw.c"


async def test_a_key_that_fails_does_not_stop_those_behind_it() -> None:
    desk = Desk()
    desk.work()
    await desk.type("a!b")
    desk.go.set()
    with pytest.raises(ValueError, match="!"):
        await desk.works[0]
    assert desk.taken == ".ab"
    await desk.type("c")
    assert desk.taken == ".abc"


async def test_nothing_waits_for_quitting_and_the_words_can_be_taken_away() -> None:
    desk = Desk()
    desk.work()
    assert not desk.ahead.holds(Key("ctrl+q", None))
    await desk.type("hi")
    desk.ahead.holds(Key("enter", "\r"))
    assert desk.ahead.take_text() == "hi"
    desk.go.set()
    await desk.works[0]
    assert desk.taken == "."
