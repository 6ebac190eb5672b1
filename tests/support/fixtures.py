"""Fixtures for a conftest: ``from tests.support.fixtures import api, clean_environment, terminal``."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from .server import ApiServer
from .term import Term, clean_env, fireside


@pytest.fixture
def api() -> Iterator[ApiServer]:
    """A strict Messages API. The test fails if it refused a request, unless the test called `api.expect_refusals()`."""
    with ApiServer() as server:
        yield server
    server.check()


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Callable[..., Term]]:
    """Starts `fireside` as `fireside(*args, ...)` does, with its home in tmp_path; all are ended after the test."""
    with contextlib.ExitStack() as started:

        def start(*args: str, **settings: object) -> Term:
            return started.enter_context(fireside(*args, **{"home": tmp_path, **settings}))  # type: ignore[arg-type]

        yield start


@pytest.fixture
def clean_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Gives this process the environment that `clean_env(tmp_path)` gives a program; restored after the test."""
    env = clean_env(tmp_path)
    kept = ("PYTEST_", "COVERAGE_", "PYTHON", "VIRTUAL_ENV")
    for name in list(os.environ):
        if name == "PYTHONDONTWRITEBYTECODE" or (name not in env and not name.startswith(kept)):
            monkeypatch.delenv(name)
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    return env
