"""Continuity: what one request hands to the next.

The engine remembers nothing. What would otherwise be memory (where a window began, what was told
last time and in which order) is a value: it comes out with a result and goes in with the next
request of the same kind. Losing it costs a cached prefix and nothing else.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from fabula.core.story import Vantage

if TYPE_CHECKING:
    from fabula.context.request import Request


class Continuity(Struct, frozen=True, kw_only=True):
    """Where the last request left things."""

    prefix_hash: str = ""
    document: str = ""
    window_start: int | None = None
    window_words: int = 0  # a check on the words it began with
    window_room: int = 0
    history_start: str | None = None
    retrieved: tuple[str, ...] = ()
    retrieved_tokens: int = 0
    late: tuple[str, ...] = ()
    late_spent: int = 0
    resend: int = 0
    idle: dict[str, int] = {}
    rules_left_out: tuple[str, ...] = ()
    left: dict[str, bytes] = {}  # by source: what it wants to be told next time


NOTHING = Continuity()


def continuity_key(request: Request, vantage: Vantage) -> str:
    """Which continuity belongs to a request: same place, recipe, model and eyes of one project."""
    place = f"c:{request.conversation_id}" if request.conversation_id else f"d:{request.document_id}"
    return "\x1f".join((place, family_key(request, vantage)))


def family_key(request: Request, vantage: Vantage) -> str:
    """The same for every document: a chapter opened for the first time follows on from the last one."""
    return "\x1f".join((request.project_id, request.recipe, request.model, vantage.name))


class Continuities:
    """A bounded keeper of continuities, for one process."""

    def __init__(self, most: int = 1000) -> None:
        self._most = most
        self._kept: dict[str, Continuity] = {}
        self._lock = threading.Lock()

    def before(self, request: Request, vantage: Vantage) -> Continuity:
        """What the last request of this kind left, or the last of its family."""
        with self._lock:
            last = self._kept.get(family_key(request, vantage), NOTHING)
            here = self._kept.get(continuity_key(request, vantage), last)
        # Unchanged means: since the last request of the family, wherever in the book that was.
        return here if here.prefix_hash == last.prefix_hash else replace(here, prefix_hash=last.prefix_hash)

    def commit(self, request: Request, vantage: Vantage, continuity: Continuity) -> None:
        """Keep what a recorded answer left behind."""
        with self._lock:
            for key in (continuity_key(request, vantage), family_key(request, vantage)):
                self._kept.pop(key, None)
                self._kept[key] = continuity
            while len(self._kept) > self._most:
                del self._kept[next(iter(self._kept))]
