"""Schedule: which summaries and recaps of a conversation have to be written (cnv-6, cht-6).

Four kinds of tasks are planned, in this order:
1. Stale summaries are rewritten, unless they are part of a recap other than the newest.
2. Rounds without a summary are summarised, a fixed number at a time; fewer where others were present afterwards, or
   where so much was said that a history window does not show it any more (cht-6).
3. The newest recap is rewritten if it is stale.
4. Summaries that are in no recap yet become one recap as soon as they cover enough rounds.
Older entries stay as they are, marked stale, until a person rebuilds all of them. A text that a person
wrote is never a task. The rounds of one text were heard by the same participants, so that whoever heard them may know
it.

A task names its rounds, the hash of their content, and the row that it replaces. So an old task is still
valid exactly if the current plan contains it, and no lock is needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from msgspec import Struct
from sqlalchemy import Row, bindparam, or_

from fabula.conversation.model import ConversationState
from fabula.conversation.presence import Attendance, load_attendance
from fabula.conversation.recaps.model import RecapKind, RecapRules, StoredRecap
from fabula.conversation.recaps.rounds import Round, RoundHistory, hash_rounds, load_latest_rounds, load_rounds
from fabula.conversation.tables import conversations, recaps, summaries
from fabula.store.queries import RowQuery
from fabula.store.rows import read_struct
from fabula.store.transaction import ReadTransaction

_LAST_TIME = "9999"  # later than any timestamp
_SUMMARIES, _RECAPS = (
    RowQuery(table, table.c.conversation_id == bindparam("conversation")) for table in (summaries, recaps)
)
_LATEST_SUMMARIES = RowQuery(
    summaries,
    summaries.c.conversation_id == bindparam("conversation"),
    or_(summaries.c.stacked == 0, summaries.c.last_round >= bindparam("since")),
)
ScheduleVersion = tuple[ConversationState, tuple[StoredRecap, ...], tuple[StoredRecap, ...]]


class RecapTask(Struct, frozen=True, kw_only=True):
    """A summary or a recap that has to be written."""

    kind: RecapKind
    rounds: tuple[int, ...]
    source_hash: str
    replaces: tuple[str, int] | None = None  # the id and version of the row to replace
    sources: tuple[tuple[str, int], ...] = ()  # of a recap: its summaries by id and version
    without_text: bool = False  # of a recap: only mark its summaries, because it would be the first to be dropped


class RecapSchedule:
    """The rounds, summaries and recaps of a conversation at one moment."""

    def __init__(
        self,
        history: RoundHistory,
        summaries: Sequence[StoredRecap],
        recaps: Sequence[StoredRecap],
        attendance: Attendance,
    ) -> None:
        self.history = history
        self.attendance = attendance
        self.summaries = tuple(summaries)
        self.recaps = tuple(recaps)
        self._rounds = {one.number: one for one in history.rounds}

    @property
    def version(self) -> ScheduleVersion:
        """Equal versions mean equal schedules."""
        return self.history.state, self.summaries, self.recaps

    @property
    def unsummarised(self) -> list[Round]:
        """The rounds of the path that no summary covers."""
        covered = {number for summary in self.summaries for number in summary.rounds}
        return [one for one in self.history.rounds if one.number not in covered]

    def find_rounds(self, numbers: Iterable[int]) -> list[Round]:
        """Return these rounds as far as they are on the active path."""
        return [self._rounds[number] for number in numbers if number in self._rounds]

    def is_stale(self, stored: StoredRecap) -> bool:
        """Return whether the rounds have changed since the text was made."""
        return stored.source_hash != hash_rounds(self.find_rounds(stored.rounds))

    def find_heard(self, task: RecapTask) -> tuple[int, ...]:
        """Return the numbers of the messages that the text of a task is made from.

        A recap says nothing of rounds whose summary has no text, because a person removed it.
        """
        ids = {ident for ident, _ in task.sources}
        sources = [one for one in self.summaries if one.id in ids and one.text]
        rounds = task.rounds if task.kind == "summary" else [number for one in sources for number in one.rounds]
        numbers = {number for one in self.find_rounds(rounds) for number in one.public_numbers}
        return tuple(sorted(numbers.union(*(one.heard for one in sources))))

    def is_waiting(self, task: RecapTask) -> bool:
        """Return whether a new summary can still be stored: none of its rounds has one, and they are what they were."""
        rounds = [one for one in self.unsummarised if one.number in task.rounds]
        is_new = task.kind == "summary" and task.replaces is None
        return is_new and len(rounds) == len(task.rounds) and hash_rounds(rounds) == task.source_hash

    def find_previous_recap(self, number: int, heard: Iterable[int]) -> str:
        """Return the text of the last recap before a round of this path; empty if there is none.

        Whoever heard these messages must know that text too, because a model that reads it may repeat it.
        """
        audience = self.attendance.find_audience(heard)
        earlier = [
            one
            for one in self.recaps
            if one.last_round < number
            and self.find_rounds(one.rounds)
            and is_known_to_all(find_recap_audience(one, self.attendance), audience)
        ]
        return max(earlier, key=lambda one: one.last_round).text if earlier else ""

    def find_summaries(self, numbers: Iterable[int]) -> list[StoredRecap]:
        """Return the summaries that cover any of these rounds."""
        wanted = set(numbers)
        return [one for one in self.summaries if wanted.intersection(one.rounds)]

    def find_newest_recap(self) -> StoredRecap | None:
        """Return the recap that reaches furthest along the active path."""
        on_path = [one for one in self.recaps if self.find_rounds(one.rounds)]
        return max(on_path, key=lambda one: one.last_round, default=None)


def load_schedule(reading: ReadTransaction, conversation_id: str) -> RecapSchedule:
    """Load the schedule of a conversation."""
    return RecapSchedule(
        load_rounds(reading, conversation_id),
        *load_stored_recaps(reading, conversation_id),
        load_attendance(reading, conversation_id),
    )


def is_nothing_due(reading: ReadTransaction, conversation_id: str, rules: RecapRules) -> bool:
    """Return whether the newest rounds alone show that nothing has to be written; False where they do not.

    While the counters of a conversation are below those from which more is due, messages were only added or corrected
    since everything due was written. So all older rounds have their texts, and the rounds to look at are those of the
    newest recap, of summaries in no recap, and after these.
    """
    row = reading.require(conversations, id=conversation_id)
    counters = (row.rounds, row.recap_due), (row.said, row.said_due), (row.tokens, row.tokens_due)
    if any(count >= due for count, due in counters):
        return False
    all_recaps = _sort_stored(reading.query(_RECAPS, conversation=conversation_id))
    newest = max(all_recaps, key=lambda one: one.last_round, default=None)
    since = newest.first_round if newest is not None else 0
    some_summaries = _sort_stored(reading.query(_LATEST_SUMMARIES, conversation=conversation_id, since=since))
    texts = some_summaries if newest is None else (*some_summaries, newest)
    if not texts or not all(one.rounds and one.heard for one in texts):
        return False
    first, number = min(one.first_round for one in texts), min(min(one.heard) for one in texts)
    history = load_latest_rounds(reading, row, first, number)
    if history is None:
        return False
    schedule = RecapSchedule(history, some_summaries, all_recaps, load_attendance(reading, conversation_id))
    if schedule.find_newest_recap() is not newest:
        return False
    return next(plan_tasks(schedule, rules), None) is None


def load_version(reading: ReadTransaction, conversation_id: str) -> ScheduleVersion | None:
    """Load only the version of a schedule, which is cheaper; None if the conversation is gone."""
    row = reading.row(conversations, id=conversation_id)
    return None if row is None else (read_struct(ConversationState, row), *load_stored_recaps(reading, conversation_id))


def plan_tasks(
    schedule: RecapSchedule, rules: RecapRules, rebuild_before: str = "", latest: str = _LAST_TIME
) -> Iterator[RecapTask]:
    """Plan everything that can be written now; texts made before the time `rebuild_before` are written again.

    So are those that claim to be made after the time `latest`: the clock was wrong.
    """
    newest = schedule.find_newest_recap()
    newest_rounds = set(newest.rounds) if newest is not None else set()
    has_stale_summaries = False
    for summary in schedule.summaries:
        rounds = schedule.find_rounds(summary.rounds)
        by_model = summary.origin == "model"
        rebuild = (
            bool(rebuild_before)
            and not rebuild_before <= summary.created_at <= latest
            and (by_model or not summary.text)
        )
        refresh = by_model and (not summary.in_recap or bool(newest_rounds.intersection(summary.rounds)))
        if rounds and (rebuild or (refresh and schedule.is_stale(summary))):
            has_stale_summaries = True
            yield _make_task("summary", rounds, replaces=summary)
    for group in _group_rounds(schedule, rules):
        yield _make_task("summary", group)
    if not has_stale_summaries:
        yield from _plan_recaps(schedule, rules, newest, rebuild_before, latest)


def find_recap_audience(stored: StoredRecap, attendance: Attendance) -> frozenset[str] | None:
    """Return who may know a summary or recap: whoever heard all that it was made from; None for everybody.

    Texts of older stores do not say what they were made from; they are for those who were there from the beginning.
    """
    if stored.heard or not attendance.is_recorded:
        return attendance.find_audience(stored.heard)
    return frozenset(one.participant_id for one in attendance.ranges if not one.since and one.until is None)


def is_known_to_all(known_to: frozenset[str] | None, audience: frozenset[str] | None) -> bool:
    """Return whether everybody of an audience knows what is known to some; None stands for everybody."""
    return known_to is None or (audience is not None and audience <= known_to)


def _group_rounds(schedule: RecapSchedule, rules: RecapRules) -> list[list[Round]]:
    """Group the rounds that wait for a summary: as many as one summary has, all heard by the same participants.

    Of the rest, the oldest rounds are a group of their own where so much waits that no history window shows it all.
    """
    groups: list[list[Round]] = []
    group: list[Round] = []
    audience: frozenset[str] | None = None
    waiting = schedule.unsummarised
    for one in waiting:
        if not one.is_complete:
            continue
        own = schedule.attendance.find_audience(one.public_numbers)
        if group and own != audience:
            groups.append(group)
            group = []
        audience = own
        group.append(one)
        if len(group) >= rules.rounds_per_summary or _is_over(group, rules.max_messages, rules.max_tokens):
            groups.append(group)
            group = []
    rest = [one for one in waiting if one in group or not one.is_complete]
    count = 0
    while count < len(group) and _is_over(rest[count:], rules.max_messages, rules.shown_tokens):
        count += 1
    return [*groups, group[:count]] if count else groups


def _is_over(rounds: Iterable[Round], max_messages: int, max_tokens: int) -> bool:
    """Return whether rounds have more messages or tokens than that."""
    messages = tokens = 0
    for one in rounds:
        messages, tokens = messages + len(one.messages), tokens + one.token_estimate
    return messages > max_messages or tokens > max_tokens


def find_surplus_recaps(schedule: RecapSchedule, rules: RecapRules) -> list[str]:
    """Return the oldest recaps, which must be dropped when one more is added."""
    if rules.max_recaps <= 0:
        return []
    by_age = sorted(schedule.recaps, key=lambda one: (one.last_round, one.created_at, one.id))
    return [one.id for one in by_age[: max(len(by_age) + 1 - rules.max_recaps, 0)]]


def _plan_recaps(
    schedule: RecapSchedule, rules: RecapRules, newest: StoredRecap | None, rebuild_before: str, latest: str
) -> Iterator[RecapTask]:
    for recap in schedule.recaps:
        rebuild = bool(rebuild_before) and not rebuild_before <= recap.created_at <= latest
        if recap.origin == "model" and (rebuild or (recap is newest and schedule.is_stale(recap))):
            sources = [one for one in schedule.find_summaries(recap.rounds) if schedule.find_rounds(one.rounds)]
            if any(one.text for one in sources):
                yield _make_recap_task(schedule, sources, replaces=recap)
    groups = _group_summaries(schedule, rules, rebuild=bool(rebuild_before))
    ages = sorted([one.last_round for one in schedule.recaps] + [group[-1].last_round for group in groups])
    oldest_kept = ages[-rules.max_recaps] if 0 < rules.max_recaps < len(ages) else 0
    for group in groups:
        has_text = any(one.text for one in group) and group[-1].last_round >= oldest_kept
        if has_text or not all(one.in_recap for one in group):
            yield _make_recap_task(schedule, group, without_text=not has_text)


def _group_summaries(schedule: RecapSchedule, rules: RecapRules, *, rebuild: bool) -> list[list[StoredRecap]]:
    """Group the summaries of the path that are in no recap yet, each group with enough rounds for one.

    Where others were present afterwards, a group ends early. A single summary stays what it is then.
    """
    covered = {number for recap in schedule.recaps for number in recap.rounds}
    groups: list[list[StoredRecap]] = []
    group: list[StoredRecap] = []
    for summary in sorted(schedule.summaries, key=lambda one: one.rounds):
        is_free = not covered.intersection(summary.rounds) if rebuild else not summary.in_recap
        if not is_free or not schedule.find_rounds(summary.rounds):
            continue
        own = find_recap_audience(summary, schedule.attendance)
        if group and own != find_recap_audience(group[-1], schedule.attendance):
            if len(group) > 1:
                groups.append(group)
            group = []
        group.append(summary)
        if sum(len(one.rounds) for one in group) >= rules.rounds_per_recap:
            groups.append(group)
            group = []
    return groups


def _make_recap_task(schedule: RecapSchedule, sources: Sequence[StoredRecap], **options: Any) -> RecapTask:
    rounds = schedule.find_rounds(sorted({number for one in sources for number in one.rounds}))
    return _make_task("recap", rounds, sources=tuple([(one.id, one.version) for one in sources]), **options)


def _make_task(
    kind: RecapKind, rounds: Sequence[Round], *, replaces: StoredRecap | None = None, **options: Any
) -> RecapTask:
    return RecapTask(
        kind=kind,
        rounds=tuple([one.number for one in rounds]),
        source_hash=hash_rounds(rounds),
        replaces=None if replaces is None else (replaces.id, replaces.version),
        **options,
    )


def load_stored_recaps(
    reading: ReadTransaction, conversation_id: str
) -> tuple[tuple[StoredRecap, ...], tuple[StoredRecap, ...]]:
    """Load the summaries and the recaps of a conversation, each in order."""
    found = (reading.query(query, conversation=conversation_id) for query in (_SUMMARIES, _RECAPS))
    all_summaries, all_recaps = map(_sort_stored, found)
    return all_summaries, all_recaps


def _sort_stored(rows: Iterable[Row[Any]]) -> tuple[StoredRecap, ...]:
    stored = [read_struct(StoredRecap, row) for row in rows]
    return tuple(sorted(stored, key=lambda one: (one.place, one.rounds, one.created_at, one.id)))
