"""What is remembered: said, edited, forgotten and listed, for a project or for a person (mem-1, mem-2).

A transaction is bound to its owners; `scope` says which of the two a memory belongs to. Only what is
confirmed enters a prompt: proposals wait here until somebody says yes or no. The profile is a person's
own words about themselves (mem-5).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any, Literal

import msgspec
from msgspec.structs import replace
from sqlalchemy import Row, Table

from fabula.core.errors import Code, FabulaError
from fabula.core.fragments import whole
from fabula.core.ids import new_id, now, sound_id
from fabula.core.story import Position
from fabula.memory.model import Kind, Memory, Profile, Remembered, State
from fabula.memory.tables import memories, profiles, user_memories
from fabula.store.transaction import Reading, Writing

Scope = Literal["project", "user"]
_TABLES: Mapping[str, Table] = {"project": memories, "user": user_memories}
_FIXED = frozenset({"id", "version", "made"})


def remember(tx: Writing, memory: Remembered, *, scope: Scope = "project") -> str:
    """Something to be remembered; its id."""
    ident = memory.id or new_id()
    if not sound_id(ident):
        raise _refused(f"{ident!r} cannot be the id of a memory: leave out spaces, slashes and `|`.")
    _check(memory, scope)
    tx.add(_table(scope), {"id": ident, "made": memory.made or now(), **_columns(memory)})
    return ident


def edit(
    tx: Writing, memory_id: str, values: Mapping[str, Any], *, scope: Scope = "project", expected: int | None = None
) -> int:
    """Reword a memory, confirm or dismiss it, change what it rests on; says the new version."""
    table = _table(scope)
    before = _memory(tx.need(table, id=memory_id))
    fields = {name: getattr(before, name) for name in Remembered.__struct_fields__}
    strange = set(values) - set(fields) | _FIXED & set(values)
    if strange:
        raise _refused(f"Of a memory, {', '.join(sorted(strange))} cannot be changed.")
    try:
        memory = msgspec.convert({**fields, **values}, Remembered)
    except msgspec.ValidationError as error:
        raise _refused(f"The memory cannot be changed like this: {error}.") from error
    _check(memory, scope)
    return tx.edit(table, {"id": memory_id}, _columns(memory), expected=expected)


def forget(tx: Writing, memory_id: str, *, scope: Scope = "project", expected: int | None = None) -> None:
    """Forget something."""
    table = _table(scope)
    tx.edit(table, {"id": memory_id}, {}, expected=expected)
    tx.remove(table, table.c.id == memory_id)


def listed(
    reading: Reading, *, scope: Scope = "project", kind: Kind | None = None, state: State | None = None
) -> list[Remembered]:
    """What is remembered, oldest first: all of it, or of one kind or state."""
    table = _table(scope)
    where = [] if kind is None else [table.c.kind == Kind(kind).value]
    where += [] if state is None else [table.c.state == State(state).value]
    return [_memory(row) for row in reading.rows(table, *where, order=(table.c.made, table.c.id))]


def put(tx: Writing, memory: Memory, *, scope: Scope = "project") -> int:
    """Everything of a snapshot, new or in place of what has its id; says how many were written."""
    table = _table(scope)
    there = {row.id: _memory(row) for row in tx.rows(table)}
    things = [one for one in _of(memory) if one.text.strip()]
    start, new, written = datetime.fromisoformat(now()), [], 0
    for number, one in enumerate(things):
        _check(one, scope)
        old = there.get(one.id)
        if old is None:
            # A moment apart, so that they come back in their order.
            made = (start + timedelta(microseconds=number)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
            new.append({"id": one.id, "made": made, **_columns(one)})
        elif replace(one, evidence=old.evidence, version=old.version, made=old.made) != old:
            tx.edit(table, {"id": one.id}, _columns(replace(one, evidence=old.evidence)))
            written += 1
    tx.add(table, *new)
    return written + len(new)


def profile(reading: Reading) -> Profile:
    """A person's profile."""
    row = reading.row(profiles)
    return Profile() if row is None else Profile(text=row.text, version=row.version, changed=row.changed)


def write_profile(tx: Writing, text: str, *, expected: int | None = None) -> int:
    """A person's profile in new words; says its version. Version 0 is a profile nobody has written yet."""
    values = {"text": text.strip(), "changed": now()}
    if tx.row(profiles) is not None:
        return tx.edit(profiles, {}, values, expected=expected)
    if expected:
        raise FabulaError(
            Code.STORE_CONFLICT,
            f"There is no profile yet, and you have version {expected} of one. Load it again. Nothing was changed.",
            current=0,
            expected=expected,
        )
    tx.add(profiles, values)
    return 1


def _of(memory: Memory) -> Iterator[Remembered]:
    """The things of a snapshot, each with an id of its own: kinds may use the same ones there."""
    taken: set[str] = set()

    def free(ident: str, kind: Kind) -> str:
        while ident in taken:
            ident = f"{kind.value}-{ident}"
        taken.add(ident)
        return ident

    for preference in memory.preferences:
        ident = free(preference.id, Kind.PREFERENCE)
        yield Remembered(id=ident, text=preference.text, confidence=preference.confidence, since=preference.since)
    kinds = (
        (Kind.STYLE_SAMPLE, memory.style_samples),
        (Kind.EPISODE, memory.episodes),
        (Kind.WORKING, memory.recent),
    )
    for kind, notes in kinds:
        for note in notes:
            yield Remembered(id=free(note.id, kind), kind=kind, text=note.text, since=note.since)


def _table(scope: Scope) -> Table:
    table = _TABLES.get(scope)
    if table is None:
        raise _refused(f"A memory belongs to a project or to a user, not to {scope!r}.")
    return table


def _check(memory: Remembered, scope: Scope) -> None:
    if not memory.text.strip():
        raise FabulaError(Code.TEXT_INVALID, "A memory needs a few words. Nothing was changed.")
    if memory.kind not in tuple(Kind) or memory.state not in tuple(State):
        raise _refused(f"There is no kind {memory.kind!r} or no state {memory.state!r} of memories.")
    if isinstance(memory.confidence, bool) or not 0 <= memory.confidence <= 1:
        raise _refused(f"We are sure of a memory from 0 to 1, not {memory.confidence!r}.")
    if not all(whole(text) for text in memory.evidence):
        raise _refused("The evidence holds half a character (a lone surrogate). Remove it.")
    since = memory.since
    if since is not None and (scope == "user" or not since.document or since.offset < 0):
        raise _refused("What a person likes is tied to no place in a story; in a project, name a document.")


def _columns(memory: Remembered) -> dict[str, Any]:
    since = memory.since
    return {
        "kind": Kind(memory.kind).value,
        "text": memory.text,
        "confidence": float(memory.confidence),
        "evidence": list(memory.evidence),
        "state": State(memory.state).value,
        "since_document": None if since is None else since.document,
        "since_offset": None if since is None else since.offset,
        "changed": now(),
    }


def _memory(row: Row[Any]) -> Remembered:
    return Remembered(
        id=row.id,
        text=row.text,
        kind=Kind(row.kind),
        confidence=row.confidence,
        evidence=tuple(row.evidence),
        state=State(row.state),
        since=None if row.since_document is None else Position(row.since_document, row.since_offset or 0),
        version=row.version,
        made=row.made,
    )


def _refused(sentence: str) -> FabulaError:
    return FabulaError(Code.REQUEST_INVALID, f"{sentence} Nothing was changed.")
