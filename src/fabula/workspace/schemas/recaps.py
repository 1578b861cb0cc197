"""Schemas of recaps: those of a conversation, what was done with them, and their settings (cnv-6)."""

from __future__ import annotations

from typing import Any

from msgspec import field

from fabula.conversation.recaps.model import RecapEntry
from fabula.workspace.recaps import RecapSettings
from fabula.workspace.schemas.schema import Schema, describe


class RecapInfo(Schema):
    """A summary or a recap; `state` says whether its rounds have changed since it was made."""

    id: str
    kind: str
    text: str
    created_at: str
    first_round: int
    last_round: int
    rounds: tuple[int, ...]
    origin: str
    freshness: str = field(name="state")
    version: int


class RemovedRecap(Schema):
    """The id of a summary or recap that was removed."""

    item: str = field(name="deleted")


class RecapOrder(Schema):
    """The ids of a conversation's recaps in their order."""

    order: tuple[str, ...]


class QueuedRebuild(Schema):
    """The key of the job that makes the recaps anew."""

    job: str


class RecapSettingsInfo(Schema):
    """The settings of recaps, and the names of those whose stored value cannot be used."""

    settings: dict[str, Any]
    unusable: tuple[str, ...] = field(name="strange")


def describe_recap(entry: RecapEntry) -> RecapInfo:
    """Describe a summary or a recap."""
    return describe(RecapInfo, entry)


def describe_recap_settings(settings: RecapSettings) -> RecapSettingsInfo:
    """Describe the settings of recaps."""
    return describe(RecapSettingsInfo, settings, settings=settings.values)
