"""Schemas of conversations: participants, conversations, messages and pages of them (cnv-1…5)."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, UnsetType

from fabula.conversation.cards import CardTexts
from fabula.conversation.history import HistoryPage, TreeMessage
from fabula.conversation.message_search import FoundMessage
from fabula.conversation.model import Message, get_kind
from fabula.conversation.participants import Participant, Participants
from fabula.conversation.persona_revisions import PersonaRevision
from fabula.conversation.presence import Presence
from fabula.llm.providers.demo import DEMO_MODEL
from fabula.workspace.chat_files import ChatExportReport, ChatImportReport
from fabula.workspace.conversations import ConversationDetails
from fabula.workspace.schemas.display_names import DisplayNames
from fabula.workspace.schemas.schema import Schema, describe


class CardInfo(Schema):
    """The texts of a character card; the notes of its creator reach no prompt."""

    name: str
    nickname: str
    description: str
    personality: str
    scenario: str
    first_message: str
    alternate_greetings: tuple[str, ...]
    group_greetings: tuple[str, ...]
    examples: str
    system_prompt: str
    post_history: str
    depth_prompt: str
    depth: int
    depth_role: str
    creator_notes: str
    talkativeness: float


class ParticipantInfo(Schema):
    """A participant; `entry` is the codex entry that they are, and `card` their character card, if there are any."""

    id: str
    name: str
    aliases: tuple[str, ...]
    persona: str
    is_gone: bool
    revision: int
    version: int
    entry: str | None
    card: CardInfo | None
    entry_name: str | UnsetType = UNSET


class PersonaInfo(Schema):
    """A persona of a participant, and when another one took its place; `replaced` is empty for the present one."""

    participant_id: str
    revision: int
    persona: str
    replaced: str


class PresenceInfo(Schema):
    """Somebody took part in the active branch from message `since` up to message `until`, or still does.

    Who took part in other branches alone heard no message of it: both are 0.
    """

    participant_id: str
    name: str
    since: int
    until: int | None


class ConversationInfo(Schema):
    """A conversation, and who took part; one without a title has its first words as `opening`."""

    id: str
    conv_key: str
    title: str
    opening: str
    mode: str
    mode_state: dict[str, Any]
    leaf_id: str | None
    message_count: int
    round_count: int
    created_at: str
    changed_at: str
    version: int
    presence: tuple[PresenceInfo, ...]


class MessageInfo(Schema):
    """A message of a conversation; with an `audience` it is a whisper."""

    id: str
    role: str
    kind: str
    speaker: str
    name: str
    content: str
    timestamp: str
    final: bool
    parent_id: str | None
    number: int | None
    audience: tuple[str, ...] | None
    pinned: str | None
    previous_content: str | None
    version: int
    audience_names: tuple[str, ...] | UnsetType = UNSET  # of a whisper
    is_demo: bool | UnsetType = UNSET  # true where the demo wrote it, with prepared sentences


class HistoryPageInfo(Schema):
    """Messages of the active path, oldest first, and what to ask the page before with."""

    messages: tuple[MessageInfo, ...]
    before: str | None


class FoundMessageInfo(Schema):
    """A message that a search found, and its conversation."""

    conversation_id: str
    message: MessageInfo
    title: str  # of the conversation


class TreeMessageInfo(Schema):
    """A message in the tree of a conversation, the one before it there, and whether it is on the active path."""

    message: MessageInfo
    parent_id: str | None
    is_active: bool


class ImportedChatInfo(Schema):
    """A conversation that came from a file; `alternatives` of its messages are on other branches."""

    id: str
    title: str
    format: str
    messages: int
    alternatives: int
    participants: tuple[str, ...]


class ChatImportInfo(Schema):
    """What an import of chats brought in."""

    conversations: tuple[ImportedChatInfo, ...]
    new_participants: tuple[str, ...]
    warnings: tuple[str, ...]


class ChatExportInfo(Schema):
    """Where a conversation was written, and how many messages were written or appended."""

    path: str
    format: str
    title: str
    messages: int
    warnings: tuple[str, ...]


def describe_card(card: CardTexts) -> CardInfo:
    """Describe a character card."""
    return describe(CardInfo, card)


def describe_participant(
    participant: Participant,
    entry: str | None = None,
    card: CardTexts | None = None,
    *,
    names: DisplayNames | None = None,
) -> ParticipantInfo:
    """Describe a participant, perhaps with the name of the entry that they are."""
    described = None if card is None else describe_card(card)
    entry_name = UNSET if names is None or entry is None else names.name_entry(entry)
    return describe(ParticipantInfo, participant, entry=entry, card=described, entry_name=entry_name)


def describe_persona(persona: PersonaRevision) -> PersonaInfo:
    """Describe a persona that a participant has or had."""
    return describe(PersonaInfo, persona)


def describe_conversation(details: ConversationDetails) -> ConversationInfo:
    """Describe a conversation."""
    names = details.participants
    attendance = details.attendance
    elsewhere = sorted(attendance.everybody - attendance.participants)  # on other branches alone
    ranges = (*attendance.ranges, *(Presence(participant_id=one, until=0) for one in elsewhere))
    presence = tuple(describe(PresenceInfo, one, name=names.name_of(one.participant_id)) for one in ranges)
    return describe(ConversationInfo, details.record, presence=presence, opening=details.opening)


def describe_message(said: Message, names: Participants) -> MessageInfo:
    """Describe a message."""
    audience = UNSET if said.audience is None else tuple(names.name_of(one) for one in sorted(said.audience))
    name = names.name_of(said.speaker)
    is_demo = True if said.extra.get("model") == DEMO_MODEL else UNSET
    return describe(MessageInfo, said, kind=get_kind(said).value, name=name, audience_names=audience, is_demo=is_demo)


def describe_page(page: HistoryPage, names: Participants) -> HistoryPageInfo:
    """Describe a page of messages."""
    return HistoryPageInfo(messages=tuple(describe_message(one, names) for one in page.messages), before=page.before)


def describe_found_message(found: FoundMessage, names: Participants) -> FoundMessageInfo:
    """Describe a message that a search found."""
    said = describe_message(found.message, names)
    return FoundMessageInfo(conversation_id=found.conversation_id, message=said, title=found.title)


def describe_tree_message(found: TreeMessage, names: Participants) -> TreeMessageInfo:
    """Describe a message in the tree of a conversation."""
    said = describe_message(found.message, names)
    return TreeMessageInfo(message=said, parent_id=found.parent_id, is_active=found.is_active)


def describe_chat_import(report: ChatImportReport, language: str) -> ChatImportInfo:
    """Describe what an import of chats brought in."""
    return describe(ChatImportInfo, report, language)


def describe_chat_export(report: ChatExportReport, language: str) -> ChatExportInfo:
    """Describe what an export of a conversation wrote."""
    return describe(ChatExportInfo, report, language)
