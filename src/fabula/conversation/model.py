"""Types of conversations: messages in a tree, the active path and its hash (cnv-1), kinds of messages (cnv-3).

The messages of a conversation form a tree. The path from the first message to the active leaf is the
history. A message has a stable id. The hash of a path covers the content of each message and the hash of
its parent, so that branches and equal beginnings can be compared; it is derived and never stored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from enum import StrEnum
from hashlib import sha256
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct, field

from fabula.core.fragment import Fragment, Layer, Part, Role
from fabula.core.messages import ENGLISH, join_names
from fabula.text.quotes import render_line

if TYPE_CHECKING:
    from fabula.conversation.presence import Attendance

MAX_SNAPSHOT_MESSAGES = 1000  # of one conversation, the newest
MAX_PARTICIPANTS = 200  # of one conversation, over its whole time
MAX_MESSAGE_CHARACTERS = 200_000  # that somebody says or imports
MAX_NOTE_CHARACTERS, MAX_NOTE_DEPTH, DEFAULT_NOTE_DEPTH = 20_000, 10_000, 4
# Among the extras of a message: its text as prompts show it, where that differs, and the same of a corrected text
CLEANED_TEXT, CLEANED_CORRECTION = "cleaned", "cleaned_correction"
GREETING = "greeting"  # among the extras of a message: it is the greeting of a card, which begins every conversation
MOVE = "is_move"  # among the extras of a message: it is a move of a game, as points of a quiz are
STATE_TOLD = "is_state"  # among the extras of an announcement: prompts tell the same as the state of the mode
# In the stored state of a conversation, of no mode. `earlier` is of older conversations: the states before messages.
ROUND, OTHERS, BEGUN, NOTE, EARLIER = "round", "others", "begun", "author_note", "earlier"
RESERVED_KEYS = (ROUND, OTHERS, BEGUN, NOTE, EARLIER)

NotePlace = Literal["depth", "before", "after"]  # in the conversation, or beside what is told of the characters


class MessageKind(StrEnum):
    """The kind of a message: part of the conversation, or a step on the way to a reply."""

    USER = "user"
    PLAN = "plan"
    ACTION = "action"
    OBSERVATION = "observation"
    KNOWLEDGE = "knowledge"
    REPLY = "reply"


class Message(Struct, frozen=True, kw_only=True, gc=False):
    """A message of a conversation. Fields that the store sets have defaults."""

    id: str
    role: Role
    content: str
    speaker: str = ""
    timestamp: str = field(default="", name="at")
    kind: MessageKind | None = None  # None: derived from the role
    final: bool = True  # only final messages are history
    parent_id: str | None = None
    number: int | None = None
    audience: tuple[str, ...] | None = None  # None: everybody present
    skill_id: str = ""
    extra: Mapping[str, Any] = {}
    round: int = 0  # the number of the round that a user message begins
    token_estimate: int = field(default=0, name="tokens")
    pinned: str | None = None  # the words of it that are kept word for word; empty for all of them
    previous_content: str | None = field(default=None, name="before")  # the text before a correction
    version: int = 1

    @property
    def prompt_text(self) -> str:
        """The text as prompts show it: without the signs of mentions, or shortened, unless it was corrected since."""
        return get_prompt_text(self.content, self.previous_content, self.extra)


class AuthorNote(Struct, frozen=True, kw_only=True):
    """A text that every prompt of a conversation holds; `interval` is that of SillyTavern, where 0 switches it off."""

    text: Annotated[str, Meta(max_length=MAX_NOTE_CHARACTERS)]
    depth: Annotated[int, Meta(ge=0, le=MAX_NOTE_DEPTH)] = DEFAULT_NOTE_DEPTH
    role: Role = "system"
    place: NotePlace = "depth"
    interval: Annotated[int, Meta(ge=0)] = 1

    @property
    def is_told(self) -> bool:
        """Whether prompts hold the note."""
        return bool(self.text.strip()) and self.interval > 0


def find_note(stored_state: Mapping[str, Any]) -> AuthorNote | None:
    """Return the note that is stored with the state of a conversation; None where there is none that makes sense."""
    try:
        return msgspec.convert(stored_state[NOTE], AuthorNote) if NOTE in stored_state else None
    except msgspec.ValidationError:
        return None


class ConversationState(Struct, frozen=True, kw_only=True):
    """The state of a conversation when its messages were read; equal states mean equal messages."""

    created_at: str = field(name="made")
    version: int  # changes with everything except new messages
    message_count: int = field(name="said")
    leaf_id: str | None
    mode: str = ""
    note: AuthorNote | None = None


class Voices(Struct, frozen=True):
    """Who spoke in which role on a path of messages, and whom its lines name."""

    roles: frozenset[tuple[str, str]] = frozenset()  # speaker and role
    named: frozenset[str] = frozenset()  # speakers and audiences

    def with_messages(self, messages: Iterable[Message]) -> Voices:
        """Return these voices and those of more messages."""
        said = [one for one in messages if one.speaker or one.audience]
        roles = {(one.speaker, one.role) for one in said if one.speaker and one.role != "system"}
        named = {name for one in said for name in (one.speaker, *(one.audience or ())) if name}
        return self if roles <= self.roles and named <= self.named else Voices(self.roles | roles, self.named | named)


class Conversations:
    """A snapshot of conversations: the newest messages of each, oldest first, and their history fragments."""

    def __init__(self, project_id: str, conversations: Mapping[str, Sequence[Message]]) -> None:
        self.messages = {name: tuple(messages) for name, messages in conversations.items()}
        self.fragments = {name: make_history_fragments(project_id, path) for name, path in self.messages.items()}
        self.states: dict[str, ConversationState] = {}
        self.attendances: dict[str, Attendance] = {}  # of stored conversations
        self.speaker_names: dict[str, dict[str, str]] = {}  # of conversations whose lines carry names, by speaker
        self.voices: dict[str, Voices] = {}

    def shorten(self, conversation_id: str, count: int, attendance: Attendance) -> Conversations:
        """Return the same conversations, one without what follows on its first messages, and with this attendance."""
        path = self.messages.get(conversation_id, ())[:count]
        shown = {f"history:{one.id}" for one in path}
        shortened = copy(self)
        shortened.messages = {**self.messages, conversation_id: path}
        fragments = tuple(one for one in self.fragments.get(conversation_id, ()) if one.source in shown)
        shortened.fragments = {**self.fragments, conversation_id: fragments}
        shortened.attendances = {**self.attendances, conversation_id: attendance}
        return shortened


def make_history_fragments(
    project_id: str,
    messages: Iterable[Message],
    find_listeners: Callable[[Message], frozenset[str] | None] = lambda _: None,
    names: Mapping[str, str] | None = None,
    language: str = ENGLISH,
) -> tuple[Fragment, ...]:
    """Make a fragment of each final message, known to those who heard it; `names` stand before the lines, if given."""
    return tuple(
        Fragment(
            source=f"history:{message.id}",
            layer=Layer.IMMEDIATE,
            text=render_line(label_speaker(message, names, language), message.prompt_text, language),
            project_id=project_id,
            part=Part.HISTORY,
            role=message.role,
            score=1.0,
            known_to=find_listeners(message),
        )
        for message in messages
        if message.final
    )


def label_speaker(message: Message, names: Mapping[str, str] | None, language: str = ENGLISH) -> str:
    """Return the name that stands before a line, with those whom a whisper is meant for; empty without names."""
    if not names or not message.speaker:
        return ""
    return add_audience(names[message.speaker], message, names, language)


def add_audience(name: str, message: Message, names: Mapping[str, str], language: str = ENGLISH) -> str:
    """Return the name of a speaker, with those whom a whisper is meant for."""
    if not message.audience:
        return name
    return f"{name} → {join_names([names.get(one, one) for one in message.audience]).render(language)}"


def get_prompt_text(content: str, previous_content: str | None, extra: Mapping[str, Any]) -> str:
    """Return the text of a message as prompts show it; what was noted of a text belongs to that text alone."""
    text: str = extra.get(CLEANED_TEXT if previous_content is None else CLEANED_CORRECTION, content)
    return text


def get_kind(message: Message) -> MessageKind:
    """Return the kind of a message; if it has none, the kind that its role implies."""
    return message.kind or (MessageKind.USER if message.role == "user" else MessageKind.REPLY)


def is_announcement(message: Message) -> bool:
    """Whether a mode told it, as the roles and scores of a game: it belongs to that game, and nobody said it."""
    return message.kind is MessageKind.KNOWLEDGE and not message.speaker


def is_of_game(message: Message) -> bool:
    """Whether a message comes into no other conversation: an announcement, or a move that was not corrected since."""
    return is_announcement(message) or (message.extra.get(MOVE) is True and message.previous_content is None)


def estimate_tokens(text: str) -> int:
    """Estimate the tokens of a text without a vocabulary: four ASCII characters, or one of another script, each."""
    other = 0 if text.isascii() else sum(character > "\x7f" for character in text)
    return other + (len(text) - other + 3) // 4


def hash_content(content: str) -> str:
    """Return the hash of a message's content."""
    return sha256(content.encode()).hexdigest()


def hash_path(messages: Iterable[Message], parent: str = "") -> list[str]:
    """Return the hash of the path up to each message; `parent` is the hash of the path before the first."""
    hashes = []
    for message in messages:
        parent = sha256(f"{parent}{hash_content(message.content)}".encode()).hexdigest()
        hashes.append(parent)
    return hashes
