"""History of conversations: pages, alternatives, search, deletion; conversations by participants (cnv-1, cnv-5)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from msgspec import Struct
from sqlalchemy import ColumnElement, desc

from fabula.conversation.edits import NOTHING_DUE, ConversationRecord, add_messages
from fabula.conversation.model import Message
from fabula.conversation.participants import base_id, conv_key
from fabula.conversation.presence import load_attendance
from fabula.conversation.snapshot import load_newest_messages
from fabula.conversation.tables import conversations, messages, presence
from fabula.core.errors import Code, FabulaError
from fabula.core.ids import current_timestamp
from fabula.core.messages import join_names, message
from fabula.store.rows import read_struct
from fabula.store.transaction import ReadTransaction, WriteTransaction

ParticipantMatch = Literal["exact", "subset", "intersection"]
MAX_MESSAGE_CHARACTERS = 200_000
_BATCH = 500  # ids in one query


class HistoryPage(Struct, frozen=True):
    """Messages of the active path, oldest first, and the id to ask for the page before; None for the first page."""

    messages: tuple[Message, ...]
    before: str | None


class FoundMessage(Struct, frozen=True):
    """A message that a search found, and the conversation it belongs to."""

    conversation_id: str
    message: Message


def read_page(reading: ReadTransaction, conversation_id: str, *, before: str | None, limit: int) -> HistoryPage:
    """Read the newest messages of the active path, or those before a message of it."""
    leaf = reading.require(conversations, id=conversation_id).leaf_id
    if before is not None:
        row = reading.require(messages, id=before)
        if row.conversation_id != conversation_id:
            raise FabulaError(
                Code.STORE_NOT_FOUND, message("The message {id!r} belongs to another conversation.", id=before)
            )
        leaf = row.parent_id
    found = load_newest_messages(reading, conversation_id, leaf, limit)
    return HistoryPage(found, found[0].id if found and found[0].parent_id is not None else None)


def list_siblings(reading: ReadTransaction, message_id: str) -> list[Message]:
    """Return a message and its alternatives, which have the same parent, in the order in which they were added."""
    row = reading.require(messages, id=message_id)
    same_parent = messages.c.parent_id.is_(None) if row.parent_id is None else messages.c.parent_id == row.parent_id
    in_conversation = messages.c.conversation_id == row.conversation_id
    rows = reading.rows(messages, in_conversation, same_parent, order=(messages.c.number,))
    return [read_struct(Message, one) for one in rows]


def find_newest_leaf(reading: ReadTransaction, message_id: str) -> str:
    """Return the newest message that follows on from a message, always by the newest answer; else the message."""
    row = reading.require(messages, id=message_id)
    later = (messages.c.conversation_id == row.conversation_id, messages.c.number > row.number)
    rows = reading.rows(messages, *later, order=(messages.c.number,), only=("id", "parent_id"))
    newest_child = {one.parent_id: one.id for one in rows}
    leaf = message_id
    while leaf in newest_child:
        leaf = newest_child[leaf]
    return leaf


def search_messages(
    reading: ReadTransaction, text: str, *, conversation_id: str | None = None, limit: int
) -> list[FoundMessage]:
    """Return the messages that contain a text, in any case, the newest first."""
    where: list[ColumnElement[bool]] = [
        messages.c.content.icontains(text, autoescape=True),
        *(() if conversation_id is None else (messages.c.conversation_id == conversation_id,)),
    ]
    rows = reading.rows(messages, *where, order=(desc(messages.c.at), desc(messages.c.number)), limit=limit)
    return [FoundMessage(row.conversation_id, read_struct(Message, row)) for row in rows]


def find_conversations(
    reading: ReadTransaction, participants: Iterable[str], match: ParticipantMatch, *, limit: int | None = None
) -> list[ConversationRecord]:
    """Return conversations by who takes part, the latest first.

    `exact`: these and nobody else; `subset`: all of these, and maybe others; `intersection`: any of these.
    """
    wanted = sorted({base_id(one) for one in participants})
    order = (desc(conversations.c.changed), conversations.c.id)
    if match == "exact":
        rows = reading.rows(conversations, conversations.c.conv_key == conv_key(wanted), order=order, limit=limit)
        return [read_struct(ConversationRecord, row) for row in rows]
    ids = _find_shared(reading, wanted) if match == "subset" else _find_any(reading, wanted)
    found = [
        row
        for start in range(0, len(ids), _BATCH)
        for row in reading.rows(conversations, conversations.c.id.in_(ids[start : start + _BATCH]))
    ]
    found.sort(key=lambda row: row.id)
    found.sort(key=lambda row: row.changed, reverse=True)
    return [read_struct(ConversationRecord, row) for row in found[:limit]]


def _find_any(reading: ReadTransaction, wanted: Sequence[str]) -> list[str]:
    """Return the ids of the conversations in which any of these takes part."""
    rows = reading.rows(presence, presence.c.participant_id.in_(wanted), only=("conversation_id",))
    return sorted({row.conversation_id for row in rows})


def _find_shared(reading: ReadTransaction, wanted: Sequence[str]) -> list[str]:
    """Return the ids of the conversations in which all of these take part; whoever takes part least decides first."""
    rarest_first = sorted(wanted, key=lambda one: reading.count(presence, presence.c.participant_id == one))
    ids = _find_any(reading, rarest_first[:1])
    for participant in rarest_first[1:]:
        shared: set[str] = set()
        for start in range(0, len(ids), _BATCH):
            among = presence.c.conversation_id.in_(ids[start : start + _BATCH])
            rows = reading.rows(presence, presence.c.participant_id == participant, among, only=("conversation_id",))
            shared.update(row.conversation_id for row in rows)
        ids = sorted(shared)
    return ids


def record_message(tx: WriteTransaction, conversation_id: str, new: Message) -> Message:
    """Record a message of somebody who takes part; a speaker or listener who is not present is refused."""
    if len(new.content) > MAX_MESSAGE_CHARACTERS:
        raise FabulaError(
            Code.TEXT_INVALID,
            message(
                "This message has {count:,} characters, and one may have {limit:,}. Nothing was changed.",
                count=len(new.content),
                limit=MAX_MESSAGE_CHARACTERS,
            ),
        )
    attendance = load_attendance(tx, conversation_id)
    named = [one for one in (new.speaker, *(new.audience or ())) if one]
    absent = [one for one in named if base_id(one) not in attendance.present] if attendance.ranges else []
    if absent:
        raise FabulaError(
            Code.REQUEST_INVALID,
            message(
                "{names} is not present in this conversation. Let them join first. Nothing was changed.",
                names=join_names(dict.fromkeys(absent)),
            ),
        )
    return add_messages(tx, conversation_id, (new,))[0]


def delete_message(tx: WriteTransaction, message_id: str, *, expected: int | None = None) -> Message:
    """Delete a message; what followed on from it then follows on from the message before. Return it as it was."""
    row = tx.require(messages, id=message_id)
    deleted = read_struct(Message, row)
    tx.update_row(messages, {"id": message_id}, {}, expected=expected)
    in_conversation = messages.c.conversation_id == row.conversation_id
    children = tx.rows(messages, in_conversation, messages.c.parent_id == message_id, only=("id",))
    tx.update_rows(messages, {"parent_id": row.parent_id}, in_conversation, messages.c.parent_id == message_id)
    conversation = tx.require(conversations, id=row.conversation_id)
    values: dict[str, str | int | None] = {"changed": current_timestamp(), **NOTHING_DUE}
    if conversation.leaf_id == message_id:
        values["leaf_id"] = children[-1].id if children else row.parent_id
    tx.delete_rows(messages, messages.c.id == message_id)
    tx.update_row(conversations, {"id": row.conversation_id}, values)
    return deleted
