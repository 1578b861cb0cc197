"""Write the summaries and recaps that are due, in the background (cnv-6).

Every few rounds become a summary; every few summaries become an entry of the recap list. Transactions are
short, and none is open while the model writes. A result is stored only if the current plan still contains its
task. So two refreshes at once write nothing twice, and a text that was made from messages corrected meanwhile
is not stored. After a failure these rounds have no recap; raw text is never stored in its place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from msgspec import Struct
from msgspec.structs import replace

from fabula.conversation.model import ConversationState
from fabula.conversation.recaps.model import (
    RecapEntry,
    RecapFailure,
    RecapInput,
    RecapRefreshResult,
    RecapRules,
    TranscriptLine,
    WriteRecap,
)
from fabula.conversation.recaps.prompt import check_answer, load_transcript, shorten_transcript
from fabula.conversation.recaps.schedule import (
    RecapSchedule,
    RecapTask,
    find_surplus_recaps,
    is_nothing_due,
    load_schedule,
    load_version,
    plan_tasks,
)
from fabula.conversation.snapshot import load_added_messages
from fabula.conversation.tables import conversations, recaps, summaries
from fabula.core.errors import FabulaError
from fabula.core.ids import current_timestamp, new_id
from fabula.core.view import Language
from fabula.store.rows import make_row, read_struct
from fabula.store.store import Store
from fabula.store.transaction import ReadTransaction, WriteTransaction

MAX_CALLS = 10  # calls of the model in one refresh
_MAX_ATTEMPTS = 5  # to store a text while the conversation changes

_KEPT = ("version", "stacked", "place")  # columns that a new text does not change


def refresh_recaps(
    store: Store,
    project_id: str,
    conversation_id: str,
    *,
    write_recap: WriteRecap,
    language: Language = "en",
    rules: RecapRules | None = None,
    rebuild_before: str = "",
    check: Callable[[], None] = lambda: None,
) -> RecapRefreshResult:
    """Write what is due, with at most ten calls; texts made before the time `rebuild_before` are written again.

    `check` is called before each call and may raise, which ends the refresh. What was written is kept.
    """
    result = RecapRefreshResult()
    rules = rules or RecapRules()
    if not rules.enabled:
        result.disabled = True
        return result
    refresh = _Refresh(store, project_id, conversation_id, language, rules, rebuild_before)
    if refresh.is_nothing_due():
        return result
    skipped: set[RecapTask] = set()
    calls = 0
    while True:
        schedule = refresh.load_schedule()
        task = next((task for task in refresh.plan(schedule) if task not in skipped), None)
        if task is None:
            break
        if calls >= MAX_CALLS:
            result.has_more = True
            return result
        check()
        loaded, entry = refresh.load_input(schedule, task), None
        if loaded is not None:
            recap_input, sources = loaded
            calls += bool(recap_input.lines)
            try:
                text = ""
                if recap_input.lines:
                    text = check_answer(write_recap(recap_input), rules.max_chars, sources=sources)
            except FabulaError as error:
                check()
                skipped.add(task)
                result.failures.append(RecapFailure(task.kind, task.rounds, error.code, error.message))
                continue
            entry = refresh.store_text(schedule, task, text)
        if entry is None:
            skipped.add(task)
            result.superseded.append(task.rounds)
        elif entry.text:
            result.entries.append(entry)
    if not result.failures and not result.superseded:
        refresh.finish(schedule)
    return result


class _Refresh(Struct, frozen=True):
    """A refresh of one conversation."""

    store: Store
    project_id: str
    conversation_id: str
    language: Language
    rules: RecapRules
    rebuild_before: str

    def load_schedule(self) -> RecapSchedule:
        with self.store.read(project=self.project_id) as reading:
            return load_schedule(reading, self.conversation_id)

    def is_nothing_due(self) -> bool:
        """Return whether a look at the newest rounds shows that there is nothing to write."""
        if self.rebuild_before:
            return False
        with self.store.read(project=self.project_id) as reading:
            return is_nothing_due(reading, self.conversation_id, self.rules)

    def plan(self, schedule: RecapSchedule) -> Iterator[RecapTask]:
        return plan_tasks(schedule, self.rules, self.rebuild_before, max(current_timestamp(), self.rebuild_before))

    def load_input(self, schedule: RecapSchedule, task: RecapTask) -> tuple[RecapInput, list[str]] | None:
        """Load the input for the model and the texts that its answer must not repeat; None if messages changed."""
        with self.store.read(project=self.project_id) as reading:
            transcript = load_transcript(reading, schedule.find_rounds(task.rounds), self.language)
        if transcript is None:
            return None
        lines, previous_recap = transcript, schedule.find_previous_recap(task.rounds[0], schedule.find_heard(task))
        if task.kind == "recap":
            ids = set() if task.without_text else {ident for ident, _ in task.sources}
            lines = tuple([TranscriptLine("", one.text) for one in schedule.summaries if one.id in ids and one.text])
        recap_input = RecapInput(
            kind=task.kind,
            lines=shorten_transcript(lines),
            previous_recap=previous_recap,
            language=self.language,
            max_chars=self.rules.max_chars,
            timeout=self.rules.timeout,
        )
        return recap_input, [*(line.render(self.language) for line in transcript), previous_recap]

    def store_text(self, schedule: RecapSchedule, task: RecapTask, text: str) -> RecapEntry | None:
        """Store a text if the plan still contains its task; return None if not."""
        for _ in range(_MAX_ATTEMPTS):
            with self.store.write(project=self.project_id) as tx:
                if self._is_current(tx, schedule):
                    return self._store_text(tx, schedule, task, text)
            try:
                schedule = self.load_schedule()
            except FabulaError:
                return None  # the conversation was removed
            if not schedule.is_waiting(task) and task not in self.plan(schedule):
                return None
        return None

    def _is_current(self, reading: ReadTransaction, schedule: RecapSchedule) -> bool:
        """Return whether the conversation has only grown since the schedule was loaded, so that its tasks still stand.

        People go on talking while a text is written: in a long conversation one message comes before all are read.
        """
        version, state = load_version(reading, self.conversation_id), schedule.history.state
        if version is None or version[1:] != schedule.version[1:]:
            return False
        new = version[0]
        return new == state or load_added_messages(reading, self.conversation_id, state, new) is not None

    def finish(self, schedule: RecapSchedule) -> None:
        """Store when the next recap is due; after a rebuild, remove the texts of other branches."""
        history, waiting = schedule.history, schedule.unsummarised
        said, tokens = sum(len(one.messages) for one in waiting), sum(one.token_estimate for one in waiting)
        due = {
            "recap_due": history.round_count - len(waiting) + self.rules.rounds_per_summary,
            "said_due": history.state.message_count - said + self.rules.max_messages + 1,
            "tokens_due": history.token_count - tokens + self.rules.shown_tokens + 1,
        }
        removed = [
            (table, one.id)
            for table, stored in ((summaries, schedule.summaries), (recaps, schedule.recaps))
            for one in stored
            if self.rebuild_before and one.origin == "model" and one.rounds and not schedule.find_rounds(one.rounds)
        ]
        if due == history.due and not removed:
            return
        with self.store.write(project=self.project_id) as tx:
            row = tx.row(conversations, id=self.conversation_id)
            if row is None or read_struct(ConversationState, row) != schedule.history.state:
                return
            for table, ident in removed:
                tx.delete_rows(table, table.c.id == ident)
            if due != history.due:
                tx.update_rows(conversations, due, conversations.c.id == self.conversation_id)

    def _store_text(self, tx: WriteTransaction, schedule: RecapSchedule, task: RecapTask, text: str) -> RecapEntry:
        ident, version = task.replaces or (new_id(), 1)
        entry = RecapEntry(
            id=ident,
            kind=task.kind,
            text=text,
            created_at=max(tx.current_time(), self.rebuild_before),
            rounds=task.rounds,
            origin="model",
            source_hash=task.source_hash,
            freshness="fresh",
            version=version,
            heard=schedule.find_heard(task),
        )
        table = summaries if task.kind == "summary" else recaps
        values = {name: value for name, value in make_row(table, entry).items() if name not in _KEPT}
        if task.kind == "summary":
            values |= {"first_round": task.rounds[0], "last_round": task.rounds[-1]}
        else:
            tx.update_rows(summaries, {"stacked": 1}, summaries.c.id.in_([ident for ident, _ in task.sources]))
        if task.replaces is not None:
            return replace(entry, version=tx.update_row(table, {"id": ident}, values, expected=version))
        if task.kind == "recap" and text:
            tx.delete_rows(recaps, recaps.c.id.in_(find_surplus_recaps(schedule, self.rules)))
            values["place"] = _make_place(tx, schedule, task.rounds[-1])
        if task.kind == "summary" or text:
            tx.insert(table, {**values, "conversation_id": self.conversation_id})
        return entry


def _make_place(tx: WriteTransaction, schedule: RecapSchedule, last_round: int) -> int:
    """Return the place of a new recap: in front of the recaps of later rounds, which exist only in a rebuild."""
    later = [one.place for one in schedule.recaps if one.last_round > last_round]
    if not later:
        return max((one.place for one in schedule.recaps), default=0) + 1
    place = min(later)
    moved = [one.id for one in schedule.recaps if one.place >= place]
    tx.update_rows(recaps, {"place": recaps.c.place + 1}, recaps.c.id.in_(moved))
    return place
