"""What a person can do with the codex: entries, relations, progressions, knowledge and pins (cdx-1 … cdx-9)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Literal, TypedDict, Unpack

from msgspec import to_builtins

from fabula.codex import Codex, Entry, PinMode, Progression, Relation, edits, knowledge, progressions
from fabula.codex.knowledge import KnownFact
from fabula.codex.progressions import StoredProgression
from fabula.codex.tables import entries as entry_rows
from fabula.codex.validation import apply_values
from fabula.core.errors import Code, FabulaError
from fabula.core.messages import message, plural
from fabula.store.transaction import ReadTransaction, WriteTransaction
from fabula.workspace.names import find_by_name
from fabula.workspace.rename.offers import RenameOffer, find_offers, read_further_names
from fabula.workspace.rename.rename import RenamePlace, UndoneRename, apply_rename, preview_rename, undo_rename
from fabula.workspace.story_places import START, read_knowers, read_limit, read_place
from fabula.workspace.verbs import ProjectVerbs, select_given

READER = "reader"  # who knows a fact may be the reader as well as a character


class EntryFields(TypedDict, total=False):
    """What can be said of an entry; what is None or left out stays as it is."""

    kind: str | None
    level: str | None
    aliases: Sequence[str] | None
    description: str | None
    details: Mapping[str, str] | None
    tags: Sequence[str] | None
    notes: str | None
    known_to: Sequence[str] | None  # `everybody` and `nobody` are words for it
    since: str | None  # a place in the story, or `start`
    exceptions: Sequence[str] | None  # phrases in which its name means something else
    case: str | None


class CodexVerbs(ProjectVerbs):
    """The codex of an open project, as its book sees it: with what its series shares."""

    def list_entries(self, *, kind: str | None = None, level: str | None = None) -> list[Entry]:
        """List entries in the order of the prompt: *always* ones first, then by type and name."""
        return [entry for entry in self._entries() if kind in (None, entry.type) and level in (None, entry.level.value)]

    def find(self, name: str) -> Entry:
        """Return the entry of that id, name or alias."""
        return _find(self._entries(), name)

    def add(self, name: str, *, entry_id: str = "", **fields: Unpack[EntryFields]) -> Entry:
        """Add an entry."""
        with self._write() as tx:
            empty = Entry(id=entry_id, type="other", name=name)
            return edits.get(tx, edits.create(tx, apply_values(empty, _values(tx, empty, fields)))).entry

    def edit(self, entry: str, *, name: str | None = None, **fields: Unpack[EntryFields]) -> Entry:
        """Change what is given: lists are replaced, details added to (an empty value takes one away)."""
        with self._change(entry) as (tx, found, _):
            own = edits.get(tx, found.id).entry
            values = _values(tx, own, fields)
            edits.update(tx, own.id, values if name is None else {**values, "name": name})
            return edits.get(tx, own.id).entry

    def remove(self, entry: str) -> Entry:
        """Remove an entry with its progressions, pins and relations; return what it was."""
        with self._write() as tx:
            found = _find([stored.entry for stored in edits.list_entries(tx)], entry)
            edits.remove(tx, found.id)
        return found

    def relate(self, entry: str, other: str, *, kind: str = "", undo: bool = False) -> tuple[Entry, Entry]:
        """Say how one entry stands to another, or take that back."""
        with self._change(entry, other) as (tx, found, (target,)):
            own = edits.get(tx, found.id).entry
            others = [one for one in own.relations if one.to != target.id or (kind and one.kind != kind)]
            edits.update(tx, own.id, {"relations": others if undo else [*others, Relation(target.id, kind)]})
        return found, target

    def add_progression(
        self,
        entry: str,
        text: str,
        *,
        since: str,
        aliases: Sequence[str] = (),
        known_to: Sequence[str] | None = None,
    ) -> Entry:
        """Say what becomes true of an entry from a place in the story on (cdx-4)."""
        with self._change(entry) as (tx, found, _):
            knowers = frozenset(known_to) if known_to is not None else None
            progressions.add(tx, found.id, Progression(text, read_place(tx, since), knowers, tuple(aliases)))
        return self.find(found.id)

    def remove_progression(self, entry: str, number: int) -> Entry:
        """Remove a progression by the number it is shown with."""
        with self._change(entry) as (tx, found, _):
            progressions.remove(tx, _find_progression(tx, found, number).id)
        return self.find(found.id)

    def set_knowledge(
        self,
        entry: str,
        knower: str,
        *,
        progression: int | None = None,
        since: str | None = None,
        undo: bool = False,
    ) -> tuple[Entry, str]:
        """Say who knows an entry or one of its progressions, and since when (cdx-8); return entry and knower's id."""
        others = () if knower == READER else (knower,)
        with self._change(entry, *others) as (tx, found, named):
            knower_id = named[0].id if named else knower
            fact = found.source
            if progression is not None:
                fact = f"{found.source}#{_find_progression(tx, found, progression).number}"
            if undo:
                knowledge.remove(tx, fact, knower_id)
            else:
                position = None if since is None else read_place(tx, since)
                knowledge.put(tx, KnownFact(fact=fact, knower=knower_id, since=position))
        return found, knower_id

    def pin(self, entry: str, where: str, mode: Literal["include", "exclude"] | None = "include") -> Entry:
        """Include or exclude an entry wherever a document or conversation is written; None takes that back (cdx-9)."""
        with self._change(entry) as (tx, found, _):
            if mode is None:
                edits.unpin_entry(tx, where, found.id)
            else:
                edits.pin_entry(tx, where, found.id, PinMode(mode))
        return found

    def preview_rename(
        self, old: str, new: str, *, history: bool = False, also: Sequence[str] = ()
    ) -> list[RenamePlace]:
        """List every place that a rename would change, in the book and in the codex of its series (man-4).

        `also` names what else is renamed: `NAME=BECOMES`, or a name that `offer_renames` lists.
        """
        with self._read() as reading:
            further = _read_further(reading, old, new, also)
            return preview_rename(reading, old, new, history=history, also=further)

    def offer_renames(self, old: str, new: str, *, history: bool = False) -> list[RenameOffer]:
        """List names that belong to the renamed one and are left as they are, unless they are asked for."""
        with self._read() as reading:
            return find_offers(reading, old, new, history=history)

    def rename(self, old: str, new: str, *, history: bool = False, also: Sequence[str] = ()) -> str:
        """Rename everywhere; return the id by which the rename can be undone."""
        with self._write() as tx:
            return apply_rename(tx, old, new, history=history, also=_read_further(tx, old, new, also))

    def undo_rename(self, rename_id: str | None = None) -> UndoneRename:
        """Undo a rename, by default the last one."""
        with self._write() as tx:
            return undo_rename(tx, rename_id)

    def _entries(self) -> Sequence[Entry]:
        codex = self._view.snapshot(Codex)
        return codex.entries if codex is not None else ()

    @contextmanager
    def _change(self, name: str, *others: str) -> Iterator[tuple[WriteTransaction, Entry, list[Entry]]]:
        """Change one entry, with others that are only named.

        An entry that only the series of a book has gets one in the book, which says nothing of its own yet.
        """
        known = self._entries()
        found, named = _find(known, name), [_find(known, other) for other in others]
        with self._write() as tx:
            if tx.row(entry_rows, id=found.id) is None:
                edits.create(tx, Entry(id=found.id, type=found.type, name=found.name))
            yield tx, found, named


def _read_further(reading: ReadTransaction, old: str, new: str, also: Sequence[str]) -> dict[str, str]:
    return read_further_names(also, find_offers(reading, old, new)) if also else {}


def _values(tx: WriteTransaction, before: Entry, fields: EntryFields) -> dict[str, Any]:
    """Return the fields of an entry that something was said about, as the codex stores them."""
    values = select_given(fields, EntryFields)
    if "kind" in values:
        values["type"] = values.pop("kind")
    if "details" in values:
        details = {**before.details, **values["details"]}
        values["details"] = {name: value for name, value in details.items() if name and value}
    if "known_to" in values:
        values["known_to"] = read_knowers(values["known_to"])
    if "since" in values:
        values["since"] = read_limit(tx, values["since"], START)
    if "exceptions" in values:
        values["without"] = values.pop("exceptions")
    rules = {name: values.pop(name) for name in ("without", "case") if name in values}
    return {**values, "rules": {**to_builtins(before.rules), **rules}} if rules else values


def _find(entries: Sequence[Entry], name: str) -> Entry:
    return find_by_name(
        entries,
        name.removeprefix("codex:entity:"),
        what=message("entry"),
        names_of=lambda entry: entry.names,
    )


def _find_progression(tx: WriteTransaction, entry: Entry, number: int) -> StoredProgression:
    """Return a progression by the number it is shown with; those of a series come first, and only it changes them."""
    own = progressions.list_progressions(tx, entry.id)
    count, shared = len(entry.progressions), len(entry.progressions) - len(own)
    if shared < number <= count:
        return own[number - shared - 1]
    have = plural(count, "{name} has {count} progression.", "{name} has {count} progressions.", name=entry.name)
    if shared:
        have = message("{have} The first {shared} belong to its series or to earlier books.", have=have, shared=shared)
    raise FabulaError(Code.STORE_NOT_FOUND, message("{sentence} Nothing was changed.", sentence=have))
