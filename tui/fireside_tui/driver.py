"""The way from the keys to the app: a bracketed paste is one paste, whatever bytes are in it.

Textual 8.2.8 takes an ESC inside of a paste for a key sequence, so that a pasted ESC CR is an Enter that sends. Here the
paste is taken out before its parser sees it.
"""

from __future__ import annotations

import os
import selectors
from codecs import getincrementaldecoder
from collections.abc import Iterable

from textual._xterm_parser import BRACKETED_PASTE_END, BRACKETED_PASTE_START, XTermParser
from textual.drivers.linux_driver import LinuxDriver
from textual.events import Paste
from textual.message import Message

from fireside_tui import terminal_title


class PasteParser(XTermParser):
    """Textual's parser, which never sees what is inside of a paste."""

    def __init__(self, debug: bool = False) -> None:
        self._seen = ""  # the end of what came before, in which a mark may have begun
        self._pasted: list[str] | None = None
        super().__init__(debug)

    def feed(self, data: str) -> Iterable[Message]:
        """The events of the next characters. Nothing at all means the end."""
        if not data:
            yield from super().feed(data)
            return
        while data:
            if self._pasted is None:
                before, data = self._until(BRACKETED_PASTE_START, data)
                yield from super().feed(before)
            else:
                inside, data = self._until_end(data)
                self._pasted.append(inside)
                if self._seen:
                    continue
                text = "".join(self._pasted)[: -len(BRACKETED_PASTE_END)]
                self._pasted = None
                # the parser below is inside of the paste as well: it is told of the end, and has nothing to give
                for message in super().feed(BRACKETED_PASTE_END):
                    if not isinstance(message, Paste):
                        yield message
                yield Paste(text.replace("\0", ""))

    def _until(self, mark: str, data: str) -> tuple[str, str]:
        """What goes up to and with the start of a paste, and the rest."""
        known = self._seen + data
        at = known.find(mark)
        if at < 0:
            self._seen = known[-(len(mark) - 1) :]
            return data, ""
        end = at + len(mark) - len(self._seen)
        self._seen, self._pasted = "\0", []
        return data[:end], data[end:]

    def _until_end(self, data: str) -> tuple[str, str]:
        """What goes up to and with the end of a paste, and the rest; `_seen` is empty once the end was there.

        An end mark may also be part of what was pasted. Nobody types one, so the last one before the next start counts.
        """
        mark = BRACKETED_PASTE_END
        known = self._seen + data
        limit = known.find(BRACKETED_PASTE_START)
        at = known.rfind(mark, 0, limit if limit >= 0 else len(known))
        if at < 0:
            self._seen = known[-(len(mark) - 1) :]
            return data, ""
        end = at + len(mark) - len(self._seen)
        self._seen = ""
        return data[:end], data[end:]


class FiresideDriver(LinuxDriver):
    """Textual's driver with that parser. It writes nothing while another program has the terminal, or none is there.

    It also gives the terminal its title, which Textual (8.2.8) leaves alone.
    """

    hung_up = False
    """The terminal is gone."""
    _title = terminal_title.NAME

    def name(self, title: str) -> None:
        """Gives the terminal another title: a safe line, see `terminal_title.title_of`."""
        if title != self._title:
            self._title = title
            self._write_title()

    def _write_title(self, before: str = "") -> None:
        if terminal_title.has_title():
            self.write(before + terminal_title.setting(self._title))

    def start_application_mode(self) -> None:
        """Takes the terminal, at the start and after each time that it was another program's."""
        super().start_application_mode()  # type: ignore[no-untyped-call]
        self._write_title(before=terminal_title.KEEP)

    def _sigcont_application(self, *_: object) -> None:
        """Goes on. Who was stopped by SIGSTOP could not give the terminal back before: it is given back and taken again.

        Textual would take it a second time: with one more thread that reads keys, which never ends, and with the raw
        terminal as the one to restore at the end.
        """
        thread = self._writer_thread
        if self._auto_restart and thread is not None and thread.is_alive():
            self.suspend_application_mode()
            self._must_signal_resume = True
        super()._sigcont_application()

    def stop_application_mode(self) -> None:
        """Gives the terminal back as it was."""
        if terminal_title.has_title():
            self.write(terminal_title.GIVE_BACK)
        super().stop_application_mode()

    def write(self, data: str) -> None:
        """Writes to the terminal, if there is one."""
        thread = self._writer_thread
        if thread is not None and thread.is_alive():  # a full queue that nobody empties would hold the app for ever
            thread.write(data)

    def close(self) -> None:
        """Ends the writer."""
        if self._writer_thread is not None and self._writer_thread.is_alive():
            self._writer_thread.stop()

    def run_input_thread(self) -> None:
        """Reads keys until the app ends."""
        selector = selectors.SelectSelector()
        selector.register(self.fileno, selectors.EVENT_READ)
        parser = PasteParser(self._debug)
        decode = getincrementaldecoder("utf-8")(errors="replace").decode
        try:
            while not self.exit_event.is_set():
                for _key, mask in selector.select(0.1):
                    if mask & selectors.EVENT_READ and not self._read(parser, decode):
                        return
                for message in parser.tick():
                    self.process_message(message)
        finally:
            selector.close()

    def _read(self, parser: PasteParser, decode: object) -> bool:
        try:
            data = os.read(self.fileno, 64 * 1024)
        except OSError:
            data = b""
        if not data:
            self.hung_up = True
            return False
        for message in parser.feed(decode(data)):  # type: ignore[operator]
            self.process_message(message)
        return True
