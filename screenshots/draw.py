"""Draws the pictures: `python -m screenshots.draw [name …]`. It needs resvg-py for the PNGs."""

from __future__ import annotations

import asyncio
import os
import re
import sys
import tempfile
from pathlib import Path

from screenshots.scenes import BY_NAME, stopped_clock

HERE = Path(__file__).parent
PICTURES = (
    ("chat", "conversation", (110, 34)),
    ("light", "light", (110, 34)),
    ("streaming", "streaming", (100, 26)),
    ("approval", "approval", (100, 26)),
    ("first-run", "first-run", (100, 26)),
    ("narrow", "conversation-end", (60, 24)),
    ("help", "help", (100, 34)),
)
PNGS = ("chat", "light")


async def draw(scene: str, size: tuple[int, int], file: Path) -> None:
    """Draws one scene."""
    with tempfile.TemporaryDirectory() as folder:
        app = BY_NAME[scene].app(Path(folder))
        async with app.run_test(size=size) as pilot:
            await BY_NAME[scene].act(app, pilot)
            _write(file, plain_font(app.export_screenshot(title="fireside")))
            if app.conversations is not None:
                await app.conversations.close(5)


def plain_font(svg: str) -> str:
    """Without a font from the network."""
    svg = re.sub(r"@font-face\s*{[^}]*}", "", svg)
    return svg.replace("Fira Code", "DejaVu Sans Mono")


def _write(file: Path, text: str) -> None:
    file.write_text(text, encoding="utf-8")


def png(svg: Path) -> None:
    """The same picture for who shows no SVG."""
    import resvg_py

    svg.with_suffix(".png").write_bytes(bytes(resvg_py.svg_to_bytes(svg_string=svg.read_text(encoding="utf-8"))))


def main(names: list[str]) -> None:
    """Draws all pictures, or those that are named."""
    for name in [name for name in os.environ if name.startswith(("ANTHROPIC_", "FIRESIDE_"))]:
        del os.environ[name]
    os.environ["FIRESIDE_NO_WARM_UP"] = "1"
    with tempfile.TemporaryDirectory() as home, stopped_clock():
        os.environ["HOME"] = home
        for name, scene, size in PICTURES:
            if not names or name in names:
                file = HERE / f"{name}.svg"
                asyncio.run(draw(scene, size, file))
                if name in PNGS:
                    png(file)


if __name__ == "__main__":
    main(sys.argv[1:])
