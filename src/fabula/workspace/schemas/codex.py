"""Schemas of codex entries (cdx-1)."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import accumulate
from typing import Any

from msgspec import UNSET, UnsetType, field, to_builtins

from fabula.codex import Entry, Progression, Relation
from fabula.core.messages import ENGLISH
from fabula.text.names.disambiguation import Mention
from fabula.workspace.codex import EntryKnower
from fabula.workspace.mentions import EntryCard
from fabula.workspace.rename.offers import RenameOffer
from fabula.workspace.rename.rename import RenamePlace
from fabula.workspace.schemas.display_names import DisplayNames
from fabula.workspace.schemas.schema import Schema, describe
from fabula.workspace.sharing import EntryShare


class StoryPlace(Schema):
    """A place in the story: a document, and an offset in its text."""

    document: str
    offset: int


class RelationInfo(Schema):
    """How an entry stands to another, from when until when, and who may know it; null for everybody."""

    to: str
    kind: str
    since: StoryPlace | None
    until: StoryPlace | None
    known_to: tuple[str, ...] | None
    to_name: str | UnsetType = UNSET
    known_to_names: tuple[str, ...] | UnsetType | None = UNSET


class ProgressionInfo(Schema):
    """What becomes true of an entry from a place in the story on."""

    number: int
    text: str
    since: StoryPlace
    known_to: tuple[str, ...] | None
    aliases: tuple[str, ...]
    known_to_names: tuple[str, ...] | UnsetType | None = UNSET


class KnowerInfo(Schema):
    """Somebody who knows an entry, or one of its progressions by its number, from the start or since a place."""

    progression: int | None
    knower: str
    name: str
    since: StoryPlace | None


class EntryInfo(Schema):
    """One entry of the codex with everything about it; private notes are never sent to a model."""

    id: str
    type: str
    name: str
    aliases: tuple[str, ...]
    level: str = field(name="aiContextLevel")
    description: str
    details: dict[str, str]
    tags: tuple[str, ...]
    notes: str
    relations: tuple[RelationInfo, ...]
    known_to: tuple[str, ...] | None
    since: StoryPlace | None
    rules: dict[str, Any]
    progressions: tuple[ProgressionInfo, ...]
    knowers: tuple[KnowerInfo, ...] | UnsetType = UNSET  # where it was asked for
    known_to_names: tuple[str, ...] | UnsetType | None = UNSET


def describe_entry(
    entry: Entry, knowers: Iterable[EntryKnower] | UnsetType = UNSET, *, names: DisplayNames | None = None
) -> EntryInfo:
    """Describe an entry, perhaps with those who know it, and with the names of others that it names by id."""

    def name_people(limited: Entry | Relation | Progression) -> tuple[str, ...] | UnsetType | None:
        return UNSET if names is None else names.name_entries(limited.known_to)

    steps = [
        describe(ProgressionInfo, step, number=number, known_to_names=name_people(step))
        for number, step in enumerate(entry.progressions, start=1)
    ]
    relations = [
        describe(
            RelationInfo,
            one,
            to_name=UNSET if names is None else names.name_entry(one.to),
            known_to_names=name_people(one),
        )
        for one in entry.relations
    ]
    return describe(
        EntryInfo,
        entry,
        rules=to_builtins(entry.rules),
        relations=relations,
        progressions=steps,
        knowers=UNSET if isinstance(knowers, UnsetType) else [describe(KnowerInfo, one) for one in knowers],
        known_to_names=name_people(entry),
    )


class RemovedEntryInfo(Schema):
    """An entry that was removed, with its last name; chapters and facts may still hold its id."""

    id: str
    name: str


class RenamePlaceInfo(Schema):
    """One place where a rename changes a name, with the words around it."""

    area: str = field(name="room")
    label: str
    start: int
    end: int
    words: str
    replacement: str = field(name="becomes")
    before: str
    after: str
    in_series: bool


class RenameOfferInfo(Schema):
    """A name that a rename leaves as it is unless it is asked for, how often it occurs, and what it would become."""

    words: str
    replacement: str = field(name="becomes")
    count: int


class RenameInfo(Schema):
    """Every place of a rename, and the id by which it can be undone; empty where it was only looked at."""

    places: tuple[RenamePlaceInfo, ...]
    rename: str
    offers: tuple[RenameOfferInfo, ...] = ()


class EntryShareInfo(Schema):
    """An entry that a book shares with its series: what goes there, what stays, and what to think of first."""

    id: str
    name: str
    series: str
    moved: tuple[str, ...]
    kept: tuple[str, ...]
    remarks: tuple[str, ...]
    reveals: tuple[str, ...]


class EntrySharesInfo(Schema):
    """Entries that a book shares with its series, and whether that was done or only looked at."""

    entries: tuple[EntryShareInfo, ...]
    applied: bool


def describe_shares(shares: Iterable[EntryShare], applied: bool, language: str = ENGLISH) -> EntrySharesInfo:
    """Describe entries that a book shares with its series."""
    return EntrySharesInfo(
        entries=tuple(
            EntryShareInfo(
                id=one.shared.id,
                name=one.shared.name,
                series=one.series,
                moved=tuple(part.render(language) for part in one.moved),
                kept=tuple(part.render(language) for part in one.kept),
                remarks=tuple(part.render(language) for part in one.remarks),
                reveals=one.reveals,
            )
            for one in shares
        ),
        applied=applied,
    )


class MentionInfo(Schema):
    """A name of the codex in a text, in UTF-16 units, with the ids of its possible entries, the likeliest first."""

    start: int
    end: int
    entries: tuple[str, ...]


class EntryCardInfo(Schema):
    """An entry as it stands at a place of the story, for its author, the reader or a character.

    `later` counts what becomes true of it only afterwards, `unknown` what the reader or character does not know. If
    they do not know the entry at all there is no text, and `reason` says why.
    """

    id: str
    name: str
    type: str
    text: str
    later_count: int = field(name="later")
    unknown_count: int = field(name="unknown")
    reason: str


def describe_mentions(mentions: Iterable[Mention], text: str) -> list[MentionInfo]:
    """Describe the names in a text."""
    units = (lambda offset: offset) if text.isascii() else _count_units(text).__getitem__
    return [MentionInfo(start=units(one.start), end=units(one.end), entries=one.owners) for one in mentions]


def _count_units(text: str) -> list[int]:
    """The UTF-16 units before every character, and all at the end."""
    return [0, *accumulate(2 if character > "\uffff" else 1 for character in text)]


def describe_card(card: EntryCard, language: str = ENGLISH) -> EntryCardInfo:
    """Describe an entry as it stands at a place."""
    return describe(EntryCardInfo, card, language)


def describe_rename(
    places: Iterable[RenamePlace], rename_id: str, offers: Iterable[RenameOffer] = (), language: str = ENGLISH
) -> RenameInfo:
    """Describe a rename."""
    return RenameInfo(
        places=tuple(describe(RenamePlaceInfo, place, language) for place in places),
        rename=rename_id,
        offers=tuple(describe(RenameOfferInfo, offer, language) for offer in offers),
    )
