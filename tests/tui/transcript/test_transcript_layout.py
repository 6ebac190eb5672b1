"""Blocks to rows: nothing is lost where a text is cut, lines break as terminals measure, code keeps its colours."""

from __future__ import annotations

import itertools
import re

import pytest
from fireside_tui.safe_text import without_stray_joiners
from fireside_tui.transcript import Item
from fireside_tui.transcript.cells import fold_cuts, is_simple, wrap_cuts
from fireside_tui.transcript.highlight import ROOT, highlight, language_of
from fireside_tui.transcript.selection import selected_text
from fireside_tui.transcript.sums import Sums
from helpers_transcript import CORPUS, LONG, all_rows, each_row, fresh, lines
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len, split_graphemes
from textual.selection import Selection

WIDE = st.text(st.sampled_from("ab .,日本。「é\u0301\u200d\ufe0f👩❤🇩🇪한-—“”(️"), max_size=80)


def copied(text: str, kind: str = "assistant", width: int = 60) -> str:
    return selected_text(fresh([Item("a", kind, text)], width), Selection(None, None))


# -- where a text is cut
@pytest.mark.parametrize("name", ["paragraph", "paragraph_marked", "word"])
def test_a_very_long_paragraph_has_no_short_row_and_copies_as_one_line(name):
    text = LONG[name]
    rows = lines(fresh([Item("a", "assistant", text)]))[1:]
    assert all(len(row) > 40 for row in rows[:-1])
    plain = re.sub(r"[*`]", "", text).rstrip()
    assert copied(text).split("\n", 1)[1].rstrip() == plain


def test_a_very_long_line_of_code_copies_as_one_line():
    text = LONG["code_line"]
    assert copied(text) == "claude\nlet a = 1;\n" + "let x=1;" * 1500 + "\nlet b = 2;\n\nafter\n"


def test_a_very_long_line_of_a_user_copies_as_one_line():
    text = "x" * 20_000 + "\nshort\n" + "y " * 6000 + "z"
    assert copied(text, "user") == f"you\n{text}\n"


@pytest.mark.parametrize(
    "name", ["quote", "item", "nested_long", "item_code", "quote_code", "table", "code", "html_long"]
)
def test_what_is_cut_into_chunks_shows_every_line_once_and_under_its_bullet(name):
    text = CORPUS[name]
    words = list(re.findall(r"\d+", text))
    shown = re.findall(r"\d+", "\n".join(lines(fresh([Item("a", "assistant", text)], 90))))
    assert [w for w in shown if w in words] == words
    for row in each_row(fresh([Item("a", "assistant", text)], 90)):
        line = "".join(piece.text for piece in row.pieces)
        if re.match(r"(paragraph|inner|x\d)", line):
            assert name in ("code",), line  # what is inside a list item or a quote never stands at the edge


def test_a_long_table_keeps_its_columns():
    rows = lines(fresh([Item("a", "assistant", CORPUS["table"])], 90))
    bars = {row.index("│") for row in rows if "│" in row}
    assert len(bars) == 1
    assert sum("┼" in row for row in rows) == 1


def test_a_table_too_wide_for_the_screen_becomes_records():
    text = (
        "|"
        + "|".join(f" head{i} " for i in range(12))
        + "|\n"
        + "|---" * 12
        + "|\n|"
        + "|".join(f" cell{i} " for i in range(12))
        + "|\n"
    )
    rows = lines(fresh([Item("a", "assistant", text)], 30))
    assert "head11: cell11" in rows


def test_numbers_go_on_in_a_list_of_ones():
    assert [row for row in lines(fresh([Item("a", "assistant", "1. a\n1. b\n\n1. c\n")])) if row][1:] == [
        "1. a",
        "2. b",
        "3. c",
    ]


def test_nested_lists_copy_as_lists():
    assert copied("- a\n  - b\n    - c\n\n1. x\n   1. y\n") == "claude\n- a\n  - b\n    - c\n\n1. x\n   1. y\n"


@pytest.mark.parametrize("width", [20, 31])
def test_any_markdown_fits_any_width(width):
    for text in CORPUS.values():
        for row in each_row(
            fresh([Item("a", "assistant", text), Item("b", "tool", text, "l" * 90, "t" * 90, "s" * 90)], width)
        ):
            size = cell_len("".join(piece.text for piece in row.pieces).rstrip())
            assert size <= width


# -- lines
@given(WIDE, st.integers(2, 30))
@settings(max_examples=200, deadline=None)
def test_lines_fit_and_never_part_joined_characters(text, width):
    text = without_stray_joiners(text)
    starts = {start for start, _, _ in split_graphemes(text)[0]}
    for cuts in (wrap_cuts(text, width), fold_cuts(text, width)):
        assert set(cuts) <= starts
        bounds = [0, *cuts, len(text)]
        assert bounds == sorted(bounds)
        for a, b in itertools.pairwise(bounds):
            part = text[a:b]
            assert (
                cell_len(part.rstrip(" ") if cuts is not fold_cuts else part) <= width
                or len(split_graphemes(part)[0]) == 1
            )


@given(st.text(st.sampled_from("ab .,-"), max_size=120), st.integers(1, 30))
def test_words_stay_whole_where_they_fit(text, width):
    for cut in wrap_cuts(text, width):
        inside = text[cut - 1] != " " and text[cut] != " "
        if inside:
            word = text[text.rfind(" ", 0, cut) + 1 :].split(" ", 1)[0]
            assert len(word) > width or not text[:cut].rpartition(" ")[0].strip()


def test_simple_characters_take_one_cell_each():
    wrong = [hex(c) for c in range(0x2700) if is_simple(chr(c)) and cell_len(chr(c)) != 1]
    assert not wrong


def test_chinese_breaks_between_characters_but_not_before_a_full_stop():
    rows = lines(fresh([Item("a", "assistant", CORPUS["wide"])], 20))
    assert all(not row.startswith(("。", "、")) for row in rows)
    assert cell_len(rows[1]) >= 18


# -- code
@pytest.mark.parametrize(("name", "style"), [("code_string", "string"), ("code_comment", "comment")])
def test_colours_go_on_across_the_cuts(name, style):
    roll = fresh([Item("a", "assistant", CORPUS[name])])
    inside = [row for row in each_row(roll) if any("inside" in p.text or "still" in p.text for p in row.pieces)]
    assert len(inside) == 120
    assert all(row.pieces[-1].names[-1] == style for row in inside)


@pytest.mark.parametrize(
    "language", ["python", "c", "js", "html", "rust", "json", "bash", "markdown", "nonsense", "", "php", "ruby"]
)
def test_highlighting_by_chunks_equals_highlighting_at_once(language):
    code = 'x = "a"\n# b /* c */\nif (x) { y(); }\n<b a="c">t</b>\n' * 12
    whole, _ = highlight(code, language)
    state, parts = ROOT, []
    for line in code.splitlines(keepends=True):
        runs, state = highlight(line, language, state)
        parts += runs
    assert "".join(run.text for run in parts) == code
    assert "".join(run.text for run in whole) == code


@given(st.text(max_size=200), st.sampled_from(["python", "c", "html", "js", "yaml", "diff", "perl", "{.python}"]))
@settings(max_examples=100, deadline=None)
def test_highlighting_never_changes_text(code, language):
    runs, state = highlight(code, language)
    assert "".join(run.text for run in runs) == code
    more, _ = highlight(code, language, state)
    assert "".join(run.text for run in more) == code


def test_odd_languages_are_no_trouble():
    assert language_of("```python title=x\n") == "python"
    assert language_of("~~~ {.rust}\n") == "rust"
    for info in ("a|b c{x}", "../../etc", "[red]", "\u202e", "x" * 500, "___", "$"):
        text = f"```{info}\nx = 1\n```\n"
        assert "  x = 1" in lines(fresh([Item("a", "assistant", text)]))


def test_code_that_waits_for_its_state_gets_the_right_colours_in_the_end():
    """Opened at its end, a long program is coloured by guess first and then put right."""
    text = '```python\nx = """\n' + "inside\n" * 600 + '"""\n```\n'
    item = Item("a", "assistant", text)
    want = all_rows(fresh([item]))
    from fireside_tui.transcript.roll import Roll

    roll = Roll()
    roll.resize(60, None)
    roll.load([item])
    while roll.hungry or not roll.docs:
        roll.doc(0)
        if roll.hungry:
            roll.feed()
    roll.screen(20)
    assert roll.unsure
    while roll.unsure:
        roll.code_step()
    assert all_rows(roll) == want


# -- sums
@given(
    st.lists(st.integers(0, 9), max_size=40), st.lists(st.tuples(st.integers(0, 39), st.integers(0, 9)), max_size=20)
)
def test_sums_are_those_of_a_list(values, changes):
    sums = Sums()
    for value in values:
        sums.append(value)
    for i, value in changes:
        if i < len(values):
            sums.set(i, value)
            values[i] = value
    if values and len(changes) % 2:
        sums.pop()
        values.pop()
    assert sums.total == sum(values)
    assert [sums.before(i) for i in range(len(values) + 1)] == [sum(values[:i]) for i in range(len(values) + 1)]
    for y in range(sums.total):
        i, rest = sums.find(y)
        assert sum(values[:i]) + rest == y
        assert rest < values[i]
