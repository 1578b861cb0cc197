"""Schema of the outline."""

from __future__ import annotations

from msgspec import UNSET, UnsetType

from fabula.workspace.outline import Beat
from fabula.workspace.schemas.display_names import DisplayNames
from fabula.workspace.schemas.schema import Schema, describe


class BeatInfo(Schema):
    """Something that should happen in a document."""

    id: str
    document_id: str
    text: str
    done: bool
    title: str | UnsetType = UNSET  # of the document


def describe_beat(beat: Beat, names: DisplayNames | None = None) -> BeatInfo:
    """Describe a beat, perhaps with the title of its document."""
    title = UNSET if names is None else names.name_document(beat.document_id)
    return describe(BeatInfo, beat, done=beat.is_done, title=title)
