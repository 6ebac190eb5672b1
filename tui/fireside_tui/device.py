"""`Device`: what belongs to this device alone (drafts, unread marks, pins), in one small file for each store.

Losing the file loses no conversation. Two windows share it: each writes only what it changed itself, on top of what is
there, so that neither takes away the other's drafts. It knows nothing else.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import tempfile
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

_SECTIONS = ("drafts", "unread", "pinned")
_Values = dict[str, dict[str, Any]]


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
    """Drafts, unread marks and pins of one store, by conversation id. `path=None` keeps them in memory alone.

    Changes are in memory at once and on disk after `flush`, which the app calls about twice a second and at each switch.

    `store` is the place of the store, without secrets, for who reads the file. `old` is the file that earlier versions
    had for all stores. What it holds of conversations of this store is taken over once, with `take_over`; all that it
    holds at once where this is the `usual` store: a draft that no store lists will have been written there. The old file
    stays as it is, for the other stores.
    """

    def __init__(self, path: Path | None, *, store: str = "", old: Path | None = None, usual: bool = False) -> None:
        self.path = path
        self.store = store
        self.error: OSError | None = None
        """Why the file could not be read at the start, or the last flush failed; `None` after one that went well."""
        self._values: _Values = {section: {} for section in _SECTIONS}
        self._changes: dict[tuple[str, str], Any] = {}
        self._guard = threading.Lock()
        self._took = False  # whether another window, or an earlier start, has taken over what the old file held
        self._old: _Values | None = None  # what may be taken over
        self._due: _Values | None = None  # what is taken over at the next flush
        try:
            own = self._read()
            if old is not None and not self._took and old.exists():
                self._old = self._read(old)
                self._due = self._old if usual else None
            self._take(own)
        except OSError as error:
            self.error = error

    def take_over(self, has: Callable[[str], bool]) -> bool:
        """Takes over what the old file holds of the conversations that this store has; whether that was anything."""
        old, self._old = self._old, None
        if old is None or self._due is not None:
            return False
        with self._guard:
            self._due = {section: {id: value for id, value in old[section].items() if has(id)} for section in _SECTIONS}
        self._take(self._values)
        return any(self._due.values())

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
            due = self._due
        if (not changes and due is None) or self.path is None:
            return True
        try:
            with self._alone():
                merged = self._read()
                _merge(merged, changes, due if not self._took else None)
                self._write(merged, took=self._took or due is not None)
        except OSError as error:
            self.error = error
            with self._guard:
                self._changes = {**changes, **self._changes}
            return False
        self.error = None
        if due is not None:
            self._due, self._took = None, True
        self._take(merged)
        return True

    def _take(self, read: _Values) -> None:
        """What the file says, and on top what is not written yet."""
        with self._guard:
            self._values = read
            _merge(read, self._changes, self._due)

    def _read(self, path: Path | None = None) -> _Values:
        """The sections of the file, or of another one; a file that is lost or damaged has none. Raises `OSError` for one
        that can't be read now."""
        raw: Any = {}
        file = path or self.path
        if file is not None:
            with contextlib.suppress(FileNotFoundError, ValueError, RecursionError):
                raw = json.loads(file.read_bytes())
        sections = raw if isinstance(raw, dict) else {}
        if path is None:
            self._took = sections.get("took_over") is True
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

    def _write(self, values: _Values, *, took: bool) -> None:
        assert self.path is not None
        handle, name = tempfile.mkstemp(prefix=self.path.name + ".", dir=self.path.parent)  # 0600
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(json.dumps({"v": 2, "store": self.store, "took_over": took, **values}).encode("ascii"))
                file.flush()
                os.fsync(file.fileno())
            os.replace(name, self.path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(name)
            raise


def _merge(values: _Values, changes: dict[tuple[str, str], Any], due: _Values | None) -> None:
    """Puts into the values what is taken over, where they have nothing of the kind, and then the changes."""
    for section, found in (due or {}).items():
        for id, value in found.items():
            values[section].setdefault(id, value)
    for (section, id), value in changes.items():
        if value is None:
            values[section].pop(id, None)
        else:
            values[section][id] = value
