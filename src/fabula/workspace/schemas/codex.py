"""Schemas of codex entries (cdx-1)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec import field, to_builtins

from fabula.codex import Entry
from fabula.workspace.rename.rename import RenamePlace
from fabula.workspace.schemas.schema import Schema


class StoryPlace(Schema):
    """A place in the story: a document, and an offset in its text."""

    document: str
    offset: int


class RelationInfo(Schema):
    """How an entry stands to another."""

    to: str
    kind: str


class ProgressionInfo(Schema):
    """What becomes true of an entry from a place in the story on."""

    number: int
    text: str
    since: StoryPlace
    known_to: tuple[str, ...] | None
    aliases: tuple[str, ...]


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


def describe_entry(entry: Entry) -> EntryInfo:
    """Describe an entry."""
    return EntryInfo(
        id=entry.id,
        type=entry.type,
        name=entry.name,
        aliases=entry.aliases,
        level=entry.level.value,
        description=entry.description,
        details=dict(entry.details),
        tags=entry.tags,
        notes=entry.notes,
        relations=tuple(RelationInfo(to=one.to, kind=one.kind) for one in entry.relations),
        known_to=_sorted(entry.known_to),
        since=None if entry.since is None else StoryPlace(document=entry.since.document, offset=entry.since.offset),
        rules=to_builtins(entry.rules),
        progressions=tuple(
            ProgressionInfo(
                number=number,
                text=one.text,
                since=StoryPlace(document=one.since.document, offset=one.since.offset),
                known_to=_sorted(one.known_to),
                aliases=one.aliases,
            )
            for number, one in enumerate(entry.progressions, start=1)
        ),
    )


def _sorted(names: frozenset[str] | None) -> tuple[str, ...] | None:
    return None if names is None else tuple(sorted(names))


class RenamePlaceInfo(Schema):
    """One place where a rename changes a name, with the words around it."""

    room: str
    label: str
    start: int
    end: int
    words: str
    becomes: str
    before: str
    after: str


class RenameInfo(Schema):
    """Every place of a rename, and the id by which it can be undone; empty where it was only looked at."""

    places: tuple[RenamePlaceInfo, ...]
    rename: str


def describe_rename(places: Iterable[RenamePlace], rename_id: str) -> RenameInfo:
    """Describe a rename."""
    return RenameInfo(places=tuple(RenamePlaceInfo(**to_builtins(place)) for place in places), rename=rename_id)
