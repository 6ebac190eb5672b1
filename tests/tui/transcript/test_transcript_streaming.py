"""Text that streamed in looks like text that was there from the start, and costs what its open end costs."""

from __future__ import annotations

import pytest
from fireside_tui.transcript import Item
from helpers_transcript import CORPUS, LONG, all_rows, fresh, lines, mixed, stream, table
from hypothesis import given, settings
from hypothesis import strategies as st

_PIECES = (
    "- ¦1. ¦2) ¦> ¦```¦```py\n¦~~~¦\n¦\n\n¦  ¦    ¦\t¦# ¦---\n¦===\n¦| a | b |\n¦|---|---|\n¦*¦**¦`¦[x]¦(http://e.com)¦<b>¦<!--¦"
    "-->¦&amp;¦word¦text and more ¦é¦日本¦\r\n¦\r¦\\¦1¦-¦>¦~¦=¦[x]: http://e.com\n"
)
PIECES = st.sampled_from(_PIECES.split("¦"))


@pytest.mark.parametrize("name", CORPUS)
def test_streamed_rows_equal_fresh_rows(name):
    text = CORPUS[name]
    want = all_rows(fresh([Item("a", "assistant", text)]))
    for sizes in ([7], [20], [1, 2, 90, 5], [400]) if len(text) > 500 else ([1], [3], [7], [1, 2, 90, 5]):
        assert all_rows(stream(text, sizes)) == want, sizes


@pytest.mark.parametrize("name", LONG)
def test_streamed_rows_equal_fresh_rows_where_one_line_never_ends(name):
    text = LONG[name]
    want = all_rows(fresh([Item("a", "assistant", text)]))
    for sizes in ([97], [20, 1000, 333]):
        assert all_rows(stream(text, sizes)) == want, sizes


@given(st.lists(PIECES, max_size=40).map("".join), st.lists(st.integers(1, 12), min_size=1, max_size=6))
@settings(max_examples=150, deadline=None)
def test_streamed_rows_equal_fresh_rows_for_any_markdown(text, sizes):
    assert all_rows(stream(text, sizes)) == all_rows(fresh([Item("a", "assistant", text)]))


@given(st.text(max_size=300), st.lists(st.integers(1, 50), min_size=1, max_size=4), st.integers(8, 70))
@settings(max_examples=60, deadline=None)
def test_any_text_in_any_kind_streams_without_a_crash(text, sizes, width):
    for kind in ("assistant", "user", "thinking", "tool", "notice", "error"):
        assert all_rows(stream(text, sizes, kind, width)) == all_rows(fresh([Item("a", kind, text)], width))


def test_long_text_cut_in_slices_equals_text_split_at_once(monkeypatch):
    text = mixed(60_000)
    want = lines(fresh([Item("a", "assistant", text)]))
    monkeypatch.setattr("fireside_tui.transcript.doc.SLICE", 10**9)
    monkeypatch.setattr("fireside_tui.transcript.doc.Doc.refresh.__defaults__", (10**9,))
    assert lines(fresh([Item("a", "assistant", text)])) == want


@pytest.mark.parametrize(
    "text",
    [mixed(30_000), table(600), "- item with `code`\n" * 1500, "> quoted text goes on\n" * 1200, "word and word " * 2000,
     "```python\n" + "x = 1  # one\n" * 2000, "```\n" + "x" * 30_000, "- a\n\n" + "  para of the item\n\n" * 1500],
    ids=["mixed", "table", "list", "quote", "paragraph", "code", "code line", "list item"],
)  # fmt: skip
def test_a_delta_costs_the_same_at_the_end_as_at_the_beginning(text):
    """Counted in characters given to the parser and blocks laid out, never in seconds."""
    from fireside_tui.transcript import blocks

    seen: list[int] = []
    parse = blocks.parser().parse

    class Counting:
        @staticmethod
        def parse(src, env):
            seen.append(len(src))
            return parse(src, env)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "parser", lambda: Counting)
        roll = stream(text, [100])
    assert max(seen) < 10_000
    deltas = len(text) // 100 + 1
    assert roll.layouts <= len(roll.doc(0).blocks) + 3 * deltas
    assert roll.parses <= deltas + 1
