"""The way from bytes to events: whatever is in a bracketed paste, in whatever pieces it comes, it is one paste."""

from __future__ import annotations

import itertools

from fireside_tui.driver import PasteParser
from hypothesis import given
from hypothesis import strategies as st
from textual.events import Key, Paste

START, END = "\x1b[200~", "\x1b[201~"
TEXT = st.text(st.sampled_from(list("ab\x1b[]~;<0123456789ABMm\r\n\t\x03\x7f é\u4e2d")), max_size=40).filter(
    lambda text: START not in text and END not in text
)


def events(text: str, cuts: list[int]) -> list[str]:
    parser = PasteParser()
    places = sorted({0, len(text), *(cut % (len(text) + 1) for cut in cuts)})
    out: list[str] = []
    for a, b in itertools.pairwise(places):
        for message in parser.feed(text[a:b]):
            if isinstance(message, Paste):
                out.append(f"paste:{message.text}")
            elif isinstance(message, Key):
                out.append(message.key)
    return out


@given(pasted=TEXT, cuts=st.lists(st.integers(0, 200), max_size=6))
def test_a_paste_is_one_event_however_it_is_cut(pasted: str, cuts: list[int]) -> None:
    assert events(f"x{START}{pasted}{END}y", cuts) == ["x", f"paste:{pasted}", "y"]


@given(one=TEXT, two=TEXT, cuts=st.lists(st.integers(0, 200), max_size=6))
def test_two_pastes_stay_two(one: str, two: str, cuts: list[int]) -> None:
    assert events(f"{START}{one}{END}{START}{two}{END}\r", cuts) == [f"paste:{one}", f"paste:{two}", "enter"]


def test_an_end_mark_in_what_is_pasted_does_not_end_it() -> None:
    assert events(f"{START}a{END}\rrm -rf\r{END}b", []) == [f"paste:a{END}\rrm -rf\r", "b"]


def test_other_keys_are_as_they_were() -> None:
    assert events("a\x1b[A\x1b[13;2u\x1b[200\r", [])[:3] == ["a", "up", "shift+enter"]
    assert events("\x1b[27;2;13~", []) == ["shift+\r"]
