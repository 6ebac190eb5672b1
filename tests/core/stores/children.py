"""Child processes for tests: forked, they run a function and tell what it gave or raised through a pipe."""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
from collections.abc import Callable
from typing import Any


class Child:
    """A forked process that runs `work(tell, wait)`; `tell` sends a value here, `wait` reads one byte from here."""

    def __init__(self, work: Callable[[Callable[[Any], None], Callable[[], None]], Any]) -> None:
        out_read, out_write = os.pipe()
        in_read, in_write = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(out_read)
            os.close(in_write)
            code = 1
            try:
                with os.fdopen(out_write, "wb") as out:

                    def tell(value: Any) -> None:
                        pickle.dump(value, out)
                        out.flush()

                    try:
                        tell(work(tell, lambda: os.read(in_read, 1) and None))
                    except BaseException as error:
                        tell(repr(error))
                code = 0
            finally:
                os._exit(code)
        os.close(out_write)
        os.close(in_read)
        self._out, self._in = os.fdopen(out_read, "rb"), in_write

    def said(self) -> Any:
        """What it tells next."""
        return pickle.load(self._out)

    def go(self) -> None:
        """Lets one `wait` of it end."""
        os.write(self._in, b".")

    def kill(self) -> None:
        """Kills it, and waits until it is gone."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        self.end()

    def end(self) -> None:
        """Waits for its end."""
        if self.pid:
            os.waitpid(self.pid, 0)
            self.pid = 0
        if not self._out.closed:
            self._out.close()
            os.close(self._in)
