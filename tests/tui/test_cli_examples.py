"""The examples in the docstrings of the app and the command line are true."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import fireside_tui
import pytest

MODULES = [found.name for found in pkgutil.walk_packages(fireside_tui.__path__, "fireside_tui.")]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS).failed == 0
