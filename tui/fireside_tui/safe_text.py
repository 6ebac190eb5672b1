"""The one door through which outside text reaches the screen: no markup, nothing that a terminal acts on.

Knows nothing of Textual, so that the command line can use it too; the last net under the app is in `control_filter`.
"""

from __future__ import annotations

import re

__all__ = ["JOINER", "UNSAFE", "safe", "safe_line", "without_stray_joiners"]

#: Every character that may move the cursor, start a command, turn the reading direction or hide text.
UNSAFE = re.compile(
    "["
    "\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0 without tab and newline, DEL, C1 (0x85 among them, a line end to str.splitlines)
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # bidi controls
    "\u2028\u2029"  # line and paragraph separator, line ends to str.splitlines
    "\ud800-\udfff"  # a lone surrogate would crash the UTF-8 writer
    "\U000e0000-\U000e007f"  # tag characters: invisible text
    "]"
)


JOINER = "\u200d"
_JOINED = (
    "\u2194\u2195\u2620\u2640\u2642\u2695\u2696\u26a7\u26d3\u26f9\u2708\u2744\u2764\u27a1\u2b1b\U0001f000-\U0001faff"
)
_STRAY = f"(?<![{_JOINED}])(?<![{_JOINED}]\ufe0f){JOINER}|{JOINER}(?![{_JOINED}])"


def without_stray_joiners(text: str) -> str:
    """`text` without the joiners that stand between no two pictures.

    Terminals draw the letters beside one as if it were not there, and Rich counts both of them as one: a line that is full
    of them would run over the edge.

    >>> without_stray_joiners("a\u200db"), without_stray_joiners("👩\u200d💻") == "👩\u200d💻"
    ('ab', True)
    """
    return re.sub(_STRAY, "", text) if JOINER in text else text


def _mark(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x20:
        return chr(0x2400 + code)  # ␀ … ␟
    if code == 0x7F:
        return "\u2421"  # ␡
    return "\u2424" if code in (0x85, 0x2028, 0x2029) else "\ufffd"  # ␤, else �


def safe(text: str) -> str:
    """`text` with a visible, harmless mark for everything that a terminal could act on; keeps newline and tab.

    CRLF becomes a newline. Nothing else depends on what stands beside it, so text may come in pieces of any size as
    long as no piece ends between a CR and its LF.

    >>> safe("a\\x1b[2Jb")
    'a␛[2Jb'
    """
    return UNSAFE.sub(_mark, text.replace("\r\n", "\n"))


def safe_line(text: str, width: int | None = None) -> str:
    """`text` as one safe line, cut with "…" to at most `width` cells.

    >>> safe_line("two\\nlines", 6)
    'two l…'
    """
    line = without_stray_joiners(safe(text).replace("\n", " ").replace("\t", " "))
    if width is None or len(line) * 2 <= width:
        return line
    from rich.cells import cell_len, set_cell_size  # only here: the command line seldom needs it

    if cell_len(line) <= width:
        return line
    return set_cell_size(line, width - 1).rstrip() + "…" if width > 0 else ""
