"""Where a prompt is worth keeping: blocks of it, and marks on up to four of them.

A cache that goes by marks reads everything up to a block that an earlier request marked, if not a byte
before it moved. So blocks must end at the same places from request to request while text grows behind them:
they are cut from the front, at the end of the stable prefix, between messages, and within a long message at
paragraphs, every so many characters. The marks stand at the end of the stable prefix and on the last whole
blocks before the end, which moves with every request; what is too short for any cache is not worth one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate

from msgspec import Struct
from msgspec.structs import replace

from fabula.context.render import Message
from fabula.core.fragment import Role

LENGTH = 2_400  # characters of a block before it may end
MOST_MARKS = 4
LEAST = 700  # characters before a mark: fewer are fewer tokens than any cache keeps, in any language


class Block(Struct, frozen=True, kw_only=True):
    """A piece of a message; `marked` when the cache should be able to go on from its end."""

    role: Role
    text: str
    marked: bool = False
    attachments: tuple[str, ...] = ()


def blocks(messages: Sequence[Message]) -> list[Block]:
    """The messages cut into blocks, some of them marked."""
    found: list[Block] = []
    stable = -1
    for message in messages:
        content = message.content
        head = content[: message.stable]
        own: list[Block] = []
        if head.strip():
            own.append(Block(role=message.role, text=head))
            stable = len(found)
        else:
            head = ""
        own += [Block(role=message.role, text=text) for text in _pieces(content[len(head) :])]
        if message.attachments:
            last = own.pop() if own else Block(role=message.role, text="")
            own.append(replace(last, attachments=message.attachments))
        found += own
    marked = _worth(found, stable)
    return [replace(block, marked=True) if number in marked else block for number, block in enumerate(found)]


def _worth(found: Sequence[Block], stable: int) -> set[int]:
    """Which blocks are marked: the last of the stable prefix, and those before the end; none that nobody keeps."""
    sums = list(accumulate(len(block.text) for block in found))
    order = [stable, *range(len(found) - 2, -1, -1)] if stable >= 0 else [*range(len(found) - 2, -1, -1)]
    wanted = [number for number in dict.fromkeys(order) if sums[number] >= LEAST and found[number].text]
    return set(wanted[:MOST_MARKS])


def _pieces(text: str) -> Iterator[str]:
    """A text in blocks that end at paragraphs; what is not even words joins what comes before it."""
    start = 0
    while len(text) - start > LENGTH:
        end = text.find("\n", start + LENGTH)
        while 0 <= end < len(text) and text[end] == "\n":
            end += 1
        if end < 0 or not text[end:].strip():
            break
        yield text[start:end]
        start = end
    if text[start:].strip():
        yield text[start:]
