"""Store, edit, confirm, dismiss, forget and list memories, and the writer's profile (mem-1, mem-2, mem-5).

A transaction has two owners, a project and a user; `scope` says to which of them a memory belongs. Only
confirmed memories enter a prompt. Proposals wait until the writer confirms or dismisses them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import msgspec
from msgspec.structs import replace
from sqlalchemy import Table

from fabula.core.errors import Code, FabulaError
from fabula.core.fragment import is_encodable
from fabula.core.ids import current_timestamp, is_valid_id, new_id
from fabula.core.story import Position
from fabula.memory.confidence import STATED_CONFIDENCE, compute_confidence
from fabula.memory.deduplicate import MeaningIndex
from fabula.memory.model import Memory, MemoryItem, MemoryKind, MemoryOrigin, MemoryScope, MemoryState, WriterProfile
from fabula.memory.outcomes import remove_supporting_outcomes
from fabula.memory.tables import make_memory_item, make_row, memories, profiles, user_memories
from fabula.store.transaction import ReadTransaction, WriteTransaction

MAX_MEMORIES = 1_000  # of one project or user
MAX_CHARS = 2_000
_TABLES: Mapping[str, Table] = {MemoryScope.PROJECT: memories, MemoryScope.USER: user_memories}
_FIXED = frozenset({"id", "version", "created_at"})
_NOT_IN_SNAPSHOT = ("evidence", "version", "created_at", "votes_for", "votes_against", "last_vote_at")


def add_memory(tx: WriteTransaction, memory: MemoryItem, *, scope: MemoryScope = MemoryScope.PROJECT) -> str:
    """Add a memory without looking for duplicates; return its id."""
    table, ident = get_table(scope), memory.id or new_id()
    if not is_valid_id(ident):
        raise _refused(f"{ident!r} cannot be the id of a memory: leave out spaces, slashes and `|`.")
    _check(memory, scope)
    if tx.count(table) >= MAX_MEMORIES:
        raise _refused(f"{MAX_MEMORIES} memories are as many as are kept for one {scope}. Forget some first.")
    tx.insert(table, {"id": ident, "made": memory.created_at or current_timestamp(), **make_row(memory)})
    return ident


def remember(
    tx: WriteTransaction,
    text: str,
    *,
    kind: MemoryKind = MemoryKind.PREFERENCE,
    scope: MemoryScope = MemoryScope.PROJECT,
    since: Position | None = None,
) -> MemoryItem:
    """Store what the writer states, as confirmed; a memory that says the same takes the new text instead."""
    text = text.strip()
    if len(text) > MAX_CHARS:
        raise _refused(f"A memory has at most {MAX_CHARS:,} characters, and this has {len(text):,}. Say it shorter.")
    memory = MemoryItem(text=text, kind=kind, origin=MemoryOrigin.STATED, confidence=STATED_CONFIDENCE, since=since)
    duplicate = _find_duplicate(list_memories(tx, scope=scope, kind=kind), memory)
    if duplicate is None:
        return get_memory(tx, add_memory(tx, memory, scope=scope), scope=scope)
    values = {
        "text": text,
        "state": MemoryState.CONFIRMED,
        "origin": MemoryOrigin.STATED,
        "confidence": STATED_CONFIDENCE,
    }
    edit_memory(tx, duplicate.id, values, scope=scope)
    return get_memory(tx, duplicate.id, scope=scope)


def edit_memory(
    tx: WriteTransaction,
    memory_id: str,
    values: Mapping[str, Any],
    *,
    scope: MemoryScope = MemoryScope.PROJECT,
    expected: int | None = None,
) -> int:
    """Change the text, the state or the evidence of a memory; return the new version.

    A learnt memory whose text the writer changes becomes a stated one.
    """
    before = get_memory(tx, memory_id, scope=scope)
    unknown = set(values) - set(MemoryItem.__struct_fields__) | _FIXED & set(values)
    if unknown:
        raise _refused(f"Of a memory, {', '.join(sorted(unknown))} cannot be changed.")
    is_reworded = before.origin is MemoryOrigin.LEARNED and values.get("text", before.text) != before.text
    defaults = {"origin": MemoryOrigin.STATED, "confidence": STATED_CONFIDENCE} if is_reworded else {}
    try:
        memory = msgspec.convert(msgspec.to_builtins(replace(before, **{**defaults, **values})), MemoryItem)
    except (msgspec.ValidationError, TypeError) as error:
        raise _refused(f"The memory cannot be changed like this: {error}.") from error
    _check(memory, scope)
    return tx.update_row(get_table(scope), {"id": memory_id}, make_row(memory), expected=expected)


def confirm_memory(
    tx: WriteTransaction,
    memory_id: str,
    *,
    today: str,
    scope: MemoryScope = MemoryScope.PROJECT,
    expected: int | None = None,
) -> MemoryItem:
    """Confirm a proposal, or confirm again a memory whose confidence has decayed."""
    memory = replace(get_memory(tx, memory_id, scope=scope), state=MemoryState.CONFIRMED)
    memory = replace(memory, last_vote_at=max(memory.last_vote_at, today))
    values = {
        "state": MemoryState.CONFIRMED,
        "last_vote_at": memory.last_vote_at,
        "confidence": compute_confidence(memory, today),
    }
    edit_memory(tx, memory_id, values, scope=scope, expected=expected)
    return get_memory(tx, memory_id, scope=scope)


def dismiss_memory(
    tx: WriteTransaction, memory_id: str, *, scope: MemoryScope = MemoryScope.PROJECT, expected: int | None = None
) -> MemoryItem:
    """Dismiss a proposal; it stays stored, so that it is not proposed again on the same evidence."""
    edit_memory(tx, memory_id, {"state": MemoryState.DISMISSED}, scope=scope, expected=expected)
    return get_memory(tx, memory_id, scope=scope)


def forget_memory(
    tx: WriteTransaction, memory_id: str, *, scope: MemoryScope = MemoryScope.PROJECT, expected: int | None = None
) -> None:
    """Delete a memory with the outcomes that support it, so that it cannot be learnt again from them."""
    table = get_table(scope)
    memory = get_memory(tx, memory_id, scope=scope)
    tx.update_row(table, {"id": memory_id}, {}, expected=expected)
    tx.delete_rows(table, table.c.id == memory_id)
    if tx.has_owner("project"):
        remove_supporting_outcomes(tx, memory)


def move_to_user(tx: WriteTransaction, memory_id: str) -> MemoryItem:
    """Move a memory of the project to the user, without its quotations from the book."""
    memory = get_memory(tx, memory_id)
    if memory.since is not None or memory.kind is MemoryKind.WORKING:
        raise _refused("This is tied to a place in this book.")
    tx.delete_rows(memories, memories.c.id == memory_id)
    duplicate = _find_duplicate(list_memories(tx, scope=MemoryScope.USER, kind=memory.kind), memory)
    if duplicate is None:
        moved = replace(memory, evidence=(), id="" if tx.row(user_memories, id=memory.id) else memory.id)
        return get_memory(tx, add_memory(tx, moved, scope=MemoryScope.USER), scope=MemoryScope.USER)
    values = {
        "state": memory.state,
        "votes_for": duplicate.votes_for + memory.votes_for,
        "votes_against": duplicate.votes_against + memory.votes_against,
        "confidence": max(duplicate.confidence, memory.confidence),
    }
    edit_memory(tx, duplicate.id, values, scope=MemoryScope.USER)
    return get_memory(tx, duplicate.id, scope=MemoryScope.USER)


def get_memory(reading: ReadTransaction, memory_id: str, *, scope: MemoryScope = MemoryScope.PROJECT) -> MemoryItem:
    """Return one memory."""
    return make_memory_item(reading.require(get_table(scope), id=memory_id))


def list_memories(
    reading: ReadTransaction,
    *,
    scope: MemoryScope = MemoryScope.PROJECT,
    kind: MemoryKind | None = None,
    state: MemoryState | None = None,
) -> list[MemoryItem]:
    """Return memories, oldest first: all, or those of one kind or state."""
    table = get_table(scope)
    where = [] if kind is None else [table.c.kind == MemoryKind(kind).value]
    where += [] if state is None else [table.c.state == MemoryState(state).value]
    return [make_memory_item(row) for row in reading.rows(table, *where, order=(table.c.made, table.c.id))]


def find_contradictions(items: Sequence[MemoryItem]) -> dict[str, list[str]]:
    """Return for each preference the preferences that say the opposite, by id; dismissed ones are ignored."""
    texts = {
        one.id: one.text
        for one in items
        if one.kind is MemoryKind.PREFERENCE and one.state is not MemoryState.DISMISSED
    }
    index = MeaningIndex(texts.items())
    return {ident: opposite for ident, text in texts.items() if (opposite := index.find_opposite(text))}


def save_snapshot(tx: WriteTransaction, memory: Memory, *, scope: MemoryScope = MemoryScope.PROJECT) -> int:
    """Save all memories of a snapshot, replacing those with the same id; return how many were written."""
    table = get_table(scope)
    stored = {row.id: make_memory_item(row) for row in tx.rows(table)}
    items = [item for item in _list_items(memory) if item.text.strip()]
    start, new_rows, updated = datetime.fromisoformat(current_timestamp()), [], 0
    for number, item in enumerate(items):
        _check(item, scope)
        old = stored.get(item.id)
        if old is None:
            # Each a microsecond later, so that sorting by time keeps their order.
            created_at = (start + timedelta(microseconds=number)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
            new_rows.append({"id": item.id, "made": created_at, **make_row(item)})
            continue
        changed = replace(item, **{name: getattr(old, name) for name in _NOT_IN_SNAPSHOT})
        if changed != old:
            tx.update_row(table, {"id": item.id}, make_row(changed))
            updated += 1
    tx.insert(table, *new_rows)
    return updated + len(new_rows)


def get_profile(reading: ReadTransaction) -> WriterProfile:
    """Return the writer's profile (mem-5)."""
    row = reading.row(profiles)
    return WriterProfile() if row is None else WriterProfile(text=row.text, version=row.version, changed_at=row.changed)


def write_profile(tx: WriteTransaction, text: str, *, expected: int | None = None) -> int:
    """Replace the writer's profile; return the new version. Version 0 is a profile that was never written."""
    values = {"text": text.strip(), "changed": current_timestamp()}
    if tx.row(profiles) is not None:
        return tx.update_row(profiles, {}, values, expected=expected)
    if expected:
        raise FabulaError(
            Code.STORE_CONFLICT,
            f"There is no profile yet, and you have version {expected} of one. Load it again. Nothing was changed.",
            current=0,
            expected=expected,
        )
    tx.insert(profiles, values)
    return 1


def find_duplicate(items: Sequence[MemoryItem], text: str) -> MemoryItem | None:
    """Return the first memory that says the same as the text."""
    same = MeaningIndex((item.id, item.text) for item in items).find_same(text)
    return next((item for item in items if item.id == same[0]), None) if same else None


def get_table(scope: MemoryScope) -> Table:
    """Return the table of a scope."""
    table = _TABLES.get(scope)
    if table is None:
        raise _refused(f"A memory belongs to a project or to a user, not to {scope!r}.")
    return table


def _find_duplicate(items: Sequence[MemoryItem], memory: MemoryItem) -> MemoryItem | None:
    return find_duplicate([item for item in items if item.since == memory.since], memory.text)


def _list_items(memory: Memory) -> Iterator[MemoryItem]:
    """List the memories of a snapshot with unique ids; in a snapshot two kinds may use the same id."""
    used: set[str] = set()

    def make_unique(ident: str, kind: MemoryKind) -> str:
        while ident in used:
            ident = f"{kind.value}-{ident}"
        used.add(ident)
        return ident

    for preference in memory.preferences:
        ident = make_unique(preference.id, MemoryKind.PREFERENCE)
        yield MemoryItem(id=ident, text=preference.text, confidence=preference.confidence, since=preference.since)
    kinds = (
        (MemoryKind.STYLE_SAMPLE, memory.style_samples),
        (MemoryKind.EPISODE, memory.episodes),
        (MemoryKind.WORKING, memory.working_notes),
    )
    for kind, notes in kinds:
        for note in notes:
            yield MemoryItem(id=make_unique(note.id, kind), kind=kind, text=note.text, since=note.since)


def _check(memory: MemoryItem, scope: MemoryScope) -> None:
    if not memory.text.strip():
        raise FabulaError(Code.TEXT_INVALID, "A memory needs a few words. Nothing was changed.")
    if (
        memory.kind not in tuple(MemoryKind)
        or memory.state not in tuple(MemoryState)
        or memory.origin not in tuple(MemoryOrigin)
    ):
        raise _refused(f"There is no kind {memory.kind!r}, no state {memory.state!r} or no origin {memory.origin!r}.")
    if isinstance(memory.confidence, bool) or not 0 <= memory.confidence <= 1:
        raise _refused(f"We are sure of a memory from 0 to 1, not {memory.confidence!r}.")
    if min(memory.votes_for, memory.votes_against) < 0:
        raise _refused("No fewer than no outcomes can speak for a memory or against it.")
    if not all(is_encodable(text) for text in memory.evidence):
        raise _refused("The evidence holds half a character (a lone surrogate). Remove it.")
    since = memory.since
    if since is not None and (scope == MemoryScope.USER or not since.document or since.offset < 0):
        raise _refused("What a person likes is tied to no place in a story; in a project, name a document.")


def _refused(sentence: str) -> FabulaError:
    return FabulaError(Code.REQUEST_INVALID, f"{sentence} Nothing was changed.")
