"""Language models: provider configuration, calls with retries, prices, and records of generations.

`retry` calls a provider, `providers.factory` makes one, and `runs` records what came of it.
"""

from fabula.llm.model import FinishReason, ModelCall, Provider, StreamEnd, StreamEvent, TextChunk, Usage
from fabula.llm.pricing import PRICES, Cost, Price, compute_cost, find_price, parse_prices
from fabula.llm.provider_config import BUILT_IN_PROVIDERS, ProviderConfig, RetryPolicy
from fabula.llm.user_providers import ProviderRegistry, load_providers

__all__ = [
    "BUILT_IN_PROVIDERS",
    "PRICES",
    "Cost",
    "FinishReason",
    "ModelCall",
    "Price",
    "Provider",
    "ProviderConfig",
    "ProviderRegistry",
    "RetryPolicy",
    "StreamEnd",
    "StreamEvent",
    "TextChunk",
    "Usage",
    "compute_cost",
    "find_price",
    "load_providers",
    "parse_prices",
]
