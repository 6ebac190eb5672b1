"""What is copied, and what is said of it."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from fireside_tui import clipboard

from tests.tui.app_support import opened, talk


async def test_ctrl_a_in_the_messages_selects_all_of_them_and_ctrl_c_copies(tmp_path: Path) -> None:
    id = await talk(tmp_path, "first words", *(f"question {n}" for n in range(30)))
    async with opened(tmp_path, [], resume=id) as it:
        it.main.go_to(it.main.chat.transcript)
        await it.pilot.pause()
        await it.press("ctrl+a", "ctrl+c")
        assert it.app.clipboard.startswith("you\nfirst words\n\nfake\nanswer to first words\n")
        assert it.app.clipboard.endswith("answer to question 29")
        assert it.said[-1:] == ["Copied the selection."]


async def test_select_all_is_a_command_as_well(tmp_path: Path) -> None:
    id = await talk(tmp_path, "first words")
    async with opened(tmp_path, [], resume=id) as it:
        await it.command("/select-all")
        await it.press("ctrl+c")
        assert "first words" in it.app.clipboard


async def test_a_text_that_is_too_long_for_a_terminal_stands_in_a_file_and_that_is_said(tmp_path: Path) -> None:
    long = "words and words " * 9000
    id = await talk(tmp_path, long)
    async with opened(tmp_path, [], resume=id) as it:
        for folder in (tmp_path / "cache", tmp_path / "config.toml"):
            it.main.action_command("select_all")
            await it.press("ctrl+c")
            said = it.said[-1]
            assert "Copied" not in said
            assert "too long for this terminal's clipboard" in said
            if folder.suffix:
                assert not said.endswith(clipboard.FILE)
                break
            file = folder / clipboard.FILE
            assert str(file) in said
            assert long.strip() in file.read_text()
            assert stat.S_IMODE(file.stat().st_mode) == 0o600
            file.unlink()
            file.mkdir()  # it can't be written now


@pytest.mark.parametrize("text", ["a\ud800b", "\ud83d"])
async def test_half_a_character_is_copied_as_a_mark(tmp_path: Path, text: str) -> None:
    async with opened(tmp_path, []) as it:
        it.main.copy(text, "it")
        assert it.app.clipboard == text.encode("utf-8", "replace").decode()
