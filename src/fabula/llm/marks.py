"""Where a prompt is worth keeping: blocks of it, and marks on up to four of them.

A cache that goes by marks reads everything up to a block that an earlier request marked, if not a byte
before it moved. So blocks must end at the same places from request to request while text grows behind them:
they are cut from the front, at the end of the stable prefix, between messages, and within a long message at
paragraphs, every so many characters. The marks stand at the end of the stable prefix and on the last whole
blocks before the end, which moves with every request.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from fabula.context.render import Message
from fabula.core.fragments import Role

LENGTH = 2_400  # characters of a block before it may end
MOST_MARKS = 4


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
        if head.strip():
            found.append(Block(role=message.role, text=head))
            stable = len(found) - 1
        else:
            head = ""
        rest = [Block(role=message.role, text=text) for text in _pieces(content[len(head) :])]
        found += rest
        if message.attachments and found:
            last = found[-1]
            found[-1] = Block(role=last.role, text=last.text, attachments=message.attachments)
    marked = {stable} if stable >= 0 else set()
    for number in range(len(found) - 2, -1, -1):
        if len(marked) == MOST_MARKS:
            break
        marked.add(number)
    return [
        Block(role=block.role, text=block.text, marked=number in marked, attachments=block.attachments)
        for number, block in enumerate(found)
    ]


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
