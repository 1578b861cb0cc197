"""What a person can do with the codex: entries, relations, progressions, knowledge and pins (cdx-1 … cdx-9)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from typing import Any, Literal, TypedDict, Unpack

from msgspec import Struct, to_builtins
from msgspec.structs import replace

from fabula.codex import Codex, Entry, PinMode, Progression, Relation, edits, knowledge, progressions
from fabula.codex.entry_types import find_level, find_type
from fabula.codex.knowledge import KnownFact
from fabula.codex.progressions import StoredProgression
from fabula.codex.tables import entries as entry_rows
from fabula.codex.validation import apply_values, codex_error
from fabula.core.errors import Code, FabulaError
from fabula.core.messages import Sentence, advise, join_names, message, plural
from fabula.core.story import READER, Position, Timeline
from fabula.core.view import View
from fabula.store.transaction import ReadTransaction, WriteTransaction
from fabula.text.lookup import fold_name
from fabula.workspace.names import (
    EVERYBODY,
    NamedThing,
    find_entry,
    find_knower,
    find_pin_place,
    read_group,
    read_knowers,
)
from fabula.workspace.rename.offers import RenameOffer, find_offers, read_further_names
from fabula.workspace.rename.rename import (
    RenamePlace,
    UndoneRename,
    apply_rename,
    preview_rename,
    read_all_entries,
    undo_rename,
)
from fabula.workspace.sharing import EntryShare, apply_shares, plan_shares
from fabula.workspace.story_places import END, START, read_limit, read_place
from fabula.workspace.verbs import ProjectVerbs, label_addition, label_change, label_removal, select_given


class EntryFields(TypedDict, total=False):
    """What can be said of an entry; what is None or left out stays as it is."""

    kind: str | None
    level: str | None
    aliases: Sequence[str] | None
    description: str | None
    details: Mapping[str, str] | None
    tags: Sequence[str] | None
    notes: str | None
    known_to: Sequence[str] | None  # people by any name; `reader`, `everybody` and `nobody` are words for it
    since: str | None  # a place in the story, or `start`
    without: Sequence[str] | None  # phrases in which its name means something else
    case: str | None


class EntryKnower(Struct, frozen=True):
    """Somebody who knows an entry or one of its progressions, from the beginning or since a place in the story."""

    progression: int | None  # None: the entry itself
    knower: str  # an id, `reader`, or `everybody` for all who are not named
    name: str
    since: Position | None


class RemovedEntry(Struct, frozen=True):
    """An entry that was removed, with its last name."""

    id: str
    name: str


class CodexVerbs(ProjectVerbs):
    """The codex of an open project, as its book sees it: with what its series shares."""

    def list_entries(self, *, kind: str | None = None, level: str | None = None) -> list[Entry]:
        """List entries in the order of the prompt: *always* ones first, then by type and name."""
        entries = self._entries()
        kind = None if kind is None else find_type(kind, (entry.type for entry in entries))
        level = None if level is None else find_level(level).value
        return [entry for entry in entries if kind in (None, entry.type) and level in (None, entry.level.value)]

    def find(self, name: str) -> Entry:
        """Return the entry of that id, name, alias or number, or whose name begins so."""
        return find_entry(self._entries(), name)

    def list_removed(self) -> list[RemovedEntry]:
        """List removed entries with their last names, by name: chapters and facts may still hold their ids."""
        codex = self._view.snapshot(Codex)
        names = {} if codex is None else codex.removed_names
        removed = [RemovedEntry(ident, name) for ident, name in names.items() if codex and ident not in codex.by_id]
        return sorted(removed, key=lambda one: (one.name, one.id))

    def list_knowers(self, entry: str) -> list[EntryKnower]:
        """List who knows an entry and each of its progressions, and since when (cdx-8)."""
        view = self._view
        codex, found = view.snapshot(Codex), self.find(entry)
        name_of = str if codex is None else codex.name_of
        knowers: list[EntryKnower] = []
        for number, known_to in enumerate((found.known_to, *(step.known_to for step in found.progressions))):
            source = f"{found.source}#{number}" if number else found.source
            learned = dict(codex.knowledge.get(source, {})) if codex is not None else {}
            ids = known_to if codex is None else codex.resolve_knowers(known_to)
            who = [*sorted(ids or (), key=name_of), *sorted(learned)]
            if known_to is None and learned:
                who.insert(0, EVERYBODY)
            knowers += [EntryKnower(number or None, one, name_of(one), learned.get(one)) for one in dict.fromkeys(who)]
        return knowers

    def is_unaware(self, entry: str, progression: int | None = None) -> bool:
        """Is it about a character who will never know it? A list of knowers means nobody else, also not this one."""
        found = self.find(entry)
        if progression is not None and not 0 < progression <= len(found.progressions):
            raise FabulaError(
                Code.STORE_NOT_FOUND, message("{sentence} Nothing was changed.", sentence=_count_progressions(found))
            )
        known_to = found.known_to if progression is None else found.progressions[progression - 1].known_to
        knowers = {one.knower for one in self.list_knowers(found.id) if one.progression == progression}
        return found.type == "character" and known_to is not None and found.id not in knowers

    def list_namesakes(self, entry: str) -> list[tuple[str, Entry]]:
        """List names of an entry that others have too, each with the other entry."""
        found = self.find(entry)
        names = {fold_name(name): name for name in found.names}
        return [
            (names[fold_name(name)], other)
            for other in self._entries()
            for name in other.names
            if other.id != found.id and fold_name(name) in names
        ]

    def add(
        self, name: str, *, entry_id: str = "", allow_duplicate: bool = False, **fields: Unpack[EntryFields]
    ) -> Entry:
        """Add an entry; refused where another one is called so, unless that is allowed."""
        view = self._view
        with self._write(label_addition(message("entry"), name)) as tx:
            if not allow_duplicate:
                _check_name_is_free(tx, name)
            empty = Entry(id=entry_id, type="other", name=name)
            values = _values(view, tx, empty, fields)
            return edits.get(tx, edits.create(tx, apply_values(empty, values))).entry

    def edit(
        self, entry: str, *, name: str | None = None, allow_duplicate: bool = False, **fields: Unpack[EntryFields]
    ) -> Entry:
        """Change what is given: lists are replaced, details added to (an empty value takes one away).

        A name that another entry has is refused, unless that is allowed.
        """
        view = self._view
        with self._change(entry) as (tx, found, _):
            own = edits.get(tx, found.id).entry
            if name is not None and not allow_duplicate:
                _check_name_is_free(tx, name, {own.id})
            values = _values(view, tx, own, fields)
            edits.update(tx, own.id, values if name is None else {**values, "name": name})
            return edits.get(tx, own.id).entry

    def remove(self, entry: str) -> Entry:
        """Remove an entry with its progressions, pins and relations; return what it was."""
        owner = find_entry(self._entries(), entry)
        with self._write(label_removal(message("entry"), owner.name)) as tx:
            found = edits.get(tx, owner.id).entry
            edits.remove(tx, found.id)
        return found

    def preview_share(self, entries: Sequence[str]) -> list[EntryShare]:
        """Say what would go from the book to its series if these entries were shared, and what would stay (man-3)."""
        known = self._entries()
        with self._read() as reading:
            return plan_shares(self._store, reading, [find_entry(known, name).id for name in entries])

    def share(self, entries: Sequence[str], *, allow_early: bool = False) -> list[EntryShare]:
        """Move entries from the book to its series, so that its other books have them too.

        Refused where a book that comes before would know an entry that begins only in this book, unless that is
        allowed.
        """
        known = self._entries()
        found = [find_entry(known, name) for name in entries]
        with self._write(message("shared with the series: {names}", names=tuple(one.name for one in found))) as tx:
            shares = plan_shares(self._store, tx, [one.id for one in found])
            early = next((one for one in shares if one.reveals), None)
            if early is not None and not allow_early:
                raise codex_error(
                    message(
                        "{entry} begins in this book, and {books} would know it from the start. {advice}",
                        advice=advise(
                            message("Change the order of the books, or add --yes if that is right."),
                            message("Change the order of the books, or allow it (`allowEarly`) if that is right."),
                        ),
                        entry=early.shared.name,
                        books=join_names(early.reveals),
                    )
                )
            apply_shares(tx, shares)
        return shares

    def relate(
        self,
        entry: str,
        other: str,
        *,
        kind: str = "",
        since: str | None = None,
        until: str | None = None,
        known_to: Sequence[str] | None = None,
    ) -> tuple[Entry, Entry, Relation]:
        """Say how one entry stands to another, from when until when, and who may know it (cdx-5, cdx-8).

        A relation of that kind is changed where there is one, and limits that are not given stay as they are. Without
        a kind, the only relation between the two is changed. Return both entries and the relation.
        """
        view = self._view
        with self._change(entry, other) as (tx, found, (target,)):
            if found.id == target.id:
                raise codex_error(message("{name} cannot be related to itself. Name another entry.", name=found.name))
            own = edits.get(tx, found.id).entry
            known = [one for one in found.relations if one.to == target.id and (one.kind == kind or not kind)]
            if len(known) > 1:
                advice = advise(
                    message("Say --kind which relation is meant."), message("Say which relation is meant (`kind`).")
                )
                raise codex_error(_describe_kinds(found, target, advice))
            if known and not kind and since is None and until is None and known_to is None:
                advice = advise(
                    message("Say --kind how else they are related, or what changes: --since, --until, --known-to."),
                    message("Say how else they are related (`kind`), or what changes (`since`, `until` or `knownTo`)."),
                )
                raise codex_error(_describe_kinds(found, target, advice))
            relation = known[0] if known else Relation(target.id, kind)
            if since is not None:
                relation = replace(relation, since=read_limit(tx, since, START))
            if until is not None:
                relation = replace(relation, until=read_limit(tx, until, END))
            if known_to is not None:
                who = read_knowers(view, tx, known_to)
                relation = replace(relation, known_to=None if who is None else frozenset(who))
            if relation.since and relation.until and view.timeline.has_reached(relation.until, relation.since):
                raise codex_error(message("A relation cannot end before it begins. Choose other chapters."))
            others = [one for one in own.relations if (one.to, one.kind) != (relation.to, relation.kind)]
            edits.update(tx, own.id, {"relations": [*others, relation]})
            unchanged = [one for one in found.relations if (one.to, one.kind) != (relation.to, relation.kind)]
        return replace(found, relations=(*unchanged, relation)), target, relation

    def unrelate(self, entry: str, other: str, *, kind: str = "") -> tuple[Entry, Entry]:
        """Take back how one entry stands to another: the relation of that kind, or all relations between the two."""
        with self._change(entry, other) as (tx, found, (target,)):
            own = edits.get(tx, found.id).entry
            others = [one for one in own.relations if one.to != target.id or (kind and one.kind != kind)]
            if len(others) == len(own.relations):
                is_shared = any(one.to == target.id and kind in ("", one.kind) for one in found.relations)
                advice = (
                    message("Relations of a series are changed there.")
                    if is_shared
                    else message("No relation between them is called {kind!r}.", kind=kind)
                )
                sentence = _describe_kinds(found, target, advice)
                raise FabulaError(Code.STORE_NOT_FOUND, message("{sentence} Nothing was changed.", sentence=sentence))
            edits.update(tx, own.id, {"relations": others})
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
        view = self._view
        with self._change(entry) as (tx, found, _):
            who = read_knowers(view, tx, known_to) if known_to is not None else None
            knowers = None if who is None else frozenset(who)
            step = Progression(text, read_place(tx, since), knowers, tuple(aliases))
            if step in found.progressions:
                raise FabulaError(
                    Code.STORE_DUPLICATE,
                    message(
                        "{name} has this progression already: it is number {number}. Nothing was changed.",
                        name=found.name,
                        number=found.progressions.index(step) + 1,
                    ),
                )
            progressions.add(tx, found.id, step)
        return self.find(found.id)

    def edit_progression(
        self,
        entry: str,
        number: int,
        *,
        text: str | None = None,
        since: str | None = None,
        known_to: Sequence[str] | None = None,
    ) -> Entry:
        """Change what a progression says, since when, or who may know it; it has the number it is shown with."""
        view = self._view
        with self._change(entry) as (tx, found, _):
            values = select_given({"text": text, "since": None if since is None else read_place(tx, since)})
            if known_to is not None:
                who = read_knowers(view, tx, known_to)
                values["known_to"] = None if who is None else frozenset(who)
            progressions.update(tx, _find_progression(tx, found, number).id, values)
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
    ) -> tuple[Entry, str, KnownFact | None]:
        """Say who knows an entry or one of its progressions, and since when (cdx-8).

        Return the entry, the knower's id, and what was said of that knower before.
        """
        view = self._view
        with self._change(entry) as (tx, found, _):
            knower_id = READER if read_group(knower) == READER else find_knower(view, tx, knower)
            fact, begins = found.source, found.since
            if progression is not None:
                fact = f"{found.source}#{_find_progression(tx, found, progression).number}"
                begins = found.progressions[progression - 1].since
            before = knowledge.list_known_facts(tx, fact=fact, knower=knower_id)
            if undo:
                knowledge.remove(tx, fact, knower_id)
            else:
                position = None if since is None else read_place(tx, since)
                if begins is not None and position is not None and _is_before(position, begins, view.timeline):
                    raise codex_error(
                        message(
                            "Nobody can know this before it is true: it begins in {chapter}. Name that place or a "
                            "later one.",
                            chapter=_name_chapter(view, begins),
                        )
                    )
                knowledge.put(tx, KnownFact(fact=fact, knower=knower_id, since=position))
        return found, knower_id, before[0] if before else None

    def pin(
        self, entry: str, where: str, mode: Literal["include", "exclude"] | None = "include"
    ) -> tuple[Entry, NamedThing]:
        """Include or exclude an entry wherever a document or conversation is written; None takes that back (cdx-9).

        Return the entry, and the document or conversation.
        """
        view = self._view
        with self._change(entry) as (tx, found, _):
            if mode is None and where in edits.list_pins(tx):  # what it was pinned to may be gone
                place = NamedThing(where)
            else:
                place = find_pin_place(view, tx, where)
            if mode is None:
                edits.unpin_entry(tx, place.id, found.id)
            else:
                edits.pin_entry(tx, place.id, found.id, PinMode(mode))
        return found, place

    def preview_rename(
        self, old: str, new: str, *, history: bool = False, also: Sequence[str] = ()
    ) -> list[RenamePlace]:
        """List every place that a rename would change, in the book and in the codex of its series (man-4).

        `also` names what else is renamed: `NAME=BECOMES`, or a name that `offer_renames` lists. A name that occurs
        nowhere and is no entry's is refused.
        """
        with self._read() as reading:
            further = _read_further(reading, old, new, also)
            places = preview_rename(reading, old, new, history=history, also=further)
            if not places:  # a slip of the pen: refused with the nearest name
                find_entry(read_all_entries(reading), old)
            return places

    def find_name_owner(self, old: str, new: str) -> Entry | None:
        """Return another entry than the renamed one that has the new name."""
        with self._read() as reading:
            return _find_name_owner(reading, new, _find_renamed(reading, old))

    def offer_renames(
        self, old: str, new: str, *, history: bool = False, also: Sequence[str] = ()
    ) -> list[RenameOffer]:
        """List names that belong to the renamed one and are left as they are, unless they are asked for."""
        with self._read() as reading:
            further = _read_further(reading, old, new, also)
            return find_offers(reading, old, new, history=history, also=further)

    def rename(
        self, old: str, new: str, *, history: bool = False, also: Sequence[str] = (), allow_duplicate: bool = False
    ) -> str:
        """Rename everywhere; return the id by which the rename can be undone.

        Refused where another entry has the new name, unless that is allowed.
        """
        with self._write(message("{old} renamed to {new}", old=old, new=new)) as tx:
            if not allow_duplicate:
                _check_name_is_free(tx, new, _find_renamed(tx, old))
            return apply_rename(tx, old, new, history=history, also=_read_further(tx, old, new, also))

    def undo_rename(self, rename_id: str | None = None) -> UndoneRename:
        """Undo a rename, by default the last one."""
        with self._write(message("rename taken back")) as tx:
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
        found, named = find_entry(known, name), [find_entry(known, other) for other in others]
        with self._write(label_change(message("entry"), found.name)) as tx:
            if tx.row(entry_rows, id=found.id) is None:
                edits.create(tx, Entry(id=found.id, type=found.type, name=found.name))
            yield tx, found, named


def _read_further(reading: ReadTransaction, old: str, new: str, also: Sequence[str]) -> dict[str, str]:
    return read_further_names(also, find_offers(reading, old, new)) if also else {}


def _is_before(place: Position, other: Position, timeline: Timeline) -> bool:
    return place != other and timeline.has_reached(place, other)


def _name_chapter(view: View, position: Position) -> str:
    entry = view.timeline.entry(position.document)
    return entry.title if entry is not None else position.document


def _find_renamed(reading: ReadTransaction, old: str) -> frozenset[str]:
    """Return the ids of the entries that a rename changes."""
    return frozenset(one.id for one in read_all_entries(reading) if old in one.names)


def _find_name_owner(reading: ReadTransaction, name: str, except_for: Set[str]) -> Entry | None:
    """Return an entry of the book or its series that has a name already."""
    entries = [one for one in read_all_entries(reading) if one.id not in except_for]
    return next((one for one in entries if fold_name(name) in map(fold_name, one.names)), None)


def _check_name_is_free(reading: ReadTransaction, name: str, except_for: Set[str] = frozenset()) -> None:
    """Refuse a name that another entry of the book or its series has."""
    taken = _find_name_owner(reading, name, except_for)
    if taken is not None:
        raise FabulaError(
            Code.STORE_DUPLICATE,
            message(
                "Another entry is called {name!r} already: {entry} ({kind}). {advice} Nothing was changed.",
                advice=advise(
                    message("Choose another name, or add --yes: then nobody can tell the two apart."),
                    message("Choose another name, or allow it (`allowDuplicate`): then nobody can tell the two apart."),
                ),
                name=name.strip(),
                entry=taken.name,
                kind=taken.type,
            ),
        )


def _values(view: View, tx: WriteTransaction, before: Entry, fields: EntryFields) -> dict[str, Any]:
    """Return the fields of an entry that something was said about, as the codex stores them."""
    values = select_given(fields)
    if "kind" in values:
        values["type"] = find_type(values.pop("kind"), (before.type,))
    if "level" in values:
        values["level"] = find_level(values["level"])
    if "details" in values:
        details = {**before.details, **values["details"]}
        values["details"] = {name: value for name, value in details.items() if name and value}
    if "known_to" in values:
        values["known_to"] = read_knowers(view, tx, values["known_to"])
    if "since" in values:
        values["since"] = read_limit(tx, values["since"], START)
    rules = {name: values.pop(name) for name in ("without", "case") if name in values}
    return {**values, "rules": {**to_builtins(before.rules), **rules}} if rules else values


def _describe_kinds(entry: Entry, other: Entry, advice: Sentence) -> Sentence:
    """Say how an entry stands to another, and what to do about it."""
    kinds = [one.kind or message("related") for one in entry.relations if one.to == other.id]
    names = {"name": entry.name, "other": other.name}
    if not kinds:
        return message("{name} has no such relation to {other}.", **names)
    return message("{name} and {other}: {kinds}. {advice}", **names, kinds=join_names(kinds), advice=advice)


def _count_progressions(entry: Entry) -> Sentence:
    count = len(entry.progressions)
    return plural(count, "{name} has {count} progression.", "{name} has {count} progressions.", name=entry.name)


def _find_progression(tx: WriteTransaction, entry: Entry, number: int) -> StoredProgression:
    """Return a progression by the number it is shown with; those of a series come first, and only it changes them."""
    own = progressions.list_progressions(tx, entry.id)
    count, shared = len(entry.progressions), len(entry.progressions) - len(own)
    if shared < number <= count:
        return own[number - shared - 1]
    have = _count_progressions(entry)
    if shared:
        have = message("{have} The first {shared} belong to its series or to earlier books.", have=have, shared=shared)
    raise FabulaError(Code.STORE_NOT_FOUND, message("{sentence} Nothing was changed.", sentence=have))
