"""The author's note of a conversation: a text that every prompt of it holds, at a depth or beside the characters.

Chats of SillyTavern have one. It is known to everybody who takes part or did, and its macros are expanded as those of
cards are. The conversation keeps it beside the state of its mode, under a name that belongs to no mode.
"""

from __future__ import annotations

from collections.abc import Iterable

from fabula.context.request import SourceRequest
from fabula.conversation.cards import CHARACTER_ANCHOR, make_part, place_stably
from fabula.conversation.model import Conversations
from fabula.conversation.presence import Attendance
from fabula.core.fragment import Fragment, Placement
from fabula.core.messages import message
from fabula.core.story import READER_ONLY
from fabula.core.view import View


def offer_note(source_request: SourceRequest, view: View) -> Iterable[Fragment]:
    """Offer the author's note of the conversation, the same text for each speaker."""
    request, conversations = source_request.request, view.snapshot(Conversations)
    state = conversations.states.get(request.conversation_id) if conversations is not None else None
    note = state.note if state is not None else None
    if conversations is None or note is None or not note.is_told:
        return
    attendance = conversations.attendances.get(request.conversation_id) or Attendance()
    text = source_request.macros.expand(note.text.strip()).strip()
    placement = Placement(depth=note.depth)
    if note.place != "depth":
        placement = place_stably(note.text, Placement(anchor=CHARACTER_ANCHOR, side=note.place))
    if text:
        yield make_part(
            f"note:{request.conversation_id}",
            text,
            request.project_id,
            message("author's note").render(source_request.language),
            placement,
            attendance.participants | READER_ONLY,
            message("the author's note of this conversation"),
            role=note.role,
        )
