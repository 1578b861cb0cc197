"""Recent conversations: the title and one or two snippets of other conversations, for the prompt (mem-4).

Only participants who were present when the snippets were said may know them. A conversation has no place in the
story, so a request with a position shows them to the author's vantage alone. The writer's own conversations with the
assistant have no participants. In a project with a story they count as planning, so only the author's vantage sees
them. In a project without a story everyone may know them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec.structs import replace
from sqlalchemy import desc

from fabula.context.gate import judge_visibility
from fabula.context.gather import FunctionSource
from fabula.context.request import SourceRequest
from fabula.conversation.cards import Cards
from fabula.conversation.documents import get_document_id
from fabula.conversation.edits import ConversationRecord
from fabula.conversation.light_summaries import SEARCHED_MESSAGES, RecentConversation, get_state, summarise_lightly
from fabula.conversation.model import Conversations
from fabula.conversation.personas import place_for_listeners
from fabula.conversation.presence import Attendance, load_attendance
from fabula.conversation.recaps.snapshot import RecapSnapshot
from fabula.conversation.snapshot import load_newest_messages
from fabula.conversation.tables import conversations
from fabula.core.fragment import Fragment, Layer
from fabula.core.messages import message
from fabula.core.relevance import EPISODE, score_in_range
from fabula.core.view import Project, View
from fabula.store.queries import RowQuery
from fabula.store.rows import read_struct
from fabula.store.transaction import ReadTransaction

MAX_RECENT = 3  # conversations in one prompt
# One more than a prompt holds, because the current conversation is left out.
_LATEST = RowQuery(conversations, order=(desc(conversations.c.changed), conversations.c.id), limit=MAX_RECENT + 1)


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
        old, record = known.get(row.id), read_struct(ConversationRecord, row)
        is_same = old is not None and (old.state, old.changed_at) == (get_state(record), record.changed_at)
        found.append(old if old is not None and is_same else _load_one(reading, record, loaded, cards or Cards()))
    return previous if previous is not None and previous.all == tuple(found) else RecentConversations(project, found)


def offer_recent_conversations(source_request: SourceRequest, view: View) -> Iterable[Fragment]:
    """Offer the latest other conversations, one or two lines each: among people, those that all of them know."""
    recent, conversations = view.snapshot(RecentConversations), view.snapshot(Conversations)
    if recent is None:
        return ()
    current = source_request.request.conversation_id
    attendance = conversations.attendances.get(current) if conversations is not None else None
    if attendance is not None and source_request.vantage.position is None:
        found = _find_shared(recent, current, attendance, source_request, view)
    else:
        fragments = recent.story_fragments if view.timeline.entries else recent.chat_fragments
        if source_request.vantage.position is not None:
            fragments = recent.author_fragments
        found = [one for one in fragments if one.conversation_id != current][:MAX_RECENT]
    return found if attendance is None else [place_for_listeners(one, attendance, source_request) for one in found]


def _find_shared(
    recent: RecentConversations,
    current: str,
    attendance: Attendance,
    source_request: SourceRequest,
    view: View,
) -> list[Fragment]:
    """Find the latest conversations that everybody present knows; of others only those that nobody here knows.

    The gate refuses these, which the trace shows, and they take no places.
    """
    snapshot = view.snapshot(RecapSnapshot)
    recaps = snapshot.by_conversation.get(current) if snapshot is not None else None
    known = {one.id: one for one in (*recent.all, *(recaps.related.summaries if recaps is not None else ()))}
    own_known_to = frozenset[str]() if view.timeline.entries else None
    found: list[Fragment] = []
    age = 0
    for one in sorted(known.values(), key=lambda one: (one.changed_at, one.id), reverse=True):
        if age == MAX_RECENT:
            break
        if one.id != current and one.snippets and _is_shared(one.known_to, attendance):
            fragment = _make_fragment(view.project, age, one, own_known_to)
            found.append(fragment)
            age += judge_visibility(fragment, source_request.vantage, view.timeline) is None
    return found


def _is_shared(known_to: frozenset[str] | None, attendance: Attendance) -> bool:
    """Whether everybody present knows a conversation, or nobody, which the gate judges; what only some know is left."""
    if known_to is None or attendance.present.isdisjoint(known_to):
        return True
    return attendance.present <= known_to


RECENT_CONVERSATION_SOURCE = FunctionSource(name="talks", function=offer_recent_conversations, blocking=False)


def _load_one(
    reading: ReadTransaction, record: ConversationRecord, loaded: Conversations | None, cards: Cards
) -> RecentConversation:
    if loaded is not None and loaded.states.get(record.id) == get_state(record):
        newest, attendance = loaded.messages[record.id], loaded.attendances[record.id]
    else:
        newest = load_newest_messages(reading, record.id, record.leaf_id, limit=SEARCHED_MESSAGES)
        attendance = load_attendance(reading, record.id)
    return summarise_lightly(record, newest, attendance, cards)


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
