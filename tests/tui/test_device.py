"""What belongs to this device: nothing typed is lost, and losing the file loses no conversation."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fireside_tui.device import Device


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "device.json"


def test_a_draft_is_there_after_a_restart(path: Path) -> None:
    device = Device(path)
    device.set_draft("a", "half a thou\ud83dght\x1b[2J", ("x.png",))
    assert device.flush()
    again = Device(path).draft("a")
    assert again is not None
    assert (again.text, again.files) == ("half a thou\ud83dght\x1b[2J", ("x.png",))


def test_an_emptied_draft_is_gone(path: Path) -> None:
    device = Device(path)
    device.set_draft("a", "text")
    device.flush()
    device.set_draft("a", "")
    device.flush()
    assert Device(path).drafts == {}


def test_two_windows_keep_each_others_drafts(path: Path) -> None:
    one, other = Device(path), Device(path)
    one.set_draft("a", "from one")
    other.set_draft("b", "from the other")
    other.pin("c")
    assert one.flush()
    assert other.flush()
    assert {id: draft.text for id, draft in Device(path).drafts.items()} == {"a": "from one", "b": "from the other"}
    assert Device(path).is_pinned("c")
    one.mark_unread("d")
    one.flush()
    assert one.is_pinned("c"), "a flush takes in what the other window wrote"


@pytest.mark.parametrize("damage", [b"", b"\0\0\0", b"[1, 2]", b'{"drafts": {"a": 3, "b": {"text": 1}}}', b"{" * 9999])
def test_a_damaged_file_is_as_good_as_none(path: Path, damage: bytes) -> None:
    path.parent.mkdir()
    path.write_bytes(damage)
    device = Device(path)
    assert device.drafts == {}
    device.set_draft("a", "new")
    assert device.flush()
    assert json.loads(path.read_bytes())["drafts"]["a"]["text"] == "new"


def test_where_nothing_can_be_written_it_still_remembers_and_tries_again(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file where a folder should be")
    device = Device(tmp_path / "data" / "device.json")
    device.set_draft("a", "kept")
    assert not device.flush()
    assert device.error is not None
    assert device.draft("a").text == "kept"  # type: ignore[union-attr]
    (tmp_path / "data").unlink()
    assert device.flush()
    assert device.error is None


def test_what_a_deleted_conversation_had_can_be_put_back(path: Path) -> None:
    device = Device(path)
    device.set_draft("a", "draft")
    device.pin("a")
    known = device.forget("a")
    assert not device.is_pinned("a")
    assert device.draft("a") is None
    device.restore("a", known)
    device.flush()
    assert Device(path).is_pinned("a")


def test_the_file_is_for_its_owner_alone(path: Path) -> None:
    device = Device(path)
    device.set_draft("a", "secret")
    device.flush()
    assert path.stat().st_mode & 0o777 == 0o600
    assert [child.name for child in path.parent.iterdir() if child.name not in (path.name, path.name + ".lock")] == []
