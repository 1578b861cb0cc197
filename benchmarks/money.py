"""Cost of replayed sessions with the provider's cache, compared with a plain sliding window.

The sessions are those of `benchmarks.prefix`. The caches are modelled on the documentation of the vendors: OpenAI's
compares the prefix by bytes, from 1,024 tokens on, in steps of 128; Anthropic's works by breakpoints, looks back 20
blocks from each, stores nothing under 1,024 tokens (4,096 for Haiku 4.5), and charges more for writing than for
reading. All requests come within the lifetime of the cache. A plain window gets OpenAI's cache as it is, and on
Anthropic whichever is cheaper for it, with breakpoints or without. Answers are 300 tokens for the novel and 80 for the
chat.

    python -m benchmarks.money --data DIR [--json]
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256

from benchmarks.figures import arguments, report, show
from benchmarks.novels import chapters
from benchmarks.prefix import novel, talk, write
from fabula.context import Result
from fabula.context.render import PromptMessage
from fabula.llm.model import Usage
from fabula.llm.pricing import PRICES, compute_cost
from fabula.llm.providers.cache_breakpoints import split_blocks
from fabula.text.tokens.tokenizer import load_encoding

MIN_PREFIX, STEP, LOOK_BACK = 1024, 128, 20
MIN_BREAKPOINT_PREFIX = {"claude-haiku-4-5": 4096}
ANSWER_TOKENS = {"novel": 300, "chat": 80}
MODELS = ("gpt-5", "gpt-4.1", "claude-sonnet-4-5", "claude-haiku-4-5")


def _count(text: str) -> int:
    return load_encoding("o200k_base").count(text)


class PrefixCache:
    """A cache that compares prompts from the beginning."""

    def __init__(self) -> None:
        self._previous: list[str] = []

    def use(self, messages: Sequence[PromptMessage], answer: int) -> Usage:
        """The usage of one request."""
        texts = [message.content for message in messages]
        shared = 0
        for text, previous in zip(texts, self._previous, strict=False):
            if text != previous:
                shared += _count(text[: _common_prefix(text, previous)])
                break
            shared += _count(text)
        self._previous = texts
        cached = shared // STEP * STEP if shared >= MIN_PREFIX else 0
        return Usage(input_tokens=sum(map(_count, texts)), cached_tokens=cached, output_tokens=answer)


class BreakpointCache:
    """A cache that works by breakpoints."""

    def __init__(self, min_prefix: int) -> None:
        self._stored: set[str] = set()
        self._min_prefix = min_prefix

    def use(self, messages: Sequence[PromptMessage], answer: int) -> Usage:
        """The usage of one request: it reads the longest stored prefix and writes what follows."""
        blocks = split_blocks(messages)
        hashes, sums, total, digest = [], [], 0, sha256()
        for block in blocks:
            digest.update(f"{block.role}\x1e{block.text}".encode())
            total += _count(block.text)
            hashes.append(digest.hexdigest())
            sums.append(total)
        breakpoints = [i for i, block in enumerate(blocks) if block.is_breakpoint and sums[i] >= self._min_prefix]
        read = 0
        for end in breakpoints:
            for index in range(end, max(end - LOOK_BACK, -1), -1):
                if hashes[index] in self._stored:
                    read = max(read, sums[index])
                    break
        written = max((sums[end] for end in breakpoints), default=0)
        self._stored.update(hashes[end] for end in breakpoints)
        return Usage(
            input_tokens=total, cached_tokens=read, cache_write_tokens=max(written - read, 0), output_tokens=answer
        )


class NoCache:
    """No cache."""

    def use(self, messages: Sequence[PromptMessage], answer: int) -> Usage:
        """The usage of one request."""
        return Usage(input_tokens=sum(_count(message.content) for message in messages), output_tokens=answer)


class Bill:
    """The cost of a session with every model, in dollars."""

    def __init__(self, kind: str, *, plain: bool) -> None:
        self._answer = ANSWER_TOKENS[kind]
        self._caches = {
            model: BreakpointCache(MIN_BREAKPOINT_PREFIX.get(model, MIN_PREFIX)) if "claude" in model else PrefixCache()
            for model in MODELS
        }
        self._without_cache = NoCache() if plain else None
        self._totals: dict[str, list[float]] = {model: [0.0, 0.0] for model in MODELS}
        self._prompts: dict[str, list[float]] = {model: [0.0, 0.0] for model in MODELS}

    def add(self, result: Result) -> None:
        """Add a request."""
        for model in MODELS:
            usages = [self._caches[model].use(result.messages, self._answer)]
            usages.append(
                self._without_cache.use(result.messages, self._answer) if self._without_cache is not None else usages[0]
            )
            for number, usage in enumerate(usages):
                price = PRICES[model]
                cost = compute_cost(usage, price).amount
                self._totals[model][number] += cost
                self._prompts[model][number] += cost - usage.output_tokens * price.output / 1e6

    def total(self, model: str) -> float:
        """The cost with answers, in the cheaper way."""
        return min(self._totals[model])

    def prompts(self, model: str) -> float:
        """The cost of the prompts alone, in the cheaper way."""
        return min(self._prompts[model])


def _common_prefix(text: str, other: str) -> int:
    length = min(len(text), len(other))
    return next((index for index in range(length) if text[index] != other[index]), length)


def main() -> None:
    options = arguments(__doc__ or "").parse_args()
    texts = chapters(options.data)
    view = novel(texts)
    bills = {(kind, plain): Bill(kind, plain=plain) for kind in ANSWER_TOKENS for plain in (False, True)}
    write(view, 8192, late=True, check=False, listen=bills["novel", False].add)
    write(view, 8192, late=False, check=False, plain=True, listen=bills["novel", True].add)
    talk(texts, listen=bills["chat", False].add)
    talk(texts, plain=True, listen=bills["chat", True].add)
    rows, figures = [], {}
    for kind in ANSWER_TOKENS:
        for model in MODELS:
            ours, plain = bills[kind, False], bills[kind, True]
            saved = 100 * (1 - ours.prompts(model) / plain.prompts(model))
            saved_total = 100 * (1 - ours.total(model) / plain.total(model))
            rows.append((f"{kind}, {model}", ours.total(model), plain.total(model), saved, saved_total))
            figures[f"{kind}_{model}_saved"] = saved
            figures[f"{kind}_{model}_saved_with_answers"] = saved_total
    header = ("session, model", "ours $", "plain $", "prompts cheaper %", "all cheaper %")
    show("money for a session of 200 requests", header, rows)
    report(figures, as_json=options.json)


if __name__ == "__main__":
    main()
