"""Where an answer belongs: the place it was written for, and what was asked for there.

It travels in the record of its run, and a record may come out of anybody's save. So it is read with care: one that
makes no sense is refused, and nothing is put anywhere. The text it was written for is known again by its hash,
whatever number its revision has: an editor may save that very text after asking.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct

from fabula.context.request import Request
from fabula.core.errors import Code, FabulaError
from fabula.core.story import Eyes, Position
from fabula.core.view import View
from fabula.manuscript.model import Manuscript, text_hash
from fabula.skills.model import Answer, Skill
from fabula.text.offsets import normalise


class Place(Struct, frozen=True, kw_only=True):
    """A place in a document's text, and the request that was made there."""

    answer: Answer = Answer.SHOW
    cursor: int | None = None
    selection: tuple[int, int] | None = None
    at: int | None = None  # where that is in the text as stored
    text: str = ""  # hash of the document's text
    beat: str = ""  # hash of the beat that was next
    instruction: str = ""
    recipe: str = ""
    eyes: Eyes | None = None
    character: str | None = None
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()

    def of(self, text: str) -> bool:
        """Is this the text that the answer was written for?"""
        return bool(self.text) and self.text == text_hash(text)


def place_for(request: Request, skill: Skill, view: View, here: Position | None) -> Place:
    """The place of a request."""
    story = view.room(Manuscript)
    document = story.by_id.get(request.document_id) if story is not None else None
    text = document.text if document is not None else ""
    if request.unsaved_text is not None:
        text = normalise(request.unsaved_text)
    beats = document.beats if document is not None else ()
    return Place(
        answer=skill.answer,
        cursor=len(text) if request.cursor is None else request.cursor,
        selection=request.selection,
        at=here.offset if here is not None else None,
        text=text_hash(text) if request.document_id else "",
        beat=text_hash(beats[0]) if beats else "",
        instruction=request.additional_input,
        recipe=request.recipe,
        eyes=request.eyes,
        character=request.character,
        include=request.include,
        exclude=request.exclude,
    )


def place_in(saw: Mapping[str, Any]) -> Place:
    """The place that a run's record tells of."""
    try:
        return msgspec.convert(saw.get("place", {}), Place)
    except msgspec.ValidationError as error:
        raise FabulaError(
            Code.TEXT_INVALID, f"The record of this answer makes no sense ({error}). Nothing was changed."
        ) from error
