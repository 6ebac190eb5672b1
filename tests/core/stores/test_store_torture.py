"""The torture of `benchmarks.torture`, short: kill -9 at random moments, and several processes on one conversation."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks import torture

pytestmark = pytest.mark.xdist_group("postgres")


@pytest.fixture(params=["file", "sqlite", "postgres"])
def opener(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[torture.Opener]:
    address = request.getfixturevalue("postgres") if request.param == "postgres" else None
    with torture.place(request.param, tmp_path, address) as opener:
        yield opener


def test_nothing_is_lost_under_kill_9(opener: torture.Opener, tmp_path: Path) -> None:
    acknowledged = 0
    for seed in range(1, 20):  # on a loaded machine a child is killed before it has saved much
        told = torture.kill_rounds(opener, tmp_path, rounds=15, seed=seed)
        assert told.faults == []
        acknowledged += told.acknowledged
        if acknowledged > 15:
            break
    assert acknowledged > 15


@pytest.mark.parametrize("runs", [False, True], ids=["saves", "runs"])
def test_eight_processes_on_one_conversation_lose_nothing(opener: torture.Opener, tmp_path: Path, runs: bool) -> None:
    told = torture.together(opener, tmp_path, 8, rounds=1, runs=runs)
    assert told.faults == []
    if runs:
        assert told.refused > 0


@pytest.mark.parametrize("name", ["file", "sqlite", "postgres"])
@pytest.mark.parametrize("runs", [False, True], ids=["saves", "runs"])
def test_without_locks_nothing_is_lost_in_silence(
    request: pytest.FixtureRequest, name: str, tmp_path: Path, runs: bool
) -> None:
    address = request.getfixturevalue("postgres") if name == "postgres" else None
    with torture.place(name, tmp_path, address, locks=False) as opener:
        told = torture.together(opener, tmp_path, 8, rounds=1, runs=runs)
    assert told.faults == []
