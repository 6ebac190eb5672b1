"""Texts and small tools that the transcript's tests share."""

from __future__ import annotations

import asyncio

from fireside_tui.transcript import Item, Transcript
from fireside_tui.transcript.roll import Roll
from textual.app import App, ComposeResult
from textual.widgets import Input

SECTION = """## Heading {n}

Some *emphasised* text with `code`, a [link](https://example.com) and **bold** words that run on for a while so that the
paragraph wraps over several lines in the terminal window, {n}.

- item one of {n}
- item two with `inline`
  - nested

```python
def f{n}(x: int) -> int:
    return x * {n}  # comment
```

| a | b |
|---|---|
| {n} | two |

"""


def mixed(size: int) -> str:
    """Prose, lists, code and tables, `size` characters."""
    return "".join(SECTION.format(n=n) for n in range(size // 300 + 1))[:size]


def table(rows: int) -> str:
    return "| a | b | c |\n|---|--:|:-:|\n" + "".join(
        f"| row {i} | `{i}` | some **longer** text {i} |\n" for i in range(rows)
    )


def code(lines: int, language: str = "python") -> str:
    return f"```{language}\n" + "".join(f"def f{i}(x): return x + {i}  # comment\n" for i in range(lines))


QUOTE = "".join(f"> line {i} of the quote\n" + (">\n" if i % 7 == 6 else "") for i in range(120))
ITEM = "- first\n\n" + "".join(f"  paragraph {i} of one item\n\n" for i in range(90)) + "- second\n"
NESTED = "- outer\n" + "".join(f"  - inner {i}\n    more of it\n" for i in range(80)) + "\nend\n"
ITEM_CODE = "1. look:\n\n   ```python\n" + "".join(f"   x{i} = {i}\n" for i in range(130)) + "   ```\n\n2. next\n"
QUOTE_CODE = "> look:\n>\n> ```python\n" + "".join(f"> x{i} = {i}\n" for i in range(130)) + "> ```\n>\n> end\n\nafter\n"

#: Markdown that is easy to get wrong when it comes in pieces.
CORPUS = {
    "mixed": mixed(4000),
    "olist": "1. a\n\n2. b\n   more\n\n3. c\n\ntext\n\n10) x\n11) y\n",
    "ones": "1. a\n1. b\n1. c\n\n1. d\n",
    "setext": "Title\n===\n\nsub\n---\n\npara\n- x\n- y\n\n* z\n",
    "nested": "- a\n\n  para\n\n  ```py\n  x=1\n\n  y=2\n  ```\n- b\n  1. c\n  2. d\n\n> q\n> - r\nlazy\n\nend",
    "fences": "````md\n```py\nx\n```\n````\n\n~~~\nabc\n~~~\ntext\n```\nunclosed\n\n\nmore",
    "fence_empty": "```\n```\n\n```py\n\n```\nafter\n```",
    "indent": "para\n\n    code\n\n    code2\n\npara\n",
    "table_ends": "text\n| a | b |\n|---|---|\n| 1 | 2 |\nlazy\n\n| x |\n|---|\n",
    "html": "<div>\nfoo\n</div>\n\n<b>x</b> y\n\n***\n\n---\n",
    "html_long": "<!-- a\n" + "inside\n" * 130 + "-->\nafter\n",
    "crlf": "a\r\n\r\nb\r\n- c\r\n",
    "reference": "[a]: http://x\n\nsee [a]\n",
    "code": "intro\n\n" + code(130) + "```\n\nafter\n",
    "code_fences_inside": "~~~~\n" + "\n".join(f"```{i}" for i in range(130)) + "\n~~~~\nafter **b**\n",
    "code_string": '```python\nx = """\n' + "text inside the string\n" * 120 + '"""\ny = 1\n```\n',
    "code_comment": "```c\n/* begins\n" + "still a comment\n" * 120 + "*/ int x;\n```\n",
    "table": table(130) + "\nafter\n",
    "quote": QUOTE + "\nafter\n",
    "item": ITEM,
    "nested_long": NESTED,
    "item_code": ITEM_CODE,
    "quote_code": QUOTE_CODE,
    "rules": "- a\n---\n- b\n-\n- c\n- \nd\n",
    "bullets_in_bullets": "- - x\n  - y\n- \n  z\n\n1. - a\n   - b\n",
    "wide": "日本語の文章はどこで折り返されるか、それが問題だ。" * 6 + "\n\n- 👩‍👩‍👧 family ❤️ heart é 🇩🇪\n",
}
#: The same for what is long in one line or paragraph (slow to try in small pieces).
LONG = {
    "paragraph": "Lorem ipsum dolor sit amet " * 500,
    "paragraph_marked": "Lorem ipsum **dolor sit** amet, `consectetur` adipiscing elit. " * 250,
    "paragraph_lines": "a line of prose that was wrapped by hand\n" * 400 + "===\n\nafter\n",
    "word": "QUJD" * 3500,
    "code_line": "```js\nlet a = 1;\n" + "let x=1;" * 1500 + "\nlet b = 2;\n```\nafter\n",
    "item_paragraph": "- " + "word after word " * 700 + "\n- next\n",
    "quote_paragraph": "> " + "word after word " * 700 + "\n\nnext\n",
    "heading": "## " + "word after word " * 400 + "\n\nnext\n",
    "table_line": "| " + "x " * 3000 + "|\n|---|\n| 1 |\n",
    "paragraph_table": "word after word " * 249 + "\n| a | b |\n|---|---|\n| 1 | 2 |\n",
}


def settled(roll: Roll) -> Roll:
    """The roll once all text is split and all code read."""
    for m in range(len(roll.items)):
        roll.doc(m)
    while roll.hungry:
        roll.feed()
    for m in range(len(roll.items)):
        for b in range(len(roll.doc(m).blocks)):
            roll.lay(m, b)
    while roll.unsure:
        roll.code_step()
    return roll


def fresh(items: list[Item], width: int = 60) -> Roll:
    """A roll that shows the items for the first time."""
    roll = Roll()
    roll.resize(width, None)
    roll.load(items)
    return settled(roll)


def all_rows(roll: Roll) -> list[tuple[object, ...]]:
    """All rows with their looks."""
    return [
        tuple((piece.text, piece.names, piece.href) for piece in row.pieces)
        for m in range(len(roll.items))
        for b in range(len(roll.doc(m).blocks))
        for row in roll.rows(m, b)
    ]


def lines(roll: Roll) -> list[str]:
    """All rows as text."""
    return ["".join(piece.text for piece in row.pieces).rstrip() for row in each_row(roll)]


def each_row(roll: Roll) -> list:
    return [row for m in range(len(roll.items)) for b in range(len(roll.doc(m).blocks)) for row in roll.rows(m, b)]


def stream(text: str, sizes: list[int], kind: str = "assistant", width: int = 60) -> Roll:
    """A roll onto which the text was streamed in pieces of these sizes, in turn."""
    item = Item("a", kind)  # type: ignore[arg-type]
    roll = Roll()
    roll.resize(width, None)
    roll.load([item])
    roll.doc(0)
    pos = turn = 0
    while pos < len(text):
        size = sizes[turn % len(sizes)]
        item.text += text[pos : pos + size]
        roll.take("a")
        if turn % 3 == 0:  # a draw now and then
            roll.screen(30)
        pos += size
        turn += 1
    return settled(roll)


class Chat(App):
    """A transcript and a box; `seen` is what the transcript told."""

    AUTO_FOCUS = ""  # with the focus comes the cursor, and its bar at the left

    def __init__(self, items=()):
        super().__init__()
        self.first = list(items)
        self.seen = []

    def compose(self) -> ComposeResult:
        yield Transcript(self.first)
        yield Input()

    @property
    def transcript(self) -> Transcript:
        return self.query_one(Transcript)

    def on_transcript_link_chosen(self, message):
        self.seen.append(("link", message.key, message.url))

    def on_transcript_cursor_moved(self, message):
        self.seen.append(("cursor", message.key))


def conversation(count: int, text: str = "") -> list[Item]:
    return [
        Item(str(i), "assistant" if i % 2 else "user", text or f"{mixed(400)} number {i}", label="14:02")
        for i in range(count)
    ]


def shown(transcript: Transcript) -> list[str]:
    return [strip.text.rstrip() for strip in transcript._view]


async def drawn(pilot, transcript: Transcript) -> None:
    await pilot.pause()
    for _ in range(2000):
        if not transcript.busy:
            break
        await asyncio.sleep(0.002)
    await pilot.pause()
    assert not transcript.busy


def check(transcript: Transcript) -> None:
    """What must hold at any time."""
    roll = transcript.roll
    height = transcript.scrollable_content_region.height
    width = transcript.scrollable_content_region.width
    assert roll.sums.total == sum(roll.sums.values)
    assert len(transcript._view) == height
    assert all(strip.cell_length == width for strip in transcript._view)
    assert roll.laid_rows == sum(len(laid.rows) for laid in roll.laid.values())
    if roll.items:
        m, b, row = roll.anchor
        if roll.doc(m).blocks:
            assert row < len(roll.rows(m, b))
        for key, doc in roll.docs.items():
            assert len(doc.heights.values) == len(doc.blocks)
            assert roll.sums.values[roll.index[key]] == doc.heights.total
        if roll.following:
            assert transcript.scroll_y == transcript.max_scroll_y
    for strip in transcript._view:
        assert strip.text.isprintable() or all(c.isprintable() or ord(c) >= 0xA0 for c in strip.text)
