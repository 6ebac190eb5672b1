"""The wheel holds what is needed and works in an environment where nothing else is."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from tests.support import clean_env

ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.xdist_group("packaging")
FILES = ["pyproject.toml", "README.md", "LICENSE", "core", "tui"]


def run(*command: str | Path, cwd: Path, env: dict[str, str] | None = None) -> str:
    done = subprocess.run(
        command, cwd=cwd, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, f"{command} failed:\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The wheel, made from a copy of the sources, and a virtual environment that holds it and what it asks for."""
    folder = tmp_path_factory.mktemp("packaging")
    source, dist, venv = folder / "source", folder / "dist", folder / "venv"
    source.mkdir()
    for name in FILES:
        here = ROOT / name
        if here.is_dir():
            shutil.copytree(here, source / name, ignore=shutil.ignore_patterns("__pycache__", ".*", "*.egg-info"))
        else:
            shutil.copy(here, source / name)
    python = venv / "bin" / "python"
    if uv := shutil.which("uv"):
        run(uv, "build", "--wheel", "-q", "-o", dist, source, cwd=folder)
        run(uv, "venv", "-q", "-p", sys.executable, venv, cwd=folder)
        run(uv, "pip", "install", "-q", "-p", python, *dist.glob("*.whl"), cwd=folder)
    else:
        run(sys.executable, "-m", "venv", venv, cwd=folder)
        run(python, "-m", "pip", "wheel", "-q", "--no-deps", "-w", dist, source, cwd=folder)
        run(python, "-m", "pip", "install", "-q", *dist.glob("*.whl"), cwd=folder)
    return next(dist.glob("*.whl")), venv


def test_the_wheel_holds_every_file_of_both_packages(installed: tuple[Path, Path]) -> None:
    roots = [installed[0].parents[1] / "source" / name for name in ("core", "tui")]
    expected = {str(file.relative_to(root)) for root in roots for file in root.rglob("*") if file.is_file()}
    with zipfile.ZipFile(installed[0]) as wheel:
        held = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert held == expected


def test_the_installed_command_works_from_the_wheel_alone(installed: tuple[Path, Path], tmp_path: Path) -> None:
    venv = installed[1]
    env = clean_env(tmp_path, FIRESIDE_DEMO_DELAY="0")
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    fireside = venv / "bin" / "fireside"
    assert run(fireside, "--version", cwd=tmp_path, env=env) == f"fireside {version}\n"
    assert "offline demo" in run(fireside, "-p", "hi", "--model", "demo", cwd=tmp_path, env=env)
    assert re.search(r" waiting +1  hi$", run(fireside, "list", cwd=tmp_path, env=env), re.MULTILINE)
    where = run(venv / "bin" / "python", "-c", "import fireside; print(fireside.__file__)", cwd=tmp_path, env=env)
    assert Path(where.strip()).is_relative_to(venv)
    run(venv / "bin" / "python", "-c", "import fireside_tui.app", cwd=tmp_path, env=env)


def test_no_file_of_the_repository_names_a_package_index() -> None:
    hosts = re.compile("|".join(map("".join, [("pypi", r"\.org"), ("python", "hosted"), ("index", "-url")])))
    if (ROOT / ".git").exists():
        files = [ROOT / name for name in run("git", "ls-files", cwd=ROOT).splitlines()]
    else:
        left_out = (".venv", "__pycache__", ".mypy_cache", ".ruff_cache", ".pytest_cache")
        files = [file for file in ROOT.rglob("*") if not set(left_out) & set(file.parts)]
    files = [file for file in files if file.is_file()]
    assert files
    assert [str(file) for file in files if hosts.search(file.read_bytes().decode("latin-1"))] == []
