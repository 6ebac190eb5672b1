"""The app's own themes: the colours of a fire in a dark room, and of paper by daylight."""

from __future__ import annotations

from textual.theme import Theme

DARK = Theme(
    name="fireside-dark",
    primary="#e8935a",
    secondary="#7fb8b0",
    accent="#f0b866",
    warning="#e8b84f",
    error="#e5706a",
    success="#93c47d",
    foreground="#e8e2da",
    background="#181619",
    surface="#211e23",
    panel="#2b272d",
    dark=True,
    variables={
        "block-cursor-background": "#e8935a",
        "block-cursor-foreground": "#181619",
        "block-cursor-text-style": "none",
        "footer-key-foreground": "#f0b866",
        "input-selection-background": "#e8935a 35%",
        "border": "#e8935a",
        "border-blurred": "#3a353d",
        "scrollbar": "#3a353d",
        "scrollbar-background": "#181619",
        "scrollbar-background-hover": "#181619",
        "scrollbar-background-active": "#181619",
        "scrollbar-hover": "#57505b",
        "scrollbar-active": "#e8935a",
    },
)

LIGHT = Theme(
    name="fireside-light",
    primary="#b3521b",
    secondary="#2b6f69",
    accent="#955700",
    warning="#8f6000",
    error="#b5332c",
    success="#3d7a33",
    foreground="#2a2521",
    background="#fbf8f3",
    surface="#f2ece3",
    panel="#e8e0d4",
    dark=False,
    variables={
        "block-cursor-background": "#b3521b",
        "block-cursor-foreground": "#fbf8f3",
        "block-cursor-text-style": "none",
        "footer-key-foreground": "#955700",
        "input-selection-background": "#b3521b 25%",
        "border": "#b3521b",
        "border-blurred": "#d8cdbd",
        "scrollbar": "#d8cdbd",
        "scrollbar-background": "#fbf8f3",
        "scrollbar-background-hover": "#fbf8f3",
        "scrollbar-background-active": "#fbf8f3",
        "scrollbar-hover": "#bdae99",
        "scrollbar-active": "#b3521b",
    },
)

THEMES = {theme.name: theme for theme in (DARK, LIGHT)}
DEFAULT = DARK.name
