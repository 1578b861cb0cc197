"""Schemas of synopses (cdx-6)."""

from __future__ import annotations

from msgspec import field

from fabula.manuscript.synopses.editing import SynopsisRecord, SynopsisRefresh
from fabula.workspace.schemas.schema import Schema


class SynopsisInfo(Schema):
    """The synopsis of a chapter; `lost` are main characters of the chapter that it does not name."""

    document_id: str
    title: str
    state: str
    origin: str | None
    text: str
    missing_characters: tuple[str, ...] = field(name="lost")


class SynopsisRefreshReport(Schema):
    """What came of making synopses.

    `left` are stale ones that a person wrote, `overtaken` chapters that changed meanwhile, `failed` the reason by
    chapter, and `lost` the main characters that a new synopsis does not name, by chapter.
    """

    created: tuple[SynopsisInfo, ...] = field(name="made")
    stale_by_hand: tuple[str, ...] = field(name="left")
    changed_meanwhile: tuple[str, ...] = field(name="overtaken")
    failed: dict[str, str]
    missing_characters: dict[str, tuple[str, ...]] = field(name="lost")


def describe_synopsis(record: SynopsisRecord) -> SynopsisInfo:
    """Describe the synopsis of a chapter."""
    return SynopsisInfo(
        document_id=record.document_id,
        title=record.title,
        state=record.state,
        origin=record.origin,
        text=record.text,
        missing_characters=record.missing_characters,
    )


def describe_refresh(refresh: SynopsisRefresh) -> SynopsisRefreshReport:
    """Describe what came of making synopses."""
    return SynopsisRefreshReport(
        created=tuple(map(describe_synopsis, refresh.created)),
        stale_by_hand=tuple(refresh.stale_by_hand),
        changed_meanwhile=tuple(refresh.changed_meanwhile),
        failed={document: str(reason) for document, reason in refresh.failed.items()},
        missing_characters=refresh.missing_characters,
    )
