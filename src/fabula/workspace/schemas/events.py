"""Schemas of the events that tell other windows what changed in a project."""

from __future__ import annotations

from typing import Literal

from fabula.workspace.schemas.schema import Schema

EventKind = Literal[
    "project",
    "chapters",
    "revisions",
    "codex",
    "constraints",
    "memories",
    "presets",
    "lorebooks",
    "settings",
    "conversations",
    "participants",
    "recaps",
    "runs",
    "needs",
]


class ChangedItem(Schema):
    """What changed: the part of the project's address that has it, and its id; empty where any of it may differ.

    The id of `revisions` is that of the chapter, the one of `recaps` that of the conversation.
    """

    kind: EventKind
    id: str = ""


class ProjectEvent(Schema):
    """The version that a project has now, and what changed in it; nothing where anything may differ."""

    version: int
    changes: tuple[ChangedItem, ...] = ()
