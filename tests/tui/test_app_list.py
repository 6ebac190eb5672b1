"""The list: picking, filtering, renaming, pinning, deleting with undo."""

from __future__ import annotations

from pathlib import Path

from fireside import FileStore
from fireside.testing import FakeModel
from fireside_tui.config import Paths
from fireside_tui.device import Device
from fireside_tui.screens.search import Search
from fireside_tui.widgets.sidebar import SidebarTitle
from textual.widgets import Input

from tests.tui.app_support import Gate, calls_of, opened, talk


async def test_picking_a_row_shows_that_conversation(tmp_path: Path) -> None:
    await talk(tmp_path, "older")
    await talk(tmp_path, "newer")
    async with opened(tmp_path) as it:
        assert it.titles == ["newer", "older"]
        await it.press("ctrl+o", "down", "enter")
        await it.until(lambda: "answer to older" in it.shown)
        assert it.main.chat.composer.has_focus
        await it.press("ctrl+o", "up", "enter")
        await it.until(lambda: "answer to newer" in it.shown)


async def test_the_newest_or_a_named_conversation_is_opened_at_the_start(tmp_path: Path) -> None:
    first = await talk(tmp_path, "first", id="abc1")
    await talk(tmp_path, "second", id="xyz2")
    async with opened(tmp_path, newest=True) as it:
        assert "answer to second" in it.shown
    async with opened(tmp_path, resume="ab") as it:
        assert it.current.id == first
    async with opened(tmp_path, resume="nothing") as it:
        assert it.current.empty
        assert any("no conversation nothing" in words for words in it.said)


async def test_a_click_opens_a_row(tmp_path: Path) -> None:
    await talk(tmp_path, "older")
    await talk(tmp_path, "newer")
    async with opened(tmp_path) as it:
        await it.pilot.click("#rows", offset=(5, 3))
        await it.until(lambda: "answer to older" in it.shown)


async def test_the_filter_narrows_by_words_and_goes_away(tmp_path: Path) -> None:
    for title in ("red apples", "green apples", "green [pears]"):
        await talk(tmp_path, title)
    async with opened(tmp_path) as it:
        await it.press("ctrl+o", "slash", *"gr app")
        assert it.titles == ["green apples"]
        heading = it.main.sidebar.query_one(SidebarTitle)
        assert str(heading.render()) == "Conversations  1 of 3"
        keys = it.main.query_one("#keys")
        await it.until(lambda: "Enter Search the texts  ↓ To the titles" in str(keys.content))
        await it.press("down", "enter")
        await it.until(lambda: "answer to green apples" in it.shown)
        await it.press("ctrl+o", "slash", "escape")
        assert len(it.titles) == 3
        assert str(heading.render()) == "Conversations  3"


async def test_enter_in_the_filter_goes_on_to_the_texts_whatever_the_titles_have(tmp_path: Path) -> None:
    await talk(tmp_path, "red apples")
    async with opened(tmp_path) as it:
        before = it.current
        await it.press("ctrl+o", "slash", *"apples", "enter")
        await it.until(lambda: isinstance(it.app.screen, Search))
        await it.until(lambda: it.app.screen.query_one(Input).value == "apples")
        await it.press("escape")
        await it.until(lambda: it.app.screen is it.main)
        assert it.current is before
        await it.press(*" nowhere", "down")
        assert it.main.sidebar.filter.has_focus, "there is no title to go to"


async def test_the_cursor_of_the_list_starts_at_its_first_row_also_where_a_draft_stands(tmp_path: Path) -> None:
    ids = [await talk(tmp_path, f"talk {n}") for n in range(8)]
    store = FileStore(tmp_path / "store")
    device = Device(Paths(tmp_path / "c", tmp_path / "data", tmp_path / "cache").device_file(store.place or ""))
    device.pin(ids[0])
    device.set_draft("draft", "half a thought")
    assert device.flush()
    async with opened(tmp_path, size=(60, 20)) as it:
        rows = it.main.sidebar.rows
        assert (rows.cursor_id, rows.scroll_y) == (ids[0], 0)
        await it.press("ctrl+o")
        assert rows.cursor_id == ids[0]
        await talk(tmp_path, "from another window")
        await it.app.conversations.refresh()
        await it.rows()
        device.pin(ids[3])
        assert rows.cursor_id == ids[0], "what comes while one is in the list moves the cursor nowhere"
    async with opened(tmp_path, size=(60, 20), resume=ids[4]) as it:
        assert it.main.sidebar.rows.cursor_id == ids[4]
    async with opened(tmp_path, size=(60, 20), resume="draft") as it:
        await it.until(lambda: it.main.sidebar.rows.cursor_id == "draft")


async def test_delete_asks_and_the_selection_moves_to_the_neighbour(tmp_path: Path) -> None:
    ids = [await talk(tmp_path, title) for title in ("c", "b", "a")]
    async with opened(tmp_path) as it:
        await it.main.open(ids[1])
        await it.press("ctrl+o", "d", "n")
        await it.rows()
        assert len(it.titles) == 3
        await it.press("delete", "y")
        await it.until(lambda: it.main.conversations.deleted)
        await it.rows()
        assert it.titles == ["a", "c"]
        assert it.current.id == ids[0]
        assert it.main.sidebar.rows.cursor_id == ids[0]
        assert it.main.in_list
        await it.press("u")
        await it.until(lambda: not it.main.conversations.deleted)
        await it.rows()
        assert it.titles == ["a", "b", "c"]
        assert it.current.id == ids[1]
    assert len(FileStore(tmp_path / "store").list()) == 3


async def test_deleting_all_leaves_a_new_conversation_and_all_come_back(tmp_path: Path) -> None:
    for title in ("a", "b"):
        await talk(tmp_path, title)
    async with opened(tmp_path, newest=True) as it:
        for left in (1, 0):
            await it.press("ctrl+o") if not it.main.in_list else None
            await it.press("d", "y")
            await it.until(lambda left=left: len(it.titles) == left)
        assert it.current.empty
        await it.press("u", "u")
        await it.until(lambda: len(it.titles) == 2)


async def test_deleting_one_that_runs_stops_it(tmp_path: Path) -> None:
    gate = Gate()
    async with opened(tmp_path, gate) as it:
        await it.send("one", answered=False)
        await gate.is_asked("one")
        await it.command("/delete")
        await it.press("y")
        await it.until(lambda: it.main.conversations.deleted)
        gate.let_on("one")
        await it.rows()
        assert it.titles == []
        assert FileStore(tmp_path / "store").list() == []


async def test_rename_pin_and_fork(tmp_path: Path) -> None:
    ids = [await talk(tmp_path, title) for title in ("old", "new")]
    async with opened(tmp_path) as it:
        await it.press("ctrl+o", "down", "p")
        await it.until(lambda: it.titles == ["old", "new"])
        await it.press("r")
        await it.until(lambda: len(it.app.screen_stack) == 3)
        await it.press("ctrl+u", *"[new] name", "enter")
        await it.until(lambda: "[new] name" in it.titles)
        assert FileStore(tmp_path / "store").load(ids[0]).title == "[new] name"
        await it.press("f")
        await it.until(lambda: len(it.titles) == 3)
        assert it.current.id not in ids
        await it.command("/rename third")
        await it.until(lambda: "third" in it.titles)


async def test_export_writes_a_file_and_never_over_another(tmp_path: Path) -> None:
    id = await talk(tmp_path, "to be kept")
    async with opened(tmp_path) as it:
        await it.main.open(id)
        await it.command(f"/export {tmp_path}/out.md")
        await it.until(lambda: (tmp_path / "out.md").exists() and any("Written" in words for words in it.said))
        assert "answer to to be kept" in (tmp_path / "out.md").read_text()
        await it.command(f"/export {tmp_path}/out.md")
        await it.until(lambda: any("File exists" in words for words in it.said))


async def test_on_a_narrow_screen_the_list_is_a_drawer(tmp_path: Path) -> None:
    await talk(tmp_path, "a talk")
    async with opened(tmp_path, size=(60, 20)) as it:
        assert not it.main.sidebar.display
        await it.press("ctrl+o")
        await it.until(lambda: it.main.in_list)
        assert it.main.sidebar.display
        await it.press("enter")
        await it.until(lambda: "answer to a talk" in it.shown)
        assert not it.main.sidebar.display


async def test_an_answer_that_arrives_elsewhere_marks_its_row(tmp_path: Path) -> None:
    gate = Gate()
    async with opened(tmp_path, gate) as it:
        await it.send("one", answered=False)
        first = it.current
        await gate.is_asked("one")
        await it.press("ctrl+n")
        await it.until(lambda: it.current is not first)
        await it.send("two", answered=False)
        await gate.is_asked("two")
        await it.rows()
        assert {row.status for row in it.main.sidebar.rows.rows} == {"running"}
        gate.let_on("one")
        await it.until(lambda: not first.running)
        await it.rows()
        assert {row.title: row.unread for row in it.main.sidebar.rows.rows} == {"one": True, "two": False}
        assert "half of one" not in it.shown
        await it.main.open(first.id)
        await it.rows()
        assert "half of one" in it.shown
        assert not any(row.unread for row in it.main.sidebar.rows.rows)
        gate.let_on("two")


async def test_the_list_is_not_built_again_while_an_answer_streams(tmp_path: Path) -> None:
    from fireside_tui.widgets.sidebar import Sidebar

    with calls_of(Sidebar, "show") as shown:
        async with opened(tmp_path, FakeModel(["word " * 2000])) as it:
            shown.count = 0
            await it.send("go")
            await it.rows()
            assert shown.count <= 6


async def test_keys_that_come_in_one_go_go_where_they_are_meant(tmp_path: Path) -> None:
    from textual.events import Key

    await talk(tmp_path, "apples")
    await talk(tmp_path, "pears")
    async with opened(tmp_path) as it:
        for key, character in (("ctrl+o", None), ("slash", "/"), *((letter, letter) for letter in "app")):
            it.app.post_message(Key(key, character))
        await it.until(lambda: it.titles == ["apples"])


async def test_a_key_that_leaves_a_box_does_not_overtake_what_was_typed_before_it(tmp_path: Path) -> None:
    from textual.events import Key

    id = await talk(tmp_path, "apples")
    async with opened(tmp_path) as it:
        await it.main.open(id)
        for key, character in (*((letter, letter) for letter in "half"), ("ctrl+n", None), ("b", "b")):
            it.app.post_message(Key(key, character))
        await it.until(lambda: it.current.id != id and it.box == "b")
        await it.main.open(id)
        assert it.box == "half"


async def test_enter_sends_where_it_was_pressed_however_soon_one_goes_on(tmp_path: Path) -> None:
    from textual.events import Key

    id = await talk(tmp_path, "apples")
    async with opened(tmp_path) as it:
        await it.main.open(id)
        conversation = it.current
        for key, character in (("h", "h"), ("i", "i"), ("enter", "\r"), ("ctrl+n", None), ("b", "b")):
            it.app.post_message(Key(key, character))
        await it.until(lambda: it.current.id != id and it.box == "b")
        await it.until(lambda: [e.text for e in conversation.state.history if e.kind == "user"] == ["apples", "hi"])
        await it.main.open(id)
        assert it.box == ""


async def test_what_is_said_in_passing_is_said_once_and_hides_little(tmp_path: Path) -> None:
    async with opened(tmp_path, size=(80, 24)) as it:
        for words in ("one", "two", "three", "three"):
            it.main.say(words)
        await it.pilot.pause()
        assert it.said == ["two", "three"]
        toasts = it.app.screen.query("Toast")
        composer = it.main.chat.composer.region
        assert not any(toast.region.overlaps(composer) for toast in toasts)


async def test_what_another_window_deleted_leaves_its_unsent_words_as_a_draft(tmp_path: Path) -> None:
    for title in ("c", "b", "a"):
        await talk(tmp_path, title, id=title)
    async with opened(tmp_path, FakeModel(["a new answer"])) as it:
        await it.main.open("b")
        await it.write("unsent words")
        await it.main.open("c")
        for id in ("a", "b"):
            FileStore(tmp_path / "store").delete(id)
        await it.main.conversations.refresh()
        await it.rows()
        assert {(row.title, row.status) for row in it.main.sidebar.rows.rows} == {
            ("unsent words", "draft"),
            ("c", "waiting"),
        }
        await it.main.open("b")
        assert (it.box, it.shown) == ("unsent words", "")
        await it.press("enter")
        await it.until(lambda: "a new answer" in it.shown)
        await it.main.conversations.refresh()
        await it.rows()
        assert it.titles == ["unsent words", "c"]


async def test_the_one_on_the_screen_that_another_window_deleted_can_be_read_and_forked(tmp_path: Path) -> None:
    await talk(tmp_path, "kept", id="kept")
    await talk(tmp_path, "lost", id="lost")
    store = FileStore(tmp_path / "store")
    async with opened(tmp_path, newest=True) as it:
        record = store.read("lost")
        assert record is not None
        store.delete("lost")
        await it.main.conversations.refresh()
        await it.rows()
        assert it.titles == ["kept"]
        assert "answer to lost" in it.shown
        assert "deleted in another window" in it.status
        store.write("lost", record.entries, record.snapshot, create=True)  # the other window takes it back
        await it.main.conversations.refresh()
        await it.rows()
        assert it.titles == ["lost", "kept"]
        assert "deleted" not in it.status
        store.delete("lost")
        await it.main.conversations.refresh()
        await it.command("/fork")
        await it.until(lambda: it.current.id != "lost")
        await it.rows()
        assert it.titles == ["lost", "kept"]
        assert "answer to lost" in it.shown


async def test_a_draft_that_is_deleted_while_it_is_on_the_screen_is_gone_until_it_is_undone(tmp_path: Path) -> None:
    await talk(tmp_path, "a talk")
    async with opened(tmp_path) as it:
        await it.write("only a draft")
        await it.until(lambda: it.titles == ["only a draft", "a talk"])
        await it.press("ctrl+o", "up", "d", "y")
        await it.until(lambda: it.main.conversations.deleted)
        await it.until(lambda: it.current.state.title == "a talk")
        it.main.look_at_draft()
        await it.rows()
        assert it.titles == ["a talk"]
        await it.press("u")
        await it.until(lambda: it.box == "only a draft")
        it.main.keep_draft()
        await it.rows()
        assert it.titles == ["only a draft", "a talk"]
