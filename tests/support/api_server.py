"""The server's address for tests and for use by hand: ``python -m tests.support.api_server [port] [--minutes N]``."""

from __future__ import annotations

import argparse
import time

from .server import ApiServer, Refusal, Request

__all__ = ["ApiServer", "Refusal", "Request"]


def main() -> None:
    """Serves by hand until its minutes are over or Ctrl+C is pressed."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.support.api_server", description="A strict Messages API that echoes."
    )
    parser.add_argument("port", nargs="?", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=60)
    options = parser.parse_args()
    with ApiServer(options.port) as api:
        print(api.url, flush=True)
        try:
            time.sleep(options.minutes * 60)
        except KeyboardInterrupt:
            pass


if __name__ == "__main__":
    main()
