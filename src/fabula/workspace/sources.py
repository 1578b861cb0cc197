"""The list of all sources that feed a prompt, and the data that each needs from other packages.

Material packages do not import each other. What one needs of another (lorebooks read the conversation, memory
compares itself with the constraints) is handed to its source here.
"""

from __future__ import annotations

from weakref import WeakKeyDictionary, ref

from fabula.codex import Codex
from fabula.codex.characters import collect_characters
from fabula.codex.source import CodexSource
from fabula.constraints import Constraints
from fabula.constraints.source import ConstraintsSource, LimitedRules, find_limited_rules
from fabula.context.gather import Source
from fabula.context.recipes import NOVEL
from fabula.context.request import SourceRequest
from fabula.conversation.documents import is_writers_own
from fabula.conversation.model import Conversations
from fabula.conversation.participants import Participants, strip_revision
from fabula.conversation.personas import PERSONA_SOURCE
from fabula.conversation.recaps.snapshot import RecapSnapshot
from fabula.conversation.recaps.source import RECAP_SOURCE, RecapOptions, find_shown_texts, knows_other_conversations
from fabula.conversation.recent import RECENT_CONVERSATION_SOURCE
from fabula.conversation.source import CONVERSATION_SOURCE, TURN_SOURCE, is_recorded
from fabula.core.fragment import Fragment
from fabula.core.story import Perspective
from fabula.core.view import View
from fabula.lorebook.model import ScanMessage
from fabula.lorebook.source import ConversationExcerpt, LorebookSource
from fabula.manuscript.source import EDITOR_SOURCE, PROJECT_SOURCE
from fabula.manuscript.synopses.source import SynopsesSource
from fabula.memory.episodes import EpisodeSource
from fabula.memory.source import MemorySource
from fabula.search.embeddings.choice import EmbeddingChoice
from fabula.search.find import MessageScope
from fabula.search.source import SearchSource
from fabula.skills.source import SkillSource
from fabula.workspace.search import find_names_near_cursor


def all_sources(embedding: EmbeddingChoice | None = None) -> tuple[Source, ...]:
    """Return every source; a recipe names the ones it uses. `embedding` lets search compare by meaning too."""
    return (
        EDITOR_SOURCE,
        CONVERSATION_SOURCE,
        SkillSource(),
        ConstraintsSource(_LimitedRuleFinder().find),
        PROJECT_SOURCE,
        CodexSource(),
        LorebookSource(_read_conversation),
        MemorySource(_constraint_fragments),
        EpisodeSource(),
        SynopsesSource(collect_characters),
        SearchSource(find_names_near_cursor, embedding, _find_message_scope),
        RECAP_SOURCE,
        RECENT_CONVERSATION_SOURCE,
        PERSONA_SOURCE,
        TURN_SOURCE,
    )


class _LimitedRuleFinder:
    """Finds the constraints that hold in some chapters only; requests between two changes read no rule again.

    What was found is kept with the constraints and holds no codex, so that earlier ones are freed.
    """

    def __init__(self) -> None:
        self._known: WeakKeyDictionary[Constraints, tuple[ref[Codex] | None, LimitedRules]] = WeakKeyDictionary()

    def find(self, view: View) -> LimitedRules:
        """Return the rules of a view that hold in some chapters only."""
        constraints, codex = view.snapshot(Constraints), view.snapshot(Codex)
        if constraints is None:
            return {}
        known = self._known.get(constraints)
        if known is not None and (None if known[0] is None else known[0]()) is codex:
            return known[1]
        names = {} if codex is None else {one.id: one.names for one in codex.entries}
        found = find_limited_rules(constraints, names)
        self._known[constraints] = None if codex is None else ref(codex), found
        return found


def _constraint_fragments(view: View) -> tuple[Fragment, ...]:
    rules = view.snapshot(Constraints)
    return rules.fragments if rules is not None else ()


def _find_message_scope(source_request: SourceRequest, view: View) -> MessageScope | None:
    """Return which messages a chat may find: of conversations that all who are present took part in (cnv-8)."""
    request, conversations = source_request.request, view.snapshot(Conversations)
    attendance = conversations.attendances.get(request.conversation_id) if conversations is not None else None
    if attendance is None or not attendance.is_recorded or request.recipe in ("", NOVEL.name):
        return None
    snapshot, options = view.snapshot(RecapSnapshot), view.snapshot(RecapOptions) or RecapOptions()
    known = snapshot.by_conversation.get(request.conversation_id) if snapshot is not None else None
    related = {request.conversation_id, *(known.related.ids if known is not None else ())}
    return MessageScope(
        frozenset(related if options.relevant_history == "embedding-first" else ()),
        attendance.present,
        knows_other_conversations(request, view.timeline),
        find_shown_texts(source_request, view),
    )


def _read_conversation(source_request: SourceRequest, view: View, limit: int) -> ConversationExcerpt:
    """Return the newest final messages of a conversation as lorebooks scan them: those that the speaker heard."""
    conversations, request = view.snapshot(Conversations), source_request.request
    conversation = request.conversation_id
    path = conversations.messages.get(conversation, ()) if conversations is not None else ()
    attendance = conversations.attendances.get(conversation) if conversations is not None else None
    is_readable = request.with_history and is_writers_own(request)
    final = [message for message in path if message.final] if is_readable else []
    if final and is_recorded(request, path):
        final = final[:-1]  # the input, which is scanned too
    if attendance is not None and source_request.vantage.perspective is not Perspective.AUTHOR:
        knowers = source_request.vantage.knowers
        heard = [(message, attendance.find_knowers(message)) for message in final]
        final = [message for message, known_to in heard if known_to is None or not known_to.isdisjoint(knowers)]
    latest = final[len(final) - limit :] if limit < len(final) else final
    earlier = (path[0].number or 0) + len(final) - len(latest) if path else 0
    name_of = (view.snapshot(Participants) or Participants()).name_of
    user = next((message.speaker for message in reversed(final) if message.role == "user"), "")
    return ConversationExcerpt(
        tuple([ScanMessage(name_of(message.speaker), message.content) for message in latest]),
        earlier,
        request.macros.user or name_of(user),
        _find_absent_cards(source_request, view),
    )


def _find_absent_cards(source_request: SourceRequest, view: View) -> frozenset[str]:
    """Return the lorebooks of cards whose characters do not take part in a conversation (inj-8)."""
    people, conversations, request = view.snapshot(Participants), view.snapshot(Conversations), source_request.request
    attendance = conversations.attendances.get(request.conversation_id) if conversations is not None else None
    if people is None or attendance is None or not attendance.is_recorded:
        return frozenset()
    here = attendance.present | {strip_revision(request.speaker_id)}
    cards = {one.card: False for one in people.by_id.values() if one.card}
    cards |= {one.card: True for ident, one in people.by_id.items() if one.card and ident in here}
    return frozenset(card for card, is_here in cards.items() if not is_here)
