"""What a person is told who has no key: the library's advice for programs never reaches the screen."""

from __future__ import annotations

import pytest
from fireside import Agent, AuthError, State
from fireside_tui.cli.frame import words
from fireside_tui.conversations import explain
from fireside_tui.no_key import WHAT_TO_DO
from fireside_tui.start import NO_KEY


async def test_the_librarys_own_error_is_said_in_the_apps_words(clean_environment: dict[str, str]) -> None:
    with pytest.raises(AuthError, match="api_key=") as raised:
        await Agent("claude-sonnet-5").arun(State("hi"))
    for said in (explain(raised.value).line.lower(), words(raised.value).lower()):
        assert "no api key was found" in said
        assert WHAT_TO_DO.lower() in said
        assert "api_key=" not in said
    assert NO_KEY.partition("set ")[2].partition(".")[0] in WHAT_TO_DO
