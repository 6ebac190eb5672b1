"""Which model a name means, what nothing has to load for it, and what tokens cost."""

from __future__ import annotations

import doctest
import importlib
import subprocess
import sys

import pytest
from fireside.messages import Usage
from fireside.models import DEFAULT_MODEL, Model, resolve
from fireside.models.anthropic import AnthropicModel
from fireside.models.demo import DemoModel
from fireside.models.known import KNOWN, known
from fireside.models.prices import PRICES, cost
from fireside.testing import FakeModel

pytestmark = pytest.mark.usefixtures("clean_environment")


class TestResolve:
    @pytest.mark.parametrize(
        ("name", "meant"),
        [("claude-opus-5-5", "claude-opus-5-5"), ("anthropic/claude-x", "claude-x"), ("anthropic/other", "other")],
    )
    def test_anthropics_models(self, name: str, meant: str) -> None:
        model = resolve(name)
        assert isinstance(model, AnthropicModel)
        assert model.name == meant

    def test_the_default_is_one_of_them(self) -> None:
        assert resolve(DEFAULT_MODEL).name == DEFAULT_MODEL
        assert known(DEFAULT_MODEL)

    def test_the_demo(self) -> None:
        assert isinstance(resolve("demo"), DemoModel)

    def test_any_name_at_a_server_of_ones_own(self, monkeypatch: pytest.MonkeyPatch) -> None:
        assert resolve("qwen", base_url="http://127.0.0.1:1").name == "qwen"
        monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:1")
        assert resolve("qwen").name == "qwen"

    def test_a_model_is_given_back_as_it_is(self) -> None:
        model = FakeModel()
        assert resolve(model) is model

    @pytest.mark.parametrize("name", ["", "gpt-4", "Claude", "anthropic/", " "])
    def test_another_name_is_refused_with_what_is_accepted(self, name: str) -> None:
        with pytest.raises(ValueError, match=r"claude-….*'anthropic/….*'demo'.*base_url"):
            resolve(name)

    def test_what_is_no_model_is_refused(self) -> None:
        with pytest.raises(TypeError, match="Model protocol, not int"):
            resolve(3)  # type: ignore[arg-type]

    @pytest.mark.parametrize("model", [FakeModel(), DemoModel(), AnthropicModel("claude-x")])
    def test_all_have_the_protocol(self, model: object) -> None:
        assert isinstance(model, Model)


def test_a_model_loads_no_sdk_until_it_is_asked() -> None:
    program = (
        "import sys, fireside.models, fireside.testing, fireside.models.anthropic as a;"
        "fireside.models.resolve('claude-sonnet-5-5', api_key='x'); fireside.models.resolve('demo');"
        "print([name for name in ('anthropic', 'httpx2', 'pydantic', 'textual', 'pytest') if name in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


class TestPrices:
    def test_each_part_has_its_own(self) -> None:
        usage = Usage(input=1000, output=100, cache_read=10_000, cache_write=2000)
        assert cost("claude-sonnet-4-5-20250929", usage) == pytest.approx(0.003 + 0.0015 + 0.003 + 0.0075)

    def test_a_long_prompt_may_cost_more(self) -> None:
        at_the_limit = Usage(input=60_000, cache_read=40_000, output=1000)
        over_it = Usage(input=60_001, cache_read=40_000, output=1000)
        short, long = (cost("claude-haiku-5-5", usage) for usage in (at_the_limit, over_it))
        assert short == pytest.approx(0.006 + 0.0004 + 0.0005)
        assert long == pytest.approx(0.0300005 + 0.002 + 0.0025)

    @pytest.mark.parametrize("model", ["demo", "fake", "qwen", "claude-unheard-of", ""])
    def test_a_model_that_is_not_in_the_table_has_none(self, model: str) -> None:
        assert cost(model, Usage(input=1000)) is None

    def test_every_price_is_that_of_a_known_model(self) -> None:
        assert PRICES.keys() <= KNOWN.keys()


@pytest.mark.parametrize(
    "name",
    [
        "fireside.models",
        "fireside.models.anthropic",
        "fireside.models.demo",
        "fireside.models.known",
        "fireside.models.prices",
        "fireside.requests",
        "fireside.testing",
    ],
)
def test_the_examples_in_the_docstrings_run(name: str) -> None:
    ran = doctest.testmod(importlib.import_module(name))
    assert ran.attempted > 0
    assert ran.failed == 0
