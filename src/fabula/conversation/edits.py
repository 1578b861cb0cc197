"""Edit conversations in the store: messages, branches, corrections and the presence of participants (cnv-1, cnv-5).

Adding a message takes the same time in a short and in a long conversation. The version of a conversation
changes with every edit except new messages. If the version is the same, a reader only needs the messages
that were added since.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace
from sqlalchemy import ColumnElement, Row, desc

from fabula.conversation.model import Conversations, Message, MessageKind, get_kind, hash_content
from fabula.conversation.participants import base_id, conv_key
from fabula.conversation.snapshot import make_message
from fabula.conversation.tables import conversations, messages, presence
from fabula.core.errors import Code, FabulaError
from fabula.core.ids import current_timestamp, is_valid_id, new_id
from fabula.store.transaction import ReadTransaction, WriteTransaction
from fabula.text.offsets import normalise

_FIELDS = frozenset({"title", "mode", "mode_state"})
_ROLES = ("system", "user", "assistant")


class ConversationRecord(Struct, frozen=True, kw_only=True):
    """The row of a conversation, without its messages."""

    id: str
    conv_key: str
    title: str
    mode: str
    mode_state: Mapping[str, Any]
    leaf_id: str | None
    message_count: int
    round_count: int
    created_at: str
    changed_at: str
    version: int


class Presence(Struct, frozen=True, kw_only=True):
    """The range of message numbers that a participant could hear; `until` is None while they are present."""

    participant_id: str
    since: int
    until: int | None


def start_conversation(
    tx: WriteTransaction,
    conversation_id: str | None = None,
    *,
    participants: Iterable[str] = (),
    title: str = "",
    mode: str = "",
) -> str:
    """Start a conversation with these participants; return its id."""
    ident = conversation_id or new_id()
    _check_id(ident)
    present = list(dict.fromkeys(base_id(participant) for participant in participants))
    at = current_timestamp()
    row = {"id": ident, "conv_key": conv_key(present), "title": title.strip(), "mode": mode, "made": at, "changed": at}
    tx.insert(conversations, row)
    tx.insert(presence, *({"conversation_id": ident, "participant_id": who, "joined": at} for who in present))
    return ident


def update_conversation(
    tx: WriteTransaction, conversation_id: str, values: Mapping[str, Any], *, expected: int | None = None
) -> int:
    """Change the title, the mode or the mode's state; return the new version."""
    unknown = set(values) - _FIELDS
    if unknown:
        raise _refused(f"Of a conversation, {', '.join(sorted(unknown))} cannot be changed.")
    texts = (values.get("title", ""), values.get("mode", ""))
    if not all(isinstance(text, str) for text in texts) or not isinstance(values.get("mode_state", {}), Mapping):
        raise _refused("Title and mode are texts, and the mode's state is a mapping.")
    _check_json(values)
    return tx.update_row(
        conversations, {"id": conversation_id}, {**values, "changed": current_timestamp()}, expected=expected
    )


def remove_conversation(tx: WriteTransaction, conversation_id: str, *, expected: int | None = None) -> None:
    """Remove a conversation with all its messages."""
    tx.update_row(conversations, {"id": conversation_id}, {}, expected=expected)
    tx.delete_rows(conversations, conversations.c.id == conversation_id)


def join_conversation(tx: WriteTransaction, conversation_id: str, participant_id: str) -> None:
    """Let a participant join; they hear messages from now on. Nothing changes if they are present."""
    ident, row = base_id(participant_id), tx.require(conversations, id=conversation_id)
    ranges = tx.rows(presence, *_match_presence(conversation_id, ident))
    if any(known.until_number is None for known in ranges):
        return
    if any(known.since_number == row.said for known in ranges):
        tx.update_rows(
            presence,
            {"until_number": None},
            *_match_presence(conversation_id, ident),
            presence.c.since_number == row.said,
        )
        return
    values = {
        "conversation_id": conversation_id,
        "participant_id": ident,
        "since_number": row.said,
        "joined": current_timestamp(),
    }
    tx.insert(presence, values)
    all_present = tx.rows(presence, presence.c.conversation_id == conversation_id, only=("participant_id",))
    key = conv_key(known.participant_id for known in all_present)
    if key != row.conv_key:
        tx.update_rows(conversations, {"conv_key": key}, conversations.c.id == conversation_id)


def leave_conversation(tx: WriteTransaction, conversation_id: str, participant_id: str) -> None:
    """Let a participant leave; they hear no further messages. They stay part of the conversation's key."""
    ident, row = base_id(participant_id), tx.require(conversations, id=conversation_id)
    is_present = (*_match_presence(conversation_id, ident), presence.c.until_number.is_(None))
    if not tx.update_rows(presence, {"until_number": row.said}, *is_present):
        raise FabulaError(
            Code.STORE_NOT_FOUND, f"{ident!r} does not take part in this conversation (any more). Nothing was changed."
        )


def list_presence(reading: ReadTransaction, conversation_id: str) -> list[Presence]:
    """Return who took part, from which message to which."""
    order = (presence.c.since_number, presence.c.participant_id)
    rows = reading.rows(presence, presence.c.conversation_id == conversation_id, order=order)
    return [Presence(participant_id=row.participant_id, since=row.since_number, until=row.until_number) for row in rows]


def add_message(tx: WriteTransaction, conversation_id: str, message: Message, *, as_first: bool = False) -> Message:
    """Add a message behind its parent, by default the newest message, or as a new beginning if `as_first`.

    It becomes the leaf of the active path. The message is returned as it is stored.
    """
    return add_messages(tx, conversation_id, (message,), as_first=as_first)[0]


def add_messages(
    tx: WriteTransaction, conversation_id: str, new_messages: Sequence[Message], *, as_first: bool = False
) -> list[Message]:
    """Add several messages, each behind the one before."""
    for message in new_messages:
        if get_kind(message) == MessageKind.USER and not message.content.strip():
            raise FabulaError(Code.TEXT_INVALID, "There is nothing in this message. Nothing was changed.")
    return _append(tx, conversation_id, new_messages, as_first=as_first)


def select_branch(tx: WriteTransaction, conversation_id: str, message_id: str, *, expected: int | None = None) -> int:
    """Make the path to a message the active one; return the conversation's new version."""
    _check_parent(tx, conversation_id, message_id)
    # 0: the recaps that this path needs are not known yet.
    values = {"leaf_id": message_id, "changed": current_timestamp(), "recap_due": 0}
    return tx.update_row(conversations, {"id": conversation_id}, values, expected=expected)


def correct_message(tx: WriteTransaction, message_id: str, content: str, *, expected: int | None = None) -> int:
    """Replace the text of a message and keep the old text for undo; return the message's new version."""
    row = tx.require(messages, id=message_id)
    text = normalise(content)
    if not text.strip():
        raise FabulaError(Code.TEXT_INVALID, "A corrected message needs a text. Nothing was changed.")
    if text == row.content and expected in (None, row.version):
        return int(row.version)
    return _replace_content(tx, row, text, expected)


def undo_correction(tx: WriteTransaction, message_id: str, *, expected: int | None = None) -> int:
    """Undo the last correction of a message, or redo it; return the message's new version."""
    row = tx.require(messages, id=message_id)
    if row.before is None:
        raise _refused("This message was not corrected: there is nothing to take back.")
    return _replace_content(tx, row, row.before, expected)


def get_conversation(reading: ReadTransaction, conversation_id: str) -> ConversationRecord:
    """Return one conversation."""
    return _make_record(reading.require(conversations, id=conversation_id))


def list_conversations(
    reading: ReadTransaction, *, conv_key: str | None = None, limit: int | None = None
) -> list[ConversationRecord]:
    """Return conversations, the latest first: all, or those of exactly the participants of a key."""
    where = () if conv_key is None else (conversations.c.conv_key == conv_key,)
    order = (desc(conversations.c.changed), conversations.c.id)
    return [_make_record(row) for row in reading.rows(conversations, *where, order=order, limit=limit)]


def get_message(reading: ReadTransaction, message_id: str) -> Message:
    """Return one message."""
    return make_message(reading.require(messages, id=message_id))


def save_conversations(tx: WriteTransaction, snapshot: Conversations) -> None:
    """Store the conversations of a snapshot as new ones under their names; each is one path of messages."""
    for name, path in snapshot.messages.items():
        start_conversation(tx, name)
        parents = (None, *(message.id for message in path))
        _append(tx, name, [replace(message, parent_id=parent) for message, parent in zip(path, parents, strict=False)])


def _append(
    tx: WriteTransaction, conversation_id: str, new_messages: Sequence[Message], *, as_first: bool = False
) -> list[Message]:
    row = tx.require(conversations, id=conversation_id)
    leaf, at, rounds = None if as_first else row.leaf_id, current_timestamp(), row.rounds
    stored: list[Message] = []
    known_parents: set[str | None] = {None, leaf}
    for number, new_message in enumerate(new_messages, start=row.said):
        message = _check_message(new_message)
        parent = message.parent_id or leaf
        if parent not in known_parents:
            _check_parent(tx, conversation_id, parent or "")
        message = replace(message, parent_id=parent, number=number, timestamp=message.timestamp or at, version=1)
        rounds += message.kind is MessageKind.USER
        leaf = message.id
        known_parents.add(leaf)
        stored.append(message)
    if stored:
        tx.insert(messages, *(_make_row(conversation_id, message) for message in stored))
        values = {"leaf_id": leaf, "said": row.said + len(stored), "rounds": rounds, "changed": at}
        tx.update_rows(conversations, values, conversations.c.id == conversation_id)
    return stored


def _replace_content(tx: WriteTransaction, row: Row[Any], content: str, expected: int | None) -> int:
    values = {"content": content, "before": row.content, "content_hash": hash_content(content)}
    version = tx.update_row(messages, {"id": row.id}, values, expected=expected)
    tx.update_row(conversations, {"id": row.conversation_id}, {"changed": current_timestamp()})
    return version


def _check_parent(tx: WriteTransaction, conversation_id: str, message_id: str) -> None:
    if tx.require(messages, id=message_id).conversation_id != conversation_id:
        raise _refused(f"The message {message_id!r} belongs to another conversation.")


def _check_message(message: Message) -> Message:
    """Check a message; return it with an id, a kind and normalised line ends."""
    kind = get_kind(message)
    if message.role not in _ROLES or kind not in tuple(MessageKind):
        raise _refused(f"There is no role {message.role!r} or no kind {message.kind!r} of messages.")
    ident = message.id or new_id()
    _check_id(ident)
    _check_json({"audience": message.audience, "extra": message.extra})
    return replace(message, id=ident, content=normalise(message.content), kind=MessageKind(kind))


def _check_json(values: Mapping[str, Any]) -> None:
    try:
        msgspec.json.encode(values)
    except (TypeError, ValueError, RecursionError) as error:
        raise _refused(f"This cannot be kept as JSON: {error}.") from error


def _check_id(ident: str) -> None:
    if not is_valid_id(ident):
        raise _refused(f"{ident!r} cannot be an id: leave out spaces, slashes and `|`.")


def _refused(sentence: str) -> FabulaError:
    return FabulaError(Code.REQUEST_INVALID, f"{sentence} Nothing was changed.")


def _match_presence(conversation_id: str, participant_id: str) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    return presence.c.conversation_id == conversation_id, presence.c.participant_id == participant_id


def _make_row(conversation_id: str, message: Message) -> dict[str, Any]:
    return {
        "id": message.id,
        "conversation_id": conversation_id,
        "parent_id": message.parent_id,
        "number": message.number,
        "kind": get_kind(message).value,
        "final": int(message.final),
        "role": message.role,
        "speaker": message.speaker,
        "content": message.content,
        "content_hash": hash_content(message.content),
        "before": message.previous_content,
        "audience": None if message.audience is None else list(message.audience),
        "at": message.timestamp,
        "skill_id": message.skill_id,
        "extra": message.extra,
    }


def _make_record(row: Row[Any]) -> ConversationRecord:
    return ConversationRecord(
        id=row.id,
        conv_key=row.conv_key,
        title=row.title,
        mode=row.mode,
        mode_state=row.mode_state,
        leaf_id=row.leaf_id,
        message_count=row.said,
        round_count=row.rounds,
        created_at=row.made,
        changed_at=row.changed,
        version=row.version,
    )
