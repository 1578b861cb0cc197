"""Light summaries: the title of a conversation and one or two snippets of what was said last (mem-4)."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from fabula.conversation.cards import Cards
from fabula.conversation.edits import ConversationRecord
from fabula.conversation.model import ConversationState, Message, is_of_game
from fabula.conversation.presence import Attendance
from fabula.text.truncation import shorten_to_line

TITLE_CHARS, SNIPPET_CHARS = 60, 160
SEARCHED_MESSAGES = 8  # the newest messages, searched for public ones


class RecentConversation(Struct, frozen=True):
    """The title and snippets of a conversation, and who may know them."""

    id: str
    state: ConversationState
    changed_at: str
    title: str
    snippets: tuple[str, ...]
    known_to: frozenset[str] | None  # None: the writer's own conversation


def get_state(record: ConversationRecord) -> ConversationState:
    """Return the state of a conversation, without its note."""
    return ConversationState(
        created_at=record.created_at,
        version=record.version,
        message_count=record.message_count,
        leaf_id=record.leaf_id,
        mode=record.mode,
    )


def summarise_lightly(
    record: ConversationRecord, newest: Sequence[Message], attendance: Attendance, cards: Cards
) -> RecentConversation:
    """Make the light summary of a conversation from its newest messages."""
    searched = reversed(newest[-SEARCHED_MESSAGES:])
    said = [one for one in searched if one.final and not is_of_game(one) and not cards.is_greeting(one)]
    public = [one for one in said if one.audience is None]
    question = next((one for one in public if one.role == "user"), None)
    reply = next((one for one in public if one.role == "assistant"), None)
    quoted = sorted((one for one in (question, reply) if one is not None), key=lambda one: one.number or 0)
    title = shorten_to_line(record.title or (quoted[0].prompt_text if quoted else ""), TITLE_CHARS)
    snippets = tuple(text for one in quoted if (text := shorten_to_line(one.prompt_text, SNIPPET_CHARS)))
    listeners = attendance.find_common_listeners(quoted)
    return RecentConversation(record.id, get_state(record), record.changed_at, title, snippets, listeners)
