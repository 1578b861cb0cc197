"""Requests as people make them: chapters, people and conversations are named in any way, and ids take their place.

What there is not is refused (ppl-4). A principal with limits names what it may know, and learns nothing of the rest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext, suppress
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypedDict

from msgspec.structs import replace

from fabula.context.recipes.preset import Preset
from fabula.context.request import Attachment, Request, validate_request
from fabula.core.errors import Code, FabulaError
from fabula.core.messages import message
from fabula.core.story import Perspective
from fabula.core.view import Language, View
from fabula.manuscript.model import Manuscript
from fabula.skills.source import CHAT_RECIPES, choose_skill
from fabula.workspace.grants import (
    check_request,
    check_unlimited,
    complete_granted,
    find_granted_character,
    find_granted_document,
    has_limits,
)
from fabula.workspace.names import (
    find_conversation,
    find_excluded,
    find_included,
    find_knower,
    find_speaker,
    find_view_document,
)
from fabula.workspace.requests import find_recipe, has_conversation, has_known_people, read_perspective
from fabula.workspace.schemas.context import AssembleRequest, read_request

if TYPE_CHECKING:
    from fabula.workspace.project import ProjectHandle

_PLACES = ("cursor", "selection", "unsaved_text")  # fields that name a place in a text


class RequestFields(TypedDict, total=False):
    """What a request can say beside its project, document and perspective; `Request` has the defaults."""

    cursor: int | None
    skill_id: str | None  # None: chat where somebody speaks, else continue
    additional_input: str
    model: str
    window: int | None
    encoding: str | None
    reply_tokens: int | None
    recipe: str
    preset: Preset | None
    selection: tuple[int, int] | None
    conversation_id: str
    with_history: bool
    mode: str
    reader_language: Language | None
    speaker_id: str
    speaker_note: str
    input_name: str
    include: Sequence[str]
    exclude: Sequence[str]
    revision: int | None
    unsaved_text: str | None
    character: str | None
    late_joiners: bool | None
    session: Mapping[str, str]
    attachments: Sequence[Attachment]
    now: datetime | None


def make_request(
    project: ProjectHandle, document_id: str | None, perspective: str | None, fields: RequestFields
) -> Request:
    """Make a request of a project; by default at the end of its last document, with its own preset."""
    view = project.view_with(fields.get("conversation_id") or "")
    is_placed = document_id is not None or any(fields.get(name) is not None for name in _PLACES)
    if document_id is None and has_limits(project.principal):
        document_id = ""  # the last one that may be read, where the request has no other place
    elif document_id is None:
        documents = (view.snapshot(Manuscript) or Manuscript()).documents
        document_id = documents[-1].id if documents else ""
    preset = fields.get("preset") or view.snapshot(Preset)
    given: dict[str, Any] = {**fields, "preset": preset}
    if given.get("skill_id") is None:
        given["skill_id"] = choose_skill(fields.get("recipe", ""), fields.get("speaker_id", ""))
    lists = {name: _as_tuple(given.get(name, ())) for name in ("include", "exclude", "attachments")}
    request = Request(
        project_id=view.project.id,
        document_id=document_id,
        perspective=read_perspective(perspective),
        principal=project.principal,
        **{**given, **lists},
    )
    request = validate_request(request)
    if not is_placed and find_recipe(request, view) in CHAT_RECIPES:
        request = replace(request, with_text=False)
    if request.perspective is Perspective.READER and request.character:
        raise FabulaError(
            Code.REQUEST_INVALID,
            message(
                "Either the reader is looking or a character. Leave out one of the two: {character}, or the reader.",
                character=request.character,
            ),
        )
    return resolve_names(project, request, view)


def resolve_names(project: ProjectHandle, request: Request, view: View) -> Request:
    """Return a request with ids in place of what a person called things; what there is not is refused (ppl-4).

    A principal with limits names what it may know, and learns nothing of what it may not ask for.
    """
    if has_limits(project.principal):
        request = complete_granted(project, view, request)
        request = replace(
            request,
            document_id=find_granted_document(project, view, request.document_id),
            character=request.character and find_granted_character(project, view, request.character),
            speaker_id=find_granted_character(project, view, request.speaker_id),
        )
    check_request(project.principal, request)
    try:
        return _find_named(project, request, view)
    except FabulaError:
        check_unlimited(project.principal)
        raise


def _find_named(project: ProjectHandle, request: Request, view: View) -> Request:
    document, conversation, character = request.document_id, request.conversation_id, request.character
    if document:
        try:
            document = find_view_document(view, document)
        except FabulaError:
            if request.unsaved_text is None:  # a text that comes along may be of a new document
                raise
    speaker = request.speaker_id
    if not has_known_people(request, view):
        with project.store.read(project=view.project.id) if project.store is not None else nullcontext() as reading:
            if conversation and not has_conversation(view, conversation):
                conversation = find_conversation(view, reading, conversation)
            character = character and find_knower(view, reading, character)
            if speaker and reading is not None:
                speaker = find_speaker(view, reading, speaker)
    found = (document, conversation, character, speaker)
    named = (request.document_id, request.conversation_id, request.character, request.speaker_id)
    if found == named and not request.include and not request.exclude:
        return request
    include = tuple(find_included(view, name) for name in request.include)
    exclude = tuple(find_excluded(view, name) for name in request.exclude)
    return replace(
        request,
        document_id=document,
        conversation_id=conversation,
        character=character,
        speaker_id=speaker,
        include=include,
        include_names=request.include_names or request.include,
        exclude=exclude,
    )


def read_named_request(project: ProjectHandle, data: bytes | AssembleRequest, uploads: Mapping[str, str]) -> Request:
    """Read a request of a project from JSON, where cursors count UTF-16 units."""

    def text_of(document: str) -> str | None:
        if not document:
            return None
        view = project.view
        if has_limits(project.principal):
            document = find_granted_document(project, view, document)
        by_id = (view.snapshot(Manuscript) or Manuscript()).by_id
        if document not in by_id:  # a number or a title
            with suppress(FabulaError):  # a text that comes along may be of a new document
                document = find_view_document(view, document)
        found = by_id.get(document)
        return None if found is None else found.text

    request = read_request(data, text_of, uploads, principal=project.principal)
    request = request if request.project_id else replace(request, project_id=project.id)
    view = project.view_with(request.conversation_id)
    preset = view.snapshot(Preset) if request.preset is None else None
    return resolve_names(project, request if preset is None else replace(request, preset=preset), view)


def _as_tuple(value: Any) -> tuple[Any, ...]:
    """Return several things as a tuple; one name counts as one."""
    return (value,) if isinstance(value, str) else tuple(value)
