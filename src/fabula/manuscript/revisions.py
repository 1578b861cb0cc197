"""Revisions: earlier texts of a document; list, label, compare and restore them (man-2).

A text is saved many times a minute. The text before a save is recorded when ten minutes have passed since the last
record, and always before something other than typing replaces it. A revision with a label is kept for good; of the
others the latest 200 are kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Literal

from msgspec import Struct, field
from sqlalchemy import Row, desc

from fabula.core.errors import Code, FabulaError
from fabula.core.ids import current_timestamp, parse_timestamp
from fabula.core.messages import message
from fabula.manuscript.model import name_document
from fabula.manuscript.tables import documents, revisions
from fabula.store.rows import read_struct
from fabula.store.transaction import ReadTransaction, WriteTransaction
from fabula.text.diff import TextEdit, find_edits

MIN_INTERVAL = timedelta(minutes=10)
MAX_REVISIONS = 200


class TextPart(Struct, frozen=True):
    """A part of a line that is in both texts, in the old one alone, or in the new one alone."""

    kind: Literal["same", "removed", "added"]
    text: str


class LineDifference(Struct, frozen=True):
    """A line in which two texts differ: its number in the new text, and its parts in order."""

    line: int
    parts: tuple[TextPart, ...]


class Revision(Struct, frozen=True, kw_only=True):
    """One earlier text of a document."""

    document_id: str
    revision: int
    title: str
    label: str
    cause: str  # why it was replaced: typed, replaced, accepted, restored, merged, split, renamed
    recorded_at: str = field(name="at")
    length: int


def record(tx: WriteTransaction, row: Row[Any], cause: str) -> None:
    """Record the text of a document's row before it is replaced, unless a recent one was recorded."""
    of_document = revisions.c.document_id == row.id
    latest = tx.rows(revisions, of_document, order=(desc(revisions.c.revision),), limit=1, only=("revision", "at"))
    if latest and latest[0].revision == row.version:
        return  # it was recorded with a label
    if not row.text or (cause == "typed" and latest and _is_recent(latest[0].at)):
        return
    _insert(tx, row, cause=cause)
    newest_first = (desc(revisions.c.revision),)
    unlabelled = tx.rows(revisions, of_document, revisions.c.label == "", order=newest_first, only=("revision",))
    old = [row.revision for row in unlabelled[MAX_REVISIONS:]]
    if old:
        tx.delete_rows(revisions, of_document, revisions.c.revision.in_(old))


def label_current(tx: WriteTransaction, document_id: str, name: str) -> int:
    """Record the current text with a label; return its revision."""
    row = tx.require(documents, id=document_id)
    current = (revisions.c.document_id == document_id, revisions.c.revision == row.version)
    if not tx.update_rows(revisions, {"label": name}, *current):
        _insert(tx, row, cause="labelled", label=name)
    return int(row.version)


def list_revisions(reading: ReadTransaction, document_id: str) -> list[Revision]:
    """The recorded revisions of a document, the latest first."""
    rows = reading.rows(revisions, revisions.c.document_id == document_id, order=(desc(revisions.c.revision),))
    return [read_struct(Revision, row, length=len(row.text)) for row in rows]


def load_text(reading: ReadTransaction, document_id: str, revision: int) -> str:
    """The text of a document at a revision: a recorded one, or the current one."""
    row = reading.require(documents, id=document_id)
    if row.version == revision:
        return str(row.text)
    recorded = reading.row(revisions, document_id=document_id, revision=revision)
    if recorded is None:
        raise FabulaError(
            Code.STORE_NOT_FOUND,
            message(
                "Revision {revision} of {title!r} was not kept. Nothing was changed.",
                revision=revision,
                title=name_document(row.title, row.text),
            ),
        )
    return str(recorded.text)


def compare(reading: ReadTransaction, document_id: str, first: int, second: int) -> list[LineDifference]:
    """The lines in which two revisions differ, with the words that were removed and added."""
    return compare_texts(load_text(reading, document_id, first), load_text(reading, document_id, second))


def compare_texts(old: str, new: str) -> list[LineDifference]:
    """The lines in which two texts differ, with the words that were removed and added; Chinese by characters."""
    parts: list[TextPart] = []
    at_new = 0
    for edit in _widen_to_words(old, new, find_edits(old, new)):
        parts.append(TextPart("same", new[at_new : edit.new_start]))
        parts.append(TextPart("removed", old[edit.start : edit.old_end]))
        parts.append(TextPart("added", new[edit.new_start : edit.new_end]))
        at_new = edit.new_end
    parts.append(TextPart("same", new[at_new:]))
    lines: list[list[TextPart]] = [[]]
    numbers = [1]  # of each line in the new text
    for part in parts:
        for index, piece in enumerate(part.text.split("\n")):
            if index:
                lines.append([])
                numbers.append(numbers[-1] + (part.kind != "removed"))
            if piece:
                lines[-1].append(TextPart(part.kind, piece))
    return [
        LineDifference(number, tuple(line))
        for number, line in zip(numbers, lines, strict=True)
        if any(part.kind != "same" for part in line)
    ]


def _widen_to_words(old: str, new: str, edits: Sequence[TextEdit]) -> list[TextEdit]:
    """Edits that replace whole words, where they replaced parts of them; those that meet become one."""
    widened: list[TextEdit] = []
    for start, old_end, new_start, new_end in edits:
        touches_first = _is_letter(old[start:old_end][:1]) or _is_letter(new[new_start:new_end][:1])
        touches_last = _is_letter(old[start:old_end][-1:]) or _is_letter(new[new_start:new_end][-1:])
        while touches_first and start and new_start and _is_letter(old[start - 1]):
            start, new_start = start - 1, new_start - 1
        while touches_last and old_end < len(old) and new_end < len(new) and _is_letter(old[old_end]):
            old_end, new_end = old_end + 1, new_end + 1
        if widened and start <= widened[-1].old_end:
            last = widened.pop()
            start, new_start = min(start, last.start), min(new_start, last.new_start)
            old_end, new_end = max(old_end, last.old_end), max(new_end, last.new_end)
        widened.append(TextEdit(start, old_end, new_start, new_end))
    return widened


def _is_letter(character: str) -> bool:
    """Whether a character belongs to a word of a script with spaces."""
    return character.isalnum() and character < "\u2e80"


def _insert(tx: WriteTransaction, row: Row[Any], **values: str) -> None:
    recorded = {"document_id": row.id, "revision": row.version, "title": row.title, "text": row.text}
    tx.insert(revisions, {**recorded, "at": current_timestamp(), **values})


def _is_recent(at: str) -> bool:
    """Whether the latest record is younger than the interval; a timestamp that is unreadable or ahead counts as old."""
    then = parse_timestamp(at)
    return then is not None and timedelta(0) <= datetime.fromisoformat(current_timestamp()) - then < MIN_INTERVAL
