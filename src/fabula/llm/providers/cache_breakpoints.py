"""Cache breakpoints: splits a prompt into blocks and marks up to four for the provider's cache (pre-2).

A cache with breakpoints reads everything up to a block that an earlier request marked, if no byte before it changed.
So blocks must end at the same offsets from request to request while text grows behind them: they are cut from the
front, at the end of the stable prefix, between messages, and in a long message at paragraphs. The breakpoints are at
the end of the stable prefix and at the last blocks before the final one, which changes with every request. A prefix
too short for any cache gets none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate

from msgspec import Struct
from msgspec.structs import replace

from fabula.context.render import PromptMessage
from fabula.core.fragment import Role

MIN_BLOCK_CHARACTERS = 2_400  # a block ends at the first paragraph after so many
MAX_BREAKPOINTS = 4
MIN_PREFIX_CHARACTERS = 700  # a shorter prefix has fewer tokens than any cache keeps, in any language


class PromptBlock(Struct, frozen=True, kw_only=True):
    """A part of a message; `is_breakpoint` if the cache should store the prompt up to its end."""

    role: Role
    text: str
    is_breakpoint: bool = False
    attachments: tuple[str, ...] = ()


def split_blocks(messages: Sequence[PromptMessage]) -> list[PromptBlock]:
    """Split messages into blocks and mark the breakpoints."""
    blocks: list[PromptBlock] = []
    stable = -1
    for message in messages:
        content = message.content
        head = content[: message.stable]
        parts: list[PromptBlock] = []
        if head.strip():
            parts.append(PromptBlock(role=message.role, text=head))
            stable = len(blocks)
        else:
            head = ""
        parts += [PromptBlock(role=message.role, text=text) for text in _split_paragraphs(content[len(head) :])]
        if message.attachments:
            last = parts.pop() if parts else PromptBlock(role=message.role, text="")
            parts.append(replace(last, attachments=message.attachments))
        blocks += parts
    breakpoints = _choose_breakpoints(blocks, stable)
    return [replace(block, is_breakpoint=index in breakpoints) for index, block in enumerate(blocks)]


def _choose_breakpoints(blocks: Sequence[PromptBlock], stable: int) -> set[int]:
    """The block that ends the stable prefix (-1: none), and the last ones before the final block."""
    lengths = list(accumulate(len(block.text) for block in blocks))
    order = [*([stable] if stable >= 0 else []), *range(len(blocks) - 2, -1, -1)]
    long_enough = [i for i in dict.fromkeys(order) if lengths[i] >= MIN_PREFIX_CHARACTERS and blocks[i].text]
    return set(long_enough[:MAX_BREAKPOINTS])


def _split_paragraphs(text: str) -> Iterator[str]:
    """Split a text into blocks that end at paragraphs; white space at its end joins the last block."""
    start = 0
    while len(text) - start > MIN_BLOCK_CHARACTERS:
        end = text.find("\n", start + MIN_BLOCK_CHARACTERS)
        while 0 <= end < len(text) and text[end] == "\n":
            end += 1
        if end < 0 or not text[end:].strip():
            break
        yield text[start:end]
        start = end
    if text[start:].strip():
        yield text[start:]
