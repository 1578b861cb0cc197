"""The codex that a series shares with a book: read with the codexes of earlier books, and merged into the book's view.

What did not change is shared with the view before: the merged codex, its name matcher and the timeline.
"""

from __future__ import annotations

import operator
from typing import Protocol

from msgspec import Struct

from fabula.codex import Codex
from fabula.codex import snapshot as codex_rows
from fabula.codex.series import merge_codexes
from fabula.core.story import Timeline, TimelineEntry, name_earlier_document
from fabula.core.view import Language, View
from fabula.manuscript import snapshot as manuscript_rows
from fabula.manuscript.series import SeriesBook, SeriesMembership, is_series, list_earlier_books
from fabula.store.store import Store
from fabula.store.transaction import ReadTransaction


class EarlierBook(Struct, frozen=True):
    """A book that comes before in the order of a series: its own codex, and its documents without their texts."""

    book_id: str
    version: int
    codex: Codex
    documents: tuple[TimelineEntry, ...]


class SeriesCodex(Struct, frozen=True):
    """The codex that a series shares with a book, with the earlier books, and the versions at which they were read."""

    series_id: str
    version: int
    codex: Codex | None
    earlier: tuple[EarlierBook, ...] = ()

    @property
    def project_ids(self) -> tuple[str, ...]:
        """The projects whose versions decide whether this is current."""
        return self.series_id, *(book.book_id for book in self.earlier)

    @property
    def versions(self) -> tuple[int, ...]:
        """The versions of these projects."""
        return self.version, *(book.version for book in self.earlier)


class MergedView(Protocol):
    """A book's view as it was before, with what its series shares and without."""

    view: View
    own_view: View
    series: SeriesCodex | None


def load_series_codex(store: Store, own_view: View, old: SeriesCodex | None) -> SeriesCodex | None:
    """Load the codex of the series that a book belongs to, and those of its earlier books; nothing else of them."""
    membership = own_view.snapshot(SeriesMembership)
    if membership is None:
        return None
    series_id = membership.series
    old = old if old is not None and old.series_id == series_id else None
    with store.read(project=series_id) as reading:
        version = reading.version("project")
        if not is_series(reading):
            return SeriesCodex(series_id, version, None)
        codex = _load_other_codex(reading, series_id, own_view.project.language, old)
    known = {book.book_id: book for book in old.earlier} if old is not None else {}
    earlier = tuple(
        _load_earlier_book(store, own_view, book, known.get(book.id))
        for book in list_earlier_books(store, series_id, own_view.project.id)
    )
    loaded = SeriesCodex(series_id, version, codex, earlier)
    return old if old is not None and old == loaded else loaded


def _load_earlier_book(store: Store, own_view: View, book: SeriesBook, old: EarlierBook | None) -> EarlierBook:
    """Load what a later book knows of an earlier one: its own codex, and which documents it has."""
    with store.read(project=book.id) as reading:
        version = reading.version("project")
        if old is not None and old.version == version:
            return old
        codex = _load_other_codex(reading, book.id, own_view.project.language, old)
        documents = tuple(
            TimelineEntry(name_earlier_document(book.id, row.id), title=f"{book.title}: {row.title}")
            for row in manuscript_rows.list_story_documents(reading)
        )
    same = old is not None and old.documents == documents
    return EarlierBook(book.id, version, codex, old.documents if old is not None and same else documents)


def merge_series_codex(own_view: View, series: SeriesCodex, before: MergedView | None) -> View:
    """Merge what the series shares into a book's view; codex and timeline are reused if nothing of theirs changed."""
    own_codex = own_view.snapshot(Codex)
    merged = before.view.snapshot(Codex) if before is not None else None
    if own_codex is None or series.codex is None:
        return own_view
    old = before.series if before is not None else None
    old_parts = None if old is None else (old.codex, *(book.codex for book in old.earlier))
    parts = (series.codex, *(book.codex for book in series.earlier))
    is_same = old_parts is not None and len(old_parts) == len(parts) and all(map(operator.is_, old_parts, parts))
    if before is None or merged is None or not is_same or before.own_view.snapshot(Codex) is not own_codex:
        fresh = merge_codexes(series.codex, own_codex, [(book.book_id, book.codex) for book in series.earlier])
        merged = fresh if merged is None else fresh.reuse_matcher(merged)
    return View(own_view.project, _with_earlier(own_view, series, before), {**own_view.snapshots, Codex: merged})


def _with_earlier(own_view: View, series: SeriesCodex, before: MergedView | None) -> Timeline:
    """Return the timeline of a book after the documents of the earlier ones."""
    if not series.earlier:
        return own_view.timeline
    old = before.series if before is not None else None
    same_books = old is not None and [one.documents for one in old.earlier] == [one.documents for one in series.earlier]
    if before is not None and same_books and before.own_view.timeline is own_view.timeline:
        return before.view.timeline
    documents = {one.document: one for book in series.earlier for one in book.documents}
    return Timeline(own_view.timeline.entries, earlier=documents)


def _load_other_codex(
    reading: ReadTransaction, project_id: str, language: Language, old: SeriesCodex | EarlierBook | None
) -> Codex:
    """Load the codex of another project of a series; without the timeline, whose positions are not the book's."""
    old_codex = old.codex if old is not None else None
    changes = reading.changes("project", old.version) if old is not None else None
    items = None if changes is None else frozenset(change.item for change in changes if change.area == "codex")
    if old_codex is not None and items is not None and not items:
        return old_codex
    return codex_rows.load(reading, project_id, language, Timeline(), old_codex, items)
