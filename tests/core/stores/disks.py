"""Disks for FileStore that fail when told to, or that remember what they were asked so that a power cut can be played."""

from __future__ import annotations

import errno
import os
import random
from dataclasses import dataclass, field
from pathlib import Path

from fireside.stores.disk import Disk

CALLS = ("make_folder", "open_new", "open_log", "write", "truncate", "fsync", "rename", "write_whole", "remove_tree")


class FailingDisk(Disk):
    """Fails at the calls whose numbers are in `at`, with the error `code`; a write takes half of the bytes first."""

    def __init__(self, at: set[int] | frozenset[int] = frozenset(), code: int = errno.EIO) -> None:
        self.at, self.code, self.count = at, code, 0
        self.names: list[str] = []

    def _hit(self, name: str) -> bool:
        self.count += 1
        self.names.append(name)
        return self.count - 1 in self.at

    def _fail(self) -> OSError:
        return OSError(self.code, os.strerror(self.code))

    def write(self, fd: int, data: bytes) -> int:
        if self._hit("write"):
            if self.code != errno.EROFS:
                super().write(fd, data[: len(data) // 2])
            raise self._fail()
        return super().write(fd, data)


def _failing(name: str) -> None:
    whole = getattr(Disk, name)

    def call(self: FailingDisk, *args: object, **rest: object) -> object:
        if self._hit(name):
            raise self._fail()
        return whole(self, *args, **rest)

    setattr(FailingDisk, name, call)


for _name in set(CALLS) - {"write"}:
    _failing(_name)


@dataclass
class Node:
    """A file (`data`) or a folder (`names`) as it is in memory, and as it surely is on the platter."""

    folder: bool
    data: bytes = b""
    synced: bytes = b""
    names: dict[str, Node] = field(default_factory=dict)
    kept: dict[str, Node] = field(default_factory=dict)
    waiting: list[dict[str, Node | None]] = field(default_factory=list)  # changes of names since the last sync


class RecordingDisk(Disk):
    """Does everything for real, and keeps beside it what a power cut would leave at this moment.

    After each call it gives `on_call` a chance to look (`crash` builds the disk as it may be).
    """

    def __init__(self, root: Path) -> None:
        self.root = str(root)
        self.top = Node(True)
        self.fds: dict[int, Node] = {}
        self.on_call = lambda: None

    # -- the model

    def _at(self, path: str) -> tuple[Node, str]:
        parts = os.path.relpath(path, self.root).split("/")
        node = self.top
        for part in parts[:-1]:
            node = node.names[part]
        return node, parts[-1]

    def _node(self, path: str) -> Node:
        if os.path.relpath(path, self.root) == ".":
            return self.top
        folder, name = self._at(path)
        return folder.names[name]

    def _set(self, folder: Node, changes: dict[str, Node | None]) -> None:
        for name, node in changes.items():
            if node is None:
                folder.names.pop(name, None)
            else:
                folder.names[name] = node
        folder.waiting.append(changes)

    def make_folder(self, path: str) -> None:
        super().make_folder(path)
        folder, name = self._at(path)
        self._set(folder, {name: Node(True)})
        self.on_call()

    def _opened(self, path: str, fd: int) -> int:
        folder, name = self._at(path)
        if name not in folder.names:
            self._set(folder, {name: Node(False)})
        self.fds[fd] = folder.names[name]
        self.on_call()
        return fd

    def open_new(self, path: str) -> int:
        return self._opened(path, super().open_new(path))

    def open_log(self, path: str, *, create: bool = False) -> int:
        return self._opened(path, super().open_log(path, create=create))

    def write(self, fd: int, data: bytes) -> int:
        self.fds[fd].data += data
        done = super().write(fd, data)
        self.on_call()
        return done

    def truncate(self, fd: int, size: int) -> None:
        super().truncate(fd, size)
        self.fds[fd].data = self.fds[fd].data[:size]
        self.on_call()

    def fsync(self, fd: int) -> None:
        super().fsync(fd)
        self.fds[fd].synced = self.fds[fd].data
        self.on_call()

    def fsync_folder(self, path: str) -> None:
        node = self._node(path)
        node.kept, node.waiting = dict(node.names), []
        self.on_call()

    def rename(self, path: str, to: str) -> None:
        super().rename(path, to)
        folder, name = self._at(path)
        _, new = self._at(to)
        self._set(folder, {name: None, new: folder.names[name]})
        self.on_call()

    def write_whole(self, path: str, data: bytes) -> None:
        Disk.write_whole(Disk(), path, data)  # type: ignore[call-arg]
        folder, name = self._at(path)
        if name not in folder.names:
            self._set(folder, {name: Node(False)})
        folder.names[name].data = data
        self.on_call()

    def remove_tree(self, path: str) -> None:
        super().remove_tree(path)
        folder, name = self._at(path)
        self._set(folder, {name: None})
        self.on_call()

    # -- the power cut

    def crash(self, to: Path, chance: random.Random, how: str) -> None:
        """Builds what a cut may leave. `how`: nothing that was not synced, all names and no bytes, all of both, any of it."""
        to.mkdir(parents=True)
        self._build(self.top, to, chance, how)

    def _build(self, folder: Node, to: Path, chance: random.Random, how: str) -> None:
        names = dict(folder.kept)
        for changes in folder.waiting:
            if how in ("names", "all") or (how == "any" and chance.random() < 0.5):
                for name, node in changes.items():
                    if node is None:
                        names.pop(name, None)
                    else:
                        names[name] = node
        for name, node in names.items():
            if node.folder:
                (to / name).mkdir()
                self._build(node, to / name, chance, how)
            else:
                (to / name).write_bytes(self._bytes(node, chance, how))

    def _bytes(self, node: Node, chance: random.Random, how: str) -> bytes:
        if how == "all" or node.data == node.synced:
            return node.data
        if how != "any":
            return node.synced
        if not node.data.startswith(node.synced):  # replaced in place or cut: the old, the new, or some of both
            cut = chance.randrange(len(node.data) + 1)
            return chance.choice([node.synced, node.data, node.data[:cut] + node.synced[cut:], b""])
        new = node.data[len(node.synced) :]
        cut = chance.randrange(len(new) + 1)
        kind = chance.randrange(5)
        tail = (b"", new, new[:cut], b"\0" * len(new), new[:cut] + b"\0" * (len(new) - cut))[kind]
        return node.synced + tail
