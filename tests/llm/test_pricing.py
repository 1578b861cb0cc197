"""What calls cost."""

from __future__ import annotations

import pytest

from fabula.core.errors import Code, FabulaError
from fabula.llm.model import Usage
from fabula.llm.pricing import PRICES, Cost, Price, cost_of, price_of, read_prices


def test_cached_and_written_tokens_have_their_own_price() -> None:
    price = Price(input=3.0, cached=0.3, written=3.75, output=15.0)
    usage = Usage(input_tokens=10_000, cached_tokens=8_000, written_tokens=1_000, output_tokens=500)
    assert cost_of(usage, price) == Cost(round(1_000 * 3 + 8_000 * 0.3 + 1_000 * 3.75 + 500 * 15))
    assert cost_of(usage, price).amount == pytest.approx(0.01665)


def test_where_the_cache_has_no_price_it_costs_as_much_as_reading() -> None:
    usage = Usage(input_tokens=100, cached_tokens=50)
    assert cost_of(usage, Price(input=2, output=2)).micros == 200


def test_a_dated_or_prefixed_name_finds_its_family_and_not_a_shorter_one() -> None:
    assert price_of("gpt-4o-mini-2024-07-18") is PRICES["gpt-4o-mini"]
    assert price_of("openai/gpt-4o-2024-11-20") is PRICES["gpt-4o"]
    assert price_of("claude-sonnet-4-5-20250929") is PRICES["claude-sonnet-4-5"]
    assert price_of("gpt-4oo") is None
    assert price_of("claude-3-5-haiku-latest") is PRICES["claude-3-5-haiku"]


@pytest.mark.parametrize("model", ["gpt-5-pro", "gpt-4o-audio-preview", "deepseek/deepseek-chat:free", "gpt-5-2"])
def test_a_relative_of_another_name_has_no_price_of_its_own(model: str) -> None:
    assert price_of(model) is None


def test_the_users_row_may_name_the_whole_path() -> None:
    prices = read_prices({"openrouter/gpt-4o": {"input": 9, "output": 9}})
    assert price_of("OpenRouter/gpt-4o", prices) == Price(input=9.0, output=9.0)


def test_an_unknown_model_costs_nothing_known() -> None:
    assert cost_of(Usage(input_tokens=10), price_of("my-own")) == Cost(known=False)


def test_the_users_rows_stand_beside_and_above_ours() -> None:
    prices = read_prices({"my-own": {"input": 1, "output": 2, "currency": "EUR"}, "gpt-4o": {"input": 9, "output": 9}})
    assert prices["my-own"] == Price(input=1.0, output=2.0, currency="EUR")
    assert prices["gpt-4o"].input == 9.0
    assert prices["gpt-5"] is PRICES["gpt-5"]


@pytest.mark.parametrize(
    "table",
    [
        [],
        {"m": 3},
        {"m": {"input": 1}},
        {"m": {"input": -1, "output": 1}},
        {"m": {"input": float("nan"), "output": 1}},
        {"m": {"input": True, "output": 1}},
        {"m": {"input": 1, "output": 1, "colour": 3}},
        {"": {"input": 1, "output": 1}},
        {"m": {"input": 1, "output": 1, "currency": 5}},
    ],
)
def test_a_row_that_makes_no_sense_is_refused(table: object) -> None:
    with pytest.raises(FabulaError) as refusal:
        read_prices(table)
    assert refusal.value.code is Code.SETTING_INVALID
