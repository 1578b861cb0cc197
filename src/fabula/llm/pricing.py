"""Prices of models and the cost of calls.

Prices are per million tokens, in dollars unless the table says otherwise. Costs are whole numbers of millionths of the
currency, so sums are exact. The user can edit the table; the cost of a model that is not in it is unknown.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Annotated

import msgspec
from msgspec import Meta, Struct, field

from fabula.core.errors import Code, FabulaError
from fabula.core.messages import Sentence, message
from fabula.llm.model import Usage

MICROS_PER_UNIT = 1_000_000
_DATE = re.compile(r"[-@](\d{4}-\d{2}-\d{2}|\d{8}|\d{6}|latest)$")
PricePerMillion = Annotated[float, Meta(ge=0, lt=1e6)]
ModelName = Annotated[str, Meta(pattern=r"\S")]


class Price(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The prices of a million tokens: input, output, input read from the cache, input written to it."""

    input: PricePerMillion
    output: PricePerMillion
    cache_read: PricePerMillion | None = field(default=None, name="cached")  # None: the same as input
    cache_write: PricePerMillion | None = field(default=None, name="written")
    currency: str = "USD"


class Cost(Struct, frozen=True):
    """A cost in millionths of a currency; `is_known` is false for a model without a price."""

    micros: int = 0
    currency: str = "USD"
    is_known: bool = True

    @property
    def amount(self) -> float:
        """The cost in units of the currency."""
        return self.micros / MICROS_PER_UNIT


# List prices as published by the vendors in the autumn of 2025; edit them with the setting `llm.prices`.
PRICES: Mapping[str, Price] = MappingProxyType(
    msgspec.json.decode(Path(__file__).with_name("prices.json").read_bytes(), type=dict[str, Price])
)


def find_price(model: str, prices: Mapping[str, Price] = PRICES) -> Price | None:
    """Find the price of a model by its name, or by its name without a date (`gpt-4o-2024-11-20`).

    A model of another name (`gpt-5-pro`) costs something else, so it has no price until the user enters one.
    """
    rows = {row.lower(): price for row, price in prices.items()}
    model = model.lower()
    for name in (model, model.rsplit("/", 1)[-1]):
        price = rows.get(name) or rows.get(_DATE.sub("", name))
        if price is not None:
            return price
    return None


def compute_cost(usage: Usage, price: Price | None) -> Cost:
    """The cost of a call."""
    if price is None:
        return Cost(is_known=False)
    cached = price.input if price.cache_read is None else price.cache_read
    written = price.input if price.cache_write is None else price.cache_write
    uncached = max(usage.input_tokens - usage.cached_tokens - usage.cache_write_tokens, 0)
    total = uncached * price.input + usage.cached_tokens * cached + usage.cache_write_tokens * written
    return Cost(round(total + usage.output_tokens * price.output), price.currency)


def parse_prices(table: object, base: Mapping[str, Price] = PRICES) -> Mapping[str, Price]:
    """Parse the user's rows and add them to a price table; refuses an invalid row by name."""
    if not isinstance(table, Mapping):
        raise _invalid_prices(message("the price table is not a table of models"))
    own: dict[str, Price] = {}
    for model, row in table.items():
        try:
            own[msgspec.convert(model, ModelName)] = msgspec.convert(row, Price)
        except msgspec.ValidationError as error:
            raise _invalid_prices(
                message(
                    "the row {name!r} needs a model, input and output, and may have cached, written and currency",
                    name=model,
                )
            ) from error
    return {**base, **own}


def _invalid_prices(why: Sentence) -> FabulaError:
    sentence = message("Prices cannot be read: {why}. Nothing was changed.", why=why)
    return FabulaError(Code.SETTING_INVALID, sentence)
