"""Presence: who could hear a message; the one rule for history, search, recaps and lorebooks (cnv-8).

A message is heard by its speaker and by everybody who was present when it was said. A whisper is heard by its speaker
and by those of its audience who were present. A conversation without recorded participants, such as the writer's own
with the assistant, has no listeners to tell apart.

Presence is part of the tree of messages. Somebody comes or leaves behind a message, and that holds for the message that
is said there next and for what follows on from it, and for no other branch: whoever goes back to that message once more
finds those there who heard it. Numbers are given in the order in which messages are added, so a tree is its branches:
the messages that follow another one than the one added before. Between two changes or branches everybody hears the
same. So the rule reads who came and left, and branches only where somebody did after the beginning; it never reads
messages.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from functools import cached_property
from math import inf
from typing import Any

from msgspec import Struct, field
from sqlalchemy import Row, bindparam

from fabula.conversation.model import Message
from fabula.conversation.participants import Participants, strip_revision
from fabula.conversation.tables import conversations, messages, presence
from fabula.core.story import READER_ONLY
from fabula.store.queries import RowQuery
from fabula.store.transaction import ReadTransaction

_AT_ONCE = 500  # conversations in one query
BEGINNING = -1  # in place of the number of a message: there is none before
_CHANGES = RowQuery(
    presence,
    presence.c.conversation_id == bindparam("conversation"),
    only=("since_number", "after_number", "participant_id", "leaves"),
)
_END = RowQuery(
    conversations,
    conversations.c.id == bindparam("conversation"),
    only=("leaf_id", "said", "rounds", "tokens", "after_number", "branches", "deleted_branches"),
)
_BRANCHES = RowQuery(
    messages,
    messages.c.conversation_id == bindparam("conversation"),
    messages.c.after_number.is_not(None),
    messages.c.number >= bindparam("first"),
    only=("number", "after_number"),
)


class PresenceChange(Struct, frozen=True, kw_only=True):
    """Somebody came or left behind a message; it holds for the one added there next, and what follows on from it."""

    participant_id: str
    number: int = field(default=0, name="since_number")  # of the first message that it may hold for
    after: int = field(default=BEGINNING, name="after_number")  # the number of the message behind which it was
    leaves: bool = False

    @property
    def is_at_beginning(self) -> bool:
        """Whether it holds for every message."""
        return self.number == 0 and self.after == BEGINNING


class Presence(Struct, frozen=True, kw_only=True):
    """The range of message numbers that a participant could hear; `until` is None while they are present."""

    participant_id: str
    since: int = field(default=0, name="since_number")
    until: int | None = field(default=None, name="until_number")

    def overlaps(self, other: Presence) -> bool:
        """Return whether both participants were present at the same time."""
        ends = [one.until for one in (self, other) if one.until is not None]
        return max(self.since, other.since) < min(ends) if ends else True


class _Span(Struct, frozen=True):
    """Messages added one after the other, from one number on, all heard by the same participants."""

    present: frozenset[str]
    changes: tuple[PresenceChange, ...]  # that hold from its first message on
    before: _Span | None  # the span of the message that its first one follows


class Attendance:
    """Who took part in a conversation, and who takes part where it goes on.

    `branches` has the numbers of messages that follow another one than the one added before, and of the one that each
    follows. `end` is the number of the message that the next one follows; None for the one added last. `said` is how
    many messages were added, or any number above those of the changes.
    """

    def __init__(
        self,
        changes: Iterable[PresenceChange] = (),
        branches: Mapping[int, int] | None = None,
        end: int | None = None,
        said: float = inf,
    ) -> None:
        self.changes = tuple(changes)
        self.branches = dict(branches or {})
        self.end = end
        # With more messages nothing changes: so it stays the same attendance while messages are added.
        self.said = min(said, 1 + max((one.number for one in self.changes), default=0))
        self._beside: int | None = None  # the number of a message in whose place the next one would be said

    @property
    def is_recorded(self) -> bool:
        """Whether anybody ever took part; otherwise there are no listeners to tell apart."""
        return bool(self.changes)

    def equals(self, other: Attendance) -> bool:
        """Return whether the same people took part in the same messages, and are present where it goes on."""
        return (self.changes, self.branches, self.end, self.said) == (
            other.changes,
            other.branches,
            other.end,
            other.said,
        )

    def go_to(self, number: int | None) -> Attendance:
        """Return the attendance of the path that goes on behind a message, or of an empty path."""
        return self._move(BEGINNING if number is None else number, None)

    def go_beside(self, number: int) -> Attendance:
        """Return the attendance of the path to a message, as it was just before that was said."""
        return self._move(self._find_after(number), number)

    def _move(self, end: int, beside: int | None) -> Attendance:
        if all(one.is_at_beginning for one in self.changes):
            return self
        elsewhere = copy(self)  # with the spans, which are the same
        for name in ("_last", "ranges", "participants", "attendees", "present"):
            elsewhere.__dict__.pop(name, None)
        elsewhere.end, elsewhere._beside = end, beside
        return elsewhere

    @cached_property
    def everybody(self) -> frozenset[str]:
        """Everybody who ever took part, on any branch."""
        return frozenset(one.participant_id for one in self.changes)

    @cached_property
    def participants(self) -> frozenset[str]:
        """Everybody who took part on the path to where the conversation goes on."""
        return frozenset(one.participant_id for one in self.ranges)

    @cached_property
    def attendees(self) -> frozenset[str]:
        """Everybody who is present, or was there when something was said on the path to where it goes on."""
        return frozenset(one.participant_id for one in self.ranges if one.until is None or one.until > one.since)

    @cached_property
    def present(self) -> frozenset[str]:
        """Everybody who is present where the conversation goes on."""
        return self._last.present

    @cached_property
    def ranges(self) -> tuple[Presence, ...]:
        """Who heard which messages of the path to where the conversation goes on, in the order in which they came.

        The range of somebody who left before anything was said is empty.
        """
        path: list[_Span] = []
        span: _Span | None = self._last
        while span is not None:
            path.append(span)
            span = span.before
        found: dict[str, list[tuple[int, int | None]]] = {}
        for change in (one for span in reversed(path) for one in span.changes):
            own, number = found.setdefault(change.participant_id, []), change.after + 1
            is_present = bool(own) and own[-1][1] is None
            if change.leaves and is_present:
                own[-1] = (own[-1][0], number)
            elif change.leaves and not own:  # they came at the same place
                own.append((number, number))
            elif not change.leaves and own and own[-1][1] == number:
                own[-1] = (own[-1][0], None)
            elif not change.leaves and not is_present:
                own.append((number, None))
        ranges = [
            Presence(participant_id=who, since=since, until=until) for who, own in found.items() for since, until in own
        ]
        return tuple(sorted(ranges, key=lambda one: (one.since, one.participant_id)))

    def find_absent(self) -> frozenset[str]:
        """Return who left and had been there together with each of those who are present now."""
        present = self.present
        return frozenset(
            one for one in self.participants - present if all(self._have_met(one, other) for other in present)
        )

    def list_met(self, participant_id: str) -> frozenset[str]:
        """Return who was there together with a participant on the path to where it goes on; the participant is too."""
        return frozenset(one for one in self.participants if self._have_met(one, participant_id))

    def _have_met(self, one: str, other: str) -> bool:
        own, others = ([item for item in self.ranges if item.participant_id == name] for name in (one, other))
        return any(first.overlaps(second) for first in own for second in others)

    def list_present_at(self, number: int) -> frozenset[str]:
        """Return who was present at the message with this number, on whatever branch it is."""
        return self._find_span(number).present

    def _find_span(self, number: int) -> _Span:
        starts, spans = self._spans
        return spans[max(bisect_right(starts, number) - 1, 0)]

    def _find_after(self, number: int) -> int:
        """Return the number of the message that the one with this number followed when it was added."""
        return self.branches.get(number, number - 1) if number else BEGINNING

    @cached_property
    def _spans(self) -> tuple[list[int], list[_Span]]:
        """The numbers with which spans begin, in order, and the spans."""
        first = [one.number for one in self.changes if one.after == one.number - 1]
        starts: list[int] = []
        spans: list[_Span] = []
        for start in sorted({0, *first, *self.branches}):
            spans.append(self._follow(starts, spans, self._find_after(start), start))
            starts.append(start)
        return starts, spans

    @cached_property
    def _last(self) -> _Span:
        if self._beside is not None:
            return self._find_span(self._beside)
        starts, spans = self._spans
        return spans[-1] if self.end is None else self._follow(starts, spans, self.end, inf)

    @cached_property
    def _changes_after(self) -> dict[int, list[PresenceChange]]:
        """The changes behind each message, in the order in which they were made."""
        found: dict[int, list[PresenceChange]] = {}
        for one in sorted(self.changes, key=lambda one: one.number):
            found.setdefault(one.after, []).append(one)
        return found

    def _follow(self, starts: Sequence[int], spans: Sequence[_Span], after: int, number: float) -> _Span:
        """Return the span that begins with the message of a number, behind another message."""
        before = spans[bisect_right(starts, after) - 1] if after > BEGINNING and starts else None
        changes = tuple(self._list_changes(after, number))
        present = set(before.present) if before is not None else set[str]()
        for one in changes:
            (present.discard if one.leaves else present.add)(one.participant_id)
        return _Span(frozenset(present), changes, before)

    def _list_changes(self, after: int, number: float) -> list[PresenceChange]:
        """List the changes behind a message that hold for the one with a number; infinite: for one that is said now.

        A change holds for the first message that is added there since; one before the first message of all holds for
        every beginning.
        """
        made = [one for one in self._changes_after.get(after, ()) if one.number <= number]
        if not made:
            return []
        added = [start for start in self._branches_after.get(after, ()) if start < number]
        if after + 1 < min(number, self.said) and after + 1 not in self.branches:
            added.append(after + 1)
        last = max(added, default=after)  # the message that was added there before
        return [one for one in made if one.number > last or one.is_at_beginning]

    @cached_property
    def _branches_after(self) -> dict[int, list[int]]:
        """The numbers of the branches that follow each message."""
        found: dict[int, list[int]] = {}
        for number, after in self.branches.items():
            found.setdefault(after, []).append(number)
        return found

    def find_changes_behind(self, number: int, next_number: float = inf) -> dict[str, PresenceChange]:
        """Return who came or left behind a message, on the branch that goes on with the next one; the last of each."""
        return {one.participant_id: one for one in self._list_changes(number, next_number)}

    def find_listeners(self, said: Message) -> frozenset[str] | None:
        """Return who heard a message; None, for everybody, where neither presence nor an audience is recorded.

        A message without a number is one that would be said now.
        """
        if not self.is_recorded and said.audience is None:
            return None
        listeners = self.present if said.number is None else self.list_present_at(said.number)
        if said.audience is not None:
            audience = frozenset(map(strip_revision, said.audience))
            listeners = audience & listeners if self.is_recorded else audience
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
        return None if not self.is_recorded else self.everybody if messages else frozenset()

    def find_audience(self, numbers: Iterable[int]) -> frozenset[str] | None:
        """Return who was present at all messages with these numbers; None, for everybody, where nothing is recorded."""
        if not self.is_recorded:
            return None
        return frozenset[str].intersection(self.everybody, *map(self.list_present_at, numbers))


def load_end(reading: ReadTransaction, conversation_id: str) -> Row[Any] | None:
    """Load where a conversation goes on, and its counters; None where there is no such conversation."""
    rows = reading.query(_END, conversation=conversation_id)
    return rows[0] if rows else None


def load_attendance(reading: ReadTransaction, conversation_id: str, end: Row[Any] | None = None) -> Attendance:
    """Load who took part in a conversation; `end` is its row, or where it goes on, if the caller has that."""
    rows = sorted(map(tuple, reading.query(_CHANGES, conversation=conversation_id)))  # quicker than the database
    changes = [
        PresenceChange(participant_id=who, number=number, after=after, leaves=bool(leaves))
        for number, after, who, leaves in rows
    ]
    later = [one.number for one in changes if not one.is_at_beginning]
    if not later:
        return Attendance(changes)
    end = end if end is not None else load_end(reading, conversation_id)
    if end is None:
        return Attendance(changes)
    branches = dict[int, int](end.deleted_branches or ())
    if end.branches:  # before the first change everybody hears the same
        found = reading.query(_BRANCHES, conversation=conversation_id, first=min(later))
        branches |= {row.number: row.after_number for row in found}
    return Attendance(changes, branches, end.after_number, end.said)


def load_attendances(reading: ReadTransaction, conversation_ids: Sequence[str]) -> dict[str, Attendance]:
    """Load who took part in each of these conversations, of all with the same few queries."""
    found: dict[str, Attendance] = {}
    for start in range(0, len(conversation_ids), _AT_ONCE):
        found |= _load_some(reading, conversation_ids[start : start + _AT_ONCE])
    return found


def _load_some(reading: ReadTransaction, ids: Sequence[str]) -> dict[str, Attendance]:
    columns = ("conversation_id", "since_number", "after_number", "participant_id", "leaves")
    rows = sorted(map(tuple, reading.rows(presence, presence.c.conversation_id.in_(ids), only=columns)))
    changes: dict[str, list[PresenceChange]] = {ident: [] for ident in ids}
    for ident, number, after, who, leaves in rows:
        changes[ident].append(PresenceChange(participant_id=who, number=number, after=after, leaves=bool(leaves)))
    later = {
        ident: min(numbers)
        for ident, own in changes.items()
        if (numbers := [one.number for one in own if not one.is_at_beginning])
    }
    is_later, columns = conversations.c.id.in_(later), ("id", "said", "after_number", "branches", "deleted_branches")
    ends = {row.id: row for row in reading.rows(conversations, is_later, only=columns)} if later else {}
    branches = {ident: dict[int, int](end.deleted_branches or ()) for ident, end in ends.items()}
    if branched := [ident for ident, end in ends.items() if end.branches]:
        has_branch = (messages.c.conversation_id.in_(branched), messages.c.after_number.is_not(None))
        for row in reading.rows(messages, *has_branch, only=("conversation_id", "number", "after_number")):
            if row.number >= later[row.conversation_id]:
                branches[row.conversation_id][row.number] = row.after_number
    return {
        ident: Attendance(own)
        if (end := ends.get(ident)) is None
        else Attendance(own, branches[ident], end.after_number, end.said)
        for ident, own in changes.items()
    }


def name_present(said: Message, attendance: Attendance, names: Participants) -> tuple[str, ...]:
    """Return who was there when a message was said, whoever heard it, by name: whoever heard it saw them."""
    present = attendance.list_present_at(said.number or 0) if attendance.is_recorded else frozenset[str]()
    return tuple(sorted({names.name_of(one) for one in (*present, *filter(None, (said.speaker,)))}))


def list_changes(ranges: Iterable[Presence]) -> list[PresenceChange]:
    """Return who came and left behind which message, where messages were added one after the other, as these say.

    Ranges that touch are one.
    """
    merged: dict[str, list[tuple[int, float]]] = {}
    for one in sorted(ranges, key=lambda one: one.since):
        own, until = merged.setdefault(one.participant_id, []), inf if one.until is None else one.until
        if own and one.since <= own[-1][1]:
            own[-1] = (own[-1][0], max(own[-1][1], until))
        elif one.since < until:
            own.append((one.since, until))
    return [
        PresenceChange(participant_id=who, number=int(number), after=int(number) - 1, leaves=leaves)
        for who, own in merged.items()
        for since, until in own
        for number, leaves in ((since, False), (until, True))
        if number != inf
    ]
