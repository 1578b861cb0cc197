"""The vantage of a request: whose knowledge the prompt may hold, and where in the story (ctx-12).

A position refers to the stored text. The text being edited may differ from it, so the position is
corrected once the editor source has offered the text window.
"""

from __future__ import annotations

from msgspec.structs import replace

from fabula.context.request import Request
from fabula.core.errors import Code, FabulaError
from fabula.core.messages import message
from fabula.core.story import Perspective, Position, Vantage
from fabula.core.view import View
from fabula.text.windows import TextWindow

_END = 1 << 62  # the cursor of a request without one: the end of its document


def resolve_vantage(request: Request, view: View) -> Vantage:
    """The perspective as requested, else the point-of-view character's, else the reader's; at the cursor."""
    position = None
    if request.document_id:
        position = Position(request.document_id, _END if request.cursor is None else request.cursor)
    entry = view.timeline.entry(request.document_id)
    character = request.character or request.speaker_id or (entry.pov if entry is not None else None)
    perspective = request.perspective or (Perspective.CHARACTER if character else Perspective.READER)
    if request.speaker_id:
        own = {character, *request.character_ids}
        if perspective is not Perspective.CHARACTER or request.speaker_id not in own:
            raise FabulaError(
                Code.REQUEST_INVALID,
                message("Whoever speaks knows what they know. Leave out the other perspective or character."),
            )
    if perspective is Perspective.CHARACTER and not character:
        raise FabulaError(Code.REQUEST_INVALID, message("To write in a character's point of view, name the character."))
    granted = request.principal.grants.documents
    if perspective is not Perspective.CHARACTER:
        return Vantage(perspective, position, documents=granted)
    return Vantage(perspective, position, character, frozenset(request.character_ids), granted)


def at_stored_position(vantage: Vantage, window: TextWindow | None) -> Vantage:
    """The vantage with its position in the stored text, given the text window of the edited one."""
    here = vantage.position
    if here is None or window is None:
        return vantage
    offset = window.end if window.stored_end is None else window.stored_end
    return vantage if offset == here.offset else replace(vantage, position=Position(here.document, offset))
