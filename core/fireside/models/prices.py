"""What tokens cost: one table, dated. A model that is not in it has no price, and shows its tokens only.

It was last compared with https://platform.claude.com/docs/en/about-claude/pricing on 2026-11-01.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from fireside.messages import Usage


class Price(NamedTuple):
    """US dollars for a million tokens: of input, output, cache reads, and cache writes that last five minutes.

    A request of more than `long_from` tokens costs `long` in all its parts.
    """

    input: float
    output: float
    cache_read: float
    cache_write: float
    long_from: int | None = None
    long: Price | None = None


_OPUS = Price(5, 25, 0.5, 6.25)
_SONNET_4 = Price(3, 15, 0.3, 3.75)
_FABLE_5 = Price(10, 50, 1, 12.5)
_FABLE_5_1 = Price(10, 50, 0.25, 12.5)

PRICES = {
    "claude-haiku-5-5": Price(0.1, 0.5, 0.01, 0.125, 100_000, Price(0.5, 2.5, 0.05, 0.625)),
    "claude-sonnet-5-5": Price(2, 10, 0.1, 2.5),
    "claude-opus-5-5": Price(4, 20, 0.2, 5),
    "claude-fable-5-1": _FABLE_5_1,
    "claude-mythos-5-1": _FABLE_5_1,
    "claude-fable-5": _FABLE_5,
    "claude-mythos-5": _FABLE_5,
    "claude-sonnet-5": Price(2, 10, 0.2, 2.5),
    "claude-opus-5": _OPUS,
    "claude-opus-4-8": _OPUS,
    "claude-opus-4-7": _OPUS,
    "claude-opus-4-6": _OPUS,
    "claude-opus-4-5": _OPUS,
    "claude-sonnet-4-6": _SONNET_4,
    "claude-sonnet-4-5": _SONNET_4,
    "claude-haiku-4-5": Price(1, 5, 0.1, 1.25),
}
"""The prices by model, without the date that a model's name may end in."""

_DATE = re.compile(r"-\d{8}$")


def undated(model: str) -> str:
    """The name without the date at its end.

    >>> undated("claude-haiku-4-5-20251001")
    'claude-haiku-4-5'
    """
    return _DATE.sub("", model)


def cost(model: str, usage: Usage) -> float | None:
    """What one request with this `usage` cost, in US dollars; `None` where no price is known.

    >>> cost("claude-haiku-4-5", Usage(input=1_000_000, output=100_000))
    1.5
    """
    price = PRICES.get(undated(model))
    if price is None:
        return None
    if price.long and price.long_from is not None and usage.context - usage.output > price.long_from:
        price = price.long
    return (
        usage.input * price.input
        + usage.output * price.output
        + usage.cache_read * price.cache_read
        + usage.cache_write * price.cache_write
    ) / 1e6
