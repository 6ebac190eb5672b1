"""The `fireside` command. `main` is its entry point; everything else is loaded when it is needed."""

from fireside_tui.cli.frame import main

__all__ = ["main"]
