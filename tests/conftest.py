"""What every test has: a server and a terminal at hand, and an environment without the developer's own keys and paths."""

from __future__ import annotations

import os
import signal

import pytest

from tests.support.fixtures import api, clean_environment, terminal

__all__ = ["api", "clean_environment", "terminal"]

if (
    signal.getsignal(signal.SIGINT) is signal.SIG_IGN
):  # a script that starts the tests with & has programs ignore Ctrl+C
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def no_keys_of_the_developer(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test never reaches a real API, and never sees the developer's settings."""
    for name in list(os.environ):
        if name.startswith(("ANTHROPIC_", "FIRESIDE_")) or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
