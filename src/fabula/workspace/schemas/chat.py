"""Schemas of a chat request and its answer, with the names that the specification gives them (cht-1)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import UNSET, UnsetType, field

from fabula.conversation.model import Message
from fabula.conversation.participants import Participants
from fabula.core.errors import FabulaError
from fabula.core.messages import ENGLISH, show
from fabula.llm.model import Usage
from fabula.workspace.chat.events import (
    Announced,
    ChatEvent,
    MessageStored,
    PromptHandedOver,
    ReplyDelta,
    ReplyFailed,
    ReplyRetry,
    ReplyStored,
    SpeakerEvent,
    TurnEnd,
)
from fabula.workspace.chat.rounds import ChatState
from fabula.workspace.schemas.context import Explanation
from fabula.workspace.schemas.conversations import (
    ConversationInfo,
    MessageInfo,
    ParticipantInfo,
    describe_message,
    describe_participant,
)
from fabula.workspace.schemas.recaps import RecapInfo
from fabula.workspace.schemas.runs import UsageInfo
from fabula.workspace.schemas.schema import Schema, describe

if TYPE_CHECKING:
    from fabula.workspace.playing import PlayedChat


class ChatRequest(Schema, rename="lower"):
    """A message for a thread of a project; without a thread one is started.

    `role_config` has participants by role; `thread_slug` or `project_id` names the project; `provider` is who answers,
    in place of the settings.
    """

    message: str
    thread_id: str | None = None
    mode: str = ""
    role_config: dict[str, str] = field(default_factory=dict)
    thread_slug: str | None = None
    project_id: str | None = None
    provider: str = ""


class ChatProblem(Schema, rename="lower"):
    """Why a participant did not answer."""

    code: str
    message: str


class ChatResponse(Schema, rename="lower"):
    """The reply of one participant, or why there is none; `message_id` is empty where nothing was stored."""

    message_id: str
    participant_id: str
    display_name: str
    content: str
    usage: UsageInfo
    error: ChatProblem | UnsetType = UNSET


class ChatAnswer(Schema, rename="lower"):
    """What was said, and who replied what; `notes` tell of mentions that ask nobody."""

    thread_id: str
    user_message: MessageInfo
    responses: tuple[ChatResponse, ...]
    notes: tuple[str, ...] = ()


class ChatStateInfo(Schema):
    """A conversation as its next turn finds it: its mode with its state, and who is present."""

    conversation_id: str
    title: str
    mode: str
    state: dict[str, Any]
    present: tuple[ParticipantInfo, ...]


class PresentInfo(Schema):
    """Somebody who is present, by id and name."""

    id: str
    name: str


class PlayedChatInfo(Schema):
    """A conversation as one's own character, the `speaker`, sees it; without that character, nobody is present."""

    id: str
    title: str
    mode: str
    speaker: str
    present: tuple[PresentInfo, ...]


class ChatEventInfo(Schema, tag_field="event"):
    """Something that happens in a chat, as one line of JSON; `event` says what."""


class ConversationEvent(ChatEventInfo, tag="conversation"):
    """The conversation: as it begins, or is looked at."""

    conversation: ConversationInfo


class StoredMessageEvent(ChatEventInfo, tag="message"):
    """A message is stored, corrected or chosen; `notes` tell of mentions in it that ask nobody."""

    message: MessageInfo
    notes: tuple[str, ...] = ()


class ListedMessageEvent(ChatEventInfo, tag="listed"):
    """A message that there is, in a list; `is_active` where it is on the active path, and else an alternative."""

    message: MessageInfo
    is_active: bool


class AnnouncementEvent(ChatEventInfo, tag="announcement"):
    """The mode told something."""

    message: MessageInfo


class StartEvent(ChatEventInfo, tag="start"):
    """A participant is asked."""

    participant_id: str
    name: str


class DeltaEvent(ChatEventInfo, tag="delta"):
    """The next piece of a reply."""

    participant_id: str
    name: str
    text: str


class RetryEvent(ChatEventInfo, tag="retry"):
    """A reply is written again; its text so far does not count."""

    participant_id: str
    name: str


class ReplyEvent(ChatEventInfo, tag="reply"):
    """A reply is stored; `is_cut` where it went on in somebody else's name."""

    participant_id: str
    name: str
    message: MessageInfo
    usage: UsageInfo
    is_cut: bool


class FailureEvent(ChatEventInfo, tag="failure"):
    """A participant could not answer; `text` is what was received."""

    participant_id: str
    name: str
    error: ChatProblem
    text: str


class PromptEvent(ChatEventInfo, tag="prompt"):
    """There is no model: the prompt for a participant, whose answer is waited for."""

    participant_id: str
    name: str
    prompt: str
    is_copied: bool


class EndEvent(ChatEventInfo, tag="end"):
    """A turn is over; whoever is in `waiting` has not answered yet."""

    conversation_id: str
    mode: str
    mode_state: dict[str, Any]
    waiting: tuple[str, ...]


class RecapsEvent(ChatEventInfo, tag="recaps"):
    """The summaries and recaps of the conversation."""

    recaps: tuple[RecapInfo, ...]


class ExplanationEvent(ChatEventInfo, tag="why"):
    """Why something is in the prompt of a participant, or not."""

    name: str
    explanation: Explanation


class NoticeEvent(ChatEventInfo, tag="notice"):
    """A sentence for a person."""

    text: str


class RefusalEvent(ChatEventInfo, tag="refusal"):
    """A line of the input was refused."""

    error: ChatProblem


def describe_event(event: ChatEvent, names: Participants, language: str = ENGLISH) -> ChatEventInfo:
    """Describe an event of a turn."""
    match event:
        case MessageStored(message=said):
            notes = tuple(str(show(note, language)) for note in event.notes)
            return StoredMessageEvent(message=describe_message(said, names), notes=notes)
        case Announced(message=said):
            return AnnouncementEvent(message=describe_message(said, names))
        case ReplyDelta():
            return describe(DeltaEvent, event)
        case ReplyRetry():
            return describe(RetryEvent, event)
        case ReplyStored(message=said):
            usage = describe(UsageInfo, event.usage)
            return describe(ReplyEvent, event, message=describe_message(said, names), usage=usage)
        case ReplyFailed(error=error):
            return describe(FailureEvent, event, error=describe_problem(error, language))
        case PromptHandedOver():
            return describe(PromptEvent, event)
        case TurnEnd():
            return describe(EndEvent, event)
        case _:
            return describe(StartEvent, event)


def describe_chat_state(state: ChatState) -> ChatStateInfo:
    """Describe a conversation as its next turn finds it."""
    return ChatStateInfo(
        conversation_id=state.record.id,
        title=state.record.title,
        mode=state.mode,
        state=dict(state.state),
        present=tuple(describe_participant(one) for one in state.present),
    )


def describe_played_chat(chat: PlayedChat) -> PlayedChatInfo:
    """Describe a conversation as one's own character sees it."""
    present = tuple(PresentInfo(id=one.id, name=one.name) for one in chat.present)
    return describe(PlayedChatInfo, chat, present=present)


def describe_problem(error: FabulaError, language: str = ENGLISH) -> ChatProblem:
    """Describe a refusal."""
    return ChatProblem(code=error.code.value, message=str(show(error.message, language)))


def describe_response(
    event: SpeakerEvent,
    stored: Message | None = None,
    content: str = "",
    usage: Usage | None = None,
    error: FabulaError | None = None,
    *,
    language: str = ENGLISH,
) -> ChatResponse:
    """Describe the reply of a participant, or why there is none."""
    problem: ChatProblem | UnsetType = UNSET
    if error is not None:
        problem = describe_problem(error, language)
    return ChatResponse(
        message_id=stored.id if stored is not None else "",
        participant_id=event.participant_id,
        display_name=event.name,
        content=content,
        usage=describe(UsageInfo, usage or Usage()),
        error=problem,
    )
