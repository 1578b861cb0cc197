"""Schemas of synopses (cdx-6)."""

from __future__ import annotations

from msgspec import field

from fabula.core.messages import ENGLISH
from fabula.manuscript.synopses.editing import SynopsisRecord, SynopsisRefresh
from fabula.workspace.schemas.schema import Schema, describe


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
    return describe(SynopsisInfo, record)


def describe_refresh(refresh: SynopsisRefresh, language: str = ENGLISH) -> SynopsisRefreshReport:
    """Describe what came of making synopses."""
    return describe(SynopsisRefreshReport, refresh, language)
