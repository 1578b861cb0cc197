"""Schemas of chapters and their revisions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import UNSET, UnsetType

from fabula.workspace.schemas.schema import Schema, describe

if TYPE_CHECKING:
    from fabula.manuscript.revisions import LineDifference, Revision
    from fabula.workspace.chapters import ChapterRecord, ChapterText, WordsFound
    from fabula.workspace.schemas.display_names import DisplayNames


class ChapterInfo(Schema):
    """A document of the manuscript; only chapters have a number, lengths count characters, and lists count words."""

    id: str
    number: int | None
    title: str
    kind: str
    depth: int
    revision: int
    length: int
    pov: str | None
    words: int | None = None
    pov_name: str | UnsetType = UNSET


class ChapterContents(ChapterInfo, kw_only=True):
    """A document with its text."""

    text: str


class RevisionInfo(Schema):
    """An earlier text of a document; the time is in UTC."""

    document_id: str
    revision: int
    title: str
    label: str
    cause: str
    recorded_at: str
    length: int


class TextPartInfo(Schema):
    """A part of a line: in both texts (same), in the old one alone (removed), or in the new one alone (added)."""

    kind: str
    text: str


class LineDifferenceInfo(Schema):
    """A line in which two texts differ: its number in the new text, and its parts in order."""

    line: int
    parts: tuple[TextPartInfo, ...]


class WordsPlaceInfo(Schema):
    """A place where words stand, as they are spelled there, with some of the text around them."""

    offset: int
    words: str
    before: str
    after: str


class WordsFoundInfo(Schema):
    """How often words stand in a chapter, and the first places."""

    chapter: ChapterInfo
    count: int
    places: tuple[WordsPlaceInfo, ...]


def describe_words(found: WordsFound) -> WordsFoundInfo:
    """Describe where words stand in a chapter."""
    places = tuple(describe(WordsPlaceInfo, one) for one in found.places)
    return WordsFoundInfo(chapter=describe_chapter(found.chapter), count=found.count, places=places)


def describe_chapter(record: ChapterRecord, names: DisplayNames | None = None) -> ChapterInfo:
    """Describe a chapter, perhaps with the name of its point of view."""
    pov_name = UNSET if names is None or not record.pov else names.name_entry(record.pov)
    return describe(ChapterInfo, record, pov_name=pov_name)


def describe_text(chapter: ChapterText) -> ChapterContents:
    """Describe a chapter with its text."""
    return describe(ChapterContents, chapter.record, text=chapter.text)


def describe_revision(revision: Revision) -> RevisionInfo:
    """Describe a revision."""
    return describe(RevisionInfo, revision)


def describe_difference(difference: LineDifference) -> LineDifferenceInfo:
    """Describe a line in which two texts differ."""
    return LineDifferenceInfo(
        line=difference.line, parts=tuple(describe(TextPartInfo, one) for one in difference.parts)
    )
