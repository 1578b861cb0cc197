"""Vantage: whose eyes a request looks through, and where in the story they are.

A position is a place in the text as stored. What is being edited may already differ from it, so the
cursor is carried back once the desk has shown the text.
"""

from __future__ import annotations

from msgspec.structs import replace

from fabula.context.request import Request
from fabula.core.errors import Code, FabulaError
from fabula.core.story import Eyes, Position, Vantage
from fabula.core.view import View
from fabula.text.windows import Stretch

_END = 1 << 62  # a cursor nobody gave stands at the end of its document


def vantage_of(request: Request, view: View) -> Vantage:
    """Whose eyes, and where: as asked, else the point-of-view character's, else the reader's."""
    position = None
    if request.document_id:
        position = Position(request.document_id, _END if request.cursor is None else request.cursor)
    moment = view.timeline.moment(request.document_id)
    character = request.character or request.speaker_id or (moment.pov if moment is not None else None)
    eyes = request.eyes or (Eyes.CHARACTER if character else Eyes.READER)
    if eyes is Eyes.CHARACTER and not character:
        raise FabulaError(Code.REQUEST_INVALID, "To look through a character's eyes, name the character.")
    return Vantage(eyes, position, character if eyes is Eyes.CHARACTER else None)


def placed(vantage: Vantage, shown: Stretch | None) -> Vantage:
    """Our position in the stored text, once the desk has shown which text is being edited."""
    here = vantage.position
    if here is None or shown is None:
        return vantage
    offset = shown.end if shown.stored_end is None else shown.stored_end
    return vantage if offset == here.offset else replace(vantage, position=Position(here.document, offset))
