"""Conversations of documents: what a writer asked for in a chapter, and what a model answered there (cnv-1).

Each document has at most one such conversation, whose id names the document. It is the writer's own with the model, so
nobody takes part in it. A writer's prompt in the same document has all of it. In any other prompt it is known where the
document is: to those who know the document, once the story has passed its end.
"""

from __future__ import annotations

from collections.abc import Sequence, Set

from msgspec import Struct
from msgspec.structs import replace

from fabula.context.request import Request
from fabula.conversation.tables import conversations
from fabula.core.fragment import Fragment
from fabula.core.ids import is_valid_id
from fabula.core.story import Position
from fabula.core.view import View
from fabula.store.transaction import ReadTransaction

_PREFIX, _BEHIND = "document:", "document;"  # the ids with the prefix sort between them
_END = 1 << 62  # behind the last character of any document


class DocumentConversations(Struct, frozen=True):
    """A snapshot of which documents have a conversation of their own: the ids of these conversations."""

    ids: frozenset[str] = frozenset()


def make_document_conversation_id(document_id: str) -> str:
    """Return the id of a document's conversation; empty where it cannot have one."""
    ident = f"{_PREFIX}{document_id}"
    return ident if document_id and is_valid_id(ident) else ""


def get_document_id(conversation_id: str) -> str:
    """Return the document whose conversation this is; empty for any other conversation."""
    return conversation_id.removeprefix(_PREFIX) if conversation_id.startswith(_PREFIX) else ""


def load_document_conversations(
    reading: ReadTransaction, before: DocumentConversations | None, changed: Set[str] | None
) -> DocumentConversations:
    """Load which documents have a conversation; nothing is read where no such conversation changed."""
    if before is not None and changed is not None and not any(map(get_document_id, changed)):
        return before
    has_prefix = (conversations.c.id >= _PREFIX, conversations.c.id < _BEHIND)
    return DocumentConversations(frozenset(row.id for row in reading.rows(conversations, *has_prefix, only=("id",))))


def is_writers_own(request: Request) -> bool:
    """Whether a request may read its whole conversation: no document's, or that of a writer at work in the document."""
    document_id = get_document_id(request.conversation_id)
    return not document_id or (request.document_id == document_id and not request.speaker_id)


def limit_to_document(request: Request, view: View, messages: Sequence[Fragment]) -> Sequence[Fragment]:
    """Return the messages of a conversation as others may know them, where it is a document's and they read it."""
    if is_writers_own(request):
        return messages
    document_id = get_document_id(request.conversation_id)
    entry = view.timeline.entry(document_id)
    knowers = frozenset[str]() if entry is None else entry.known_to  # of a document that is gone, nobody but the author
    limits = {"since": Position(document_id, _END), "made_of": frozenset({document_id})}
    return [replace(one, known_to=knowers if one.known_to is None else one.known_to, **limits) for one in messages]
