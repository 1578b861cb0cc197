"""Language models: provider configuration, calls with retries, prices, and records of generations.

`retry` calls a provider, `providers` makes one, and `runs` records what came of it.
"""

from fabula.llm.model import FinishReason, ModelCall, Provider, StreamEnd, StreamEvent, TextChunk, Usage
from fabula.llm.pricing import PRICES, Cost, Price, compute_cost, find_price, parse_prices
from fabula.llm.provider_config import BUILT_IN_PROVIDERS, DEFAULT_RETRY_POLICY, ProviderConfig, RetryPolicy
from fabula.llm.retry import estimate_usage, fetch_response, stream_answer
from fabula.llm.runs import GenerationRun, RunOutcome, SpendingTotal, record_run, summarise_assembly
from fabula.llm.user_providers import ProviderRegistry, load_providers

__all__ = [
    "BUILT_IN_PROVIDERS",
    "DEFAULT_RETRY_POLICY",
    "PRICES",
    "Cost",
    "FinishReason",
    "GenerationRun",
    "ModelCall",
    "Price",
    "Provider",
    "ProviderConfig",
    "ProviderRegistry",
    "RetryPolicy",
    "RunOutcome",
    "SpendingTotal",
    "StreamEnd",
    "StreamEvent",
    "TextChunk",
    "Usage",
    "compute_cost",
    "estimate_usage",
    "fetch_response",
    "find_price",
    "load_providers",
    "parse_prices",
    "record_run",
    "stream_answer",
    "summarise_assembly",
]
