"""Presence: who could hear a message; the one rule for history, search, recaps and lorebooks (cnv-8).

A message is heard by its speaker and by everybody who was present when it was said. A whisper is heard by its speaker
and by those of its audience who were present. A conversation without recorded participants, such as the writer's own
with the assistant, has no listeners to tell apart.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from functools import cached_property
from math import inf

from msgspec import Struct, field
from sqlalchemy import bindparam

from fabula.conversation.model import Message
from fabula.conversation.participants import strip_revision
from fabula.conversation.tables import presence
from fabula.core.story import READER_ONLY
from fabula.store.queries import RowQuery
from fabula.store.transaction import ReadTransaction

_RANGES = RowQuery(
    presence,
    presence.c.conversation_id == bindparam("conversation"),
    only=("since_number", "participant_id", "until_number"),
)


class Presence(Struct, frozen=True, kw_only=True):
    """The range of message numbers that a participant could hear; `until` is None while they are present."""

    participant_id: str
    since: int = field(default=0, name="since_number")
    until: int | None = field(default=None, name="until_number")

    def overlaps(self, other: Presence) -> bool:
        """Return whether both participants were present at the same time."""
        ends = [one.until for one in (self, other) if one.until is not None]
        return max(self.since, other.since) < min(ends) if ends else True


class Attendance:
    """Who took part in a conversation, from which message to which."""

    def __init__(self, ranges: Iterable[Presence] = ()) -> None:
        self.ranges = tuple(ranges)
        self._present_in: dict[int, frozenset[str]] = {}  # by the place among the changes

    @cached_property
    def participants(self) -> frozenset[str]:
        """Everybody who ever took part."""
        return frozenset(one.participant_id for one in self.ranges)

    @cached_property
    def present(self) -> frozenset[str]:
        """Everybody who is present now."""
        return frozenset(one.participant_id for one in self.ranges if one.until is None)

    def find_absent(self) -> frozenset[str]:
        """Return who left and had been there together with each of those who are present now."""
        present = self.present
        return frozenset(
            one for one in self.participants - present if all(self._have_met(one, other) for other in present)
        )

    def _have_met(self, one: str, other: str) -> bool:
        own, others = ([item for item in self.ranges if item.participant_id == name] for name in (one, other))
        return any(first.overlaps(second) for first in own for second in others)

    def list_present_at(self, number: int) -> frozenset[str]:
        """Return who was present at the message with this number."""
        span = bisect_right(self._changes, number)
        if span not in self._present_in:
            present = (who for who, changes in self._changes_of.items() if bisect_right(changes, number) % 2)
            self._present_in[span] = frozenset(present)
        return self._present_in[span]

    @cached_property
    def _changes_of(self) -> dict[str, list[float]]:
        """The numbers at which each participant came, left, came again and so on; ranges that touch are one."""
        changes: dict[str, list[float]] = {}
        for one in sorted(self.ranges, key=lambda one: one.since):
            until = inf if one.until is None else one.until
            own = changes.setdefault(one.participant_id, [])
            if own and one.since <= own[-1]:
                own[-1] = max(own[-1], until)
            elif one.since < until:
                own += (one.since, until)
        return changes

    @cached_property
    def _changes(self) -> list[float]:
        """The numbers at which anybody came or left."""
        return sorted({number for changes in self._changes_of.values() for number in changes})

    def find_listeners(self, said: Message) -> frozenset[str] | None:
        """Return who heard a message; None, for everybody, where neither presence nor an audience is recorded."""
        if not self.ranges and said.audience is None:
            return None
        listeners = self.list_present_at(said.number or 0)
        if said.audience is not None:
            audience = frozenset(map(strip_revision, said.audience))
            listeners = audience & listeners if self.ranges else audience
        return listeners | {strip_revision(said.speaker)} if said.speaker else listeners

    def find_knowers(self, said: Message) -> frozenset[str] | None:
        """Return who may know a message in its own conversation: its listeners, and whoever tells it if it is public.

        The reader stands for a request in which no participant speaks.
        """
        listeners = self.find_listeners(said)
        return listeners if listeners is None or said.audience is not None else listeners | READER_ONLY

    def find_common_listeners(self, messages: Sequence[Message]) -> frozenset[str] | None:
        """Return who heard all of these messages; None, for everybody, where nothing is recorded."""
        heard = [listeners for one in messages if (listeners := self.find_listeners(one)) is not None]
        if heard:
            return frozenset.intersection(*heard)
        return None if not self.ranges else self.participants if messages else frozenset()

    def find_audience(self, numbers: Iterable[int]) -> frozenset[str] | None:
        """Return who was present at all messages with these numbers; None, for everybody, where nothing is recorded."""
        if not self.ranges:
            return None
        return frozenset[str].intersection(self.participants, *map(self.list_present_at, numbers))


def load_attendance(reading: ReadTransaction, conversation_id: str) -> Attendance:
    """Load who took part in a conversation, in the order in which they came."""
    rows = reading.query(_RANGES, conversation=conversation_id)
    return Attendance(
        Presence(participant_id=who, since=since, until=until)
        for since, who, until in sorted(map(tuple, rows))  # quicker than the database does it
    )
