"""Inline Markdown to runs: emphasis, code, links. A link's target is safe text, and only http(s) is ever a link."""

from __future__ import annotations

import re
from functools import cache
from itertools import groupby
from typing import TYPE_CHECKING

from fireside_tui.safe_text import safe, without_stray_joiners
from fireside_tui.transcript.runs import Names, Run

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

_OPENS = {"strong_open": "strong", "em_open": "em", "s_open": "strike"}
_EXTRA = {"code_inline": ("inline",), "html_inline": ("html",), "image": ("image",)}
_WEB = re.compile(r"https?://[^\s/?#]", re.IGNORECASE)
_BARE = re.compile(r"https?://[^\s<>\"'`|\\^{}\ufffd]+", re.IGNORECASE)

#: So much text is parsed between two keys (`blocks` has it, too, and knows nothing of links).
AT_ONCE = 10_000


@cache
def parser() -> MarkdownIt:
    """The Markdown parser, loaded on first use: the first frame needs none."""
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark").enable(["table", "strikethrough"])


def web_link(target: str) -> str:
    """`target` if it may be opened, else ""."""
    return target if _WEB.match(target) and not re.search(r"\s", target) and safe(target) == target else ""


def links_of(text: str) -> dict[str, str]:
    """The links of a Markdown text, each once, with the words that stand for it."""
    found: dict[str, str] = {}
    for token in parser().parse(text) if "://" in text else ():
        if token.type != "inline":
            continue
        for href, runs in groupby(inline(token), key=lambda run: run.href):
            if href:
                found.setdefault(href, "".join(run.text for run in runs))
    return found


def has_links(text: str) -> bool:
    """Whether a text has links; of a long one it is only known that it looks so."""
    return _WEB.search(text) is not None and (len(text) > AT_ONCE or bool(links_of(text)))


def inline(token: Token, base: Names = ()) -> list[Run]:
    """The runs of an inline token."""
    names = list(base)
    runs: list[Run] = []
    target = href = ""
    label_from = 0
    for child in token.children or ():
        kind = child.type
        if kind in _OPENS:
            names.append(_OPENS[kind])
        elif kind == "link_open":
            target = str(child.attrs.get("href", ""))
            href = web_link(target)
            label_from = len(runs)
            names.append("link" if href else "plain")
        elif kind == "link_close":
            names.pop()
            runs += _target(target, "".join(run.text for run in runs[label_from:]), href)
            target = href = ""
        elif kind.endswith("_close"):
            names.pop()
        elif kind == "softbreak":
            runs.append(Run(" ", tuple(names), href))
        elif kind == "hardbreak":
            runs.append(Run("\n"))
        else:
            # Entities are decoded by now: "&#x202e;" is back as a raw control character.
            text = without_stray_joiners(safe(child.content)).replace("\n", " ").expandtabs(4)
            look = (*names, *_EXTRA.get(kind, ()))
            if kind == "image":
                source = str(child.attrs.get("src", ""))
                runs.append(Run(f"[image: {text or 'no description'}]", look, web_link(source)))
            elif kind == "text" and not target and "://" in text:
                runs += _bare_links(text, look)
            else:
                runs.append(Run(text, look, href))
    return runs


def _target(target: str, label: str, href: str) -> list[Run]:
    """A target is written out where it is no link, or where the link's words claim another one."""
    shown = safe(target).replace("\n", " ")
    claims = _BARE.match(label.strip())
    if href and not (claims and label.strip().rstrip("/") != target.rstrip("/")):
        return []
    return [Run(f" ({shown})", ("target",))] if shown and shown != label else []


def _bare_links(text: str, look: Names) -> list[Run]:
    runs: list[Run] = []
    pos = 0
    for match in _BARE.finditer(text):
        url = match[0].rstrip(".,;:!?*_~")
        while url.endswith((")", "]")) and url.count(url[-1]) > url.count({")": "(", "]": "["}[url[-1]]):
            url = url[:-1].rstrip(".,;:!?*_~")
        if not web_link(url):
            continue
        runs += [Run(text[pos : match.start()], look), Run(url, (*look, "link"), url)]
        pos = match.start() + len(url)
    return [run for run in [*runs, Run(text[pos:], look)] if run.text]
