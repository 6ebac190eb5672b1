"""Another Agent than the one that saved a State is told of, once, and its prompt is never shown."""

from __future__ import annotations

from pathlib import Path

import pytest
from fireside import Agent, FileStore, Reporter, ResumeWarning, State
from fireside.testing import FakeModel


class TestResumeWarning:
    def test_another_agent_warns_once_and_shows_no_prompt(self, tmp_path: Path) -> None:
        store = FileStore(tmp_path)
        Agent(FakeModel(["x"], name="one"), system="secret one", store=store).run(State("go", id="s"))
        state = store.load("s")
        state.add_user_message("on")
        other = Agent(FakeModel(["y", "z"], name="two"), system="secret two", store=store)
        with pytest.warns(ResumeWarning) as caught:
            other.run(state)
        assert len(caught) == 1
        warning = caught[0].message
        assert isinstance(warning, ResumeWarning)
        assert warning.changes["model"] == ("one", "two")
        assert set(warning.changes) == {"model", "system"}
        assert "secret" not in str(warning)
        state.add_user_message("again")
        assert other.run(state) == "z"

    def test_who_has_no_stderr_is_told_by_its_reporter(self, tmp_path: Path) -> None:
        told = []

        class Warned(Reporter):
            def on_warning(self, state: State, warning: ResumeWarning) -> None:
                told.append(warning.changes)

        store = FileStore(tmp_path)
        Agent(FakeModel(["x"]), store=store).run(State("go", id="s"))
        state = store.load("s")
        state.add_user_message("on")
        Agent(FakeModel(["y"]), system="new", store=store, reporter=Warned()).run(state)
        assert told == [{"system": (None, "a prompt")}]
