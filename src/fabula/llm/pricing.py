"""Money: what a call cost, from a table the user can edit.

Prices are per million tokens, in dollars unless the table says otherwise; sums are kept in millionths of the
currency, as whole numbers. A model that is not in the table costs nothing known, and says so.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from math import isfinite
from types import MappingProxyType

from msgspec import Struct

from fabula.core.errors import Code, FabulaError
from fabula.llm.model import Usage

MILLION = 1_000_000
_DATE = re.compile(r"[-@](\d{4}-\d{2}-\d{2}|\d{8}|\d{6}|latest)$")


class Price(Struct, frozen=True, kw_only=True):
    """What a million tokens cost: read afresh, read from the cache, written to it, and answered."""

    input: float
    output: float
    cached: float | None = None  # None: as dear as input
    written: float | None = None
    currency: str = "USD"


class Cost(Struct, frozen=True):
    """What something cost, in millionths; `known` is false where no price was found."""

    micros: int = 0
    currency: str = "USD"
    known: bool = True

    @property
    def amount(self) -> float:
        """In whole units of the currency."""
        return self.micros / MILLION


# List prices as published by the vendors in the autumn of 2025; edit them with the setting `llm.prices`.
PRICES: Mapping[str, Price] = MappingProxyType(
    {
        "gpt-5": Price(input=1.25, cached=0.125, output=10.0),
        "gpt-5-mini": Price(input=0.25, cached=0.025, output=2.0),
        "gpt-5-nano": Price(input=0.05, cached=0.005, output=0.4),
        "gpt-4.1": Price(input=2.0, cached=0.5, output=8.0),
        "gpt-4.1-mini": Price(input=0.4, cached=0.1, output=1.6),
        "gpt-4.1-nano": Price(input=0.1, cached=0.025, output=0.4),
        "gpt-4o": Price(input=2.5, cached=1.25, output=10.0),
        "gpt-4o-mini": Price(input=0.15, cached=0.075, output=0.6),
        "claude-opus-4-1": Price(input=15.0, cached=1.5, written=18.75, output=75.0),
        "claude-sonnet-4-5": Price(input=3.0, cached=0.3, written=3.75, output=15.0),
        "claude-sonnet-4": Price(input=3.0, cached=0.3, written=3.75, output=15.0),
        "claude-haiku-4-5": Price(input=1.0, cached=0.1, written=1.25, output=5.0),
        "claude-3-5-haiku": Price(input=0.8, cached=0.08, written=1.0, output=4.0),
        "deepseek-chat": Price(input=0.28, cached=0.028, output=0.42),
    }
)


def price_of(model: str, prices: Mapping[str, Price] = PRICES) -> Price | None:
    """The price of a model: its own, or that of the name it has without a date (`gpt-4o-2024-11-20`).

    A relative of another name (`gpt-5-pro`) costs something else, so it has no price until somebody writes one down.
    """
    rows = {row.lower(): price for row, price in prices.items()}
    whole = model.lower()
    for name in (whole, whole.rsplit("/", 1)[-1]):
        found = rows.get(name) or rows.get(_DATE.sub("", name))
        if found is not None:
            return found
    return None


def cost_of(usage: Usage, price: Price | None) -> Cost:
    """What a call cost."""
    if price is None:
        return Cost(known=False)
    cached = price.input if price.cached is None else price.cached
    written = price.input if price.written is None else price.written
    fresh = max(usage.input_tokens - usage.cached_tokens - usage.written_tokens, 0)
    total = fresh * price.input + usage.cached_tokens * cached + usage.written_tokens * written
    return Cost(round(total + usage.output_tokens * price.output), price.currency)


def read_prices(table: object, base: Mapping[str, Price] = PRICES) -> Mapping[str, Price]:
    """The table with the user's own rows; a row that makes no sense is refused by name."""
    if not isinstance(table, Mapping):
        raise _refused("the price table is not a table of models")
    own: dict[str, Price] = {}
    for model, row in table.items():
        if not isinstance(model, str) or not model.strip() or not isinstance(row, Mapping):
            raise _refused(f"the row of {model!r} is not a table of prices")
        figures = {name: row[name] for name in ("input", "output", "cached", "written") if row.get(name) is not None}
        sound = all(
            isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value) and 0 <= value < 1e6
            for value in figures.values()
        )
        currency = row.get("currency", "USD")
        strange = set(row) - {"input", "output", "cached", "written", "currency"}
        if not sound or strange or not {"input", "output"} <= set(figures) or not isinstance(currency, str):
            raise _refused(f"the row of {model!r} needs input and output, and may have cached, written and currency")
        own[model] = Price(
            input=float(figures["input"]),
            output=float(figures["output"]),
            cached=float(figures["cached"]) if "cached" in figures else None,
            written=float(figures["written"]) if "written" in figures else None,
            currency=currency,
        )
    return {**base, **own}


def _refused(why: str) -> FabulaError:
    return FabulaError(Code.SETTING_INVALID, f"Prices cannot be read: {why}. Nothing was changed.")
