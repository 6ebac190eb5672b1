"""`FileStore`: a folder for each State, with its log and its label. It knows the store contract.

    .agent-runs/
        review-pr-42/
            log.jsonl         one entry a line: the truth, synced before a write returns
            snapshot.json     the label: derived, replaced after it without a wait
        .locks/               who runs what

Readers take no lock and may see a last line that is not whole yet: they leave it out. Writers of one log wait for each
other, whether or not they hold the State's lock.
"""

from __future__ import annotations

import contextlib
import errno
import os
from builtins import list as List  # a store has a method of that name

from fireside.errors import ConflictError, Holder
from fireside.history import HistoryEntry
from fireside.ids import check_id
from fireside.messages import Json
from fireside.stores import file_removal as removal
from fireside.stores import label as labels
from fireside.stores import log as logs
from fireside.stores import tail
from fireside.stores.base import Lock, NoLock, Store
from fireside.stores.disk import Disk, Stamp, read_from, read_whole, stamp_of
from fireside.stores.file_list import Listing
from fireside.stores.file_run import RunLock
from fireside.stores.lock import FileLock, LockFolder, OneAtATime, is_at
from fireside.stores.names import name_of
from fireside.stores.quiet import no_gc
from fireside.stores.record import Record, SavedState, as_it_runs, newer, same_state

Row = dict[str, Json]

_REMEMBERED = 4096  # logs whose end a store remembers


class FileStore(Store):
    """Keeps each State in a folder of its own below `path`, which is made when the first one is saved.

    Files are readable by their owner alone. `locks=False` goes without locks, for a file system that has none; then let
    one process at a time run a State. Raises `ValueError` for a path that is none; each call raises `NotADirectoryError`
    where the path is a file.

    >>> import tempfile
    >>> from fireside.state import State
    >>> store = FileStore(tempfile.mkdtemp())
    >>> state = State("What is 2 + 2?", id="sums")
    >>> store.save(state)
    True
    >>> [saved.title for saved in store.list()], store.load("sums").task
    (['What is 2 + 2?'], 'What is 2 + 2?')
    """

    def __init__(self, path: str | os.PathLike[str], *, locks: bool = True) -> None:
        given = os.fspath(path)
        if not given or "\0" in given:
            raise ValueError(f"{given!r} is no place for a store: give a folder, such as '.agent-runs'")
        self.path = os.path.abspath(given)
        self._disk = Disk()
        make = lambda folder: self._disk.make_folders(folder)  # noqa: E731  tests put another disk in later
        self._locks = LockFolder(f"{self.path}/.locks", make) if locks else None
        self._ends: dict[
            str, tuple[Stamp, int, Row | None]
        ] = {}  # id → the log as it was left, its next seq, its label
        self._half_made: set[str] = set()  # ids whose creation failed and could not be taken back
        self._half_written: dict[str, tuple[int, int]] = {}  # id → inode and size that a failed write has to be cut to
        self._listing = Listing(self.path)
        self._runs: dict[str, RunLock] = {}  # the locks that were taken by `lock`
        self._swept = False

    def __repr__(self) -> str:
        return f"FileStore({self.path!r}{'' if self._locks else ', locks=False'})"

    def _place(self) -> object:
        return ("file", os.path.normcase(os.path.realpath(self.path)))

    def _folder(self, state_id: str) -> str:
        return f"{self.path}/{name_of(check_id(state_id))}"

    # -- locks

    def has_locks(self) -> bool:
        """Whether it was opened with locks."""
        return self._locks is not None

    def lock(self, state_id: str) -> Lock:
        """Takes the State's lock, at once or not at all: `StateInUseError`. It dies with the process that holds it."""
        lock = self._lock_as(state_id, brief=False)
        if not isinstance(lock, FileLock):
            return lock
        run = self._runs[state_id] = RunLock(lock, lambda run: self._end_run(state_id, run))
        return run

    def _lock_for_write(self, state_id: str) -> Lock:
        return self._lock_as(state_id, brief=True)

    def _lock_as(self, state_id: str, *, brief: bool) -> FileLock | NoLock:
        check_id(state_id)
        if self._locks is None:
            return NoLock()
        try:
            return self._locks.lock(name_of(state_id), state_id, brief=brief)
        except OSError as error:
            self._tell(error)
            raise

    def holder(self, state_id: str) -> Holder | None:
        """Who holds the State's lock; `None` where nobody does, or the store was opened without locks."""
        return self._locks.holder(name_of(check_id(state_id))) if self._locks else None

    def _end_run(self, state_id: str, run: RunLock) -> None:
        """Writes the label that waited, if the log is as the run left it."""
        self._runs.pop(state_id, None)
        if run.waiting is None:
            return
        label, next_seq, size = run.waiting
        folder = self._folder(state_id)
        with contextlib.suppress(OSError):
            fd = self._disk.open_log(f"{folder}/log.jsonl")
            try:
                with OneAtATime(fd):
                    if self._ends.get(state_id, (None,))[0] == stamp_of(os.fstat(fd)):
                        labels.write(self._disk, folder, labels.encode(label, next_seq, size))
            finally:
                os.close(fd)

    # -- write

    def write(self, state_id: str, entries: List[Row], snapshot: Row | None, *, create: bool = False) -> None:
        """See `Store.write`. One fsync, on the log; creating a State also syncs its folder and the one above."""
        folder = self._folder(state_id)
        try:
            if create:
                self._create(state_id, folder, entries, snapshot)
            else:
                self._append(state_id, folder, entries, snapshot)
        except OSError as error:
            self._tell(error)
            raise

    def _create(self, state_id: str, folder: str, entries: List[Row], snapshot: Row | None) -> None:
        """Makes the folder aside and puts it in its place whole."""
        disk = self._disk
        if state_id in self._half_made:
            disk.remove_tree(folder)
            self._half_made.discard(state_id)
        if os.path.isdir(folder) and os.listdir(folder):
            raise ValueError(f"there is a State {state_id!r} already")
        disk.make_folders(self.path)
        made = f"{self.path}/.new-{os.urandom(8).hex()}"
        disk.make_folder(made)
        try:
            data = b"".join(map(logs.encode, entries))
            next_seq = max((entry["seq"] for entry in entries), default=-1) + 1
            fd = disk.open_new(f"{made}/log.jsonl")
            try:
                disk.append(fd, data)
                disk.fsync(fd)
            finally:
                os.close(fd)
            if snapshot is not None:
                self._label(state_id, made, snapshot, next_seq, len(data))
            disk.fsync_folder(made)
            try:
                disk.rename(made, folder)
            except OSError as error:
                if error.errno in (errno.EEXIST, errno.ENOTEMPTY):
                    raise ValueError(f"there is a State {state_id!r} already") from None
                raise
        except BaseException:
            with contextlib.suppress(OSError):
                disk.remove_tree(made)
            raise
        try:
            disk.fsync_folder(self.path)
        except BaseException:
            try:
                disk.rename(folder, made)
            except OSError:
                self._half_made.add(state_id)
            else:
                with contextlib.suppress(OSError):
                    disk.remove_tree(made)
            raise

    def _append(self, state_id: str, folder: str, entries: List[Row], snapshot: Row | None) -> None:
        path = f"{folder}/log.jsonl"
        while True:
            fd = self._open(state_id, folder, path)
            try:
                with OneAtATime(fd):
                    stat = os.fstat(fd)
                    if not is_at(stat, path):
                        continue  # deleted, and maybe made again, while it was waited for
                    known, label = self._ends.get(state_id), None
                    if known is None or known[0] != stamp_of(stat):
                        known, label = None, labels.read(folder)
                    content = known[2] if known else label and label.content
                    same_state(state_id, content, snapshot)
                    next_seq = self._add(state_id, folder, fd, stat, entries, label)
                    size = self._remember(state_id, fd, next_seq, snapshot or content)
                    run = self._runs.get(state_id)
                    if snapshot is not None and not (run and run.may_wait(snapshot, entries, next_seq, size)):
                        self._label(state_id, folder, snapshot, next_seq, size)
                    return
            finally:
                os.close(fd)

    def _label(self, state_id: str, folder: str, label: Row, next_seq: int, size: int) -> None:
        written = labels.write(self._disk, folder, labels.encode(label, next_seq, size))
        self._listing.forget(name_of(state_id))
        if run := self._runs.get(state_id):
            run.wrote(label if written else None, size)

    def _open(self, state_id: str, folder: str, path: str) -> int:
        try:
            return self._disk.open_log(path)
        except FileNotFoundError:
            if labels.read(folder) is None:
                raise LookupError(f"the store has no State {state_id!r}: it was deleted, or never saved") from None
        fd = self._disk.open_log(path, create=True)  # its log was lost, its label tells that it is there
        self._disk.fsync_folder(folder)
        return fd

    def _add(
        self, state_id: str, folder: str, fd: int, stat: os.stat_result, entries: List[Row], label: labels.Label | None
    ) -> int:
        """Appends the entries that the log does not have; its next `seq`. `label` is as it was found, if it was looked at."""
        disk = self._disk
        if (cut := self._half_written.get(state_id)) and cut[0] == stat.st_ino:
            disk.truncate(fd, cut[1])
            stat = os.fstat(fd)
        self._half_written.pop(state_id, None)
        next_seq, end, glue = self._end(state_id, fd, stat, label)
        first = entries[0]["seq"] if entries else next_seq
        if first != next_seq:
            parsed = logs.parse(read_from(fd))
            next_seq, _ = _next_seq(parsed, labels.read(folder), stat.st_size)
            if first > next_seq:
                raise ConflictError(state_id, f"the store's next entry is {next_seq}, not {first}")
            entries = logs.not_stored(state_id, parsed.rows, entries)
        if entries:
            if end < stat.st_size:
                self._set_aside(folder, fd, end)
            data = glue + b"".join(map(logs.encode, entries))
            try:
                disk.append(fd, data)
                disk.fsync(fd)
            except BaseException:
                try:
                    disk.truncate(fd, end)
                except OSError:
                    self._half_written[state_id] = (stat.st_ino, end)
                self._ends.pop(state_id, None)
                raise
            next_seq = max(next_seq, entries[-1]["seq"] + 1)
        else:
            disk.fsync(fd)  # they may have come by a write whose sync failed
        return next_seq

    def _remember(self, state_id: str, fd: int, next_seq: int, label: Row | None) -> int:
        stamp = stamp_of(os.fstat(fd))
        self._ends[state_id] = stamp, next_seq, label
        if len(self._ends) > _REMEMBERED:
            with contextlib.suppress(KeyError, StopIteration, RuntimeError):
                del self._ends[next(iter(self._ends))]
        return stamp[1]

    def _end(self, state_id: str, fd: int, stat: os.stat_result, label: labels.Label | None) -> tuple[int, int, bytes]:
        """The next `seq`, where the next line goes, and what must stand before it."""
        size = stat.st_size
        if (known := self._ends.get(state_id)) and known[0] == stamp_of(stat):
            return known[1], size, b""
        if label and size and label.size == size and os.lseek(fd, -1, os.SEEK_END) >= 0 and os.read(fd, 1) == b"\n":
            return label.next_seq, size, b""
        parsed = logs.parse(read_from(fd))
        end, glue = (size, b"\n") if parsed.open_end else (parsed.end, b"")
        return _next_seq(parsed, label, size)[0], end, glue

    def _set_aside(self, folder: str, fd: int, end: int) -> None:
        """Cuts a torn last line off; its bytes stay in a file of their own, as far as there is room."""
        torn = read_from(fd)[end:]
        with contextlib.suppress(OSError):
            aside = self._disk.open_log(f"{folder}/log.torn", create=True)
            try:
                self._disk.append(aside, torn + b"\n")
            finally:
                os.close(aside)
        self._disk.truncate(fd, end)

    # -- read

    def read(self, state_id: str) -> Record | None:
        """See `Store.read`."""
        folder = self._folder(state_id)
        label = labels.read(folder)
        try:
            data = read_whole(f"{folder}/log.jsonl")
        except (FileNotFoundError, NotADirectoryError) as error:
            self._tell(error)
            if label is None:
                return None
            data = b""
        with no_gc():
            parsed = logs.parse(data)
        next_seq, damaged = _next_seq(parsed, label, len(data))
        content = label.content if label else None
        if (run := self._runs.get(state_id)) and run.waiting:
            content = run.waiting[0]
        return Record(parsed.rows, content, next_seq, damaged)

    def peek(self, state_id: str) -> List[HistoryEntry]:
        """See `Store.peek`: of a long log, the last lines."""
        folder = self._folder(state_id)
        try:
            size = os.stat(f"{folder}/log.jsonl").st_size
            if size < tail.LONG_BYTES or (label := labels.read(folder)) is None or newer(label.content):
                return []
            data = read_whole(f"{folder}/log.jsonl", size - tail.END_BYTES)
        except OSError:  # a load tells of it
            return []
        parsed = logs.parse(data[data.find(b"\n") + 1 :])
        return [] if parsed.damaged else tail.last_runs(parsed.rows)

    def list(self) -> List[SavedState]:
        """See `Store.list`. What has not changed since the last call is not read again."""
        try:
            names, rows = self._listing.rows()
        except OSError as error:
            self._tell(error)
            raise
        if not self._swept:
            self._swept = True
            removal.sweep(self._disk, self.path, names)
        return as_it_runs(rows, self._is_held)

    def glance(self) -> List[SavedState]:
        """See `Store.glance`: of many conversations, about a hundred that changed last."""
        return as_it_runs(self._listing.glance(), self._is_held)

    def _is_held(self, state_id: str) -> bool:
        try:
            return self.holder(state_id) is not None
        except OSError:
            return False

    # -- delete

    def delete(self, state_id: str) -> None:
        """See `Store.delete`. The folder is moved aside first, so a half-deleted State is never seen."""
        folder = self._folder(state_id)
        try:
            os.lstat(folder)
        except FileNotFoundError:
            return
        except OSError as error:
            self._tell(error)
            raise
        lock = self._lock_as(state_id, brief=False)
        try:
            if aside := removal.move_aside(self._disk, self.path, folder):
                self._ends.pop(state_id, None)
                self._listing.forget(name_of(state_id), for_good=True)
                removal.remove(self._disk, self.path, folder, aside)
            if self._locks:
                self._locks.remove(name_of(state_id))
        except OSError as error:
            self._tell(error)
            raise
        finally:
            lock.release()

    def _tell(self, error: OSError) -> None:
        """Raises an error that says what to do where the folder can't be written, or is none."""
        if error.errno == errno.ENOTDIR and not os.path.isdir(self.path):
            raise OSError(
                error.errno,
                "Not a directory: the store's place is a file or lies below one; choose a folder, or sqlite:///…",
                str(self.path),
            ) from error
        if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS) and error.filename is not None:
            raise OSError(
                error.errno,
                f"the store's folder {self.path} can't be written ({error.strerror}): "
                "give this user write access to it, or choose another one",
            ) from error


def _next_seq(parsed: logs.Parsed, label: labels.Label | None, size: int) -> tuple[int, int]:
    """The place of the next entry, and how much is damaged: a label that stands for more than there is tells of a loss."""
    if label is None or newer(label.content):
        return parsed.next_seq, parsed.damaged
    lost = label.size > size and label.next_seq > parsed.next_seq
    noted = max(parsed.next_seq, label.next_seq)
    place = logs.next_place(parsed, noted)
    return place, parsed.damaged + (lost or place != noted)


__all__ = ["FileStore"]
