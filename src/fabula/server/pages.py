"""Pages of long lists: a cursor names the last items that were handed out, so that additions shift nothing.

A page begins after the last of these that is still there; where all are gone, at the first that is left of the items
that came next. Where several items have the same name, the nearest counts.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error
from collections.abc import Sequence
from hashlib import sha256
from operator import attrgetter
from typing import Any

from msgspec import DecodeError, Struct, json

from fabula.core.errors import Code, FabulaError
from fabula.core.messages import message

DEFAULT_LIMIT = 100
MAX_LIMIT = 1_000
_MARKED = 12  # items on either side of the place where a page ended


class Cursor(Struct, frozen=True, array_like=True):
    """Where a page ended: the number of items before, of all items, and the marks of those around that place."""

    count: int
    total: int
    before: tuple[str, ...]  # the last one first
    after: tuple[str, ...]  # the next one first


def cut_page(items: Sequence[Any], key: str, cursor: str | None, limit: int) -> tuple[Sequence[Any], str | None]:
    """Return the items behind a cursor, and the cursor of the next page if there is one.

    `key` is the attribute, perhaps dotted, that names an item.
    """
    if not cursor and limit >= len(items):
        return items, None
    marks = [_mark(str(name)) for name in map(attrgetter(key), items)]
    start = _find_start(marks, _read_cursor(cursor)) if cursor else 0
    end = start + limit
    if end >= len(items):
        return items[start:], None
    before, after = marks[max(end - _MARKED, 0) : end], marks[end : end + _MARKED]
    last = Cursor(end, len(items), tuple(reversed(before)), tuple(after))
    return items[start:end], urlsafe_b64encode(json.encode(last)).decode().rstrip("=")


def _find_start(marks: Sequence[str], cursor: Cursor) -> int:
    """Return the place of the first item that was not handed out yet."""
    places: dict[str, list[int]] = {}
    for place, mark in enumerate(marks):
        places.setdefault(mark, []).append(place)
    for distance, mark in enumerate(cursor.before, start=1):
        if mark in places:
            return _find_nearest(places[mark], cursor.count - distance) + 1
    for distance, mark in enumerate(cursor.after):
        if mark in places:
            return _find_nearest(places[mark], cursor.count + distance)
    return max(cursor.count - max(cursor.total - len(marks), 0), 0)  # nothing is skipped, though some may be repeated


def _find_nearest(places: Sequence[int], wanted: int) -> int:
    return min(places, key=lambda place: abs(place - wanted))


def _mark(name: str) -> str:
    """Return a short mark of a name, since names can be long."""
    return sha256(name.encode(errors="replace")).hexdigest()[:10]


def _read_cursor(text: str) -> Cursor:
    try:
        found = json.decode(urlsafe_b64decode(text + "=" * (-len(text) % 4)), type=Cursor)
    except (DecodeError, Error, ValueError):
        found = Cursor(-1, 0, (), ())
    if found.count < 0:
        raise FabulaError(
            Code.REQUEST_INVALID,
            message("The cursor is not one that this server gave. Begin without one. Nothing was changed."),
        )
    return found
