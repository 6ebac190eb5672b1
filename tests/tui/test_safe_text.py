"""What a terminal could act on never gets past safe_text, and nothing else is touched."""

from __future__ import annotations

import subprocess
import sys
import unicodedata

import pytest
from fireside_tui.control_filter import ControlFilter
from fireside_tui.safe_text import UNSAFE, safe, safe_line, without_stray_joiners
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len, split_graphemes
from rich.segment import ControlType, Segment
from textual.app import App, ComposeResult
from textual.color import Color
from textual.widgets import Static

DANGEROUS = [
    *map(chr, [*range(0x09), *range(0x0B, 0x20), *range(0x7F, 0xA0)]),
    *map(chr, [0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)]),
    *map(chr, [0x2028, 0x2029, 0xD800, 0xDFFF, 0xE0000, 0xE0041, 0xE007F]),
]
ANY = st.text(st.one_of(st.characters(), st.sampled_from(DANGEROUS), st.sampled_from("\n\t\r")))


@pytest.mark.parametrize("char", DANGEROUS, ids=[f"U+{ord(c):04X}" for c in DANGEROUS])
def test_every_dangerous_character_becomes_one_visible_mark(char):
    out = safe(f"a{char}b")
    assert len(out) == 3
    assert out[1].isprintable()
    assert cell_len(out[1]) == 1
    assert not UNSAFE.search(out)


@given(ANY)
def test_nothing_else_is_touched(text):
    out = safe(text)
    assert not UNSAFE.search(out)
    out.encode()
    assert len(out.splitlines()) == len(out.removesuffix("\n").split("\n")) if out else True
    lines = text.replace("\r\n", "\n")
    assert len(out) == len(lines)
    assert all(new == old for new, old in zip(out, lines, strict=True) if not UNSAFE.match(old))


@given(ANY, ANY)
def test_pieces_may_be_of_any_size(a, b):
    if not (a.endswith("\r") and b.startswith("\n")):
        assert safe(a) + safe(b) == safe(a + b)


def test_all_format_and_control_characters_are_known():
    """A control or bidi character that a newer Unicode adds should be looked at."""
    controls = {chr(c) for c in range(0x110000) if unicodedata.category(chr(c)) in ("Cc", "Cs", "Zl", "Zp")} - {
        "\n",
        "\t",
    }
    bidi = {c for c in map(chr, range(0x110000)) if unicodedata.bidirectional(c) in
            ("LRE", "RLE", "PDF", "LRO", "RLO", "LRI", "RLI", "FSI", "PDI")}  # fmt: skip
    assert not [hex(ord(c)) for c in controls | bidi if not UNSAFE.match(c)]


def test_windows_line_ends_are_line_ends():
    assert safe("a\r\nb\r") == "a\nb␍"


@given(ANY, st.integers(0, 40))
def test_a_line_is_one_line_and_fits(text, width):
    line = safe_line(text, width)
    assert cell_len(line) <= width
    assert not set("\n\t\r") & set(line)
    assert not UNSAFE.search(line)


def test_a_line_that_is_cut_says_so():
    assert safe_line("a long title", 7) == "a long…"
    assert safe_line("日本語の題", 5) == "日本…"
    assert safe_line("short", 7) == "short"
    assert safe_line("a\tb\nc") == "a b c"


def test_the_command_line_can_use_it_without_textual():
    code = "import sys, fireside_tui.safe_text as s; s.safe('x'); s.safe_line('x' * 99, 5); sys.exit('textual' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@given(ANY)
def test_the_last_net_keeps_the_width_of_a_line(text):
    segments = [Segment(text), Segment("plain"), Segment("\x1b]8;;\x1b", None, [(ControlType.BELL,)])]
    out = ControlFilter().apply(segments, Color(0, 0, 0))
    assert not UNSAFE.search(out[0].text)
    assert cell_len(out[0].text) == cell_len(text.replace("\n", "").replace("\t", ""))
    assert out[1:] == segments[1:]


async def test_the_last_net_works_in_an_app():
    class Leaky(App):
        def compose(self) -> ComposeResult:
            yield Static("a\x1b]52;c;aGk=\x07b\x9bc\u202ed", markup=False)

        def on_mount(self):
            self._filters.append(ControlFilter())

    app = Leaky()
    async with app.run_test(size=(40, 5)) as pilot:
        await pilot.pause()
        strips = app.screen._compositor.render_strips()
        text = "".join(s.apply_filter(ControlFilter(), Color(0, 0, 0)).text for s in strips)
        assert not UNSAFE.search(text)
        assert "a]52;c;aGk=bcd" in text


@given(st.text(st.sampled_from("ab é\u0301\u200d\ufe0f👩💻❤🔥日한"), max_size=30))
def test_what_is_counted_is_what_a_terminal_draws(text):
    text = without_stray_joiners(text)
    assert cell_len(text) == sum(cells for _, _, cells in split_graphemes(text)[0])
    for letter in "ab日":
        assert all(end - start == 1 or text[start] != letter or "\u200d" not in text[start:end]
                   for start, end, _ in split_graphemes(text)[0])  # fmt: skip


@pytest.mark.parametrize(
    "kept", ["👩\u200d💻", "❤\ufe0f\u200d🔥", "👩🏽\u200d❤\ufe0f\u200d👩🏾", "🏳\ufe0f\u200d⚧\ufe0f"]
)
def test_joined_pictures_stay_joined(kept):
    assert without_stray_joiners(kept) == kept
    assert safe_line(f"a\u200d {kept}\u200db\u200d") == f"a {kept}b"
