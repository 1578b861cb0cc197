"""What a person can do with memory: remember, confirm, dismiss, edit, forget, learn and preview (mem-2, mem-3)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct

from fabula.constraints import Constraint, ConstraintKind, ConstraintOrigin
from fabula.constraints import edits as constraint_edits
from fabula.context.recipes import UserProfile
from fabula.context.request import Request
from fabula.core.errors import Code, FabulaError
from fabula.core.ids import current_timestamp
from fabula.core.messages import join_alternatives, message
from fabula.core.story import Position
from fabula.manuscript.tables import documents
from fabula.memory import edits
from fabula.memory.confidence import MIN_CONFIDENCE, compute_confidence
from fabula.memory.learning import analyse_outcomes, learn
from fabula.memory.model import (
    Decision,
    MemoryItem,
    MemoryKind,
    MemoryOrigin,
    MemoryScope,
    MemoryState,
    SuggestionOutcome,
)
from fabula.memory.outcomes import format_episode, record_outcome
from fabula.memory.preview import MemoryPreview, preview_memory
from fabula.settings.values import get_value
from fabula.store.transaction import ReadTransaction, WriteTransaction
from fabula.text.lookup import find_by_name
from fabula.workspace.arguments import read_choice
from fabula.workspace.constraints import find_same_rule
from fabula.workspace.story_places import find_chapter, read_place
from fabula.workspace.verbs import ProjectVerbs, label_addition, label_change, label_removal

REMEMBERED_KINDS = (MemoryKind.PREFERENCE, MemoryKind.EPISODE)  # what a person can state; samples are chosen


class MemoryRecord(Struct, frozen=True, kw_only=True):
    """A memory as people see it: with its confidence of today, and the ids of the memories that it contradicts.

    A learnt memory of which too little is left is resting: it is kept and not used.
    """

    item: MemoryItem
    scope: MemoryScope
    confidence: float
    is_resting: bool
    contradicts: tuple[str, ...] = ()
    number: int = 0  # among all memories of the project and of the person


class _NumberedMemory(Struct, frozen=True):
    """A memory with where it belongs, and its number among those of the project and of the person."""

    item: MemoryItem
    scope: MemoryScope
    number: int


class LearningReport(Struct, frozen=True, kw_only=True):
    """What was learnt from outcomes: new proposals, and the ids of memories that changed or were withdrawn."""

    outcome_count: int
    proposed: tuple[MemoryRecord, ...]
    changed: tuple[str, ...]
    withdrawn: tuple[str, ...]


class MemoryVerbs(ProjectVerbs):
    """The memory of an open project and of its person; `of_user` means what holds in all the person's books.

    A memory that exists is found by its number, id or text in both; with `of_user`, in the person's alone.
    """

    def list_memories(
        self, *, kind: str | None = None, state: str | None = None, of_user: bool = False
    ) -> list[MemoryRecord]:
        """List memories of the project and of the person, or of the person alone, oldest first."""
        kind = kind and read_choice(kind, MemoryKind, "kind").value
        state = state and read_choice(state, MemoryState, "state").value
        with self._read() as reading:
            found = _list_all(reading)
        contradictions = edits.find_contradictions([one.item for one in found])
        return [
            _make_record(one.item, one.scope, contradictions.get(one.item.id, ()), one.number)
            for one in found
            if kind in (None, one.item.kind.value)
            and state in (None, one.item.state.value)
            and (one.scope is MemoryScope.USER or not of_user)
        ]

    def remember(
        self,
        text: str = "",
        *,
        kind: str = "preference",
        outcome: str = "",
        since: str | None = None,
        of_user: bool = False,
    ) -> MemoryRecord:
        """Remember a text, or a recorded outcome as an episode; it joins a memory that says the same."""
        if kind not in REMEMBERED_KINDS:
            raise FabulaError(
                Code.REQUEST_INVALID,
                message(
                    "A memory of the kind {kind!r} cannot be stated, only {known}. Nothing was changed.",
                    kind=kind,
                    known=join_alternatives(REMEMBERED_KINDS),
                ),
            )
        scope = MemoryScope.USER if of_user else MemoryScope.PROJECT
        with self._write(label_addition(message("memory"), text)) as tx:
            position = None if since is None else read_place(tx, since)
            if outcome:
                episode, place = format_episode(tx, outcome)
                text, kind, position = text or episode, MemoryKind.EPISODE, position or place
            if not text.strip():
                raise FabulaError(Code.REQUEST_INVALID, message("Say what to remember. Nothing was changed."))
            return _make_record(
                edits.remember(tx, text, kind=read_choice(kind, MemoryKind, "kind"), scope=scope, since=position), scope
            )

    def confirm(
        self, memory: str, *, everywhere: bool = False, as_constraint: bool = False, of_user: bool = False
    ) -> MemoryRecord:
        """Confirm a proposal, or a memory that fades; perhaps for all books, or as a constraint too."""
        with self._write(label_change(message("memory"), memory)) as tx:
            found = _find(tx, memory, of_user)
            tx.undo_label = label_change(message("memory"), found.item.text)
            scope = found.scope
            item = edits.confirm_memory(tx, found.item.id, today=current_timestamp(), scope=scope)
            if as_constraint:
                _add_constraint(tx, item)
            if everywhere and scope is MemoryScope.PROJECT:
                item, scope = edits.move_to_user(tx, item.id), MemoryScope.USER
        return _make_record(item, scope)

    def dismiss(self, memory: str, *, of_user: bool = False) -> MemoryRecord:
        """Dismiss a proposal; the same evidence does not bring it back."""
        with self._write(label_change(message("memory"), memory)) as tx:
            found = _find(tx, memory, of_user)
            tx.undo_label = label_change(message("memory"), found.item.text)
            return _make_record(edits.dismiss_memory(tx, found.item.id, scope=found.scope), found.scope)

    def edit(
        self,
        memory: str,
        *,
        text: str | None = None,
        confidence: float | None = None,
        since: str | None = None,
        of_user: bool = False,
    ) -> MemoryRecord:
        """Change what is given; a new text counts as the person's own words."""
        given = {"text": text, "confidence": confidence}
        values: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
        with self._write(label_change(message("memory"), memory)) as tx:
            if since is not None:
                values["since"] = read_place(tx, since)
            found = _find(tx, memory, of_user)
            tx.undo_label = label_change(message("memory"), found.item.text)
            return _make_record(edits.edit_memory(tx, found.item.id, values, scope=found.scope), found.scope)

    def forget(self, memory: str, *, of_user: bool = False) -> MemoryRecord:
        """Forget a memory for good, with its evidence; return what it was."""
        with self._write(label_removal(message("memory"), memory)) as tx:
            found = _find(tx, memory, of_user)
            tx.undo_label = label_removal(message("memory"), found.item.text)
            edits.forget_memory(tx, found.item.id, scope=found.scope)
        return _make_record(found.item, found.scope)

    def record_outcome(
        self,
        suggestion: str,
        *,
        rewritten_text: str | None = None,
        rejected: bool = False,
        skill: str = "",
        place: str | None = None,
        memory_sources: Sequence[str] = (),
    ) -> SuggestionOutcome:
        """Record that a suggestion was rejected, rewritten, or otherwise accepted as it was."""
        rewritten = Decision.ACCEPTED if rewritten_text is None else Decision.REWRITTEN
        with self._write() as tx:
            return record_outcome(
                tx,
                SuggestionOutcome(
                    suggestion=suggestion,
                    rewritten_text=rewritten_text or "",
                    decision=Decision.REJECTED if rejected else rewritten,
                    skill=skill,
                    position=None if place is None else read_place(tx, place),
                    memory_sources=tuple(memory_sources),
                ),
            )

    def learn(self) -> LearningReport:
        """Analyse what was accepted, rejected and rewritten, and propose the preferences it shows."""
        with self._read() as reading:  # this may take seconds, in which others can write
            analysis = analyse_outcomes(reading)
        with self._write() as tx:
            result = learn(tx, today=current_timestamp(), analysis=analysis, is_rule=make_rule_test(tx))
            proposed = [edits.get_memory(tx, memory_id) for memory_id in result.proposed]
        return LearningReport(
            outcome_count=result.outcome_count,
            proposed=tuple(_make_record(item, MemoryScope.PROJECT) for item in proposed),
            changed=tuple(result.changed),
            withdrawn=tuple(result.withdrawn),
        )

    def preview(self, request: Request) -> MemoryPreview:
        """Return which memories the prompt of a request would contain, and why it omits the others."""
        recent = self._project.working_memory(current_timestamp())
        result = self._project.inspect(request, working_memory=recent)
        profile = self._view.snapshot(UserProfile)
        return preview_memory(result, profile.text if profile is not None else "")

    def add_sample(self, document: str, *, first: str, last: str) -> MemoryRecord:
        """Copy a passage of a document as an example of the writer's style, by its first and last words."""
        with self._write(label_addition(message("style sample"), first)) as tx:
            row = tx.require(documents, id=find_chapter(tx, document))
            start, end = edits.find_passage(row.text, first, last)
            item = edits.add_style_sample(tx, row.text[start:end], end=Position(row.id, end))
            return _make_record(item, MemoryScope.PROJECT)


def _make_record(
    item: MemoryItem, scope: MemoryScope, contradicts: Sequence[str] = (), number: int = 0
) -> MemoryRecord:
    is_learnt = item.origin is MemoryOrigin.LEARNED and item.state is MemoryState.CONFIRMED
    return MemoryRecord(
        item=item,
        scope=scope,
        confidence=compute_confidence(item, current_timestamp()),
        is_resting=is_learnt and item.confidence < MIN_CONFIDENCE,
        contradicts=tuple(contradicts),
        number=number,
    )


def _add_constraint(tx: WriteTransaction, item: MemoryItem) -> None:
    """Make a memory a constraint, unless one says the same already."""
    if item.since is None and find_same_rule(_list_rules(tx), item.text) is not None:
        return
    constraint = Constraint(
        id=item.id,
        text=item.text,
        kind=ConstraintKind.STYLE,
        origin=ConstraintOrigin.LEARNED,
        created_at=current_timestamp(),
        since=item.since,
    )
    constraint_edits.create(tx, constraint, limit=get_value(tx, "limits.constraints"))


def _list_all(reading: ReadTransaction) -> list[_NumberedMemory]:
    """List the memories of the project and of the person with their numbers, oldest first: a new one is the last."""
    found = [
        (item.created_at, item.id, scope, item)
        for scope in (MemoryScope.PROJECT, MemoryScope.USER)
        for item in edits.list_memories(reading, scope=scope)
    ]
    found.sort(key=lambda one: one[:2])
    return [_NumberedMemory(item, scope, number) for number, (_, _, scope, item) in enumerate(found, start=1)]


def _find(reading: ReadTransaction, memory: str, of_user: bool) -> _NumberedMemory:
    """Find the memory that a number, an id, or the beginning of an id or text means."""
    return find_by_name(
        [one for one in _list_all(reading) if one.scope is MemoryScope.USER or not of_user],
        memory.removeprefix("memory:"),
        what=message("memory"),
        id_of=lambda one: one.item.id,
        names_of=lambda one: (one.item.text,),
        number_of=lambda one: one.number,
    )


def make_rule_test(reading: ReadTransaction) -> Callable[[str], bool]:
    """A function that says whether a constraint says the same as a text already."""
    rules = _list_rules(reading)
    return lambda text: find_same_rule(rules, text) is not None


def _list_rules(reading: ReadTransaction) -> list[Constraint]:
    return [stored.constraint for stored in constraint_edits.list_constraints(reading)]
