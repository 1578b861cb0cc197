"""Prices and the cost of calls."""

from __future__ import annotations

import pytest

from fabula.core.errors import Code, FabulaError
from fabula.llm.model import Usage
from fabula.llm.pricing import PRICES, Cost, Price, compute_cost, find_price, parse_prices


def test_cached_and_written_tokens_have_their_own_price() -> None:
    price = Price(input=3.0, cache_read=0.3, cache_write=3.75, output=15.0)
    usage = Usage(input_tokens=10_000, cached_tokens=8_000, cache_write_tokens=1_000, output_tokens=500)
    assert compute_cost(usage, price) == Cost(round(1_000 * 3 + 8_000 * 0.3 + 1_000 * 3.75 + 500 * 15))
    assert compute_cost(usage, price).amount == pytest.approx(0.01665)


def test_cached_tokens_without_a_price_cost_as_much_as_input() -> None:
    usage = Usage(input_tokens=100, cached_tokens=50)
    assert compute_cost(usage, Price(input=2, output=2)).micros == 200


def test_a_dated_or_prefixed_name_finds_its_family_and_not_a_shorter_one() -> None:
    assert find_price("gpt-4o-mini-2024-07-18") is PRICES["gpt-4o-mini"]
    assert find_price("openai/gpt-4o-2024-11-20") is PRICES["gpt-4o"]
    assert find_price("claude-sonnet-4-5-20250929") is PRICES["claude-sonnet-4-5"]
    assert find_price("gpt-4oo") is None
    assert find_price("claude-3-5-haiku-latest") is PRICES["claude-3-5-haiku"]


@pytest.mark.parametrize("model", ["gpt-5-pro", "gpt-4o-audio-preview", "deepseek/deepseek-chat:free", "gpt-5-2"])
def test_a_model_of_another_name_has_no_price(model: str) -> None:
    assert find_price(model) is None


def test_a_row_may_name_the_full_path_of_a_model() -> None:
    prices = parse_prices({"openrouter/gpt-4o": {"input": 9, "output": 9}})
    assert find_price("OpenRouter/gpt-4o", prices) == Price(input=9.0, output=9.0)


def test_the_cost_of_an_unknown_model_is_unknown() -> None:
    assert compute_cost(Usage(input_tokens=10), find_price("my-own")) == Cost(is_known=False)


def test_the_users_rows_extend_and_replace_the_built_in_ones() -> None:
    prices = parse_prices({"my-own": {"input": 1, "output": 2, "currency": "EUR"}, "gpt-4o": {"input": 9, "output": 9}})
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
def test_an_invalid_row_is_refused(table: object) -> None:
    with pytest.raises(FabulaError) as refusal:
        parse_prices(table)
    assert refusal.value.code is Code.SETTING_INVALID
