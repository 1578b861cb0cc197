"""Personas in prompts: who speaks, and who else takes part (ctx-3, cht-2).

In a conversation of two the speaker's persona takes the place of the identity prompt. Among several the identity stays
the same for all, then come the names of everybody who takes part, which is the same text for each speaker; the
speaker's own persona stands at the end, before the newest message.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec

from fabula.context.gather import FunctionSource
from fabula.context.request import Request, SourceRequest
from fabula.conversation.model import Conversations
from fabula.conversation.participants import Participant, Participants, strip_revision
from fabula.conversation.presence import Attendance
from fabula.core.fragment import Fragment, Layer, Placement
from fabula.core.messages import join_names, message
from fabula.core.view import View

PERSONA_DEPTH = 1  # the newest message follows
_MACRO = re.compile(r"\{\{(user|char)\}\}|<(USER|BOT)>", re.IGNORECASE)


def find_identity(request: Request, view: View) -> str | None:
    """Return the persona that takes the place of the identity; None where it stays: among several, or without one."""
    speaker = _find_speaker(request, view)
    conversations = view.snapshot(Conversations)
    attendance = conversations.attendances.get(request.conversation_id) if conversations is not None else None
    participants = attendance.participants if attendance is not None else frozenset[str]()
    if speaker is None or len(participants) != 2 or speaker.id not in participants:
        return None
    return _fill_in_names(speaker, request, view) if speaker.persona.strip() else None


def offer_personas(source_request: SourceRequest, view: View) -> Iterable[Fragment]:
    """Offer the names of everybody who takes part, and the persona of the speaker, where several speak."""
    request, conversations = source_request.request, view.snapshot(Conversations)
    if conversations is None or not conversations.speaker_names.get(request.conversation_id):
        return
    people = view.snapshot(Participants) or Participants()
    attendance = conversations.attendances.get(request.conversation_id)
    present = sorted(people.name_of(one) for one in attendance.present) if attendance is not None else []
    if present:
        yield Fragment(
            source="participants",
            layer=Layer.SETTINGS,
            text=message("[Taking part in this conversation: {names}]", names=join_names(present)).render(
                source_request.language
            ),
            project_id=request.project_id,
            score=1.0,
            explanation=message("everybody who takes part"),
        )
    speaker = _find_speaker(request, view)
    if speaker is not None and speaker.persona.strip():
        yield Fragment(
            source=f"persona:{speaker.id}",
            layer=Layer.SETTINGS,
            text=_fill_in_names(speaker, request, view),
            project_id=request.project_id,
            title=speaker.name,
            score=1.0,
            placement=Placement(depth=PERSONA_DEPTH),
            known_to=frozenset({speaker.id}),
            explanation=message("the persona of who speaks next"),
        )


def place_for_listeners(fragment: Fragment, attendance: Attendance) -> Fragment:
    """Put a text that not everybody present knows behind what is the same in every speaker's prompt."""
    if fragment.known_to is None or attendance.present <= fragment.known_to:
        return fragment
    return msgspec.structs.replace(fragment, placement=Placement(depth=PERSONA_DEPTH))


def _fill_in_names(speaker: Participant, request: Request, view: View) -> str:
    """Return the persona of a speaker with the names of both sides in place of the macros."""
    user = _find_player(request, view)

    def replace(found: re.Match[str]) -> str:
        is_user = (found[1] or found[2]).lower() == "user"
        return (user or found[0]) if is_user else speaker.name or found[0]

    return _MACRO.sub(replace, speaker.persona.strip())


def _find_speaker(request: Request, view: View) -> Participant | None:
    people = view.snapshot(Participants)
    return None if people is None else people.by_id.get(strip_revision(request.speaker_id))


def find_user_name(request: Request, view: View) -> str:
    """Return the name that stands before the input; empty where lines carry none."""
    conversations = view.snapshot(Conversations)
    if conversations is None or not conversations.speaker_names.get(request.conversation_id):
        return ""
    return _find_player(request, view)


def _find_player(request: Request, view: View) -> str:
    """Return the name of the player in a conversation; empty where there is none."""
    conversations, people = view.snapshot(Conversations), view.snapshot(Participants)
    attendance = conversations.attendances.get(request.conversation_id) if conversations is not None else None
    if attendance is None or people is None:
        return ""
    return next((people.name_of(one) for one in sorted(attendance.participants) if one.startswith("player:")), "")


PERSONA_SOURCE = FunctionSource(name="personas", function=offer_personas, blocking=False)
