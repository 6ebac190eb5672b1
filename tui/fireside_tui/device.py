"""`Device`: what belongs to this device alone (drafts, unread marks, pins), in one small file. It knows nothing else.

Losing the file loses no conversation. Two windows share it: each writes only what it changed itself, on top of what is
there, so that neither takes away the other's drafts.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import tempfile
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

_SECTIONS = ("drafts", "unread", "pinned")


class Draft(NamedTuple):
    """What was typed and not sent: the text, the paths of attached files, and when it was last touched."""

    text: str
    files: tuple[str, ...]
    at: datetime

    def to_json(self) -> dict[str, Any]:
        """The form in the file."""
        out: dict[str, Any] = {"text": self.text, "at": self.at.isoformat()}
        if self.files:
            out["files"] = list(self.files)
        return out

    @classmethod
    def from_json(cls, raw: Any) -> Draft | None:
        """The inverse; `None` for what is none."""
        try:
            at = datetime.fromisoformat(raw["at"])
            files = tuple(str(path) for path in raw.get("files", ()))
            return cls(str(raw["text"]), files, at if at.tzinfo else at.replace(tzinfo=UTC))
        except (KeyError, TypeError, ValueError, AttributeError):
            return None


class Device:
    """Drafts, unread marks and pins by conversation id. `path=None` keeps them in memory alone.

    Changes are in memory at once and on disk after `flush`, which the app calls about twice a second and at each switch.
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.error: OSError | None = None
        """Why the file could not be read at the start, or the last flush failed; `None` after one that went well."""
        self._values: dict[str, dict[str, Any]] = {section: {} for section in _SECTIONS}
        self._changes: dict[tuple[str, str], Any] = {}
        self._guard = threading.Lock()
        try:
            self._take(self._read())
        except OSError as error:
            self.error = error

    # -- what it knows

    def draft(self, id: str) -> Draft | None:
        """What was typed and not sent in a conversation."""
        return Draft.from_json(self._values["drafts"].get(id))

    @property
    def drafts(self) -> dict[str, Draft]:
        """All drafts."""
        found = ((id, Draft.from_json(raw)) for id, raw in self._values["drafts"].items())
        return {id: draft for id, draft in found if draft is not None}

    def is_unread(self, id: str) -> bool:
        """Whether an answer came that nobody has seen."""
        return id in self._values["unread"]

    def is_pinned(self, id: str) -> bool:
        """Whether it stands at the top of the list."""
        return id in self._values["pinned"]

    @property
    def unwritten(self) -> list[str]:
        """The texts of the drafts that are not in the file yet."""
        with self._guard:
            return [value["text"] for (section, _), value in self._changes.items() if section == "drafts" and value]

    @property
    def marked(self) -> set[str]:
        """All that are unread or pinned."""
        return {*self._values["unread"], *self._values["pinned"]}

    # -- what changes it

    def set_draft(self, id: str, text: str, files: tuple[str, ...] = ()) -> None:
        """Keeps a draft; nothing typed and nothing attached takes it away."""
        old = self.draft(id)
        if (old.text, old.files) == (text, files) if old else not (text or files):
            return
        self._set("drafts", id, Draft(text, files, datetime.now(UTC)).to_json() if text or files else None)

    def mark_unread(self, id: str, unread: bool = True) -> None:
        """Marks a conversation as unread, or as read."""
        self._set("unread", id, True if unread else None)

    def pin(self, id: str, pinned: bool = True) -> None:
        """Pins a conversation, or takes the pin away."""
        self._set("pinned", id, True if pinned else None)

    def forget(self, id: str) -> dict[str, Any]:
        """Drops all that is known of a conversation; what it was, for `restore`."""
        known = {section: self._values[section][id] for section in _SECTIONS if id in self._values[section]}
        for section in known:
            self._set(section, id, None)
        return known

    def restore(self, id: str, known: dict[str, Any]) -> None:
        """Puts back what `forget` gave."""
        for section, value in known.items():
            self._set(section, id, value)

    def _set(self, section: str, id: str, value: Any) -> None:
        with self._guard:
            values = self._values[section]
            if values.get(id) == value:
                return
            if value is None:
                values.pop(id, None)
            else:
                values[id] = value
            self._changes[section, id] = value

    # -- the file

    def flush(self) -> bool:
        """Writes what changed since the last time; whether the file now holds it. Never raises: see `error`."""
        with self._guard:
            changes, self._changes = self._changes, {}
        if not changes or self.path is None:
            return not changes or self.path is None
        try:
            with self._alone():
                merged = self._read()
                for (section, id), value in changes.items():
                    if value is None:
                        merged[section].pop(id, None)
                    else:
                        merged[section][id] = value
                self._write(merged)
        except OSError as error:
            self.error = error
            with self._guard:
                self._changes = {**changes, **self._changes}
            return False
        self.error = None
        self._take(merged)
        return True

    def _take(self, read: dict[str, dict[str, Any]]) -> None:
        """What the file says, and on top what is not written yet."""
        with self._guard:
            self._values = read
            for (section, id), value in self._changes.items():
                if value is None:
                    read[section].pop(id, None)
                else:
                    read[section][id] = value

    def _read(self) -> dict[str, dict[str, Any]]:
        """The file's sections; a file that is lost or damaged has none. Raises `OSError` for one that can't be read now."""
        raw: Any = {}
        if self.path is not None:
            with contextlib.suppress(FileNotFoundError, ValueError, RecursionError):
                raw = json.loads(self.path.read_bytes())
        sections = raw if isinstance(raw, dict) else {}
        return {name: dict(sections[name]) if isinstance(sections.get(name), dict) else {} for name in _SECTIONS}

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        assert self.path is not None
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = os.open(self.path.with_name(self.path.name + ".lock"), os.O_RDWR | os.O_CREAT, 0o600)
        try:
            with contextlib.suppress(
                OSError
            ):  # a file system that can't lock: two windows may lose a draft to each other
                fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            os.close(lock)

    def _write(self, values: dict[str, dict[str, Any]]) -> None:
        assert self.path is not None
        handle, name = tempfile.mkstemp(prefix=self.path.name + ".", dir=self.path.parent)  # 0600
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(json.dumps({"v": 1, **values}).encode("ascii"))
                file.flush()
                os.fsync(file.fileno())
            os.replace(name, self.path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(name)
            raise
