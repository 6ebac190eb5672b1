"""SIGINT while the app starts (Ctrl+C, until the terminal gives it as a key) and later: it ends quietly, all is saved."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support import Term, clean_env

SCRIPT = """
import os, signal
from fireside_tui.app import FiresideApp
from fireside_tui.cli import main

step = FiresideApp.{step}

def interrupted(self, *args, **rest):
    os.kill(os.getpid(), signal.SIGINT)
    return step(self, *args, **rest)

FiresideApp.{step} = interrupted
main(["--model", "demo"])
"""


@pytest.mark.parametrize("step", ["get_driver_class", "on_mount", "get_default_screen"])
def test_ctrl_c_in_the_middle_of_the_start_tells_no_traceback(tmp_path: Path, step: str) -> None:
    with Term([sys.executable, "-c", SCRIPT.format(step=step)], 100, 40, clean_env(tmp_path), tmp_path) as term:
        assert term.ended(20) == 130
        assert "Traceback" not in term.text()
        assert term.text().strip().endswith("fireside: interrupted")


def test_an_interrupt_from_outside_saves_what_came_and_ends_with_130(
    terminal: Callable[..., Term], tmp_path: Path
) -> None:
    quick = {"FIRESIDE_NO_WARM_UP": "1"}
    with terminal("--model", "demo", env=quick) as term:
        term.wait("Write a message")
        term.send("a slow, long answer please\r")
        term.wait("writing… Esc stops")
        term.kill(signal.SIGINT)
        assert term.ended(20) == 130
    with terminal("--model", "demo", "--continue", env=quick) as term:
        term.wait("stopped")
