"""Recent conversations: the title and one or two snippets of other conversations, for the prompt (mem-4).

Only participants who were present when the snippets were said may know them. A conversation has no place in the
story, so a request with a position shows them to the author's vantage alone. The writer's own conversations with the
assistant have no participants. In a project with a story they count as planning, so only the author's vantage sees
them. In a project without a story everyone may know them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace
from sqlalchemy import Row, desc

from fabula.context.gather import FunctionSource
from fabula.context.request import SourceRequest
from fabula.conversation.cards import Cards
from fabula.conversation.documents import get_document_id
from fabula.conversation.model import Conversations, ConversationState, is_announcement
from fabula.conversation.personas import place_for_listeners
from fabula.conversation.presence import Attendance, load_attendance
from fabula.conversation.snapshot import load_newest_messages
from fabula.conversation.tables import conversations
from fabula.core.fragment import Fragment, Layer
from fabula.core.messages import message
from fabula.core.relevance import EPISODE, score_in_range
from fabula.core.view import Project, View
from fabula.store.queries import RowQuery
from fabula.store.rows import read_struct
from fabula.store.transaction import ReadTransaction
from fabula.text.truncation import shorten_to_line

MAX_RECENT = 3  # conversations in one prompt
TITLE_CHARS, SNIPPET_CHARS = 60, 160
_SEARCHED_MESSAGES = 8  # the newest messages, searched for public ones
# One more than a prompt holds, because the current conversation is left out.
_LATEST = RowQuery(conversations, order=(desc(conversations.c.changed), conversations.c.id), limit=MAX_RECENT + 1)


class RecentConversation(Struct, frozen=True):
    """The title and snippets of a conversation, and who may know them."""

    id: str
    state: ConversationState
    title: str
    snippets: tuple[str, ...]
    known_to: frozenset[str] | None  # None: the writer's own conversation


class RecentConversations:
    """A snapshot of the latest conversations of a project, latest first, and their fragments."""

    def __init__(self, project: Project, conversations: Sequence[RecentConversation]) -> None:
        self.language = project.language
        self.all = tuple(conversations)
        shown = [one for one in self.all if one.snippets]
        # They differ in who may know the writer's own conversations: only the author, or everyone.
        self.story_fragments = tuple(_make_fragment(project, n, one, frozenset()) for n, one in enumerate(shown))
        self.chat_fragments = tuple(_make_fragment(project, n, one, None) for n, one in enumerate(shown))
        self.author_fragments = tuple(replace(one, known_to=frozenset()) for one in self.story_fragments)


def load_recent_conversations(
    reading: ReadTransaction,
    project: Project,
    before: RecentConversations | None = None,
    loaded: Conversations | None = None,
    cards: Cards | None = None,
) -> RecentConversations:
    """Load the latest conversations; those that did not change are shared with `before`.

    The messages of those that are `loaded` already are not read again.
    """
    previous = before if before is not None and before.language == project.language else None
    known = {one.id: one for one in previous.all} if previous is not None else {}
    found = []
    for row in reading.query(_LATEST):
        old, state = known.get(row.id), read_struct(ConversationState, row)
        is_same = old is not None and old.state == state
        found.append(old if old is not None and is_same else _load_one(reading, row, state, loaded, cards or Cards()))
    return previous if previous is not None and previous.all == tuple(found) else RecentConversations(project, found)


def offer_recent_conversations(source_request: SourceRequest, view: View) -> Iterable[Fragment]:
    """Offer the latest conversations except the current one, one or two lines each."""
    recent = view.snapshot(RecentConversations)
    if recent is None or not recent.all:
        return ()
    fragments = recent.story_fragments if view.timeline.entries else recent.chat_fragments
    if source_request.vantage.position is not None:
        fragments = recent.author_fragments
    request = source_request.request
    current = f"talk:{request.conversation_id}"
    conversations = view.snapshot(Conversations)
    attendance = conversations.attendances.get(request.conversation_id) if conversations is not None else None
    found = [one for one in fragments if one.source != current and _is_shared(one, attendance)][:MAX_RECENT]
    return found if attendance is None else [place_for_listeners(one, attendance, source_request) for one in found]


def _is_shared(fragment: Fragment, attendance: Attendance | None) -> bool:
    """Whether everybody present knows a conversation, or nobody, which the gate judges; what only some know is left."""
    if attendance is None or fragment.known_to is None or attendance.present.isdisjoint(fragment.known_to):
        return True
    return attendance.present <= fragment.known_to


RECENT_CONVERSATION_SOURCE = FunctionSource(name="talks", function=offer_recent_conversations, blocking=False)


def _load_one(
    reading: ReadTransaction, row: Row[Any], state: ConversationState, loaded: Conversations | None, cards: Cards
) -> RecentConversation:
    if loaded is not None and loaded.states.get(row.id) == state:
        newest, attendance = loaded.messages[row.id][-_SEARCHED_MESSAGES:], loaded.attendances[row.id]
    else:
        newest = load_newest_messages(reading, row.id, row.leaf_id, limit=_SEARCHED_MESSAGES)
        attendance = load_attendance(reading, row.id, row)
    said = [one for one in reversed(newest) if one.final and not is_announcement(one) and not cards.is_greeting(one)]
    public = [one for one in said if one.audience is None]
    question = next((one for one in public if one.role == "user"), None)
    reply = next((one for one in public if one.role == "assistant"), None)
    quoted = sorted((one for one in (question, reply) if one is not None), key=lambda one: one.number or 0)
    title = shorten_to_line(row.title or (quoted[0].prompt_text if quoted else ""), TITLE_CHARS)
    snippets = tuple(text for one in quoted if (text := shorten_to_line(one.prompt_text, SNIPPET_CHARS)))
    listeners = attendance.find_common_listeners(quoted)
    return RecentConversation(row.id, state, title, snippets, listeners)


def _make_fragment(
    project: Project, age: int, one: RecentConversation, own_known_to: frozenset[str] | None
) -> Fragment:
    """Make the fragment of a conversation; `own_known_to` is who may know the writer's own conversations."""
    return Fragment(
        source=f"talk:{one.id}",
        layer=Layer.RETRIEVED,
        text=message(
            "[Another recent conversation: {title}] {said}", title=one.title, said=" / ".join(one.snippets)
        ).render(project.language),
        project_id=project.id,
        title=_name_conversation(one, project.language),
        score=score_in_range(EPISODE, 0.5 - 0.15 * age),
        conversation_id=one.id,
        known_to=own_known_to if one.known_to is None else one.known_to,
    )


def _name_conversation(one: RecentConversation, language: str) -> str:
    """The title of a conversation; of a chapter's own, that it is about the chapter, which has the same title."""
    if not get_document_id(one.id):
        return one.title
    return message("Conversation about {chapter}", chapter=one.title).render(language)
