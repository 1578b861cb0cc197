"""Store, edit, confirm, dismiss, forget and list memories, style samples and the profile (mem-1, mem-2, mem-5, man-5).

A transaction has two owners, a project and a user; `scope` says to which of them a memory belongs. Only
confirmed memories enter a prompt. Proposals wait until the writer confirms or dismisses them.

A style sample is a passage of the writer's own prose, copied with its position in the manuscript: no prompt contains it
before the story has reached its end. A prompt contains a few samples, those whose share of dialogue fits the scene.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import msgspec
from msgspec.structs import replace
from sqlalchemy import Table

from fabula.core.decoding import explain_decode_error
from fabula.core.errors import Code, FabulaError
from fabula.core.ids import current_timestamp, is_valid_id, new_id
from fabula.core.messages import join_names, message
from fabula.core.story import Position
from fabula.memory.confidence import STATED_CONFIDENCE, compute_confidence
from fabula.memory.deduplicate import MeaningIndex
from fabula.memory.model import (
    MAX_MEMORIES,
    MAX_TEXT,
    Memory,
    MemoryItem,
    MemoryKind,
    MemoryNote,
    MemoryOrigin,
    MemoryScope,
    MemoryState,
    Preference,
    WriterProfile,
    refuse,
)
from fabula.memory.outcomes import remove_supporting_outcomes
from fabula.memory.tables import memories, profiles, user_memories
from fabula.store.rows import make_row, read_struct
from fabula.store.transaction import ReadTransaction, WriteTransaction

MAX_CHARS = 2_000  # that a writer states
MIN_SAMPLE_CHARS, MAX_SAMPLE_CHARS = 20, 1_200
_TABLES: Mapping[str, Table] = {MemoryScope.PROJECT: memories, MemoryScope.USER: user_memories}
_FIXED = frozenset({"id", "version", "created_at"})
_NOT_IN_SNAPSHOT = ("evidence", "version", "created_at", "votes_for", "votes_against", "last_vote_at")


def add_memory(tx: WriteTransaction, memory: MemoryItem, *, scope: MemoryScope = MemoryScope.PROJECT) -> str:
    """Add a memory without looking for duplicates; return its id."""
    table, created_at = get_table(scope), memory.created_at or current_timestamp()
    memory = check_memory(replace(memory, id=memory.id or new_id(), created_at=created_at), scope)
    if not is_valid_id(memory.id):
        raise refuse(message("{id!r} cannot be an id. Leave out spaces, slashes and `|`.", id=memory.id))
    if tx.count(table) >= MAX_MEMORIES:
        raise refuse(message("There are {limit:,} memories already. Forget some first.", limit=MAX_MEMORIES))
    tx.insert(table, _make_values(table, memory))
    return memory.id


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
        raise refuse(
            message(
                "A memory has at most {limit:,} characters, and this one has {length:,}. Say it more briefly.",
                limit=MAX_CHARS,
                length=len(text),
            )
        )
    memory = MemoryItem(text=text, kind=kind, origin=MemoryOrigin.STATED, confidence=STATED_CONFIDENCE, since=since)
    duplicate = _find_duplicate(list_memories(tx, scope=scope, kind=kind), memory)
    if duplicate is None:
        return get_memory(tx, add_memory(tx, memory, scope=scope), scope=scope)
    stated = ("text", "state", "origin", "confidence")
    return store_memory(tx, replace(duplicate, **{name: getattr(memory, name) for name in stated}), scope=scope)


def add_style_sample(
    tx: WriteTransaction, text: str, *, end: Position | None = None, scope: MemoryScope = MemoryScope.PROJECT
) -> MemoryItem:
    """Add a passage as an example of the writer's style; `end` is where it ends in the manuscript."""
    text = text.strip()
    if not MIN_SAMPLE_CHARS <= len(text) <= MAX_SAMPLE_CHARS:
        raise refuse(
            message(
                "A style sample has {minimum} to {maximum:,} characters, and this one has {length:,}. Choose a "
                "passage of a paragraph or two.",
                minimum=MIN_SAMPLE_CHARS,
                maximum=MAX_SAMPLE_CHARS,
                length=len(text),
            )
        )
    return remember(tx, text, kind=MemoryKind.STYLE_SAMPLE, scope=scope, since=end)


def find_passage(text: str, first: str, last: str) -> tuple[int, int]:
    """Return the range of the passage that begins and ends with these words; the beginning must be unique."""
    start = text.find(first)
    end = text.find(last, max(start, 0)) + len(last)
    if not first.strip() or text.count(first) != 1 or end < len(last) or end <= start:
        raise refuse(
            message(
                "This document has no single passage from {first!r} to {last!r}. Copy the words exactly, and enough of "
                "them that they occur once.",
                first=first,
                last=last,
            )
        )
    return start, end


def edit_memory(
    tx: WriteTransaction,
    memory_id: str,
    values: Mapping[str, Any],
    *,
    scope: MemoryScope = MemoryScope.PROJECT,
    expected: int | None = None,
) -> MemoryItem:
    """Change the text, the state or the evidence of a memory; return it as it is stored.

    A learnt memory whose text the writer changes becomes a stated one.
    """
    before = get_memory(tx, memory_id, scope=scope)
    unknown = set(values) - set(MemoryItem.__struct_fields__) | _FIXED & set(values)
    if unknown:
        raise refuse(message("These cannot be changed in a memory: {names}.", names=join_names(sorted(unknown))))
    is_reworded = before.origin is MemoryOrigin.LEARNED and values.get("text", before.text) != before.text
    defaults = {"origin": MemoryOrigin.STATED, "confidence": STATED_CONFIDENCE} if is_reworded else {}
    return store_memory(tx, replace(before, **{**defaults, **values}), scope=scope, expected=expected)


def store_memory(
    tx: WriteTransaction,
    memory: MemoryItem,
    *,
    scope: MemoryScope = MemoryScope.PROJECT,
    expected: int | None = None,
) -> MemoryItem:
    """Store a changed memory; return it with its new version."""
    memory, table = check_memory(memory, scope), get_table(scope)
    version = tx.update_row(table, {"id": memory.id}, _make_values(table, memory), expected=expected)
    return replace(memory, version=version)


def confirm_memory(
    tx: WriteTransaction,
    memory_id: str,
    *,
    today: str,
    scope: MemoryScope = MemoryScope.PROJECT,
    expected: int | None = None,
) -> MemoryItem:
    """Confirm a proposal, or confirm again a memory whose confidence has decayed."""
    memory = get_memory(tx, memory_id, scope=scope)
    memory = replace(memory, state=MemoryState.CONFIRMED, last_vote_at=max(memory.last_vote_at, today))
    confirmed = replace(memory, confidence=compute_confidence(memory, today))
    return store_memory(tx, confirmed, scope=scope, expected=expected)


def dismiss_memory(
    tx: WriteTransaction, memory_id: str, *, scope: MemoryScope = MemoryScope.PROJECT, expected: int | None = None
) -> MemoryItem:
    """Dismiss a proposal; it stays stored, so that it is not proposed again on the same evidence."""
    return edit_memory(tx, memory_id, {"state": MemoryState.DISMISSED}, scope=scope, expected=expected)


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
        raise refuse(message("This memory belongs to a place in this book."))
    tx.delete_rows(memories, memories.c.id == memory_id)
    duplicate = _find_duplicate(list_memories(tx, scope=MemoryScope.USER, kind=memory.kind), memory)
    if duplicate is None:
        moved = replace(memory, evidence=(), id="" if tx.row(user_memories, id=memory.id) else memory.id)
        return get_memory(tx, add_memory(tx, moved, scope=MemoryScope.USER), scope=MemoryScope.USER)
    merged = replace(
        duplicate,
        state=memory.state,
        votes_for=duplicate.votes_for + memory.votes_for,
        votes_against=duplicate.votes_against + memory.votes_against,
        confidence=max(duplicate.confidence, memory.confidence),
    )
    return store_memory(tx, merged, scope=MemoryScope.USER)


def get_memory(reading: ReadTransaction, memory_id: str, *, scope: MemoryScope = MemoryScope.PROJECT) -> MemoryItem:
    """Return one memory."""
    return read_struct(MemoryItem, reading.require(get_table(scope), id=memory_id))


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
    return [read_struct(MemoryItem, row) for row in reading.rows(table, *where, order=(table.c.made, table.c.id))]


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
    stored = {item.id: item for item in list_memories(tx, scope=scope)}
    start, new_rows, updated = datetime.fromisoformat(current_timestamp()), [], 0
    for number, item in enumerate(item for item in _list_items(memory) if item.text.strip()):
        old = stored.get(item.id)
        if old is None:
            # Each a microsecond later, so that sorting by time keeps their order.
            created_at = (start + timedelta(microseconds=number)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
            new_rows.append(_make_values(table, check_memory(replace(item, created_at=created_at), scope)))
            continue
        changed = replace(item, **{name: getattr(old, name) for name in _NOT_IN_SNAPSHOT})
        if changed != old:
            store_memory(tx, changed, scope=scope)
            updated += 1
    tx.insert(table, *new_rows)
    return updated + len(new_rows)


def get_profile(reading: ReadTransaction) -> WriterProfile:
    """Return the writer's profile (mem-5)."""
    row = reading.row(profiles)
    return WriterProfile() if row is None else read_struct(WriterProfile, row)


def write_profile(tx: WriteTransaction, text: str, *, expected: int | None = None) -> int:
    """Replace the writer's profile; return the new version. Version 0 is a profile that was never written."""
    values = {"text": text.strip(), "changed": current_timestamp()}
    if tx.row(profiles) is not None:
        return tx.update_row(profiles, {}, values, expected=expected)
    if expected:
        raise FabulaError(
            Code.STORE_CONFLICT,
            message(
                "There is no profile yet, but you have version {expected} of one. Load it again. Nothing was changed.",
                expected=expected,
            ),
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
    if scope not in _TABLES:
        raise refuse(message("A memory belongs to a project or to a user, not to {scope!r}.", scope=str(scope)))
    return _TABLES[scope]


def _find_duplicate(items: Sequence[MemoryItem], memory: MemoryItem) -> MemoryItem | None:
    return find_duplicate([item for item in items if item.since == memory.since], memory.text)


def _list_items(memory: Memory) -> Iterator[MemoryItem]:
    """List the memories of a snapshot with unique ids; in a snapshot two kinds may use the same id."""
    used: set[str] = set()
    kinds: tuple[tuple[MemoryKind, Sequence[Preference | MemoryNote]], ...] = (
        (MemoryKind.PREFERENCE, memory.preferences),
        (MemoryKind.STYLE_SAMPLE, memory.style_samples),
        (MemoryKind.EPISODE, memory.episodes),
        (MemoryKind.WORKING, memory.working_notes),
    )
    for kind, memories_of_kind in kinds:
        for one in memories_of_kind:
            ident = one.id
            while ident in used:
                ident = f"{kind.value}-{ident}"
            used.add(ident)
            item = MemoryItem(id=ident, kind=kind, text=one.text, since=one.since)
            yield replace(item, confidence=one.confidence) if isinstance(one, Preference) else item


def _make_values(table: Table, memory: MemoryItem) -> dict[str, Any]:
    """Make the values of a memory's row; the store counts its version."""
    values = {**make_row(table, memory), "changed": current_timestamp()}
    del values["version"]
    return values


def check_memory(memory: MemoryItem, scope: MemoryScope) -> MemoryItem:
    """Check a memory, and return it with values of the right types; refuse one that cannot be stored."""
    try:
        memory = msgspec.convert(msgspec.to_builtins(memory), MemoryItem)
    except (msgspec.ValidationError, TypeError) as error:
        raise refuse(
            message(
                "The memory cannot be stored like this: {problem}.", problem=explain_decode_error(error, MemoryItem)
            )
        ) from error
    if not memory.text.strip():
        raise FabulaError(Code.TEXT_INVALID, message("A memory needs a few words. Nothing was changed."))
    if len(memory.text) > MAX_TEXT:
        raise refuse(message("A memory has at most {limit:,} characters.", limit=MAX_TEXT))
    since = memory.since
    if since is not None and (scope == MemoryScope.USER or not since.document or since.offset < 0):
        raise refuse(message("Only a memory of a project has a place in the story: a document and an offset in it."))
    return memory
