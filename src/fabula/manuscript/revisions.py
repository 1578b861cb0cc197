"""Revisions: earlier texts of a document; list, label, compare and restore them (man-2).

A text is saved many times a minute. The text before a save is recorded when ten minutes have passed since the last
record, and always before something other than typing replaces it. A revision with a label is kept for good; of the
others the latest 200 are kept.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from difflib import unified_diff
from typing import Any

from msgspec import Struct, field
from sqlalchemy import Row, desc

from fabula.core.errors import Code, FabulaError
from fabula.core.ids import current_timestamp, parse_timestamp
from fabula.core.messages import message
from fabula.manuscript.tables import documents, revisions
from fabula.store.rows import read_struct
from fabula.store.transaction import ReadTransaction, WriteTransaction

MIN_INTERVAL = timedelta(minutes=10)
MAX_REVISIONS = 200


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
                title=row.title or document_id,
            ),
        )
    return str(recorded.text)


def compare(reading: ReadTransaction, document_id: str, first: int, second: int) -> list[str]:
    """The differences of two revisions, as the lines of a unified diff."""
    old = load_text(reading, document_id, first).split("\n")
    new = load_text(reading, document_id, second).split("\n")
    return list(unified_diff(old, new, str(first), str(second), lineterm="", n=1))


def _insert(tx: WriteTransaction, row: Row[Any], **values: str) -> None:
    recorded = {"document_id": row.id, "revision": row.version, "title": row.title, "text": row.text}
    tx.insert(revisions, {**recorded, "at": current_timestamp(), **values})


def _is_recent(at: str) -> bool:
    """Whether the latest record is younger than the interval; a timestamp that is unreadable or ahead counts as old."""
    then = parse_timestamp(at)
    return then is not None and timedelta(0) <= datetime.fromisoformat(current_timestamp()) - then < MIN_INTERVAL
