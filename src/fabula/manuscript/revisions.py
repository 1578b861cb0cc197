"""Revisions: what a document said before.

A text is saved many times a minute and nobody wants to leaf through all of that. So what stood before
is kept when ten minutes have passed since the last one kept, and always before something other than
typing replaces it. A label keeps a revision for good; of the others the latest are kept.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from difflib import unified_diff
from typing import Any

from msgspec import Struct
from sqlalchemy import Row, desc

from fabula.core.errors import Code, FabulaError
from fabula.core.ids import now
from fabula.manuscript.tables import documents, revisions
from fabula.store.transaction import Reading, Writing

EVERY = timedelta(minutes=10)
KEPT = 200


class Revision(Struct, frozen=True, kw_only=True):
    """One earlier state of a document."""

    document: str
    revision: int
    title: str
    label: str
    cause: str  # what replaced it: typed, accepted, restored, imported, renamed
    at: str
    characters: int


def keep(tx: Writing, row: Row[Any], cause: str) -> None:
    """Keep a document's row as it stood, if it is worth keeping."""
    here = revisions.c.document_id == row.id
    latest = tx.rows(revisions, here, order=(desc(revisions.c.revision),), limit=1, only=("revision", "at"))
    if latest and latest[0].revision == row.version:
        return  # it has a label
    if not row.text or (cause == "typed" and latest and _age(latest[0].at) < EVERY):
        return
    tx.add(
        revisions,
        {
            "document_id": row.id,
            "revision": row.version,
            "title": row.title,
            "text": row.text,
            "cause": cause,
            "at": now(),
        },
    )
    old = tx.rows(revisions, here, revisions.c.label == "", order=(desc(revisions.c.revision),), only=("revision",))[
        KEPT:
    ]
    if old:
        tx.remove(revisions, here, revisions.c.revision.in_([row.revision for row in old]))


def label(tx: Writing, document_id: str, name: str) -> int:
    """Give the text as it stands a name to come back to; the revision it is kept under."""
    row = tx.need(documents, id=document_id)
    here = (revisions.c.document_id == document_id, revisions.c.revision == row.version)
    if not tx.change(revisions, {"label": name}, *here):
        tx.add(
            revisions,
            {
                "document_id": document_id,
                "revision": row.version,
                "title": row.title,
                "text": row.text,
                "label": name,
                "cause": "labelled",
                "at": now(),
            },
        )
    return int(row.version)


def history(reading: Reading, document_id: str) -> list[Revision]:
    """What is kept of a document, the latest first."""
    rows = reading.rows(revisions, revisions.c.document_id == document_id, order=(desc(revisions.c.revision),))
    return [
        Revision(
            document=row.document_id,
            revision=row.revision,
            title=row.title,
            label=row.label,
            cause=row.cause,
            at=row.at,
            characters=len(row.text),
        )
        for row in rows
    ]


def text_of(reading: Reading, document_id: str, revision: int) -> str:
    """What a document said at a revision: a kept one, or the present one."""
    row = reading.need(documents, id=document_id)
    if row.version == revision:
        return str(row.text)
    kept = reading.row(revisions, document_id=document_id, revision=revision)
    if kept is None:
        raise FabulaError(
            Code.STORE_NOT_FOUND, f"Revision {revision} of {row.title or document_id!r} was not kept. Nothing changed."
        )
    return str(kept.text)


def compare(reading: Reading, document_id: str, first: int, second: int) -> list[str]:
    """Two revisions side by side, as the lines of a unified comparison."""
    old = text_of(reading, document_id, first).split("\n")
    new = text_of(reading, document_id, second).split("\n")
    return list(unified_diff(old, new, f"revision {first}", f"revision {second}", lineterm="", n=1))


def _age(at: str) -> timedelta:
    """How long ago that was; a time that was lost, or never noted, is long ago."""
    try:
        then = datetime.fromisoformat(at)
    except ValueError:
        return EVERY
    return datetime.fromisoformat(now()) - then.replace(tzinfo=then.tzinfo or UTC)
