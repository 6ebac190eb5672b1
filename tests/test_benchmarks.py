"""The app's benchmark runs: one tiny round of one measure gives its rows. What they say of time is no test's business."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_a_tiny_round_of_the_apps_benchmark_prints_its_rows() -> None:
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-m", "benchmarks.app", "--rounds", "1", "--only", "start"]
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith("1 rounds, ")
    rows = [line.split("|")[1].strip() for line in lines if line.startswith("|")]
    assert rows[:4] == ["measure", "---", "first frame", "– bare Textual app"]
