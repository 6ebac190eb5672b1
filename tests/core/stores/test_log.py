"""The log's lines read by the quick parser, against json."""

from __future__ import annotations

import json
from typing import Any

import pytest
from fireside.stores import log as logs
from hypothesis import given
from hypothesis import strategies as st

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(st.characters(codec=None)),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def long(values: list[Any]) -> bytes:
    """A log of entries that hold these, long enough for the quick parser."""
    rows = [{"seq": n, "content": value} for n, value in enumerate([*values, "x" * logs._LONG])]
    return b"".join(map(logs.encode, rows))


@given(st.lists(VALUES, max_size=5))
def test_it_reads_what_json_reads(values: list[Any]) -> None:
    data = long(values)
    assert logs.parse(data).rows == [json.loads(line) for line in data.splitlines()]


DEEP: Any = "the bottom"
for _ in range(400):
    DEEP = [DEEP]


@pytest.mark.parametrize("odd", ["\ud800", "\ude00\ud83d", DEEP, 10**4000, float("inf"), 1e-310, -0.0, "\0\x7f\u2028"])
def test_what_it_refuses_is_read_all_the_same(odd: Any) -> None:
    found = logs.parse(long([odd]))
    assert found.rows[0]["content"] == odd
    assert found.damaged == 0
    assert found.next_seq == 2


def test_a_damaged_entry_among_many_is_left_out() -> None:
    data = long(["a", "b", "c"]).replace(b'"b"', b'"\xff"')
    found = logs.parse(data)
    assert [row["seq"] for row in found.rows] == [0, 2, 3]
    assert found.damaged == 1
