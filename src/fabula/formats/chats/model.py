"""Types of chat files: a chat as it was read from a file, and a conversation of the store as it is written to one.

What a file says and a message of the store has no column for is kept in `Message.extra`, under the name of the
format. What a file says of the chat as a whole is kept there too, with the first message (`FILE_FIELDS`). So a chat
that is written again has every field that it came with.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from fabula.conversation.edits import ConversationRecord
from fabula.conversation.model import MAX_MESSAGE_CHARACTERS, Message, MessageKind
from fabula.conversation.participants import Participants, strip_revision
from fabula.conversation.presence import Attendance, Presence
from fabula.core.fragment import Role
from fabula.core.messages import Sentence, message
from fabula.formats.safe.import_errors import CORRECT, refuse_too_large, refuse_unreadable

ChatFormat = Literal["session", "sillytavern"]
JsonObject = dict[str, Any]

Line = Annotated[int, Meta(ge=0)]

SESSION: ChatFormat = "session"
SILLYTAVERN: ChatFormat = "sillytavern"
FILE_FIELDS = "chat_file"  # in the `extra` of the first message: what a file said of the chat as a whole
_MAX_NAME = 200  # characters
MAX_MESSAGES = 100_000  # of one import, alternatives included


class ChatMessage(Struct, frozen=True, kw_only=True):
    """A message of a chat file. Its speaker is an id where the file has ids, else a name."""

    line: int  # the place of its line among the messages of the file; alternatives share one
    parent: int | None  # the place of the message before it in `Chat.messages`
    role: Role
    content: str
    speaker: str = ""
    id: str = ""
    timestamp: str = ""
    kind: MessageKind | None = None
    final: bool = True
    audience: tuple[str, ...] | None = None
    mode_state: JsonObject = {}  # the states of modes that hold behind it, by the name of the mode
    extra: JsonObject = {}


class ChatPresence(Struct, frozen=True):
    """Somebody took part from one line of a file up to another, or to its end."""

    who: str
    since: Line = 0
    until: Line | None = None


class Chat(Struct, frozen=True, kw_only=True):
    """A chat that was read from a file; its messages form a tree, each behind its parent."""

    label: str  # the file, for messages to people
    title: str
    format: ChatFormat
    messages: tuple[ChatMessage, ...]
    leaf: int  # the place of the newest message of the active path
    session_id: str = ""
    created_at: str = ""
    mode: str = ""
    mode_state: Mapping[str, Any] = {}
    names: Mapping[str, str] = {}  # of participants, by the ids that the file has
    members: tuple[tuple[str, Role], ...] = ()  # who takes part, though they may have said nothing
    presence: tuple[ChatPresence, ...] = ()  # empty: everybody took part all the time
    notices: tuple[Sentence, ...] = ()


class ChatCollection(Struct, frozen=True):
    """The chats of a file or a folder, and what a person should know of them."""

    chats: tuple[Chat, ...]
    notices: tuple[Sentence, ...] = ()


class StoredChat(Struct, frozen=True, kw_only=True, dict=True):
    """A conversation of the store with all its messages, to be written to a file."""

    record: ConversationRecord
    messages: tuple[Message, ...]  # of all branches, in the order in which they were added
    attendance: Attendance
    participants: Participants
    thread: str  # what the folder of the thread is called, for a chat that has none yet
    mode_states: Mapping[str, JsonObject] = {}  # the states of modes that hold behind a message, by its id

    @cached_property
    def path(self) -> tuple[Message, ...]:
        """The messages of the active path, oldest first."""
        by_id = {one.id: one for one in self.messages}
        path: list[Message] = []
        next_id = self.record.leaf_id
        while next_id is not None and (found := by_id.pop(next_id, None)) is not None:
            path.append(found)
            next_id = found.parent_id
        return tuple(reversed(path))

    @cached_property
    def file_fields(self) -> Mapping[str, Any]:
        """What the file that the chat came from said of it as a whole."""
        found = (one.extra[FILE_FIELDS] for one in self.messages if FILE_FIELDS in one.extra)
        return next((fields for fields in found if isinstance(fields, Mapping)), {})

    def list_alternatives(self, said: Message) -> list[Message]:
        """Return a message and what the same speaker said in its place on other branches."""
        speaker = strip_revision(said.speaker)
        siblings = self._by_parent[said.parent_id]
        return [one for one in siblings if one.role == said.role and strip_revision(one.speaker) == speaker]

    def list_presence(self, lines: list[Message]) -> list[Presence]:
        """Return who took part, by lines of a file; nothing where everybody took part all the time."""
        present = [*(self.attendance.list_present_at(one.number or 0) for one in lines), self.attendance.present]
        if all(one == self.attendance.everybody for one in present):
            return []
        since: dict[str, int] = {}
        ranges: list[Presence] = []
        for line, now in enumerate(present):
            gone = since.keys() - now
            ranges += [Presence(participant_id=who, since=since.pop(who), until=line) for who in gone]
            since |= dict.fromkeys(now - since.keys(), line)
        ranges += [Presence(participant_id=who, since=line) for who, line in since.items()]
        return sorted(ranges, key=lambda one: (one.since, one.participant_id))

    @cached_property
    def _by_parent(self) -> Mapping[str | None, list[Message]]:
        by_parent: dict[str | None, list[Message]] = defaultdict(list)
        for one in self.messages:
            by_parent[one.parent_id].append(one)
        return by_parent


def get_text(row: Mapping[str, Any], name: str, place: Sentence) -> str:
    """Return a text of a line, which must have it."""
    text = row.get(name)
    if not isinstance(text, str):
        refuse_unreadable(place, message("`{name}` must be a text", name=name), CORRECT)
    return check_text(text, place)


def check_text(text: str, place: Sentence) -> str:
    """Return a text of a line; one that cannot be a message is refused."""
    if "\0" in text:
        refuse_unreadable(place, message("a text in it has the character NUL"), CORRECT)
    if len(text) > MAX_MESSAGE_CHARACTERS:
        problem = message("a message has more than {count:,} characters", count=MAX_MESSAGE_CHARACTERS)
        refuse_too_large(place, problem)
    return text


def read_presence(rows: object) -> tuple[ChatPresence, ...]:
    """Read who took part from which line to which, as our own files say it."""
    try:
        return msgspec.convert(rows, tuple[ChatPresence, ...])
    except msgspec.ValidationError:
        return ()


def read_states(value: object) -> JsonObject:
    """Read the states of modes that hold behind a message, as our own files say it."""
    is_valid = isinstance(value, dict) and all(isinstance(one, dict) for one in value.values())
    return value if isinstance(value, dict) and is_valid else {}


def clean_name(text: str) -> str:
    """Return a name or a title of a file on one line, without control characters and of a bounded length."""
    if text.isprintable() and len(text) <= _MAX_NAME:
        return " ".join(text.split())
    return " ".join("".join(one if one.isprintable() else " " for one in text[:1000]).split())[:_MAX_NAME]


def read_kind(value: object) -> MessageKind | None:
    """Return the kind of message that a value names, if it does."""
    return next((kind for kind in MessageKind if kind == value), None)
