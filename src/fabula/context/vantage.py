"""The vantage of a request: whose knowledge the prompt may hold, and where in the story (ctx-12).

A position refers to the stored text. The text being edited may differ from it, so the position is
corrected once the editor source has offered the text window.
"""

from __future__ import annotations

from msgspec.structs import replace

from fabula.context.request import Request, has_limits, is_agent
from fabula.core.errors import Code, FabulaError
from fabula.core.messages import message
from fabula.core.story import Perspective, Position, Vantage
from fabula.core.view import View
from fabula.text.names.appearances import Appearances
from fabula.text.offsets import normalise
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
    vantage = Vantage(perspective, position, character, frozenset(request.character_ids), granted)
    return limit_to_appearances(vantage, view, except_for=_find_own_document(request, view, vantage))


def limit_to_appearances(vantage: Vantage, view: View, *, except_for: str = "") -> Vantage:
    """A vantage that does not know what the narrator tells where the character is not named (cdx-8).

    The document `except_for` is not looked at. Whoever was given some documents is told those. An agent works for the
    writer and is no character.
    """
    appearances = view.snapshot(Appearances)
    is_character = vantage.perspective is Perspective.CHARACTER and not is_agent(vantage.character or "")
    if appearances is None or not is_character or vantage.documents is not None:
        return vantage
    unknown = appearances.find_unnamed(vantage.knowers, except_for=except_for)
    return replace(vantage, unknown_documents=unknown) if unknown else vantage


def _find_own_document(request: Request, view: View, vantage: Vantage) -> str:
    """The document that is told in any case: the one a writer writes, or whose unsaved text names who speaks.

    Whoever plays a character is no writer.
    """
    appearances, text = view.snapshot(Appearances), request.unsaved_text
    if has_limits(request.principal):
        return ""
    if not request.speaker_id:
        return request.document_id
    is_named = appearances is not None and text is not None and appearances.is_named(vantage.knowers, normalise(text))
    return request.document_id if is_named else ""


def at_stored_position(vantage: Vantage, window: TextWindow | None) -> Vantage:
    """The vantage with its position in the stored text, given the text window of the edited one."""
    here = vantage.position
    if here is None or window is None:
        return vantage
    offset = window.end if window.stored_end is None else window.stored_end
    return vantage if offset == here.offset else replace(vantage, position=Position(here.document, offset))
