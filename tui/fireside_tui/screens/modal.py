"""`Modal`: a screen over the main one. What is typed before its box is there comes into it all the same."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TypeVar

from textual.screen import ModalScreen

from fireside_tui.pointing import OneWidget

T = TypeVar("T")
BOX_BY = 3.0
"""Seconds that a key waits for the box."""


class Modal(OneWidget[T], ModalScreen[T]):
    """A screen that asks or shows something, with a box that has the focus."""

    def __init__(self) -> None:
        super().__init__()
        self._boxed = asyncio.Event()

    def on_descendant_focus(self) -> None:
        """The box is there."""
        self._boxed.set()

    async def box(self) -> None:
        """Waits for the box. The app does so before it hands a key on, or the key would come to the bare screen."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._boxed.wait(), BOX_BY)
        self._boxed.set()
