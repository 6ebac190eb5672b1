"""What fireside finds on this machine: settings, credentials, store, terminal. It looks and changes nothing.

The value of a key or a password is never in what it says.
"""

from __future__ import annotations

import importlib.metadata
import os
import platform
import re
import select
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from fireside_tui.no_key import WHAT_TO_DO, credentials

Verdict = Literal["ok", "note", "wrong", ""]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at. `"wrong"` has to be mended, `"note"` may be as it is meant to be."""

    room: str
    name: str
    text: str
    verdict: Verdict = "ok"


def examine(config_file: Path | None = None, options: Mapping[str, Any] | None = None) -> Iterator[Finding]:
    """Every finding, in the order in which they are best read. Nothing that is wrong stops the rest."""
    rooms: tuple[Callable[[], Iterator[Finding]], ...] = (
        _program,
        lambda: _settings(config_file, options),
        _terminal,
    )
    for room in rooms:
        try:
            yield from room()
        except Exception as error:  # a doctor that falls ill helps nobody
            yield Finding("Program", "examination", f"{type(error).__name__}: {error}", "wrong")


def shown_place(place: str) -> str:
    """An address without its password.

    >>> shown_place("postgresql://ann:secret@host/db?password=x")
    'postgresql://ann:***@host/db?password=***'
    """
    place = re.sub(r"(://[^/@:]*):[^/@]*@", r"\1:***@", place)
    return re.sub(r"([?&][^=&]*(?:pass|key|token|secret)[^=&]*=)[^&]*", r"\1***", place, flags=re.IGNORECASE)


# -- the rooms


def _program() -> Iterator[Finding]:
    import fireside

    yield Finding("Program", "fireside", f"{fireside.__version__} in {Path(fireside.__file__).parent}")
    yield Finding("Program", "Python", f"{platform.python_version()}, {platform.system()} {platform.machine()}")
    for name in ("anthropic", "textual"):
        try:
            yield Finding("Program", name, importlib.metadata.version(name))
        except importlib.metadata.PackageNotFoundError:
            yield Finding("Program", name, "not installed", "wrong")


def _settings(config_file: Path | None, options: Mapping[str, Any] | None) -> Iterator[Finding]:
    from fireside_tui.config import Config, ConfigError, load_config, paths

    where = paths()
    told: list[str] = []
    try:
        config = load_config(config_file, options=options, despite=told)
        there = "" if config.source.exists() else " (not there: all settings have their defaults)"
        yield Finding("Settings", "config file", f"{config.source}{there}")
    except ConfigError as error:
        config = Config()
        yield Finding("Settings", "config file", str(error), "wrong")
    for words in told:
        yield Finding("Settings", "config file", words, "wrong")
    yield Finding("Settings", "data folder", *_folder(where.data_dir))
    yield Finding("Settings", "cache folder", *_folder(where.cache_dir))
    yield from _model(config)
    yield from _store(config)


def _model(config: Any) -> Iterator[Finding]:
    from fireside import DEFAULT_MODEL

    from fireside_tui.config import is_address

    model = config.model or DEFAULT_MODEL
    yield Finding("Model", "model", model + ("" if config.model else " (the usual one)"))
    address = config.server or os.environ.get("ANTHROPIC_BASE_URL", "")
    if address:
        good = is_address(address)
        text = "" if good else " is no address: it begins with http:// or https:// and names a host"
        yield Finding("Model", "server", shown_place(address) + text, "ok" if good else "wrong")
    yield _credentials(needed=model != "demo" and not address)
    proxies = [
        name for name in os.environ if re.fullmatch(r"(all|https?)_proxy", name, re.IGNORECASE) and os.environ[name]
    ]
    if proxies:
        yield Finding("Model", "proxy", f"{', '.join(sorted(proxies))} in the environment", "note")


def _credentials(*, needed: bool) -> Finding:
    if found := credentials():
        return Finding("Model", "credentials", found)
    if not needed:
        return Finding("Model", "credentials", "none, and none are needed")
    text = f"none: {WHAT_TO_DO}; or name a server of your own as base_url"
    return Finding("Model", "credentials", text, "note")


def _store(config: Any) -> Iterator[Finding]:
    from fireside.stores import open_store

    from fireside_tui.config import ConfigError

    try:
        place = config.place
    except ConfigError as error:
        yield Finding("Store", "place", str(error), "wrong")
        return
    if "://" not in place:
        yield Finding("Store", "place", *_folder(Path(place)))
    else:
        yield Finding("Store", "place", shown_place(place))
    try:
        started = time.perf_counter()
        rows = open_store(place).list()
    except Exception as error:
        text = str(error).replace(place, shown_place(place))
        yield Finding("Store", "conversations", f"can't be listed: {text}", "wrong")
        return
    took = f"listed in {(time.perf_counter() - started) * 1000:.0f} ms"
    yield Finding("Store", "conversations", f"{len(rows)}, {took}")
    cut_off = sum(row.status == "interrupted" for row in rows)
    if cut_off:
        yield Finding(
            "Store", "cut off", f"{cut_off} can be continued: fireside list shows them as interrupted", "note"
        )


def _folder(folder: Path) -> tuple[str, Verdict]:
    """Whether a folder can be written, or made."""
    if folder.exists() and not folder.is_dir():
        return f"{folder} is a file, not a folder", "wrong"
    there = folder
    while not there.exists() and there != there.parent:
        there = there.parent
    try:
        with tempfile.TemporaryFile(dir=there):
            pass
    except OSError as error:
        return f"{folder} can't be written: {error.strerror or error}", "wrong"
    return f"{folder}" if there == folder else f"{folder} (made when it is needed)", "ok"


def _terminal() -> Iterator[Finding]:
    room = "Terminal"
    encoding = (sys.stdout.encoding or "").lower()
    spoken = next((os.environ[name] for name in ("LC_ALL", "LC_CTYPE", "LANG") if os.environ.get(name)), "C")
    verdict: Verdict = "ok" if encoding.replace("-", "") == "utf8" else "note"
    yield Finding(room, "locale", f"{spoken}, output in {encoding or 'no encoding'}", verdict)
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        yield Finding(room, "terminal", "none here: stdin or stdout is a pipe or a file", "note")
        return
    columns, rows = shutil.get_terminal_size()
    small = columns < 60 or rows < 20
    yield Finding(
        room, "size", f"{columns} × {rows}" + (", small for the app" if small else ""), "note" if small else "ok"
    )
    within = " in tmux" if os.environ.get("TMUX") else " in screen" if os.environ.get("STY") else ""
    yield Finding(room, "TERM", f"{os.environ.get('TERM') or 'not set'}{within}")
    yield Finding(room, "colours", _colours())
    answer = _asked_kitty()
    text = {
        True: "yes: Shift+Enter breaks the line",
        False: "no: Ctrl+J breaks the line",
        None: "the terminal did not say",
    }
    yield Finding(room, "kitty keys", text[answer])


def _colours() -> str:
    if os.environ.get("NO_COLOR"):
        return "off (NO_COLOR is set)"
    if os.environ.get("COLORTERM", "").lower() in ("truecolor", "24bit"):
        return "16 million"
    return "256" if "256" in os.environ.get("TERM", "") else "16, as far as TERM says"


def _asked_kitty(patience: float = 0.5) -> bool | None:
    """Whether the terminal speaks the kitty keyboard protocol. Every terminal answers the second question, so the wait is
    short where it does not know the first."""
    import termios
    import tty

    fd = sys.stdin.fileno()
    before = termios.tcgetattr(fd)
    answer = b""
    try:
        tty.setcbreak(fd, termios.TCSANOW)
        os.write(sys.stdout.fileno(), b"\x1b[?u\x1b[c")
        end = time.monotonic() + patience
        while not re.search(rb"\x1b\[\?[\d;]*c", answer):
            if not select.select([fd], [], [], max(end - time.monotonic(), 0))[0]:
                break
            answer += os.read(fd, 256)
    finally:
        termios.tcsetattr(fd, termios.TCSAFLUSH, before)
    if not answer:
        return None
    return bool(re.search(rb"\x1b\[\?\d+u", answer))


__all__ = ["Finding", "examine", "shown_place"]
