"""Synopses that are kept: one a chapter, written by hand, by a model, or made of the chapter's own sentences.

Each remembers of which text it was made, and is stale when the text is another. What a person wrote is never
written over by itself; it is only called stale. What was made is made again by `refresh`, which reads and writes
in short transactions and holds none while it summarises: a chapter that was edited meanwhile, or whose synopsis
somebody wrote meanwhile, keeps what it has.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct, field
from sqlalchemy import Row

from fabula.core.errors import Code, FabulaError
from fabula.core.ids import now
from fabula.core.view import Language
from fabula.manuscript.drafts import Kind
from fabula.manuscript.model import Document, text_hash
from fabula.manuscript.synopses.chapters import ABOVE, Chapter, chapters_of, together
from fabula.manuscript.tables import documents, synopses
from fabula.manuscript.tree import children, in_order
from fabula.store.store import Store
from fabula.store.transaction import Reading, Writing
from fabula.text.names.main_characters import NOBODY, Cast
from fabula.text.summaries import Summariser, extract, proper_length

Origin = Literal["hand", "extract", "model"]
State = Literal["fresh", "stale", "missing"]

LONGEST = 8000  # characters of a synopsis
_AT_ONCE = 20  # synopses written in one transaction
_SECONDS = 1.0  # after which those made so far are written


class Kept(Struct, frozen=True):
    """The synopsis of a chapter as it is kept."""

    document_id: str
    title: str
    state: State
    origin: str | None = None
    text: str = ""
    version: int = 0
    lost: tuple[str, ...] = ()  # main characters of the chapter whom it does not name


class Refreshed(Struct, kw_only=True):
    """What became of the chapters when synopses were made."""

    made: list[Kept] = field(default_factory=list)
    left: list[str] = field(default_factory=list)  # stale, but written by hand
    overtaken: list[str] = field(default_factory=list)  # changed while they were being told
    failed: dict[str, str] = field(default_factory=dict)  # and why

    @property
    def lost(self) -> dict[str, tuple[str, ...]]:
        """Main characters that a new synopsis does not name, by chapter."""
        return {kept.document_id: kept.lost for kept in self.made if kept.lost}


def rows_of(reading: Reading, only: list[str] | None = None) -> dict[str, Row[Any]]:
    """The rows of every document's synopsis, or of some."""
    where = () if only is None else (synopses.c.document_id.in_(only),)
    return {row.document_id: row for row in reading.rows(synopses, *where)}


def write(tx: Writing, document_id: str, text: str, *, origin: Origin = "hand", expected: int | None = None) -> int:
    """Tell a document in short; remembers of which text that was said. Says the new version."""
    tx.need(documents, id=document_id)
    if not text.strip() or len(text) > LONGEST:
        raise FabulaError(Code.TEXT_INVALID, f"A synopsis has from one to {LONGEST} characters. Nothing was changed.")
    return _put(tx, document_id, text.strip(), origin, text_hash(_text(tx, document_id)), expected)


def write_all(tx: Writing, told: Mapping[str, str], origins: Mapping[str, str] | None = None) -> None:
    """Tell many documents in short, which have no synopses yet."""
    if not any(text.strip() for text in told.values()):
        return
    below = _Below(tx.rows(documents))
    at = now()
    rows = [
        {
            "document_id": ident,
            "text": text.strip(),
            "origin": (origins or {}).get(ident, "hand"),
            "made_from": text_hash(together(row.text for row in below[ident])),
            "changed": at,
        }
        for ident, text in told.items()
        if text.strip()
    ]
    tx.add(synopses, *rows)


def clear(tx: Writing, document_id: str) -> bool:
    """Take a document's synopsis away; was there one?"""
    tx.need(documents, id=document_id)
    return bool(tx.remove(synopses, synopses.c.document_id == document_id))


def listed(reading: Reading, cast: Cast = NOBODY) -> list[Kept]:
    """Every chapter in order, with its synopsis and how that stands."""
    return [kept_of(chapter, cast, 0 if row is None else row.version) for chapter, row in _chapters(reading)]


def kept_of(chapter: Chapter, cast: Cast = NOBODY, version: int = 0) -> Kept:
    """A chapter's synopsis, and how that stands."""
    told = chapter.kept
    if told is None:
        return Kept(chapter.id, chapter.title, "missing")
    state: State = "stale" if told.stale else "fresh"
    lost = cast.lost(cast.main(chapter.text), told.text)
    return Kept(chapter.id, chapter.title, state, told.origin, told.text, version, lost)


def still_told(reading: Reading, document_id: str) -> list[str]:
    """The document and those above it whose synopses are of their present texts."""
    found: list[str] = []
    above: str | None = document_id
    while above is not None:
        row = reading.row(synopses, document_id=above)
        if row is not None and row.made_from == text_hash(_text(reading, above)):
            found.append(above)
        above = reading.need(documents, id=above).parent_id
    return found


def tell_still(tx: Writing, document_ids: Iterable[str]) -> None:
    """These synopses are as true of the texts as they stand now."""
    for ident in document_ids:
        tx.change(synopses, {"made_from": text_hash(_text(tx, ident))}, synopses.c.document_id == ident)


def refresh(
    store: Store,
    project_id: str,
    *,
    language: Language = "en",
    summariser: Summariser = extract,
    origin: Origin = "extract",
    cast: Cast = NOBODY,
    only: Sequence[str] | None = None,
    again: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> Refreshed:
    """Make the synopses that are missing or stale, in the order of the story; `again` makes fresh ones anew as well.

    A chapter that has one by hand keeps it. Where a model is at hand, what was made of sentences counts as stale.
    """
    result = Refreshed()
    with store.read(project=project_id) as reading:
        due = _due(reading, result, origin, only, again)
    waiting: list[_Made] = []
    last = time.monotonic()
    for number, (ident, version) in enumerate(due, start=1):
        made = _make(store, project_id, ident, version, language, summariser, cast, result)
        if made is not None:
            waiting.append(made)
        if waiting and (len(waiting) >= _AT_ONCE or time.monotonic() - last > _SECONDS or number == len(due)):
            _write_down(store, project_id, waiting, origin, result)
            waiting, last = [], time.monotonic()
        if progress is not None:
            progress(number, len(due))
    if waiting:
        _write_down(store, project_id, waiting, origin, result)
    return result


class _Made(Struct):
    """A synopsis that is not written down yet."""

    document_id: str
    title: str
    text: str
    made_from: str
    version: int  # of the synopsis it takes the place of; 0 for none
    lost: tuple[str, ...]


def _due(
    reading: Reading, result: Refreshed, origin: Origin, only: Sequence[str] | None, again: bool
) -> list[tuple[str, int]]:
    """Which chapters need a synopsis, and the version of the one they have."""
    due = []
    wanted = None if only is None else set(only)
    for chapter, row in _chapters(reading):
        if (wanted is not None and chapter.id not in wanted) or not chapter.text.strip():
            continue
        fresh = row is not None and row.made_from == text_hash(chapter.text)
        if row is not None and row.origin == "hand":
            if not fresh:
                result.left.append(chapter.id)
        elif row is None or not fresh or again or (origin == "model" and row.origin == "extract"):
            due.append((chapter.id, 0 if row is None else int(row.version)))
    return due


def _make(
    store: Store,
    project_id: str,
    ident: str,
    version: int,
    language: Language,
    summariser: Summariser,
    cast: Cast,
    result: Refreshed,
) -> _Made | None:
    """One synopsis, made outside of any transaction; None when the chapter is gone or nothing came of it."""
    with store.read(project=project_id) as reading:
        row = reading.row(documents, id=ident)
        text = "" if row is None else _text(reading, ident)
    if row is None:
        result.overtaken.append(ident)
        return None
    main = cast.main(text)
    try:
        told = summariser(text, language=language, length=proper_length(text), names=list(main.values())).strip()
    except FabulaError as error:
        result.failed[ident] = error.sentence
        return None
    if not told or len(told) > LONGEST:
        result.failed[ident] = "nothing came back" if not told else f"more than {LONGEST} characters came back"
        return None
    return _Made(ident, row.title, told, text_hash(text), version, cast.lost(main, told))


def _write_down(store: Store, project_id: str, waiting: list[_Made], origin: Origin, result: Refreshed) -> None:
    """Keep what was made, where the chapter and its synopsis are still what they were."""
    with store.write(project=project_id) as tx:
        for made in waiting:
            ident = made.document_id
            row = tx.row(synopses, document_id=ident)
            gone = tx.row(documents, id=ident) is None
            if gone or text_hash(_text(tx, ident)) != made.made_from or made.version != (row.version if row else 0):
                result.overtaken.append(ident)
                continue
            version = _put(tx, ident, made.text, origin, made.made_from, None)
            result.made.append(Kept(ident, made.title, "fresh", origin, made.text, version, made.lost))


def _put(tx: Writing, document_id: str, text: str, origin: Origin, made_from: str, expected: int | None) -> int:
    values = {"text": text, "origin": origin, "made_from": made_from, "changed": now()}
    if tx.row(synopses, document_id=document_id) is None and not expected:
        tx.add(synopses, {"document_id": document_id, **values})
        return 1
    return tx.edit(synopses, {"document_id": document_id}, values, expected=expected)


def _chapters(reading: Reading) -> list[tuple[Chapter, Row[Any] | None]]:
    """The chapters of the story with the rows of their synopses; planned ones without a text too."""
    told = rows_of(reading)
    story = [
        Document(row.id, row.title, row.text, kind=Kind(row.kind), parent=row.parent_id, **told_of(told.get(row.id)))
        for row in in_order(reading.rows(documents))
        if row.kind != Kind.NOTE
    ]
    found = chapters_of(story, {one.id: one for one in story})
    return [
        (chapter, told.get(chapter.id)) for chapter in found if chapter.documents[0].kind not in (Kind.BOOK, Kind.PART)
    ]


def told_of(row: Row[Any] | None) -> dict[str, Any]:
    """What a document says of its synopsis."""
    if row is None:
        return {}
    return {"synopsis": row.text, "synopsis_origin": row.origin, "synopsis_of": row.made_from}


def _text(reading: Reading, document_id: str) -> str:
    """The text of a document and of all that stands below it."""
    rows = [reading.need(documents, id=document_id)]
    level = [document_id]
    while level:
        below = reading.rows(documents, documents.c.parent_id.in_(level))
        rows += below
        level = [row.id for row in below]
    return together(row.text for row in _Below(rows)[document_id])


class _Below:
    """For each document, itself and what stands below it in reading order; notes are no part of it."""

    def __init__(self, rows: Sequence[Row[Any]]) -> None:
        self._rows = {row.id: row for row in rows}
        self._children = children(row for row in rows if row.kind != Kind.NOTE)

    def __getitem__(self, document_id: str) -> list[Row[Any]]:
        first = self._rows[document_id]
        found, waiting = [], [first]
        while waiting:
            row = waiting.pop()
            if row is first or first.kind in ABOVE or row.kind not in ABOVE:
                found.append(row)
                waiting.extend(reversed(self._children.get(row.id, ())))
        return found
