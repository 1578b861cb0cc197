"""What a person can do with chapters: list, read, add, write, replace words, move, merge, split, rename, delete.

A chapter can also be told to happen elsewhere than where it is read, and through whose eyes it is told.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace
from sqlalchemy import Row

from fabula.codex.tables import pins
from fabula.core.errors import Code, FabulaError
from fabula.core.messages import Sentence, join_names, message
from fabula.core.story import Timeline
from fabula.manuscript import documents, merging
from fabula.manuscript.drafts import DocumentKind
from fabula.manuscript.model import name_document
from fabula.manuscript.projects import ALLOW_DUPLICATE
from fabula.manuscript.snapshot import sort_in_reading_order
from fabula.manuscript.tables import documents as rows
from fabula.store.transaction import ReadTransaction, WriteTransaction
from fabula.text.word_count import count_words
from fabula.workspace.arguments import Title
from fabula.workspace.names import find_character, find_document, number_chapters
from fabula.workspace.story_places import read_place
from fabula.workspace.verbs import ProjectVerbs, label_addition, label_change, label_removal

_PLACES_SHOWN = 20  # of words that were found in one chapter
_AROUND = 40  # characters shown on both sides of them
_SPACED_LETTER = "[^\\W\u2e80-\U0010ffff]"  # of a script with spaces between words


class ChapterRecord(Struct, frozen=True, kw_only=True):
    """A document of the manuscript, as lists show it, with the number that a reader gives to a chapter."""

    id: str
    number: int | None
    title: str
    name: str  # the title, else the first words of the text
    kind: str
    depth: int
    revision: int
    length: int
    pov: str | None = None
    words: int | None = None  # counted for lists alone


class WordsPlace(Struct, frozen=True):
    """A place where words stand, as they are spelled there, with some of the text around them."""

    offset: int
    words: str
    before: str
    after: str


class WordsFound(Struct, frozen=True):
    """How often words stand in a chapter, and the first places."""

    chapter: ChapterRecord
    count: int
    places: tuple[WordsPlace, ...]


class ChapterText(Struct, frozen=True):
    """A chapter with its text."""

    record: ChapterRecord
    text: str


class ChapterVerbs(ProjectVerbs):
    """The documents of an open project; each is named by its id, its title or its chapter number."""

    def list_chapters(self) -> list[ChapterRecord]:
        """List all documents in reading order, with the number of their words."""
        with self._read() as reading:
            records = load_records(reading)
            texts = {row.id: row.text for row in reading.rows(rows, only=("id", "text"))}
        return [replace(one, words=count_words(texts[one.id])) for one in records.values()]

    def read(self, chapter: str) -> ChapterText:
        """Read the text of a chapter."""
        with self._read() as reading:
            return _load(reading, find_chapter(reading, chapter).id)

    def add(
        self,
        title: Title,
        text: str = "",
        *,
        kind: str = "chapter",
        into: str | None = None,
        after: str | None = None,
        allow_duplicate: bool = False,
    ) -> ChapterRecord:
        """Add a chapter: at the end, at the end of a part (`into`), or after another one.

        A title that another document in the same part has is refused, unless that is allowed.
        """
        _check_kind(kind)
        with self._write(label_addition(message("chapter"), title)) as tx:
            parent, index = _find_place(tx, into=into, after=after)
            if not allow_duplicate:
                _check_title_is_free(tx, title, parent)
            made = documents.add(tx, title, text=text, kind=DocumentKind(kind), parent=parent, index=index)
            return load_records(tx)[made]

    def write(self, chapter: str, text: str, *, expected_revision: int | None = None) -> ChapterRecord:
        """Replace the text of a chapter; refused if it has another revision than the expected one by now."""
        with self._write(_label(chapter)) as tx:
            found = find_chapter(tx, chapter)
            tx.undo_label = _label(found.name)
            documents.write(tx, found.id, text, expected=expected_revision, cause="replaced")
            return load_records(tx)[found.id]

    def find_words(
        self, words: str, *, chapter: str | None = None, whole_word: bool = False, any_case: bool = False
    ) -> list[WordsFound]:
        """Find words in a chapter or in the whole manuscript, as replacing them would.

        They are found as they are spelled, with `any_case` in small and capital letters, and with `whole_word` only
        where they are no part of a longer word.
        """
        if not words:
            raise FabulaError(Code.TEXT_INVALID, message("Say which words to find."))
        pattern = _compile_words(words, whole_word=whole_word, any_case=any_case)
        with self._read() as reading:
            records = load_records(reading)
            chosen = [find_chapter(reading, chapter).id] if chapter is not None else [*records]
            found = [(records[one], reading.require(rows, id=one).text) for one in chosen]
        return [_describe_words(record, text, pattern) for record, text in found if pattern.search(text)]

    def replace_words(
        self,
        words: str,
        replacement: str,
        *,
        chapter: str | None = None,
        whole_word: bool = False,
        any_case: bool = False,
        except_places: Sequence[str] = (),
    ) -> dict[str, int]:
        """Replace words in a chapter or in the whole manuscript; return how often, by title.

        They are found as `find_words` finds them. Places to leave out are written `chapter@offset`; if the words do not
        stand at one of them any more, nothing is replaced.
        """
        if not words:
            raise FabulaError(Code.TEXT_INVALID, message("Say which words to replace. Nothing was changed."))
        pattern = _compile_words(words, whole_word=whole_word, any_case=any_case)
        label = message("{old!r} replaced by {new!r}", old=words, new=replacement)
        with self._write(label) as tx:
            chosen = [find_chapter(tx, chapter).id] if chapter is not None else [*load_records(tx)]
            kept = {tuple(place.rpartition("@")[::2]) for place in except_places}
            counts: dict[str, int] = {}
            for document_id in chosen:
                row = tx.require(rows, id=document_id)
                places = [one.span() for one in pattern.finditer(row.text)]
                replaced = [span for span in places if (row.id, str(span[0])) not in kept]
                kept -= {(row.id, str(start)) for start, _ in places}
                if replaced:
                    documents.write(tx, row.id, _put_in(row.text, replaced, replacement), cause="replaced")
                    counts[name_document(row.title, row.text)] = len(replaced)
            if kept:
                raise FabulaError(
                    Code.REQUEST_INVALID,
                    message("The text was changed since the words were found. Find them again. Nothing was changed."),
                )
            if not counts:
                raise FabulaError(
                    Code.TEXT_INVALID, message("{words!r} is not in the text. Nothing was changed.", words=words)
                )
            return counts

    def rename(self, chapter: str, title: Title, *, allow_duplicate: bool = False) -> ChapterRecord:
        """Give a chapter another title; refused where another one in the same part has it, unless that is allowed."""
        with self._write(_label(chapter)) as tx:
            found = find_chapter(tx, chapter)
            if not allow_duplicate:
                _check_title_is_free(tx, title, tx.require(rows, id=found.id).parent_id, except_for=found.id)
            tx.undo_label = message("{old} renamed to {new}", old=found.name, new=title)
            documents.update(tx, found.id, {"title": title.strip()})
            return load_records(tx)[found.id]

    def move(
        self, chapter: str, *, before: str | None = None, after: str | None = None, into: str | None = None
    ) -> ChapterRecord:
        """Move a chapter before or after another one, or to the end of a part (`into`)."""
        if [before, after, into].count(None) != 2:
            raise FabulaError(
                Code.REQUEST_INVALID,
                message("Say where to: before or after a chapter, or into a part. Nothing was changed."),
            )
        with self._write(_label(chapter)) as tx:
            found = find_chapter(tx, chapter)
            tx.undo_label = message("{title} moved", title=found.name)
            parent, index = _find_place(tx, before=before, after=after, into=into, moving=found.id)
            documents.move(tx, found.id, parent=parent, index=index)
            return load_records(tx)[found.id]

    def set_story_time(self, chapter: str, *, before: str | None = None, after: str | None = None) -> ChapterRecord:
        """Say that a chapter happens before or after another one; with neither, that it happens where it is read."""
        if before is not None and after is not None:
            raise FabulaError(
                Code.REQUEST_INVALID,
                message("A chapter happens before or after another one, not both. Nothing was changed."),
            )
        timeline = self._view.timeline
        with self._write(_label(chapter)) as tx:
            found = find_chapter(tx, chapter)
            tx.undo_label = message("{title} moved in time", title=found.name)
            beside = before if before is not None else after
            other = None if beside is None else find_chapter(tx, beside)
            for one in (found, other):
                if one is not None and one.id not in timeline:
                    raise _refuse_outside(one)
            happens = None if other is None else _find_time(timeline, found.id, other.id, is_before=before is not None)
            documents.update(tx, found.id, {"happens": happens})
            return load_records(tx)[found.id]

    def set_viewpoint(self, chapter: str, character: str | None = None) -> ChapterRecord:
        """Say through whose eyes a chapter is told, by any name of the character; without one, through nobody's.

        Prompts for the chapter then hold what that character knows, and only the character and the reader know what the
        chapter tells, unless something else was said of it.
        """
        view = self._view
        with self._write(_label(chapter)) as tx:
            found = find_chapter(tx, chapter)
            tx.undo_label = message("{title}: point of view changed", title=found.name)
            if found.id not in view.timeline:
                raise _refuse_outside(found)
            who = None if character is None else find_character(view, character).id
            documents.update(tx, found.id, {"pov": who})
            return load_records(tx)[found.id]

    def merge(self, chapter: str, other: str) -> ChapterRecord:
        """Append another chapter to this one; positions, marks, beats and pins go along."""
        with self._write(_label(chapter)) as tx:
            first, second = find_chapter(tx, chapter), find_chapter(tx, other)
            tx.undo_label = message("{second} merged into {first}", first=first.name, second=second.name)
            merging.merge(tx, first.id, second.id)
            _move_pins(tx, second.id, first.id)
            return load_records(tx)[first.id]

    def split(self, place: str, title: Title, *, allow_duplicate: bool = False) -> tuple[ChapterRecord, ChapterRecord]:
        """Split a chapter at CHAPTER@OFFSET, or right after CHAPTER:WORDS; return both parts.

        A title that another document in the same part has is refused, unless that is allowed.
        """
        with self._write(_label(place)) as tx:
            position = read_place(tx, place)
            if not allow_duplicate:
                _check_title_is_free(tx, title, tx.require(rows, id=position.document).parent_id)
            tx.undo_label = message("{title} split in two", title=load_records(tx)[position.document].name)
            made = merging.split(tx, position.document, position.offset, title)
            records = load_records(tx)
            return records[position.document], records[made]

    def remove(self, chapter: str) -> tuple[ChapterRecord, int]:
        """Remove a chapter with everything below it; return what it was, and how many documents were removed."""
        with self._write(_label(chapter)) as tx:
            found = find_chapter(tx, chapter)
            tx.undo_label = label_removal(message("chapter"), found.name)
            return found, documents.remove(tx, found.id)


def find_chapter(reading: ReadTransaction, name: str) -> ChapterRecord:
    """Return the document of that id, title or chapter number."""
    records = load_records(reading)
    ordered = sort_in_reading_order(reading.rows(rows, only=("id", "title", "kind", "parent_id", "place", "text")))
    return records[find_document(ordered, name)]


def load_records(reading: ReadTransaction) -> dict[str, ChapterRecord]:
    """Load all documents as lists show them, in reading order, by id."""
    found: dict[str, ChapterRecord] = {}
    ordered = sort_in_reading_order(reading.rows(rows))
    numbers = number_chapters(ordered)
    for row in ordered:
        above = found.get(row.parent_id)
        found[row.id] = ChapterRecord(
            id=row.id,
            number=numbers.get(row.id),
            title=row.title,
            name=name_document(row.title, row.text),
            kind=row.kind,
            depth=0 if above is None else above.depth + 1,
            revision=row.version,
            length=len(row.text),
            pov=row.pov,
        )
    return found


def _compile_words(words: str, *, whole_word: bool, any_case: bool) -> re.Pattern[str]:
    """Return a pattern for words; characters of a script without spaces are words by themselves."""
    before = f"(?<!{_SPACED_LETTER})" if whole_word and re.match(_SPACED_LETTER, words[0]) else ""
    behind = f"(?!{_SPACED_LETTER})" if whole_word and re.match(_SPACED_LETTER, words[-1]) else ""
    return re.compile(f"{before}{re.escape(words)}{behind}", re.IGNORECASE if any_case else 0)


def _put_in(text: str, places: Sequence[tuple[int, int]], replacement: str) -> str:
    """Return a text with a replacement at some places, which are in order."""
    ends = [0, *(end for _, end in places)]
    starts = [*(start for start, _ in places), len(text)]
    return replacement.join(text[end:start] for end, start in zip(ends, starts, strict=True))


def _describe_words(record: ChapterRecord, text: str, pattern: re.Pattern[str]) -> WordsFound:
    found = [one.span() for one in pattern.finditer(text)]
    places = (
        WordsPlace(start, text[start:end], text[max(0, start - _AROUND) : start], text[end : end + _AROUND])
        for start, end in found[:_PLACES_SHOWN]
    )
    return WordsFound(record, len(found), tuple(places))


def _load(reading: ReadTransaction, document_id: str) -> ChapterText:
    return ChapterText(load_records(reading)[document_id], reading.require(rows, id=document_id).text)


def _label(name: str) -> Sentence:
    return label_change(message("chapter"), name)


def _refuse_outside(record: ChapterRecord) -> FabulaError:
    return FabulaError(
        Code.REQUEST_INVALID, message("{title} is no part of the story. Nothing was changed.", title=record.name)
    )


def _check_kind(kind: str) -> None:
    if kind not in set(DocumentKind):
        raise FabulaError(
            Code.TREE_INVALID,
            message("A document is one of these: {kinds}. Nothing was changed.", kinds=join_names(list(DocumentKind))),
        )


def _check_title_is_free(tx: WriteTransaction, title: str, parent: str | None, *, except_for: str = "") -> None:
    """Refuse a title that another document in the same part has; in another part, that part tells the two apart."""
    siblings = rows.c.parent_id.is_(None) if parent is None else rows.c.parent_id == parent
    same = siblings & (rows.c.title == title.strip()) & (rows.c.id != except_for)
    if title.strip() and tx.exist([(rows, same)])[0]:
        raise FabulaError(
            Code.STORE_DUPLICATE,
            message(
                "Another chapter is called {title!r} already. {advice} Nothing was changed.",
                title=title.strip(),
                advice=ALLOW_DUPLICATE,
            ),
        )


def _find_place(
    tx: WriteTransaction,
    *,
    before: str | None = None,
    after: str | None = None,
    into: str | None = None,
    moving: str | None = None,
) -> tuple[str | None, int | None]:
    """Return the parent, and the index among its children, that a wish means."""
    if into is not None:
        return find_chapter(tx, into).id, None
    beside = before if before is not None else after
    if beside is None:
        return None, None
    found = find_chapter(tx, beside)
    if found.id == moving:
        raise FabulaError(
            Code.REQUEST_INVALID, message("A chapter cannot be moved before or after itself. Nothing was changed.")
        )
    parent: str | None = tx.require(rows, id=found.id).parent_id
    siblings = rows.c.parent_id.is_(None) if parent is None else rows.c.parent_id == parent
    order: list[Row[Any]] = [*tx.rows(rows, siblings, order=(rows.c.place, rows.c.id), only=("id",))]
    ids = [row.id for row in order if row.id != moving]
    return parent, ids.index(found.id) + (before is None)


def _find_time(timeline: Timeline, document: str, other: str, *, is_before: bool) -> float:
    """Return a story time right before or after another document, among all others."""
    if document == other:
        raise FabulaError(
            Code.REQUEST_INVALID, message("A chapter cannot happen before or after itself. Nothing was changed.")
        )
    times = [(one, timeline.story_time(one) or 0.0) for one in timeline.documents_in_story_order if one != document]
    index = [one for one, _ in times].index(other) + (not is_before)
    earlier, later = [time for _, time in times[:index]], [time for _, time in times[index:]]
    if not earlier:
        return later[0] - 1
    return (earlier[-1] + later[0]) / 2 if later else earlier[-1] + 1


def _move_pins(tx: WriteTransaction, source: str, target: str) -> None:
    """Move the pins of one document to another that has none for the same entry."""
    taken = [row.entry_id for row in tx.rows(pins, pins.c.where_id == target)]
    for row in tx.rows(pins, pins.c.where_id == source):
        tx.delete_rows(pins, pins.c.where_id == source, pins.c.entry_id == row.entry_id)
        if row.entry_id not in taken:
            values = {name: value for name, value in row._mapping.items() if name != "project_id"}
            tx.insert(pins, {**values, "where_id": target})
