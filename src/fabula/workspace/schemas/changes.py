"""Schemas of changes that can be undone, and of deleted projects."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabula.core.messages import ENGLISH
from fabula.workspace.schemas.schema import Schema, describe

if TYPE_CHECKING:
    from fabula.store.undo import UndoStep
    from fabula.workspace.deleted_projects import DeletedProject


class ChangeInfo(Schema):
    """A change that can be undone, or made again; the time is in UTC."""

    number: int
    label: str
    made: str
    undone: bool


class DeletedProjectInfo(Schema):
    """A deleted project that can be restored; the time is in UTC."""

    id: str
    title: str
    deleted_at: str


def describe_change(step: UndoStep, language: str = ENGLISH) -> ChangeInfo:
    """Describe a change."""
    return describe(ChangeInfo, step, language, undone=step.is_undone)


def describe_deleted(project: DeletedProject) -> DeletedProjectInfo:
    """Describe a deleted project."""
    return describe(DeletedProjectInfo, project)
