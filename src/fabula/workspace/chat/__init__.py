"""Chat: turns of a conversation, from what somebody says to the replies of those whom its mode chooses (cht-2)."""

from fabula.workspace.chat.events import (
    Announced,
    ChatEvent,
    ChatEvents,
    MessageStored,
    PromptHandedOver,
    ReplyDelta,
    ReplyFailed,
    ReplyRetry,
    ReplyStored,
    SpeakerEvent,
    SpeakerStart,
    TurnEnd,
)
from fabula.workspace.chat.replies import ChatModel
from fabula.workspace.chat.rounds import ChatRound, ChatState
from fabula.workspace.chat.verbs import ChatVerbs, SpeakerPrompt, refuse_to_take_back

__all__ = [
    "Announced",
    "ChatEvent",
    "ChatEvents",
    "ChatModel",
    "ChatRound",
    "ChatState",
    "ChatVerbs",
    "MessageStored",
    "PromptHandedOver",
    "ReplyDelta",
    "ReplyFailed",
    "ReplyRetry",
    "ReplyStored",
    "SpeakerEvent",
    "SpeakerPrompt",
    "SpeakerStart",
    "TurnEnd",
    "refuse_to_take_back",
]
