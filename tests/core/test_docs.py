"""The examples in the library's docstrings are run."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
from pathlib import Path

import fireside
import pytest

MODULES = [info.name for info in pkgutil.walk_packages(fireside.__path__, "fireside.")]


@pytest.mark.parametrize("name", ["fireside", *MODULES])
def test_examples(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    failed, _ = doctest.testmod(importlib.import_module(name))
    assert failed == 0


def test_every_module_says_what_is_in_it() -> None:
    for name in MODULES:
        assert importlib.import_module(name).__doc__, name
