"""Schema of the outline."""

from __future__ import annotations

from fabula.workspace.outline import Beat
from fabula.workspace.schemas.schema import Schema


class BeatInfo(Schema):
    """Something that should happen in a document."""

    id: str
    document_id: str
    text: str
    done: bool


def describe_beat(beat: Beat) -> BeatInfo:
    """Describe a beat."""
    return BeatInfo(id=beat.id, document_id=beat.document_id, text=beat.text, done=beat.is_done)
