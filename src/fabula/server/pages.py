"""Pages of long lists: a cursor names the last item that was handed out, so that additions shift nothing.

Where that item is gone, the page begins at the place where it was; where several have its name, after the nearest.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error
from collections.abc import Sequence
from operator import attrgetter
from typing import Any

from msgspec import DecodeError, Struct, json

from fabula.core.errors import Code, FabulaError
from fabula.core.messages import message

DEFAULT_LIMIT = 100
MAX_LIMIT = 1_000


class Cursor(Struct, frozen=True, array_like=True):
    """Where a page ended: the number of items before, and what names the last of them."""

    count: int
    last: str


def cut_page(items: Sequence[Any], key: str, cursor: str | None, limit: int) -> tuple[Sequence[Any], str | None]:
    """Return the items behind a cursor, and the cursor of the next page if there is one.

    `key` is the attribute, perhaps dotted, that names an item.
    """
    start, name_of = 0, attrgetter(key)
    if cursor:
        found = _read_cursor(cursor)
        places = [index for index, item in enumerate(items, 1) if str(name_of(item)) == found.last]
        start = min(places, key=lambda place: abs(place - found.count), default=max(found.count - 1, 0))
    end = start + limit
    if end >= len(items):
        return items[start:], None
    last = Cursor(end, str(name_of(items[end - 1])))
    return items[start:end], urlsafe_b64encode(json.encode(last)).decode().rstrip("=")


def _read_cursor(text: str) -> Cursor:
    try:
        found = json.decode(urlsafe_b64decode(text + "=" * (-len(text) % 4)), type=Cursor)
    except (DecodeError, Error, ValueError):
        found = Cursor(-1, "")
    if found.count < 0:
        raise FabulaError(
            Code.REQUEST_INVALID,
            message("The cursor is not one that this server gave. Begin without one. Nothing was changed."),
        )
    return found
