"""The composer in the app: nothing typed is lost, nothing is sent twice, and a paste sends nothing."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from fireside import Agent, FileStore, State
from textual.events import Paste

from tests.tui.app_support import FullDisk, Gate, Opened, opened, talk


def users(it: Any) -> list[str]:
    return [entry.text for entry in it.current.state.history if entry.kind == "user"]


async def test_a_message_is_sent_and_its_answer_shown(tmp_path: Path) -> None:
    async with opened(tmp_path, ["Hello **you**"]) as it:
        await it.send("Hi")
        assert "Hello **you**" in it.shown
        assert it.titles == ["Hi"]
        assert "saved" in it.status


async def test_a_message_that_can_not_be_saved_stays_in_the_box_and_is_there_once_later(tmp_path: Path) -> None:
    store = FullDisk(tmp_path / "store")
    async with opened(tmp_path, ["ok"], store=store) as it:
        store.full = True
        await it.write("Keep me")
        await it.press("enter")
        await it.until(lambda: it.current.unsaved and not it.current.sending)
        assert it.box == "Keep me"
        assert "disk is full" in it.status
        await it.press("enter")
        await it.until(lambda: not it.current.sending)
        store.full = False
        await it.press("enter")
        await it.until(lambda: not it.box and not it.current.running)
        assert users(it) == ["Keep me"]
        assert it.current.state.answer == "ok"


async def test_editing_takes_the_unsaved_message_back(tmp_path: Path) -> None:
    store = FullDisk(tmp_path / "store")
    async with opened(tmp_path, ["ok"], store=store) as it:
        store.full = True
        await it.write("first")
        await it.press("enter")
        await it.until(lambda: it.current.unsaved and not it.current.sending)
        await it.press("!")
        assert not it.current.unsaved
        assert users(it) == []
        store.full = False
        await it.press("enter")
        await it.until(lambda: not it.box and not it.current.running)
        assert users(it) == ["first!"]


async def test_what_is_typed_while_a_message_is_being_saved_stays(tmp_path: Path) -> None:
    import threading

    class Slow(FileStore):
        held = threading.Event()

        def write(self, *args: Any, **rest: Any) -> None:
            self.held.wait(20)
            super().write(*args, **rest)

    store = Slow(tmp_path / "store")
    async with opened(tmp_path, ["ok"], store=store) as it:
        await it.write("sent")
        await it.press("enter")
        await it.until(lambda: it.current.sending)
        await it.press(*" and more", "enter")
        store.held.set()
        await it.until(lambda: not it.current.sending and not it.current.running)
        assert users(it) == ["sent"]
        assert it.box == " and more"


async def test_keys_typed_before_the_store_is_open_are_not_lost(tmp_path: Path) -> None:
    from fireside import Agent
    from fireside.testing import FakeModel
    from fireside_tui.app import FiresideApp
    from fireside_tui.config import Config, Paths

    agent = Agent(FakeModel(["ok"]), store=FileStore(tmp_path / "store"))
    app = FiresideApp(Config(), agent=agent, places=Paths(tmp_path / "c", tmp_path / "d", tmp_path / "e"))
    begin = asyncio.Event()
    open_store = app._open_store

    async def later() -> None:
        await begin.wait()
        await open_store()

    app._open_store = later  # type: ignore[method-assign]
    async with app.run_test() as pilot:
        await pilot.press(*"early", "enter")
        assert app.main.chat.composer.text == "early"
        begin.set()
        await Opened(app, pilot).until(lambda: app.main.current is not None and app.main.current.state.answer)
        assert app.main.current is not None
        assert app.main.current.state.task == "early"


async def test_each_conversation_keeps_its_draft_also_over_a_restart(tmp_path: Path) -> None:
    one, two = await talk(tmp_path, "one"), await talk(tmp_path, "two")
    async with opened(tmp_path) as it:
        await it.main.open(one)
        await it.write("for one")
        await it.main.open(two)
        assert it.box == ""
        await it.write("for two")
        await it.main.open(one)
        assert it.box == "for one"
        await it.press("ctrl+n")
        await it.until(lambda: it.current.empty)
        await it.write("a new thought")
        file = it.app.conversations.device.path
        await it.until(lambda: '"a new thought"' in file.read_text())
    async with opened(tmp_path) as it:
        assert "a new thought" in it.titles
        await it.main.open(two)
        assert it.box == "for two"


async def test_enter_sends_and_the_other_keys_break_the_line(tmp_path: Path) -> None:
    async with opened(tmp_path, ["ok"]) as it:
        await it.press("a", "ctrl+j", "b", "shift+enter", "c")
        assert it.box == "a\nb\nc"
        await it.press("enter")
        await it.until(lambda: it.current.state.answer == "ok")
        assert users(it) == ["a\nb\nc"]


async def test_nothing_but_blanks_is_not_sent(tmp_path: Path) -> None:
    async with opened(tmp_path, []) as it:
        await it.press("space", "ctrl+j", "enter")
        await it.pilot.pause()
        assert it.current.empty
        assert not it.current.unsaved


async def test_up_in_an_empty_box_brings_earlier_messages_back(tmp_path: Path) -> None:
    id = await talk(tmp_path, "first", "second")
    async with opened(tmp_path) as it:
        await it.main.open(id)
        await it.press("up")
        assert it.box == "second"
        await it.press("up")
        assert it.box == "first"
        await it.press("up")
        assert it.box == "first"
        await it.press("down", "down")
        assert it.box == ""


PASTES = ["a\r\nb\rc", "x\x1b[2Jy\x00z\x9b", '[/bold] [tag="', "\ud83d half", "日本語 e\u0301 👩‍👩‍👧"]


async def test_a_paste_is_one_paste_without_control_characters(tmp_path: Path) -> None:
    async with opened(tmp_path, []) as it:
        for text in PASTES:
            it.app.post_message(Paste(text))
            await it.until(lambda: it.box)
            kept = text.replace("\r\n", "\n").replace("\r", "\n")
            assert it.box == "".join(c for c in kept if c not in "\x1b\0\x9b")
            assert it.current.empty
            it.main.chat.composer.empty()


async def test_a_huge_paste_stands_as_one_word_and_goes_out_whole(tmp_path: Path) -> None:
    huge = "x" * 1_000_000
    async with opened(tmp_path, ["ok"]) as it:
        await it.press(*"see ")
        it.app.post_message(Paste(huge))
        await it.until(lambda: "pasted text" in it.box)
        await it.press("!", "enter")
        await it.until(lambda: it.current.state.answer == "ok")
        assert users(it) == [f"see {huge}!"]


async def test_a_draft_with_a_huge_paste_survives_switching(tmp_path: Path) -> None:
    other = await talk(tmp_path, "other")
    async with opened(tmp_path, ["ok"]) as it:
        here = it.current.id
        it.app.post_message(Paste("y" * 20_000))
        await it.until(lambda: "pasted text" in it.box)
        await it.main.open(other)
        await it.main.open(here)
        assert it.main.chat.composer.whole_text == "y" * 20_000


async def test_a_message_written_while_it_answers_is_answered_too(tmp_path: Path) -> None:
    gate = Gate()
    async with opened(tmp_path, gate) as it:
        await it.send("one", answered=False)
        await gate.is_asked("one")
        await it.send("two", answered=False)
        gate.let_on("one")
        await gate.is_asked("two")
        gate.let_on("two")
        await it.until(lambda: it.current.state.is_answered() and not it.current.running)
        assert it.shown.index("half of one") < it.shown.index("half of two")


async def test_an_unknown_command_is_not_sent(tmp_path: Path) -> None:
    async with opened(tmp_path, ["ok"]) as it:
        await it.command("/nonsense")
        assert it.box == "/nonsense"
        assert any("There is no command /nonsense" in words for words in it.said)
        await it.press("ctrl+a")
        it.main.chat.composer.put("/etc/hosts is a file")
        await it.press("enter")
        await it.until(lambda: it.current.state.answer == "ok")


async def test_tab_completes_a_command(tmp_path: Path) -> None:
    async with opened(tmp_path, []) as it:
        await it.press(*"/copy")
        await it.press("tab")
        assert it.box == "/copy"
        it.main.chat.composer.put("/ren")
        await it.pilot.pause()
        await it.press("tab")
        assert it.box == "/rename "


async def test_the_editor_gives_the_text_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from fireside_tui import outside

    async def edit(app: Any, text: str) -> str:
        return text + "\nfrom the editor"

    monkeypatch.setattr(outside, "edit", edit)
    async with opened(tmp_path, []) as it:
        await it.write("from the box")
        await it.press("ctrl+g")
        await it.until(lambda: "editor" in it.box)
        assert it.box == "from the box\nfrom the editor"


async def test_a_file_goes_along(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("some notes")
    async with opened(tmp_path, ["ok"]) as it:
        await it.command(f"/attach {tmp_path}/notes.txt")
        await it.until(lambda: it.main.files)
        await it.send("Read this")
        assert users(it) == ["Read this\n\nnotes.txt:\n\n```txt\nsome notes\n```"]
        assert it.main.files == ()
        await it.command(f"/attach {tmp_path}")
        await it.until(lambda: it.said)
        assert any("is a folder" in words for words in it.said)


async def test_a_file_that_is_gone_is_told_and_the_message_stays(tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("words")
    async with opened(tmp_path) as it:
        await it.command(f"/attach {tmp_path / 'nowhere'}")
        assert it.said == [f"{tmp_path / 'nowhere'}: No such file or directory."]
        await it.command(f"/attach {file}")
        file.unlink()
        await it.write("look")
        await it.press("enter")
        await it.until(lambda: f"{file}: No such file or directory." in it.said)
        assert it.box == "look"
        assert it.main.files == (str(file),)


async def test_what_is_written_while_it_runs_elsewhere_stays_and_goes_out_afterwards(tmp_path: Path) -> None:
    gate = Gate()
    store = FileStore(tmp_path / "store")
    theirs = State("Hi", id="shared")
    running = asyncio.create_task(Agent(gate, store=store).arun(theirs))
    await gate.is_asked("Hi")
    async with opened(tmp_path, ["and more"], store=FileStore(tmp_path / "store"), resume="shared") as it:
        await it.until(lambda: "Read-only" in it.status)
        await it.press(*"more")
        await it.press("enter")
        await it.until(lambda: any("The message stays here" in said for said in it.said))
        assert it.box == "more"
        gate.let_on("Hi")
        await running
        await it.app.conversations.refresh()
        await it.until(lambda: "Read-only" not in it.status)
        await it.press("enter")
        await it.until(lambda: "and more" in it.shown)
        assert it.box == ""


async def test_the_same_words_are_found_again_after_esc_and_in_another_conversation(tmp_path: Path) -> None:
    async with opened(tmp_path, ["a pear", "one more pear"]) as app:
        transcript = app.main.chat.transcript
        await app.send("First")
        await app.command("/find pear")
        await app.until(lambda: transcript.finding)
        await app.press("escape")
        assert not transcript.finding
        await app.command("/find pear")
        await app.until(lambda: transcript.finding)
        await app.press("ctrl+n")
        await app.send("Second")
        assert not transcript.finding
        await app.command("/find pear")
        await app.until(lambda: transcript.finding)


async def test_drafts_that_can_not_be_kept_are_told_of_and_shown_after_the_end(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("no folder")
    async with opened(tmp_path) as it:
        await it.write("a thought\x1b[2J [/]")
        it.main.look_at_draft()
        await it.until(lambda: any("gone at the next start" in words for words in it.said))
        it.main.conversations.device.error = None
        await it.app.end(0)
        (words,) = it.app._exit_renderables
        assert words.startswith("fireside: what was not sent could not be kept:")
        assert words.endswith("a thought␛[2J [/]")
        it.app._exit_renderables.clear()


async def test_a_message_that_is_not_saved_is_not_said_to_wait_for_an_answer(tmp_path: Path) -> None:
    store = FullDisk(tmp_path / "store")
    async with opened(tmp_path, ["ok"], store=store) as it:
        store.full = True
        await it.write("keep this")
        await it.press("enter")
        await it.until(lambda: it.current.unsaved)
        it.main.chat.reload()
        assert "has no answer yet" not in it.shown
