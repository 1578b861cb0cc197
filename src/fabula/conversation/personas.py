"""Personas and cards in prompts: who speaks, and who else takes part (ctx-3, inj-3, cht-2).

In a conversation of two the speaker's persona, or the system prompt of their card, takes the place of the identity
prompt. Among several the identity stays the same for all. Behind it come the public parts of the cards, the personas
of players, whom everybody present sees, and the names of everybody who takes part. They are the same text for each
speaker. Who is away and the speaker's own part stand at the end, before the newest message.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from msgspec.structs import replace

from fabula.context.gate import judge_fragment
from fabula.context.gather import FunctionSource
from fabula.context.phrases import IDENTITY
from fabula.context.place import place_own
from fabula.context.recipes import NOVEL
from fabula.context.request import Request, SourceRequest
from fabula.conversation.author_note import offer_note
from fabula.conversation.cards import (
    CHARACTER_ANCHOR,
    CardOwner,
    Cards,
    CardTexts,
    add_name,
    make_part,
    name_part,
    offer_own_parts,
    offer_public_parts,
    place_stably,
)
from fabula.conversation.documents import limit_to_document
from fabula.conversation.model import Conversations, Message
from fabula.conversation.participants import Participant, Participants, strip_revision
from fabula.conversation.presence import Attendance
from fabula.core.fragment import Fragment, Layer, Placement
from fabula.core.ids import parse_timestamp
from fabula.core.messages import join_names, message
from fabula.core.story import READER_ONLY, Vantage
from fabula.core.view import View
from fabula.text.macros import MacroValues, is_changing

_ORIGINAL = re.compile(r"\{\{\s*original\s*\}\}", re.IGNORECASE)
_NO_CARD = CardTexts()


def find_identity(request: Request, view: View) -> str | None:
    """Return what takes the place of the identity; None where it stays: among several, or without persona and card.

    It has macros, which the engine expands. A text that changes with each request stands elsewhere.
    """
    speaker = _find_speaker(request, view)
    if speaker is None or not _is_between_two(request, view, speaker.id):
        return None
    texts = _list_own_texts(speaker, view, is_between_two=True)
    if not texts and not find_card(view, speaker.id).is_described:
        return None
    return "\n\n".join(text for text in texts.values() if not is_changing(text))


def offer_personas(source_request: SourceRequest, view: View) -> Iterable[Fragment]:
    """Offer who takes part, the public parts of their cards, the author's note, and what the speaker alone is told."""
    request, conversations = source_request.request, view.snapshot(Conversations)
    if conversations is None or not request.conversation_id:
        return
    yield from offer_note(source_request, view)
    people, macros = view.snapshot(Participants) or Participants(), source_request.macros
    attendance = conversations.attendances.get(request.conversation_id) or Attendance()
    project_id, language = request.project_id, source_request.language
    present = sorted((find_name(view, one), one) for one in attendance.present)
    has_names = _has_names(request, conversations)
    if present and has_names:
        absent = sorted((find_name(view, one), one) for one in attendance.find_absent())
        names = join_names([people.name_of(one) for _, one in sorted([*present, *absent])])
        yield Fragment(
            source="participants",
            layer=Layer.SETTINGS,
            text=message("[Taking part in this conversation: {names}]", names=names).render(language),
            project_id=project_id,
            score=1.0,
            placement=Placement(anchor=Layer.SETTINGS.value),  # by itself: it is no preference
            explanation=message("everybody who takes part"),
        )
        if absent:  # at the end, so that all speakers keep their prefix when somebody leaves and comes back
            names = join_names([people.name_of(one) for _, one in absent])
            yield Fragment(
                source="absent",
                layer=Layer.SETTINGS,
                text=message("[Not here now: {names}]", names=names).render(language),
                project_id=project_id,
                score=1.0,
                placement=place_own(request),
                explanation=message("who takes part and is away"),
            )
    speaker = _find_speaker(request, view)
    heard = attendance.present | READER_ONLY
    shown = present
    if speaker is not None and speaker.id not in attendance.present:
        shown = [*present, (find_name(view, speaker.id), speaker.id)]
    owners = [CardOwner(one, people.name_of(one), name, find_card(view, one), heard | {one}) for name, one in shown]
    is_between_two = speaker is not None and _is_between_two(request, view, speaker.id)
    seen = _find_public_personas(
        people, owners, except_for=speaker.id if speaker is not None and is_between_two else ""
    )
    described = [owner for owner in owners if owner.card.is_described or owner.id in seen]
    is_named = has_names or len(described) > 1  # else another who speaks would read the description as their own
    characters = join_names([name for name, one in present if not is_player(one)]).render(language)
    for owner in described:
        yield from offer_public_parts(owner, project_id, language, macros, is_named=is_named)
        raw = seen.get(owner.id, "")
        text = macros.expand(raw, char=characters, find_text=owner.card.find_text).strip()
        if text:
            placement = place_stably(raw, Placement(anchor=CHARACTER_ANCHOR))
            text = add_name(owner.name, text, language)
            why = message("the persona of a player who takes part")
            title = name_part(owner, "persona", language)
            yield make_part(f"persona:{owner.id}", text, project_id, title, placement, owner.listeners, why)
    if speaker is None:
        return
    owner = next(one for one in owners if one.id == speaker.id)
    for source, raw in _list_own_texts(speaker, view, is_between_two=is_between_two).items():
        if speaker.id in seen and source == f"persona:{speaker.id}":
            continue  # it is told to everybody
        text = macros.expand(raw, char=owner.char, find_text=owner.card.find_text).strip()
        if text and (not is_between_two or is_changing(raw)):
            yield make_part(
                source,
                text,
                project_id,
                name_part(owner, source.partition("#")[2] or "persona", language),
                place_own(request),
                frozenset({speaker.id}),
                message("the persona of who speaks next"),
            )
    end = None if is_between_two else place_own(request)
    yield from offer_own_parts(owner, project_id, language, macros, end=end)


def is_player(participant: str) -> bool:
    """Return whether a participant is a person who plays, by the id."""
    return participant.startswith("player:")


def _find_public_personas(people: Participants, owners: Iterable[CardOwner], *, except_for: str) -> dict[str, str]:
    """Return the personas of players, by id: they describe whom everybody present sees.

    The persona of anybody else is what they know of themselves. `except_for` has its own in the identity's place.
    """
    players = (people.by_id.get(owner.id) for owner in owners if is_player(owner.id) and owner.id != except_for)
    return {one.id: one.persona.strip() for one in players if one is not None and one.persona.strip()}


def _list_own_texts(speaker: Participant, view: View, *, is_between_two: bool) -> dict[str, str]:
    """Return what a speaker is told of themselves, by source: the system prompt of the card, and the persona.

    The identity, which `{{original}}` means, stands in front of all speakers where there are several.
    """
    own = view.project.identity
    identity = IDENTITY.render(view.project.language) if own is None else own
    prompt = _ORIGINAL.sub(lambda _: identity if is_between_two else "", find_card(view, speaker.id).system_prompt)
    texts = {f"card:{speaker.id}#system": prompt.strip(), f"persona:{speaker.id}": speaker.persona.strip()}
    return {source: text for source, text in texts.items() if text}


def make_macro_values(request: Request, view: View, vantage: Vantage) -> MacroValues:
    """Return what macros stand for in a request: names, its moment, its seeds, and messages that the speaker heard."""
    conversations = view.snapshot(Conversations) if request.conversation_id else None
    place = request.conversation_id or request.document_id
    values = MacroValues(
        char=request.speaker_name,
        now=request.now,
        language=view.project.language,
        place_seed=f"{view.project.id}\x1f{place}",
        request_seed=f"{view.project.id}\x1f{place}\x1f{request.cursor}\x1f{request.additional_input}",
    )
    if conversations is None:
        return values
    attendance = conversations.attendances.get(request.conversation_id) or Attendance()
    state = conversations.states.get(request.conversation_id)
    path = conversations.messages.get(request.conversation_id, ())
    fragments = limit_to_document(request, view, conversations.fragments.get(request.conversation_id, ()))
    speaker = strip_revision(request.speaker_id)
    card = find_card(view, speaker)
    player = find_player(request, view)

    def find_last(*roles: str) -> Message | None:
        pairs = zip((one for one in reversed(path) if one.final), reversed(fragments), strict=False)
        return next(
            (
                one
                for one, fragment in pairs
                if one.role in roles and judge_fragment(fragment, vantage, view.timeline) is None
            ),
            None,
        )

    def find_text(name: str) -> str | None:
        if name in ("lastmessage", "lastusermessage") and request.additional_input.strip():
            return request.additional_input  # the message that is being answered; the history ends before it
        match name:
            case "lastmessage":
                found = find_last("user", "assistant", "system")
            case "lastusermessage":
                found = find_last("user")
            case "lastcharmessage":
                found = find_last("assistant")
            case "input":
                return request.additional_input
            case "model":
                return request.model
            case "persona":
                return _find_persona(view, player) if player else None
            case _:
                return card.find_text(name)
        return found.prompt_text if found is not None else ""

    newest = find_last("user", "assistant", "system")
    return replace(
        values,
        user=find_name(view, player) if player else "",
        char=card.nickname.strip() or request.speaker_name,
        group=tuple(sorted(find_name(view, one) for one in attendance.present if one != player)),
        last_at=parse_timestamp(newest.timestamp) if newest is not None else None,
        request_seed=f"{values.request_seed}\x1f{state.message_count if state is not None else len(path)}",
        find_text=find_text,
    )


def _find_persona(view: View, player: str) -> str | None:
    """Return how a player is described: by the persona, else by the card."""
    own = (view.snapshot(Participants) or Participants()).by_id.get(player)
    return (own.persona.strip() if own is not None else "") or find_card(view, player).description or None


def place_for_listeners(fragment: Fragment, attendance: Attendance, source_request: SourceRequest) -> Fragment:
    """Put a text that not everybody present knows behind what is the same in every speaker's prompt."""
    if source_request.is_common(fragment.source, fragment.known_to, attendance.present):
        return fragment
    return replace(fragment, placement=place_own(source_request.request))


def find_card(view: View, participant_id: str) -> CardTexts:
    """Return the card of a participant; an empty one where there is none."""
    cards = view.snapshot(Cards)
    return _NO_CARD if cards is None else cards.by_participant.get(strip_revision(participant_id), _NO_CARD)


def find_name(view: View, participant_id: str) -> str:
    """Return what a participant is called in texts: the nickname of the card, else the name."""
    people = view.snapshot(Participants) or Participants()
    return find_card(view, participant_id).nickname.strip() or people.name_of(participant_id)


def find_user_name(request: Request, view: View) -> str:
    """Return the name that stands before the input; empty where lines carry none."""
    conversations, people = view.snapshot(Conversations), view.snapshot(Participants)
    if conversations is None or people is None or not _has_names(request, conversations):
        return ""
    player = find_player(request, view)
    return people.name_of(player) if player else ""


def _has_names(request: Request, conversations: Conversations) -> bool:
    """Whether lines of the conversation carry names, or will once something is said among several."""
    attendance = conversations.attendances.get(request.conversation_id) or Attendance()
    return bool(conversations.speaker_names.get(request.conversation_id)) or len(attendance.attendees) > 2


def find_player(request: Request, view: View) -> str:
    """Return the id of the player whom a request speaks of: who says its input, else one who is present, if any."""
    said_by = strip_revision(request.input_speaker_id)
    if is_player(said_by):
        return said_by
    present = _find_attendance(request, view).present
    return next((one for one in sorted(present) if is_player(one)), "")


def find_lone_character(attendance: Attendance) -> str:
    """Return the character who talks with a player alone; empty where somebody else is or was there too."""
    characters = [one for one in attendance.attendees if not is_player(one)]
    return characters[0] if len(characters) == 1 and len(attendance.attendees) == 2 else ""


def _find_attendance(request: Request, view: View) -> Attendance:
    conversations = view.snapshot(Conversations)
    found = conversations.attendances.get(request.conversation_id) if conversations is not None else None
    return found or Attendance()


def _find_speaker(request: Request, view: View) -> Participant | None:
    people = view.snapshot(Participants)
    return None if people is None else people.by_id.get(strip_revision(request.speaker_id))


def _is_between_two(request: Request, view: View, speaker: str) -> bool:
    """Return whether a speaker takes part with at most one other; a text that is written has several voices."""
    attendees = _find_attendance(request, view).attendees
    return speaker in attendees and len(attendees) <= 2 and request.recipe not in ("", NOVEL.name)


PERSONA_SOURCE = FunctionSource(name="personas", function=offer_personas, blocking=False)
