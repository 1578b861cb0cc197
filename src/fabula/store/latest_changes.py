"""The latest changes of an owner, kept in the row of its version until there are enough of them.

Every change writes the owner's version anyway. A row of the change feed for each would write another page, and three
or four where a page of the feed is full. So a change is a line of text beside the version, and many lines at a time
become rows of the feed, in the transaction of the change that was one too many. A reader that is up to date finds what
it needs with the version.

Each line is one version, the last line the newest: `["TIME", [["AREA", "ITEM"], …]]`.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
from msgspec import Struct

MAX_LATEST = 2_000  # characters of the lines; more become rows of the feed


class FeedRow(Struct, frozen=True):
    """A row of the change feed."""

    version: int
    room: str
    item: str
    at: str


_Line = tuple[str, list[tuple[str, str]]]
_DECODER = msgspec.json.Decoder(_Line)


def encode_line(at: str, changed: Iterable[tuple[str, str]]) -> str:
    """Return the line of a change at a time, of these areas and items."""
    return f"{msgspec.json.encode((at, list(changed))).decode()}\n"


def count_versions(latest: str) -> int:
    """Return how many versions have a line."""
    return latest.count("\n")


def decode_lines(version: int, latest: str) -> list[FeedRow]:
    """Return the rows of the change feed for the lines of an owner that has this version."""
    lines = latest.split("\n")[:-1]
    first = version - len(lines) + 1
    return [
        FeedRow(first + place, room, item, at)
        for place, line in enumerate(lines)
        for at, changed in [_DECODER.decode(line)]
        for room, item in changed
    ]
