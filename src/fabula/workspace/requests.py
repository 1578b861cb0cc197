"""Requests as the engine needs them: what one leaves open is filled in from the view of its project (ctx-2).

A skill has its recipe and its perspective, a conversation its mode, a chapter its own conversation.
"""

from __future__ import annotations

from datetime import datetime

from msgspec.structs import replace

from fabula.codex import Codex
from fabula.context.phrases import load_phrases
from fabula.context.recipes import CHARACTER_CHAT, CHAT, NOVEL, RECIPES
from fabula.context.request import Principal, Request
from fabula.conversation.documents import DocumentConversations, make_document_conversation_id
from fabula.conversation.model import Conversations
from fabula.conversation.participants import Participants, strip_revision
from fabula.conversation.personas import find_identity, find_lone_character, find_user_name
from fabula.conversation.source import CONVERSATION_SOURCE
from fabula.core.errors import Code, FabulaError
from fabula.core.messages import is_word, join_names, message
from fabula.core.story import Perspective
from fabula.core.view import View
from fabula.manuscript.model import Manuscript
from fabula.manuscript.source import EDITOR_SOURCE
from fabula.skills.files import Skills, load_built_in
from fabula.text.offsets import check_cursor, map_to_stored_text, normalise
from fabula.workspace.names import find_character_ids

BRANCH_MESSAGES = 64  # how far back along a branch an earlier request is looked for
MAX_BRANCH_MESSAGES = 512  # the same, for a speaker who was away
_RECIPES_WITH_TEXT = frozenset(name for name, recipe in RECIPES.items() if EDITOR_SOURCE.name in recipe.sources)
_PERSPECTIVES = {
    Perspective.AUTHOR: message("author"),
    Perspective.READER: message("reader"),
    Perspective.CHARACTER: message("character"),
}


def read_perspective(perspective: str | None) -> Perspective | None:
    """Return the perspective of that name; any other is refused with those there are."""
    if perspective is None:
        return None
    found = next((one for one, word in _PERSPECTIVES.items() if is_word(perspective, word)), None)
    if found is None:
        known = join_names([*_PERSPECTIVES.values()])
        raise FabulaError(
            Code.REQUEST_INVALID,
            message("{name!r} is no perspective. There are: {known}.", name=perspective, known=known),
        )
    return found


def has_known_ids(request: Request, view: View) -> bool:
    """Return whether a view has the document, the conversation and the people of a request, if any, by their ids.

    A speaker is a participant first, a character an entry first.
    """
    manuscript = view.snapshot(Manuscript) or Manuscript()
    return (not request.document_id or request.document_id in manuscript.by_id) and has_known_people(request, view)


def has_known_people(request: Request, view: View) -> bool:
    """Return whether a view has the conversation, the character and the speaker of a request, if any, by their ids."""
    if not (request.conversation_id or request.character or request.speaker_id):
        return True
    codex, people = view.snapshot(Codex), view.snapshot(Participants)
    participants = people.by_id if people is not None else {}
    return (
        (not request.conversation_id or has_conversation(view, request.conversation_id))
        and (
            not request.character
            or (codex is not None and request.character in codex.by_id)
            or request.character in participants
        )
        and (not request.speaker_id or request.speaker_id in participants)
    )


def has_conversation(view: View, conversation_id: str) -> bool:
    """Return whether a view has a conversation by its id."""
    conversations = view.snapshot(Conversations)
    return conversations is not None and conversation_id in conversations.states


def find_document_conversation(request: Request, view: View) -> str:
    """Return the conversation of a writer's document, if it has one and the request names none; else nothing."""
    known = view.snapshot(DocumentConversations)
    if known is None or not known.ids or request.conversation_id or request.speaker_id or not request.with_history:
        return ""
    ident, granted = make_document_conversation_id(request.document_id), request.principal.grants.conversations
    recipe = RECIPES.get(request.recipe, NOVEL)
    is_readable = CONVERSATION_SOURCE.name in recipe.sources and (granted is None or ident in granted)
    return ident if ident in known.ids and is_readable else ""


def list_branch(request: Request, view: View) -> list[str]:
    """Return the ids of the messages that an earlier request of the same kind may have ended with, the newest first.

    They are the newest ones of the active path; those that were said while the speaker was away come on top.
    """
    conversations = view.snapshot(Conversations) if request.conversation_id else None
    if conversations is None:
        return []
    path = conversations.messages.get(request.conversation_id, ())
    attendance = conversations.attendances.get(request.conversation_id)
    if attendance is None or not request.speaker_id:
        return [said.id for said in path[: -BRANCH_MESSAGES - 1 : -1]]
    speaker, found, heard = strip_revision(request.speaker_id), list[str](), 0
    for said in reversed(path[-MAX_BRANCH_MESSAGES:]):
        found.append(said.id)
        heard += speaker in attendance.list_present_at(said.number or 0)
        if heard == BRANCH_MESSAGES:
            break
    return found


def _name_speaker(speaker: str, view: View) -> str:
    """Return the name of who speaks: a participant, or an entry of the codex."""
    if not speaker:
        return ""
    codex = view.snapshot(Codex)
    entry = codex.by_id.get(speaker) if codex is not None else None
    return entry.name if entry is not None else (view.snapshot(Participants) or Participants()).name_of(speaker)


def warn_of_absent_speaker(request: Request, view: View) -> tuple[str, ...]:
    """Return a warning where somebody is to speak who is away, takes no part, or is in no conversation."""
    conversations = view.snapshot(Conversations) if request.speaker_id else None
    if conversations is None:
        return ()
    people = view.snapshot(Participants) or Participants()
    attendance = conversations.attendances.get(request.conversation_id)
    ids = {strip_revision(request.speaker_id), *find_character_ids(view, request.speaker_id)}
    if not request.conversation_id:
        why = message("speaks in no conversation, so it holds neither their card nor a history; name a conversation")
    elif attendance is None or not attendance.is_recorded or ids & attendance.present:
        return ()
    elif ids & attendance.participants:
        why = message("has left this conversation; let them join, or name somebody who is present")
    else:
        present = sorted(map(people.name_of, attendance.present))
        why = message(
            "takes no part in this conversation; let them join, or name somebody who is present: {names}",
            names=join_names(present) if present else message("nobody"),
        )
    phrases = load_phrases(view.project.language)
    return (phrases.format_warning(Code.SPEAKER_ABSENT, name=request.speaker_name, why=why),)


def find_recipe(request: Request, view: View) -> str:
    """Return the name of the recipe of a request: its own, that of its skill, else the novel recipe.

    Where a skill chats, a player and a character alone have the recipe that is for them.
    """
    if request.recipe:
        return request.recipe
    skill = (view.snapshot(Skills) or load_built_in()).skills.get(request.skill_id)
    recipe = skill.recipe if skill is not None else NOVEL.name
    conversations = view.snapshot(Conversations) if recipe == CHAT.name else None
    attendance = conversations.attendances.get(request.conversation_id) if conversations is not None else None
    return CHARACTER_CHAT.name if attendance is not None and find_lone_character(attendance) else recipe


def complete_request(request: Request, view: View, principal: Principal) -> Request:
    """Fill in what a request leaves open: a skill has its recipe and its perspective, a conversation its mode.

    The request is one of the principal's, whatever it says.
    """
    skill = (view.snapshot(Skills) or load_built_in()).skills.get(request.skill_id)
    conversations = view.snapshot(Conversations)
    mark = conversations.states.get(request.conversation_id) if conversations is not None else None
    recipe, perspective = find_recipe(request, view), request.perspective
    if skill is not None and not request.speaker_id:  # a character who speaks knows no more than it does elsewhere
        perspective = perspective or skill.perspective
    mode = request.mode or (mark.mode if mark is not None else "")
    identity = request.identity
    if identity is None and recipe != NOVEL.name:
        identity = find_identity(replace(request, recipe=recipe), view)
    told = view.timeline.entry(request.document_id)
    knower = request.character or request.speaker_id or (told.pov if told is not None else None)
    request = replace(
        request,
        recipe=recipe,
        perspective=perspective,
        mode=mode,
        identity=identity,
        character_ids=find_character_ids(view, knower) if knower else (),
        speaker_name=request.speaker_name or _name_speaker(request.speaker_id, view),
        input_name=request.input_name or find_user_name(request, view),
        now=request.now or datetime.now(),
        principal=principal,
    )
    return request if recipe in _RECIPES_WITH_TEXT else _place_in_stored_text(request, view)


def _place_in_stored_text(request: Request, view: View) -> Request:
    """Move the cursor from a text that is being edited into the stored one; the editor source does so otherwise."""
    stored = (view.snapshot(Manuscript) or Manuscript()).by_id.get(request.document_id)
    if stored is None or request.unsaved_text is None or request.cursor is None:
        return request
    text = normalise(request.unsaved_text)
    cursor = map_to_stored_text(stored.text, text, check_cursor(request.cursor, len(text)))
    return replace(request, cursor=cursor)
