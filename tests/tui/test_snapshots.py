"""The main screens as pictures, at the two sizes that matter and on a narrow one; the clock stands still."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from screenshots.scenes import BY_NAME, stopped_clock

PICTURES = [
    *((scene, size) for scene in ("first-run", "conversation", "streaming", "approval", "filter", "delete", "undo")
      for size in ((80, 24), (120, 36))),
    ("help", (80, 24)),
    ("commands", (80, 24)),
    ("model", (80, 24)),
    ("light", (120, 36)),
    ("conversation-end", (60, 20)),
    ("drawer", (60, 20)),
    ("conversation-end", (30, 8)),
]  # fmt: skip


@pytest.fixture(autouse=True)
def at_rest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("FIRESIDE_NO_WARM_UP", "1")
    with stopped_clock():
        yield


@pytest.mark.parametrize(("scene", "size"), PICTURES, ids=[f"{name}-{w}x{h}" for name, (w, h) in PICTURES])
def test_looks_as_it_should(snap_compare: Any, tmp_path: Path, scene: str, size: tuple[int, int]) -> None:
    app = BY_NAME[scene].app(tmp_path)

    async def before(pilot: Any) -> None:
        await BY_NAME[scene].act(app, pilot)

    assert snap_compare(app, terminal_size=size, run_before=before)
