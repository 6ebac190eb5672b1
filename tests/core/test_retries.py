"""What broke off is asked for again where that may help, visibly, a few times."""

from __future__ import annotations

import pytest
from fireside import Agent, OverloadedError, ProviderError, Reporter, State
from fireside.messages import Text
from fireside.models.base import Delta
from fireside.testing import FakeModel


class TestRetries:
    @pytest.fixture(autouse=True)
    def no_waiting(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("fireside.think.FIRST_WAIT", 0.0)

    def test_what_may_help_is_asked_for_again_visibly(self) -> None:
        told = []

        class Retries(Reporter):
            def on_retry(self, state: State, error: Exception, attempt: int, delay: float) -> None:
                told.append((str(error), attempt))

        model = FakeModel([OverloadedError("busy", retryable=True), OverloadedError("still", retryable=True), "ok"])
        assert Agent(model, reporter=Retries()).run("go") == "ok"
        assert told == [("busy", 2), ("still", 3)]

    def test_it_ends_after_a_few_times(self) -> None:
        model = FakeModel([OverloadedError("busy", retryable=True)] * 9)
        state = State("go")
        with pytest.raises(OverloadedError):
            Agent(model, retries=2).run(state)
        assert len(model.requests) == 3
        assert [entry.kind for entry in state.history] == ["user", "run_start", "error", "stop"]
        assert state.status == "failed"

    def test_what_can_not_help_is_not_asked_again(self) -> None:
        model = FakeModel([ProviderError("bad request"), "x"])
        with pytest.raises(ProviderError):
            Agent(model).run("go")
        assert len(model.requests) == 1

    def test_a_very_long_wait_is_told_and_not_slept_through(self) -> None:
        model = FakeModel([OverloadedError("later", retryable=True, retry_after=3600), "x"])
        with pytest.raises(OverloadedError):
            Agent(model).run("go")

    def test_a_stream_that_ends_is_not_a_reply_that_is_complete(self) -> None:
        class Cut(FakeModel):
            async def stream(self, request):  # type: ignore[no-untyped-def]
                self.requests.append(request)
                yield Delta("text", "half", 0)

        state, model = State("go"), Cut()
        with pytest.raises(ProviderError, match="before the reply was complete"):
            Agent(model, retries=1).run(state)
        assert len(model.requests) == 2
        assert state.answer is None
        state.add_user_message("go on")
        assert state.context[1].content == (Text("half"),)
