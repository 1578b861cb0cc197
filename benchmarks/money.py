"""What the replayed sessions cost with a provider's cache, beside a plain sliding window.

The sessions are those of `benchmarks.prefix`. The caches are modelled on what the vendors say of them:
OpenAI's goes by the bytes of the beginning, from 1,024 tokens on, in steps of 128; Anthropic's goes by marked
blocks, looks back 20 blocks from a mark, keeps nothing under 1,024 tokens (4,096 for Haiku 4.5), and asks more
for writing than for reading. Requests follow each other within the cache's life. A plain window gets OpenAI's
cache as it is, and on Anthropic whichever is cheaper for it, with marks or without. Answers are 300 tokens for
the novel and 80 for the chat.

    python -m benchmarks.money --data DIR [--json]
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256

from benchmarks.figures import arguments, report, show
from benchmarks.novels import chapters
from benchmarks.prefix import novel, talk, write
from fabula.context import Result
from fabula.context.render import Message
from fabula.llm.model import Usage
from fabula.llm.pricing import PRICES, cost_of
from fabula.llm.providers.cache_breakpoints import blocks
from fabula.text.tokens.tokenizer import encoding

LEAST, STEP, LOOK_BACK = 1024, 128, 20
LEAST_MARKED = {"claude-haiku-4-5": 4096}
ANSWER = {"novel": 300, "chat": 80}
MODELS = ("gpt-5", "gpt-4.1", "claude-sonnet-4-5", "claude-haiku-4-5")


def _count(text: str) -> int:
    return encoding("o200k_base").count(text)


class ByPrefix:
    """A cache that goes by the beginning of the prompt."""

    def __init__(self) -> None:
        self._last: list[str] = []

    def use(self, messages: Sequence[Message], answer: int) -> Usage:
        """What one request uses."""
        texts = [message.content for message in messages]
        shared = 0
        for one, other in zip(texts, self._last, strict=False):
            if one != other:
                shared += _count(one[: _common(one, other)])
                break
            shared += _count(one)
        self._last = texts
        cached = shared // STEP * STEP if shared >= LEAST else 0
        return Usage(input_tokens=sum(map(_count, texts)), cached_tokens=cached, output_tokens=answer)


class ByMarks:
    """A cache that goes by marked blocks."""

    def __init__(self, least: int) -> None:
        self._written: set[str] = set()
        self._least = least

    def use(self, messages: Sequence[Message], answer: int) -> Usage:
        """What one request uses: the longest beginning on record, and what is written behind it."""
        found = blocks(messages)
        hashes, sums, total, digest = [], [], 0, sha256()
        for block in found:
            digest.update(f"{block.role}\x1e{block.text}".encode())
            total += _count(block.text)
            hashes.append(digest.hexdigest())
            sums.append(total)
        marked = [number for number, block in enumerate(found) if block.marked and sums[number] >= self._least]
        read = 0
        for mark in marked:
            for number in range(mark, max(mark - LOOK_BACK, -1), -1):
                if hashes[number] in self._written:
                    read = max(read, sums[number])
                    break
        written = max((sums[mark] for mark in marked), default=0)
        self._written.update(hashes[mark] for mark in marked)
        return Usage(
            input_tokens=total, cached_tokens=read, written_tokens=max(written - read, 0), output_tokens=answer
        )


class Unmarked:
    """No cache at all."""

    def use(self, messages: Sequence[Message], answer: int) -> Usage:
        """What one request uses."""
        return Usage(input_tokens=sum(_count(message.content) for message in messages), output_tokens=answer)


class Bill:
    """The cost of a session on every model, in dollars; `read` is what its prompts cost without the answers."""

    def __init__(self, kind: str, *, plain: bool) -> None:
        self._answer = ANSWER[kind]
        self._caches = {
            model: ByMarks(LEAST_MARKED.get(model, LEAST)) if "claude" in model else ByPrefix() for model in MODELS
        }
        self._bare = Unmarked() if plain else None
        self._whole: dict[str, list[float]] = {model: [0.0, 0.0] for model in MODELS}
        self._read: dict[str, list[float]] = {model: [0.0, 0.0] for model in MODELS}

    def listen(self, result: Result) -> None:
        """One more request."""
        for model in MODELS:
            usages = [self._caches[model].use(result.messages, self._answer)]
            usages.append(self._bare.use(result.messages, self._answer) if self._bare is not None else usages[0])
            for number, usage in enumerate(usages):
                price = PRICES[model]
                whole = cost_of(usage, price).amount
                self._whole[model][number] += whole
                self._read[model][number] += whole - usage.output_tokens * price.output / 1e6

    def whole(self, model: str) -> float:
        """With answers; a plain session by its cheaper way."""
        return min(self._whole[model])

    def read(self, model: str) -> float:
        """Prompts alone."""
        return min(self._read[model])


def _common(one: str, other: str) -> int:
    length = min(len(one), len(other))
    return next((at for at in range(length) if one[at] != other[at]), length)


def main() -> None:
    options = arguments(__doc__ or "").parse_args()
    texts = chapters(options.data)
    view = novel(texts)
    bills = {(kind, plain): Bill(kind, plain=plain) for kind in ANSWER for plain in (False, True)}
    write(view, 8192, late=True, check=False, listen=bills["novel", False].listen)
    write(view, 8192, late=False, check=False, plain=True, listen=bills["novel", True].listen)
    talk(texts, listen=bills["chat", False].listen)
    talk(texts, plain=True, listen=bills["chat", True].listen)
    rows, figures = [], {}
    for kind in ANSWER:
        for model in MODELS:
            ours, theirs = bills[kind, False], bills[kind, True]
            saved = 100 * (1 - ours.read(model) / theirs.read(model))
            saved_whole = 100 * (1 - ours.whole(model) / theirs.whole(model))
            rows.append((f"{kind}, {model}", ours.whole(model), theirs.whole(model), saved, saved_whole))
            figures[f"{kind}_{model}_saved"] = saved
            figures[f"{kind}_{model}_saved_with_answers"] = saved_whole
    header = ("session, model", "ours $", "plain $", "prompts cheaper %", "all cheaper %")
    show("money for a session of 200 requests", header, rows)
    report(figures, as_json=options.json)


if __name__ == "__main__":
    main()
