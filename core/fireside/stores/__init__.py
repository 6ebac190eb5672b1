"""Where conversations are kept: the contract in `base`, a store a file, and `open_store`, which picks one by its address."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fireside.stores.base import Store


def open_store(place: str | os.PathLike[str]) -> Store:
    """The store at a place: a path (`FileStore`), `sqlite:///…` (`SQLiteStore`) or `postgresql://…` (`PostgresStore`).

    Nothing is opened or made before the store is used. Raises `ValueError` for an address of another kind.

    >>> open_store("sqlite:///runs.db")  # doctest: +ELLIPSIS
    SQLiteStore('...runs.db')
    """
    address = os.fspath(place)
    kind, found, rest = address.partition("://")
    if not found:
        if address.startswith(("sqlite:", "postgres:", "postgresql:")):
            raise ValueError(f"{address!r} lacks its slashes: write sqlite:///runs.db or postgresql://host/name")
        if not address or "\0" in address:
            raise ValueError(f"{address!r} is no place for a store: give a folder, sqlite:///… or postgresql://…")
        from fireside.stores.file import FileStore

        return FileStore(os.path.expanduser(address))
    if kind == "sqlite":
        path = rest.removeprefix("/")
        if not path or not rest.startswith("/"):
            raise ValueError(f"{address!r} names no file: write sqlite:///runs.db, or sqlite:////a/path/runs.db")
        from fireside.stores.sqlite import SQLiteStore

        return SQLiteStore(os.path.expanduser(path))
    if kind in ("postgresql", "postgres"):
        from fireside.stores.postgres import PostgresStore

        return PostgresStore(address)
    raise ValueError(
        f"no store is reached by {kind}://: give a folder, sqlite:///… (a file) or postgresql://… (a server)"
    )


__all__ = ["open_store"]
