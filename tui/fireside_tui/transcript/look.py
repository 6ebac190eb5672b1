"""The transcript's look: every style by name, its colours from the theme's variables only."""

from __future__ import annotations

PREFIX = "transcript--"

NAMES = frozenset(
    [
        "you",
        "claude",
        "label",
        "said",
        "notice",
        "error",
        "alarm",
        "running",
        "rule",
        "call",
        "arguments",
        "result",
        "fold",
        "thought",
        "bar",
        "cursor",
        "cursor-off",
        "h1",
        "h2",
        "h3",
        "h4",
        "strong",
        "em",
        "strike",
        "link",
        "target",
        "image",
        "inline",
        "html",
        "bullet",
        "quote",
        "quoted",
        "grid",
        "th",
        "code",
        "language",
        "comment",
        "keyword",
        "string",
        "number",
        "name",
        "operator",
        "inserted",
        "deleted",
        "hit",
        "hit-now",
        "below",
    ]
)

CSS = """
Transcript {
    overflow-x: hidden; overflow-y: scroll; scrollbar-size-vertical: 1; background: $background; color: $foreground;
    & > .transcript--you { color: $text-accent; text-style: bold; }
    & > .transcript--claude { color: $text-primary; text-style: bold; }
    & > .transcript--label, & > .transcript--notice, & > .transcript--thought { color: $text-muted; }
    & > .transcript--thought, & > .transcript--quoted { text-style: italic; }
    & > .transcript--error, & > .transcript--alarm { color: $text-error; }
    & > .transcript--running { color: $text-warning; }
    & > .transcript--rule, & > .transcript--html { color: $text-muted; }
    & > .transcript--grid { color: $text-disabled; }
    & > .transcript--call { color: $text-secondary; text-style: bold; }
    & > .transcript--arguments, & > .transcript--result, & > .transcript--target { color: $text-muted; }
    & > .transcript--fold, & > .transcript--bullet { color: $text-primary; }
    & > .transcript--bar, & > .transcript--quote { color: $primary; }
    & > .transcript--cursor { color: $accent; }
    & > .transcript--cursor-off { color: $text-disabled; }
    & > .transcript--h1 { color: $text-primary; text-style: bold underline; }
    & > .transcript--h2 { color: $text-primary; text-style: bold; }
    & > .transcript--h3, & > .transcript--h4, & > .transcript--strong, & > .transcript--th { text-style: bold; }
    & > .transcript--em { text-style: italic; }
    & > .transcript--strike { text-style: strike; }
    & > .transcript--link { color: $text-accent; text-style: underline; }
    & > .transcript--image { color: $text-muted; text-style: italic; }
    & > .transcript--inline { color: $text-warning; background: $surface; }
    & > .transcript--code { color: $foreground; background: $surface; }
    & > .transcript--language { color: $text-muted; }
    & > .transcript--comment { color: $text-muted; text-style: italic; }
    & > .transcript--keyword { color: $text-accent; }
    & > .transcript--operator { color: $text-muted; }
    & > .transcript--string, & > .transcript--inserted { color: $text-success; }
    & > .transcript--number { color: $text-warning; }
    & > .transcript--name { color: $text-primary; }
    & > .transcript--deleted { color: $text-error; }
    & > .transcript--hit { background: $warning-muted; color: $text-warning; }
    & > .transcript--hit-now { background: $warning; color: $background; text-style: bold; }
    & > .transcript--below { background: $primary-muted; color: $text-primary; text-style: bold; }
}
"""
