"""Grants of a principal: what a request may ask for is decided here, before anything is assembled, searched or read.

The owner may ask for everything. For anybody else a refusal is the same sentence whether the thing exists or not. What
shows a whole project (inspecting, reading, changing, saving) is for principals without limits alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from fabula.context.gate import knows_document
from fabula.context.recipes.preset import Preset, UserProfile
from fabula.context.request import Grants, Principal, Request
from fabula.context.request import has_limits as has_limits  # which interfaces ask for with the other checks
from fabula.context.vantage import limit_to_appearances
from fabula.core.errors import Code, FabulaError
from fabula.core.messages import message
from fabula.core.story import Perspective, Timeline, Vantage
from fabula.core.view import View
from fabula.manuscript.model import Manuscript
from fabula.skills.files import Skills

if TYPE_CHECKING:
    from fabula.workspace.project import ProjectHandle


_CHARACTER_ONLY = frozenset({Perspective.CHARACTER})  # whoever plays one is in no chapter that it does not know

_AUTHOR_CHOICES = frozenset({Preset, Skills, UserProfile})


def refuse_request() -> FabulaError:
    """Return the error for what a principal may not ask for, which names nothing."""
    return FabulaError(
        Code.NOT_ALLOWED, message("You may not ask for this here. Ask the owner of the project. Nothing was changed.")
    )


def check_unlimited(principal: Principal) -> None:
    """Refuse a principal with limits: what follows shows or changes the whole project."""
    if has_limits(principal):
        raise refuse_request()


def hide_author_choices(view: View) -> View:
    """Return a view without what its author decided about prompts: the built-in identity and skills, no preset."""
    kept = {kind: snapshot for kind, snapshot in view.snapshots.items() if kind not in _AUTHOR_CHOICES}
    return View(replace(view.project, identity=None), view.timeline, kept)


def check_request(principal: Principal, request: Request) -> None:
    """Refuse a request that names a document, a conversation, a character or an entry which was not granted."""
    grants = principal.grants
    if not has_limits(principal):
        return
    wanted = (
        (grants.documents, (request.document_id,)),
        (grants.conversations, (request.conversation_id,)),
        (grants.characters, (request.character or "", request.speaker_id)),
        (grants.entries, (*request.include, *request.exclude)),
    )
    for granted, names in wanted:
        if granted is not None and any(name and granted.isdisjoint((name, name.rpartition(":")[2])) for name in names):
            raise refuse_request()


def check_vantage(principal: Principal, vantage: Vantage, timeline: Timeline) -> None:
    """Refuse a vantage that was not granted: whose eyes, which character, and a place which that character knows."""
    grants, here = principal.grants, vantage.position
    if grants.perspectives is not None and vantage.perspective not in grants.perspectives:
        raise refuse_request()
    if vantage.character and grants.characters is not None and vantage.character not in grants.characters:
        raise refuse_request()
    is_character = grants.perspectives == _CHARACTER_ONLY
    if here is not None and is_character and not knows_document(here.document, vantage, timeline):
        raise refuse_request()


def complete_granted(project: ProjectHandle, view: View, request: Request) -> Request:
    """Fill in what somebody who plays a character leaves open: that character, and the last chapter that it may read.

    A request in a conversation, or with a perspective of its own, stays as it is.
    """
    from fabula.workspace.reading import list_readable_documents

    is_placed = bool(request.conversation_id or request.speaker_id)
    if project.principal.grants.perspectives != _CHARACTER_ONLY or is_placed:
        return request
    if request.perspective in (None, Perspective.CHARACTER) and not request.character:
        request = replace(request, perspective=Perspective.CHARACTER, character=find_own_character(project))
    if not request.document_id:
        documents = list_readable_documents(project, view)
        request = replace(request, document_id=documents[-1].id if documents else "")
    return request


def find_granted_document(project: ProjectHandle, view: View, name: str) -> str:
    """Return the id of a document by any of its names, among those that a principal with limits may read.

    What names none of them, or several, is refused, whether there is such a document or not.
    """
    from fabula.workspace.names import match_documents, name_documents
    from fabula.workspace.reading import list_readable_documents

    grants, documents = project.principal.grants, list_readable_documents(project, view)
    is_place = grants.perspectives != _CHARACTER_ONLY and grants.documents is not None and name in grants.documents
    if not name or is_place or any(one.id == name for one in documents):
        return name
    book = (view.snapshot(Manuscript) or Manuscript()).documents
    found = match_documents(book, name_documents(documents, of=book), name)
    if len(found) != 1:
        raise refuse_request()
    return found[0].id


def find_granted_character(project: ProjectHandle, view: View, name: str) -> str:
    """Return the id of a character by any of its names, among those that were granted; else what was named."""
    granted = project.principal.grants.characters
    if not name or granted is None or not granted.isdisjoint((name, name.rpartition(":")[2])):
        return name
    from fabula.workspace.names import match_named, name_knowers

    found = match_named([one for one in name_knowers(view, None) if one.id in granted], name)
    return found[0].id if found else name


def limit_to_character(project: ProjectHandle, name: str) -> Principal:
    """Return a principal that may ask for what one character knows, as the project stands now.

    Its documents are those that the character knows, and its conversations those in which it took part.
    """
    from fabula.conversation.tables import presence
    from fabula.workspace.names import find_character_ids, find_knower
    from fabula.workspace.verbs import require_store

    check_unlimited(project.principal)
    view = project.view
    with require_store(project).read(project=project.id) as reading:
        character = find_knower(view, reading, name)
        own_ids = frozenset((character, *find_character_ids(view, character)))
        talks = reading.rows(presence, presence.c.participant_id.in_(sorted(own_ids)), only=("conversation_id",))
    vantage = limit_to_appearances(Vantage(Perspective.CHARACTER, character=character, other_ids=own_ids), view)
    told = (one.document for one in view.timeline.entries)
    grants = Grants(
        perspectives=frozenset({Perspective.CHARACTER}),
        characters=own_ids,
        documents=frozenset(one for one in told if knows_document(one, vantage, view.timeline)),
        conversations=frozenset(row.conversation_id for row in talks),
        entries=frozenset(),
    )
    return Principal(project.principal.user, may_inspect=False, grants=grants)


def find_own_character(project: ProjectHandle) -> str | None:
    """Return the one character through whose eyes a principal sees: an entry of the codex first; None if it has none.

    A participant of conversations and the entry of the same character count as one.
    """
    from fabula.codex import Codex

    granted, codex = project.principal.grants.characters or frozenset(), project.view.snapshot(Codex)
    entries = [one for one in sorted(granted) if codex is not None and one in codex.by_id]
    return next(iter(entries or sorted(granted)), None)
