"""What an import costs and may load, and that the public names are true."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import fireside
import fireside.testing
import pytest

ROOT = Path(__file__).parents[1]


def loaded_by(code: str) -> set[str]:
    """The top-level packages that are loaded after `code`, in a fresh process."""
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys; print(*{{name.partition('.')[0] for name in sys.modules}})"],
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    return set(done.stdout.split())


@pytest.mark.parametrize(
    "code",
    [
        "import fireside",
        "import fireside.testing",
        "from fireside import Agent; Agent('claude-sonnet-5-5'); Agent('demo')",
        "from fireside import Agent, MCPServer; Agent('demo', mcp_servers=[MCPServer('a', command=['x'])])",
    ],
)
def test_the_library_loads_neither_the_sdk_nor_a_screen(code: str) -> None:
    heavy = {"anthropic", "textual", "pydantic", "httpx2", "rich", "click", "psycopg", "pytest", "fireside_tui", "mcp"}
    assert loaded_by(code) & heavy == set()


@pytest.mark.parametrize(
    "module", ["conversations", "config", "device", "doctor", "export", "search", "safe_text", "cli"]
)
def test_what_drives_the_app_loads_no_screen(module: str) -> None:
    assert loaded_by(f"import fireside_tui.{module}") & {"anthropic", "textual"} == set()


FIRST_FRAME = """
from fireside_tui.app import FiresideApp
from fireside_tui.cli.root import fireside
from fireside_tui.config import load_config

class Drawn(FiresideApp):
    def _begin(self):
        self.exit()

Drawn(load_config()).run(headless=True, size=(120, 36))
"""


def test_the_first_frame_loads_nothing_that_it_does_not_show(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith(("FIRESIDE_", "XDG_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    heavy = {
        "anthropic", "pydantic", "httpx2", "markdown_it", "pygments", "sqlite3", "psycopg", "email", "html", "tomllib",
    }  # fmt: skip
    loaded = loaded_by(FIRST_FRAME)
    assert "textual" in loaded
    assert loaded & heavy == set()


@pytest.mark.parametrize("module", [fireside, fireside.testing])
def test_public_names_are_real_sorted_and_unique(module: object) -> None:
    names = list(vars(module)["__all__"])
    # as ruff sorts them: constants, classes, functions
    assert names == sorted(names, key=lambda name: (not name.isupper(), not name[0].isupper(), name))
    assert len(names) == len(set(names))
    for name in names:
        assert getattr(module, name) is not None


def test_public_names_are_documented() -> None:
    lacking = [
        name
        for name in fireside.__all__
        if callable(value := getattr(fireside, name)) and not (getattr(value, "__doc__", "") or "").strip()
    ]
    assert lacking == []


def test_the_import_contracts_hold() -> None:
    command = Path(sys.executable).parent / "lint-imports"
    done = subprocess.run([command, "--no-cache"], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout
