"""What is remembered: said, edited, confirmed, dismissed, forgotten and listed (mem-1, mem-2).

A transaction is bound to its owners; `scope` says which of the two a memory belongs to, a project or a
person. Only what is confirmed enters a prompt: proposals wait here until somebody says yes or no.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import msgspec
from msgspec.structs import replace
from sqlalchemy import Table

from fabula.core.errors import Code, FabulaError
from fabula.core.fragment import whole
from fabula.core.ids import new_id, now, sound_id
from fabula.core.story import Position
from fabula.memory.confidence import SURE, confidence
from fabula.memory.deduplicate import Meanings
from fabula.memory.model import Kind, Memory, Origin, Profile, Remembered, Scope, State
from fabula.memory.outcomes import forget_votes
from fabula.memory.rows import memory_of, row_of
from fabula.memory.tables import memories, profiles, user_memories
from fabula.store.transaction import Reading, Writing

MOST = 1_000  # memories of one project or person
LONGEST = 2_000  # characters of one
_TABLES: Mapping[str, Table] = {Scope.PROJECT: memories, Scope.USER: user_memories}
_FIXED = frozenset({"id", "version", "made"})


def remember(tx: Writing, memory: Remembered, *, scope: Scope = Scope.PROJECT) -> str:
    """A memory as it is given, beside all others; its id."""
    table, ident = table_of(scope), memory.id or new_id()
    if not sound_id(ident):
        raise _refused(f"{ident!r} cannot be the id of a memory: leave out spaces, slashes and `|`.")
    _check(memory, scope)
    if tx.count(table) >= MOST:
        raise _refused(f"{MOST} memories are as many as are kept for one {scope}. Forget some first.")
    tx.add(table, {"id": ident, "made": memory.made or now(), **row_of(memory)})
    return ident


def said(
    tx: Writing,
    text: str,
    *,
    kind: Kind = Kind.PREFERENCE,
    scope: Scope = Scope.PROJECT,
    since: Position | None = None,
) -> Remembered:
    """Somebody says "remember this": it is sure, and joins what says the same already, in the newer words."""
    words = text.strip()
    if len(words) > LONGEST:
        raise _refused(f"A memory has at most {LONGEST:,} characters, and this has {len(words):,}. Say it shorter.")
    told = Remembered(text=words, kind=kind, origin=Origin.SAID, confidence=SURE, since=since)
    twin = _twin(listed(tx, scope=scope, kind=kind), told)
    if twin is None:
        return get(tx, remember(tx, told, scope=scope), scope=scope)
    values = {"text": words, "state": State.CONFIRMED, "origin": Origin.SAID, "confidence": SURE}
    edit(tx, twin.id, values, scope=scope)
    return get(tx, twin.id, scope=scope)


def edit(
    tx: Writing,
    memory_id: str,
    values: Mapping[str, Any],
    *,
    scope: Scope = Scope.PROJECT,
    expected: int | None = None,
) -> int:
    """Reword a memory, change its state or what it rests on; says the new version.

    What somebody rewords is theirs from then on: said, and sure.
    """
    before = get(tx, memory_id, scope=scope)
    fields = {name: getattr(before, name) for name in Remembered.__struct_fields__}
    strange = set(values) - set(fields) | _FIXED & set(values)
    if strange:
        raise _refused(f"Of a memory, {', '.join(sorted(strange))} cannot be changed.")
    own = before.origin is Origin.LEARNED and values.get("text", before.text) != before.text
    reworded = {"origin": Origin.SAID, "confidence": SURE} if own else {}
    try:
        memory = msgspec.convert({**fields, **reworded, **values}, Remembered)
    except msgspec.ValidationError as error:
        raise _refused(f"The memory cannot be changed like this: {error}.") from error
    _check(memory, scope)
    return tx.edit(table_of(scope), {"id": memory_id}, row_of(memory), expected=expected)


def confirm(
    tx: Writing, memory_id: str, *, today: str, scope: Scope = Scope.PROJECT, expected: int | None = None
) -> Remembered:
    """Somebody says yes to a proposal, or yes again to what was fading."""
    memory = replace(get(tx, memory_id, scope=scope), state=State.CONFIRMED)
    memory = replace(memory, seen=max(memory.seen, today))
    values = {"state": State.CONFIRMED, "seen": memory.seen, "confidence": confidence(memory, today)}
    edit(tx, memory_id, values, scope=scope, expected=expected)
    return get(tx, memory_id, scope=scope)


def dismiss(tx: Writing, memory_id: str, *, scope: Scope = Scope.PROJECT, expected: int | None = None) -> Remembered:
    """Somebody says no. It is kept, so that it is not proposed again on the same evidence."""
    edit(tx, memory_id, {"state": State.DISMISSED}, scope=scope, expected=expected)
    return get(tx, memory_id, scope=scope)


def forget(tx: Writing, memory_id: str, *, scope: Scope = Scope.PROJECT, expected: int | None = None) -> None:
    """Forget something for good, with the outcomes that spoke for it: nothing is left to learn it from again."""
    table = table_of(scope)
    memory = get(tx, memory_id, scope=scope)
    tx.edit(table, {"id": memory_id}, {}, expected=expected)
    tx.remove(table, table.c.id == memory_id)
    if tx.belongs_to("project"):
        forget_votes(tx, memory)


def give_to_person(tx: Writing, memory_id: str) -> Remembered:
    """What holds in one book holds in all of a person's: moved to them, without quotations from the book."""
    memory = get(tx, memory_id)
    if memory.since is not None or memory.kind is Kind.WORKING:
        raise _refused("This is tied to a place in this book.")
    tx.remove(memories, memories.c.id == memory_id)
    twin = _twin(listed(tx, scope=Scope.USER, kind=memory.kind), memory)
    if twin is None:
        alone = replace(memory, evidence=(), id="" if tx.row(user_memories, id=memory.id) else memory.id)
        return get(tx, remember(tx, alone, scope=Scope.USER), scope=Scope.USER)
    values = {
        "state": memory.state,
        "agreeing": twin.agreeing + memory.agreeing,
        "against": twin.against + memory.against,
        "confidence": max(twin.confidence, memory.confidence),
    }
    edit(tx, twin.id, values, scope=Scope.USER)
    return get(tx, twin.id, scope=Scope.USER)


def get(reading: Reading, memory_id: str, *, scope: Scope = Scope.PROJECT) -> Remembered:
    """One memory."""
    return memory_of(reading.need(table_of(scope), id=memory_id))


def listed(
    reading: Reading, *, scope: Scope = Scope.PROJECT, kind: Kind | None = None, state: State | None = None
) -> list[Remembered]:
    """What is remembered, oldest first: all of it, or of one kind or state."""
    table = table_of(scope)
    where = [] if kind is None else [table.c.kind == Kind(kind).value]
    where += [] if state is None else [table.c.state == State(state).value]
    return [memory_of(row) for row in reading.rows(table, *where, order=(table.c.made, table.c.id))]


def contradictions(many: Sequence[Remembered]) -> dict[str, list[str]]:
    """Preferences that are not dismissed and say the opposite of one another, by id."""
    known, texts = Meanings(), {one.id: one.text for one in many if _stands(one)}
    for ident, text in texts.items():
        known.add(ident, text)
    return {ident: found for ident, text in texts.items() if (found := known.denying(text))}


def put(tx: Writing, memory: Memory, *, scope: Scope = Scope.PROJECT) -> int:
    """Everything of a snapshot, new or in place of what has its id; says how many were written."""
    table = table_of(scope)
    there = {row.id: memory_of(row) for row in tx.rows(table)}
    things = [one for one in _of(memory) if one.text.strip()]
    start, new, written = datetime.fromisoformat(now()), [], 0
    for number, one in enumerate(things):
        _check(one, scope)
        old = there.get(one.id)
        if old is None:
            # A moment apart, so that they come back in their order.
            made = (start + timedelta(microseconds=number)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
            new.append({"id": one.id, "made": made, **row_of(one)})
            continue
        same = {name: getattr(old, name) for name in ("evidence", "version", "made", "agreeing", "against", "seen")}
        if replace(one, **same) != old:
            tx.edit(table, {"id": one.id}, row_of(replace(one, **same)))
            written += 1
    tx.add(table, *new)
    return written + len(new)


def profile(reading: Reading) -> Profile:
    """A person's own words about themselves (mem-5)."""
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


def twin_of(many: Sequence[Remembered], text: str) -> Remembered | None:
    """The one among them that says the same."""
    known = Meanings()
    for one in many:
        known.add(one.id, one.text)
    found = known.saying(text)
    return next((one for one in many if one.id == found[0]), None) if found else None


def table_of(scope: Scope) -> Table:
    """Where memories of a scope are kept."""
    table = _TABLES.get(scope)
    if table is None:
        raise _refused(f"A memory belongs to a project or to a user, not to {scope!r}.")
    return table


def _twin(many: Sequence[Remembered], memory: Remembered) -> Remembered | None:
    return twin_of([one for one in many if one.since == memory.since], memory.text)


def _stands(memory: Remembered) -> bool:
    return memory.kind is Kind.PREFERENCE and memory.state is not State.DISMISSED


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


def _check(memory: Remembered, scope: Scope) -> None:
    if not memory.text.strip():
        raise FabulaError(Code.TEXT_INVALID, "A memory needs a few words. Nothing was changed.")
    if memory.kind not in tuple(Kind) or memory.state not in tuple(State) or memory.origin not in tuple(Origin):
        raise _refused(f"There is no kind {memory.kind!r}, no state {memory.state!r} or no origin {memory.origin!r}.")
    if isinstance(memory.confidence, bool) or not 0 <= memory.confidence <= 1:
        raise _refused(f"We are sure of a memory from 0 to 1, not {memory.confidence!r}.")
    if min(memory.agreeing, memory.against) < 0:
        raise _refused("No fewer than no outcomes can speak for a memory or against it.")
    if not all(whole(text) for text in memory.evidence):
        raise _refused("The evidence holds half a character (a lone surrogate). Remove it.")
    since = memory.since
    if since is not None and (scope == Scope.USER or not since.document or since.offset < 0):
        raise _refused("What a person likes is tied to no place in a story; in a project, name a document.")


def _refused(sentence: str) -> FabulaError:
    return FabulaError(Code.REQUEST_INVALID, f"{sentence} Nothing was changed.")
