"""Schemas of changes that can be undone, and of deleted projects."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabula.core.messages import ENGLISH
from fabula.workspace.schemas.schema import Schema, describe

if TYPE_CHECKING:
    from fabula.workspace.changes import OwnedChange, ReversedChange
    from fabula.workspace.deleted_projects import DeletedProject


class ChangeInfo(Schema):
    """A change that can be undone, or made again, and its project; none for your own. The time is in UTC."""

    number: int
    label: str
    made: str
    undone: bool
    project_id: str
    title: str


class ChangeDetail(Schema):
    """One thing that was taken back or made again, before and after; null where it is not there."""

    name: str
    before: str | None
    after: str | None


class ReversedChangeInfo(ChangeInfo):
    """A change that was taken back or made again; the outcome says what became of the project as a whole.

    `more` counts the places beyond those in `details`.
    """

    outcome: str
    details: tuple[ChangeDetail, ...]
    more: int


class DeletedProjectInfo(Schema):
    """A deleted project that can be restored; the time is in UTC."""

    id: str
    title: str
    deleted_at: str


def describe_change(change: OwnedChange, language: str = ENGLISH) -> ChangeInfo:
    """Describe a change."""
    of_owner = {"project_id": change.project_id, "title": change.title}
    return describe(ChangeInfo, change.step, language, undone=change.step.is_undone, **of_owner)


def describe_reversed(change: ReversedChange, language: str = ENGLISH) -> ReversedChangeInfo:
    """Describe a change that was taken back or made again."""
    details = tuple(describe(ChangeDetail, one) for one in change.step.details)
    of_owner = {"project_id": change.project_id, "title": change.title, "outcome": change.outcome}
    undone = change.step.is_undone
    return describe(ReversedChangeInfo, change.step, language, undone=undone, details=details, **of_owner)


def describe_deleted(project: DeletedProject) -> DeletedProjectInfo:
    """Describe a deleted project."""
    return describe(DeletedProjectInfo, project)
