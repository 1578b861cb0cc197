"""Schema of the outline."""

from __future__ import annotations

from fabula.workspace.outline import Beat
from fabula.workspace.schemas.schema import Schema, describe


class BeatInfo(Schema):
    """Something that should happen in a document."""

    id: str
    document_id: str
    text: str
    done: bool


def describe_beat(beat: Beat) -> BeatInfo:
    """Describe a beat."""
    return describe(BeatInfo, beat, done=beat.is_done)
