"""Agent: settings that stay, and what is refused when it is made."""

from __future__ import annotations

from pathlib import Path

import pytest
from fireside import Agent, FileStore, Reporter
from fireside.testing import FakeModel

from tests.core.agents import add


class TestSettings:
    def test_they_do_not_change(self) -> None:
        agent = Agent(FakeModel([]))
        with pytest.raises(AttributeError, match="copy"):
            agent.system = "x"  # type: ignore[misc]

    def test_a_copy_has_the_changes_alone(self) -> None:
        agent = Agent(FakeModel([]), system="one", tools=[add], name="A")
        other = agent.copy(system="two")
        assert (other.system, other.name, list(other.tools)) == ("two", "A", ["add"])
        assert agent.system == "one"

    def test_a_copy_keeps_the_connections_unless_it_speaks_to_another_model(self) -> None:
        agent = Agent("claude-sonnet-5")
        assert agent.copy(system="x").model is agent.model
        assert agent.copy(model="claude-opus-5").model is not agent.model

    def test_a_setting_that_there_is_none_of_is_refused(self) -> None:
        with pytest.raises(TypeError, match="sytem"):
            Agent(FakeModel([])).copy(sytem="x")

    @pytest.mark.parametrize(
        "settings",
        [
            {"save_every": 0},
            {"save_partial_every": 0},
            {"save_partial_every": float("nan")},
            {"retries": -1},
            {"max_tokens": 0},
            {"context_window": -1},
            {"tools": [add, add]},
        ],
        ids=lambda settings: next(iter(settings)),
    )
    def test_values_that_can_not_be_are_refused(self, settings: dict) -> None:  # type: ignore[type-arg]
        with pytest.raises(ValueError):
            Agent(FakeModel([]), **settings)

    @pytest.mark.parametrize(
        "settings",
        [
            *({key: 5} for key in ("system", "name", "effort", "approve", "human", "loop", "store", "session")),
            *({key: 1.5} for key in ("save_every", "retries", "max_tokens", "context_window")),
            {"save_partial_every": "1"},
            {"reporter": Reporter},
            {"save_every": True},
        ],
        ids=lambda settings: next(iter(settings)),
    )
    def test_values_of_another_type_are_refused_at_once(self, settings: dict) -> None:  # type: ignore[type-arg]
        with pytest.raises(TypeError, match=next(iter(settings))):
            Agent(FakeModel([]), **settings)

    @pytest.mark.parametrize("action", ["run", "think", "use_tools", "compact", "save"])
    def test_an_action_on_what_is_no_state_is_refused(self, action: str, tmp_path: Path) -> None:
        with pytest.raises(TypeError, match=f"{action} takes"):
            getattr(Agent(FakeModel([]), store=FileStore(tmp_path)), action)(5)

    def test_creating_one_needs_no_key_and_no_network(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
        assert Agent("claude-sonnet-5").model.name == "claude-sonnet-5"
