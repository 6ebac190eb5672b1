"""What belongs to this device: nothing typed is lost, and losing the file loses no conversation."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from fireside import Agent, FileStore, open_store
from fireside_tui.config import Config, Paths
from fireside_tui.conversations import Conversations
from fireside_tui.device import Device
from fireside_tui.start import conversations_for

from tests.tui.app_support import opened, talk


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


# -- each store has its own


async def test_a_draft_of_one_store_is_neither_listed_nor_opened_nor_lost_in_another(tmp_path: Path) -> None:
    one, other = FileStore(tmp_path / "one"), FileStore(tmp_path / "other")
    await talk(tmp_path, "of the other", store=other)
    async with opened(tmp_path, store=one) as it:
        await it.write("an unsent thought")
        draft = it.current.id
        await it.until(lambda: it.app.conversations.device.flush() and it.titles == ["an unsent thought"])
    async with opened(tmp_path, store=other, newest=True) as it:
        assert it.titles == ["of the other"]
        assert it.current.state.title == "of the other"
    async with opened(tmp_path, store=FileStore(tmp_path / "one"), resume=draft) as it:
        assert it.box == "an unsent thought"


def test_a_file_tells_its_store_and_no_password(tmp_path: Path) -> None:
    pytest.importorskip("psycopg")
    places = Paths(tmp_path / "c", tmp_path / "data", tmp_path / "cache")
    for address in ("postgresql://ann:s3cret@localhost:1/db", "postgresql://ann@localhost:1/db?password=s3cret"):
        conversations, warning = conversations_for(Config(store=address), None, places)
        assert not warning
        conversations.device.set_draft("a", "text")
        assert conversations.device.flush()
    (file,) = places.data_dir.glob("device-*.json")  # it is the same database
    assert "s3cret" not in file.read_text()
    assert json.loads(file.read_text())["store"] == "postgres localhost:1/db "


def test_a_store_that_can_not_be_opened_keeps_its_drafts_to_itself_and_no_password(tmp_path: Path) -> None:
    places = Paths(tmp_path / "c", tmp_path / "data", tmp_path / "cache")
    devices = []
    for address in ("mongodb://ann:s3cret@host/db", "redis://host"):
        conversations, warning = conversations_for(Config(store=address), None, places)
        assert "can't be opened" in warning
        devices.append(conversations.device)
    devices[0].set_draft("a", "text")
    assert devices[0].flush()
    assert "s3cret" not in devices[0].path.read_text()
    assert devices[1].path != devices[0].path


def old_file(places: Paths, **drafts: str) -> bytes:
    places.data_dir.mkdir(parents=True, exist_ok=True)
    at = "2026-11-01T10:00:00+00:00"
    kept = {id: {"text": text, "at": at} for id, text in drafts.items()}
    raw = json.dumps({"v": 1, "drafts": kept, "unread": {}, "pinned": dict.fromkeys(drafts, True)}).encode()
    places.old_device_file.write_bytes(raw)
    return raw


async def test_each_store_takes_over_what_is_its_own_and_the_usual_one_the_rest(tmp_path: Path) -> None:
    places = Paths(tmp_path / "c", tmp_path / "data", tmp_path / "cache")
    one, other = tmp_path / "one", tmp_path / "other.db"
    await talk(tmp_path, "in one", id="in-one", store=FileStore(one))
    await talk(tmp_path, "in other", id="in-other", store=open_store(f"sqlite:///{other}"))
    raw = old_file(places, **{"in-one": "1", "in-other": "2", "new": "3"})

    def of(store: Path, **rest: Any) -> Conversations:
        address = f"sqlite:///{store}" if store.suffix else str(store)
        return conversations_for(Config(store=address, **rest), None, places)[0]

    for _ in range(2):  # the second start takes nothing more
        beside = of(other, for_once=frozenset({"store"}))
        await beside.refresh()
        assert {*beside.device.drafts} == {"in-other"}
        assert [row.title for row in beside.rows] == ["in other"]
        assert beside.device.is_pinned("in-other")
        assert beside.device.flush()
    usual = of(one)
    assert {*usual.device.drafts} == {"in-one", "in-other", "new"}
    await usual.refresh()
    assert usual.device.flush()
    assert places.old_device_file.read_bytes() == raw
    usual.device.set_draft("new", "")
    assert usual.device.flush()
    assert "new" not in of(one).device.drafts, "what was thrown away does not come back from the old file"


def test_two_windows_that_take_over_at_once_bring_nothing_back(tmp_path: Path) -> None:
    places = Paths(tmp_path / "c", tmp_path / "data", tmp_path / "cache")
    old_file(places, a="1", b="2")
    path = places.device_file("here")
    first, second = (Device(path, old=places.old_device_file, usual=True) for _ in range(2))
    first.set_draft("a", "")
    first.set_draft("b", "newer")
    assert first.flush()
    second.pin("c")
    assert second.flush()
    for device in (first, second, Device(path, old=places.old_device_file, usual=True)):
        assert {id: draft.text for id, draft in device.drafts.items()} == {"b": "newer"}


def test_an_agent_that_brings_its_store_takes_over_what_that_store_has_alone(tmp_path: Path) -> None:
    places = Paths(tmp_path / "c", tmp_path / "data", tmp_path / "cache")
    old_file(places, a="1")
    conversations, _ = conversations_for(Config(), Agent("demo", store=FileStore(tmp_path / "own")), places)
    assert conversations.device.drafts == {}
