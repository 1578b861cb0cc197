"""Schemas of fixed prompts and biographies (cnv-7)."""

from __future__ import annotations

from fabula.conversation.participant_texts import ParticipantText
from fabula.workspace.schemas.schema import Schema, describe


class ParticipantTextInfo(Schema):
    """A fixed prompt or an item of a biography; a private one reaches its owner only."""

    id: str
    participant_id: str
    text: str
    is_private: bool
    created_at: str
    place: int
    version: int


def describe_participant_text(item: ParticipantText) -> ParticipantTextInfo:
    """Describe a fixed prompt or an item of a biography."""
    return describe(ParticipantTextInfo, item)
