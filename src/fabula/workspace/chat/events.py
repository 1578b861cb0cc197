"""Events of a chat: what a turn yields, in the order in which it happens."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from typing import Any

from msgspec import Struct

from fabula.conversation.model import Message
from fabula.core.errors import FabulaError
from fabula.core.messages import Sentence
from fabula.llm.model import Usage
from fabula.llm.pricing import Cost


class MessageStored(Struct, frozen=True):
    """What somebody said is stored; `notes` tell of mentions that ask nobody."""

    message: Message
    notes: tuple[Sentence, ...] = ()


class Announced(Struct, frozen=True):
    """The mode told something; with an audience, to these alone."""

    message: Message


class SpeakerEvent(Struct, frozen=True, kw_only=True):
    """Something about one speaker: the id, the name that people read, and who hears it if it is a whisper.

    `unknown_macros` are those that the prompt holds as they are written, where it has been made.
    """

    participant_id: str
    name: str
    audience: tuple[str, ...] | None = None
    unknown_macros: tuple[str, ...] = ()


class SpeakerStart(SpeakerEvent, frozen=True, kw_only=True):
    """A speaker is asked."""


class ReplyDelta(SpeakerEvent, frozen=True, kw_only=True):
    """The next piece of what a speaker says."""

    text: str


class ReplyRetry(SpeakerEvent, frozen=True, kw_only=True):
    """The reply broke a rule and is written again; its text so far is not the reply."""


class ReplyStored(SpeakerEvent, frozen=True, kw_only=True):
    """A reply is complete and stored; `is_cut` where it went on in somebody else's name."""

    message: Message
    usage: Usage = Usage()
    cost: Cost = Cost()
    run_id: str = ""
    is_cut: bool = False


class ReplyFailed(SpeakerEvent, frozen=True, kw_only=True):
    """A speaker could not answer; `message` is what was received before, stored beside the history."""

    error: FabulaError
    text: str = ""
    message: Message | None = None
    usage: Usage = Usage()
    cost: Cost = Cost()
    run_id: str = ""


class PromptHandedOver(SpeakerEvent, frozen=True, kw_only=True):
    """There is no model: the prompt for a speaker is handed over, and `paste` takes the answer."""

    prompt: str
    is_copied: bool  # to the clipboard


class TurnEnd(Struct, frozen=True, kw_only=True):
    """The turn is over; whoever is in `waiting` has not answered yet and can be asked again."""

    conversation_id: str
    mode: str
    mode_state: Mapping[str, Any]
    waiting: tuple[str, ...] = ()


ChatEvent = (
    MessageStored
    | Announced
    | SpeakerStart
    | ReplyDelta
    | ReplyRetry
    | ReplyStored
    | ReplyFailed
    | PromptHandedOver
    | TurnEnd
)
ChatEvents = AsyncGenerator[ChatEvent, None]
