"""Schemas of projects, saves and the health of a store."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from fabula.core.messages import ENGLISH
from fabula.manuscript.projects import ProjectSummary
from fabula.store.doctor import HealthFinding
from fabula.store.save.checking import SaveReport
from fabula.workspace.schemas.schema import Schema, describe

if TYPE_CHECKING:
    from fabula.manuscript.projects import ProjectSummary
    from fabula.manuscript.series import SeriesBook
    from fabula.store.copies import StoreCopy
    from fabula.store.doctor import HealthFinding
    from fabula.store.restoring import RestoreResult
    from fabula.store.save.checking import SaveReport


class ProjectInfo(Schema):
    """What a list of projects says of one; times are in UTC."""

    id: str
    number: int  # stays the same as long as the project is in the store
    slug: str  # by which a chat request names the project; it stays the same when the title changes
    title: str
    kind: str
    language: str
    made: str
    changed: str
    version: int
    documents: int
    characters: int


def limit_project(project: ProjectInfo, lengths: Sequence[int]) -> ProjectInfo:
    """Return a project as the chapters of these lengths show it, without what tells of changes to the others."""
    return replace(project, changed=project.made, version=0, documents=len(lengths), characters=sum(lengths))


class ProjectList(Schema):
    """The projects of a store."""

    projects: tuple[ProjectInfo, ...]


class ProjectContents(ProjectInfo):
    """A project with the numbers of what it holds, and the title of its series."""

    chapters: int
    entries: int
    constraints: int
    memories: int
    lorebooks: int
    conversations: int
    runs: int
    series: str = ""


class SaveVerification(Schema):
    """Whether a save would load, how many rows it has by table, and why it would not."""

    loads: bool
    code: str | None
    reason: str
    rows: dict[str, int]
    warnings: tuple[str, ...]


class HealthCheck(Schema):
    """One finding about a store."""

    name: str
    state: str
    sentence: str


class HealthReport(Schema):
    """All findings about a store."""

    store: str
    findings: tuple[HealthCheck, ...]


def describe_project(summary: ProjectSummary, documents: int, characters: int) -> ProjectInfo:
    """Describe a project with its extent."""
    made, changed = summary.created_at, summary.updated_at
    return describe(ProjectInfo, summary, made=made, changed=changed, documents=documents, characters=characters)


def describe_verification(report: SaveReport, language: str = ENGLISH) -> SaveVerification:
    """Describe the check of a save."""
    return describe(SaveVerification, report, language, loads=report.is_loadable, rows=report.row_counts)


def describe_health(location: str, findings: Iterable[HealthFinding], language: str = ENGLISH) -> HealthReport:
    """Describe the health of a store."""
    checks = tuple(describe(HealthCheck, one, language) for one in findings)
    return HealthReport(store=location, findings=checks)


class CopiedProjectInfo(Schema):
    """One project in a copy of a store, and when it was last changed there, in UTC."""

    id: str
    title: str
    kind: str
    changed: str


class CopyInfo(Schema):
    """A copy of a store, or of one project: what it holds, and why it cannot be read."""

    path: str
    state: str
    reason: str
    problem: str
    projects: tuple[CopiedProjectInfo, ...]


class RestoreInfo(Schema):
    """What was brought back from a copy, and where the state before is kept; none where there was nothing."""

    projects: tuple[CopiedProjectInfo, ...]
    backup: str | None


def describe_copy(copy: StoreCopy) -> CopyInfo:
    """Describe a copy of a store."""
    found = tuple(describe(CopiedProjectInfo, one) for one in copy.projects)
    return describe(CopyInfo, copy, path=str(copy.path), projects=found)


def describe_restore(restored: RestoreResult) -> RestoreInfo:
    """Describe what was restored."""
    found = tuple(describe(CopiedProjectInfo, one) for one in restored.projects)
    return RestoreInfo(projects=found, backup=None if restored.backup is None else str(restored.backup))


class BookInfo(Schema):
    """One book of a series, and its number in the order of the books; none where it has no place yet."""

    id: str
    title: str
    number: int | None


def describe_book(book: SeriesBook) -> BookInfo:
    """Describe a book of a series."""
    return describe(BookInfo, book)
