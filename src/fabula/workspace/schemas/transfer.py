"""Schemas of manuscripts that are imported or updated from a file (man-6)."""

from __future__ import annotations

from fabula.core.messages import ENGLISH
from fabula.workspace.schemas.schema import Schema, describe
from fabula.workspace.transfer import ImportReport, UpdateReport


class ImportInfo(Schema):
    """What an import made: the project, and what came into it."""

    project_id: str
    title: str
    documents: int
    characters: int
    entries: int
    warnings: tuple[str, ...]


class UpdateInfo(Schema):
    """What an update of a manuscript changed: how many documents changed, matched and stayed as they were."""

    project_id: str
    title: str
    changed: int
    matched: int
    unchanged: int
    entries: int
    warnings: tuple[str, ...]


def describe_import(report: ImportReport, language: str = ENGLISH) -> ImportInfo:
    """Describe what an import made."""
    return describe(ImportInfo, report, language)


def describe_update(report: UpdateReport, language: str = ENGLISH) -> UpdateInfo:
    """Describe what an update changed."""
    done = report.update
    counts = {"changed": len(done.updates), "matched": done.matched, "unchanged": done.unchanged}
    return describe(UpdateInfo, report, language, **counts)
