"""Run the Python peers on Fabula's task: fit prioritised texts into a token budget.

Both peers cut by recency and know no priority, so the items are given to them in
ascending priority, best last: the kindest arrangement. Each run gets a fresh
tokenizer with an empty cache, loaded before the clock starts. The clock covers
building the messages, counting and cutting.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from langchain_core.messages import BaseMessage, HumanMessage
from langchain_core.messages import trim_messages as langchain_trim
from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.memory import ChatMemoryBuffer
from splintr import Tokenizer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


@dataclass(frozen=True)
class PeerRun:
    """What one peer did: its time, and the tokens and items that it kept."""

    name: str
    ms: float
    used: int
    kept: int


def fresh_encoder() -> Callable[[str], list[int]]:
    """Return the encoder of a new o200k_base tokenizer, loaded and with no cache.

    The tokenizer builds its merge table, which takes about 0.1 s, at the first word
    outside its vocabulary; a made-up word makes it do so here, off the clock.
    """
    tokenizer = Tokenizer.from_pretrained("o200k_base")
    tokenizer.encode_ordinary("zqxjkv")
    tokenizer.clear_cache()
    return tokenizer.encode_ordinary


def chat_memory_buffer(items: list[tuple[str, float]], budget: int) -> PeerRun:
    """Measure ``ChatMemoryBuffer`` of llama-index-core.

    It counts the joined rest anew for each message that it drops, so its time
    grows with the square of the number of items. It counts the texts joined by
    spaces; counted one by one, as here, they may pass the budget by a few tokens.
    """
    texts = _best_last(items)
    encode = fresh_encoder()
    start = time.perf_counter()
    buffer = ChatMemoryBuffer.from_defaults(
        [ChatMessage(role=MessageRole.USER, content=text) for text in texts],
        token_limit=budget,
        tokenizer_fn=encode,
    )
    result = buffer.get()
    ms = (time.perf_counter() - start) * 1000
    kept = [str(message.content) for message in result]
    used = _count(encode, kept)
    return PeerRun("llama-index ChatMemoryBuffer", ms, used, len(kept))


def trim_messages(items: list[tuple[str, float]], budget: int) -> PeerRun:
    """Measure ``trim_messages`` of langchain-core with ``strategy="last"``.

    It finds the cut by bisection and counts every message again at each step.
    """
    texts = _best_last(items)
    encode = fresh_encoder()

    def count(messages: Sequence[BaseMessage]) -> int:
        return _count(encode, [str(message.content) for message in messages])

    langchain_trim([], max_tokens=1, token_counter=len)  # its first call imports more
    start = time.perf_counter()
    result = langchain_trim(
        [HumanMessage(text) for text in texts],
        max_tokens=budget,
        token_counter=count,
        strategy="last",
    )
    ms = (time.perf_counter() - start) * 1000
    return PeerRun("langchain trim_messages", ms, count(result), len(result))


def _best_last(items: list[tuple[str, float]]) -> list[str]:
    """Return the texts in ascending priority."""
    return [text for text, _ in sorted(items, key=lambda item: item[1])]


def _count(encode: Callable[[str], list[int]], texts: list[str]) -> int:
    """Return the tokens of all texts, each counted on its own."""
    return sum(len(encode(text)) for text in texts)
