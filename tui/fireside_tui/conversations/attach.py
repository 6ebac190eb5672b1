"""Files that go along with a message: pictures as pictures, texts inside the message."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fireside import Image

MOST_BYTES = 5 * 1024 * 1024
"""The largest file that is attached; the API takes no larger pictures."""


def check_file(path: str | Path) -> Path:
    """The file, if it can be attached. Raises `ValueError` that says why not, `OSError` as usual."""
    file = Path(path).expanduser()
    if file.is_dir():
        raise ValueError(f"{file} is a folder; attach a file")
    size = file.stat().st_size
    if size > MOST_BYTES:
        raise ValueError(
            f"{file} has {size / 1024 / 1024:.1f} MB; files up to {MOST_BYTES // 1024 // 1024} MB can go along"
        )
    if not is_picture(file):
        _text_of(file)
    return file


def is_picture(path: str | Path) -> bool:
    """Whether the file goes along as a picture."""
    import mimetypes

    return mimetypes.guess_type(str(path))[0] in ("image/png", "image/jpeg", "image/gif", "image/webp")


def with_files(text: str, files: Iterable[str]) -> tuple[str, list[Image]]:
    """The message with the texts of its files behind it, and its pictures. Raises as `check_file`."""
    from fireside import Image

    parts, pictures = [text] if text.strip() else [], []
    for name in files:
        file = check_file(name)
        if is_picture(file):
            pictures.append(Image.from_file(file))
        else:
            content = _text_of(file)
            fence = "```"
            while fence in content:
                fence += "`"
            parts.append(f"{file.name}:\n\n{fence}{file.suffix.lstrip('.')}\n{content.rstrip()}\n{fence}")
    return "\n\n".join(parts), pictures


def _text_of(file: Path) -> str:
    try:
        return file.read_bytes().decode("utf-8")
    except UnicodeDecodeError:
        raise ValueError(f"{file} is neither a picture (PNG, JPEG, GIF, WebP) nor UTF-8 text") from None
