"""Toasts: small, few, and only for what one does not see by itself."""

from __future__ import annotations

from pathlib import Path

import pytest
from fireside import Reply, Text, Thinking
from textual.widgets._toast import Toast

from tests.tui.app_support import opened


@pytest.mark.parametrize("width", [60, 100, 200])
async def test_a_toast_takes_no_more_room_than_its_words(tmp_path: Path, width: int) -> None:
    async with opened(tmp_path, [], size=(width, 20), toasts=True) as it:
        it.main.say("Few words.")
        await it.until(lambda: it.main.query(Toast) and it.main.query(Toast).last().region.height)
        region = it.main.query(Toast).last().region
        assert (region.width, region.height) == (len("Few words.") + 3, 1)
        it.main.say("many words " * 12)
        await it.until(lambda: len(it.main.query(Toast)) == 2 and it.main.query(Toast).last().region.height > 1)
        assert it.main.query(Toast).last().region.width <= 44


async def test_thoughts_that_are_shown_or_folded_need_no_toast(tmp_path: Path) -> None:
    async with opened(tmp_path, [Reply((Thinking("deep thought", "s"), Text("so")))]) as it:
        await it.press("ctrl+t")
        await it.until(lambda: it.said == ["Thinking will be shown."])
        await it.send("Hi")
        await it.press("ctrl+t", "ctrl+t")
        assert it.said == ["Thinking will be shown."]
