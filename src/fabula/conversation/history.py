"""History of conversations: pages, alternatives, deletion; conversations by participants (cnv-1, cnv-5)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from typing import Any, Literal

from msgspec import Struct
from sqlalchemy import Row, Text, and_, bindparam, desc, literal, or_

from fabula.conversation.edits import NOTHING_DUE, ConversationRecord, add_messages, check_length
from fabula.conversation.mode_states import choose_states, pass_on_state
from fabula.conversation.model import Message
from fabula.conversation.participants import base_id, conv_key, load_participants
from fabula.conversation.presence import Attendance, load_attendance, load_end
from fabula.conversation.snapshot import load_newest_messages
from fabula.conversation.tables import conversations, messages, presence
from fabula.core.errors import Code, FabulaError
from fabula.core.ids import current_timestamp
from fabula.core.messages import join_names, message
from fabula.store.queries import CountQuery
from fabula.store.rows import read_struct
from fabula.store.transaction import ReadTransaction, WriteTransaction
from fabula.text.truncation import shorten_to_line

ParticipantMatch = Literal["exact", "subset", "intersection"]
_OPENING_MESSAGES = 8  # among which the first one that everybody heard is looked for
_OPENING_LENGTH = 60  # characters of the first words of a conversation
_MAX_SORTED = 1000  # conversations of some participants that are read and sorted; of more, the latest are looked for
_MAX_COUNTED = 4 * _MAX_SORTED  # conversations of one participant; whoever has more comes last
_LATEST_FIRST = (desc(conversations.c.changed), conversations.c.id)
_LATEST = 10_000  # conversations that are looked through for these
_BATCH = 500  # ids in one query
_id = conversations.c.id + ""  # an expression, so that the database looks for the moment and not for the id
_is_before = or_(conversations.c.changed > bindparam("at"), _id < bindparam("id", type_=Text))
_COUNT_BEFORE = CountQuery(conversations, conversations.c.changed >= bindparam("at"), _is_before)
_COUNT_BETWEEN = CountQuery(
    conversations,
    conversations.c.changed >= bindparam("at"),
    conversations.c.changed <= bindparam("last_at"),
    or_(conversations.c.changed < bindparam("last_at"), _id >= bindparam("last_id", type_=Text)),
    _is_before,
)


class HistoryPage(Struct, frozen=True):
    """Messages of the active path, oldest first, and the id to ask for the page before; None for the first page."""

    messages: tuple[Message, ...]
    before: str | None


class TreeMessage(Struct, frozen=True):
    """A message in the tree of a conversation, the one before it there, and whether it is on the active path."""

    message: Message
    parent_id: str | None
    is_active: bool


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


def list_branches(reading: ReadTransaction, conversation_id: str) -> list[Message]:
    """Return every message of a conversation that has alternatives, in the order in which they were added."""
    in_conversation = messages.c.conversation_id == conversation_id
    counts = Counter(row.parent_id for row in reading.rows(messages, in_conversation, only=("parent_id",)))
    if all(count == 1 for count in counts.values()):
        return []
    rows = reading.rows(messages, in_conversation, order=(messages.c.number,))
    return [read_struct(Message, row) for row in rows if counts[row.parent_id] > 1]


def read_tree(
    reading: ReadTransaction, conversation_id: str, *, newest: int, is_shown: Callable[[Message], bool]
) -> list[TreeMessage]:
    """Return where the branches of a conversation begin and end, and the newest messages of the active path.

    Only messages that `is_shown` accepts are in the tree, by their number, speaker and audience. One that is left out
    passes those that follow it on to the message before.
    """
    in_conversation = messages.c.conversation_id == conversation_id
    columns = ("id", "parent_id", "number", "final", "speaker", "audience", "role")
    rows = reading.rows(messages, in_conversation, order=(messages.c.number,), only=columns)
    raw_parents = {row.id: row.parent_id for row in rows}
    seen = {row.id for row in rows if is_shown(read_struct(Message, row, content=""))}
    parents = _contract(raw_parents, seen)
    leaf = reading.require(conversations, id=conversation_id).leaf_id
    active: list[str] = []
    while leaf is not None:
        if leaf in seen:
            active.append(leaf)
        leaf = raw_parents.get(leaf)
    active.reverse()
    last = active[-1] if active else None
    counts = Counter(parents.values())
    forks = {parent for parent, count in counts.items() if count > 1 or parent == last}
    kept = {one for one, parent in parents.items() if one not in counts or one in forks or parent in forks}
    kept |= {*active[-newest:], *active[:1]}
    shortened, on_path = _contract(parents, kept), frozenset(active)
    ids = sorted(kept)
    found = [
        row
        for start in range(0, len(ids), _BATCH)
        for row in reading.rows(messages, messages.c.id.in_(ids[start : start + _BATCH]))
    ]
    in_order = sorted((read_struct(Message, row) for row in found), key=lambda one: one.number or 0)
    return [TreeMessage(one, shortened[one.id], one.id in on_path) for one in in_order]


def _contract(parents: Mapping[str, str | None], kept: Set[str]) -> dict[str, str | None]:
    """Return the nearest kept message before each kept one; parents stand before those that follow them."""
    nearest: dict[str | None, str | None] = {None: None}
    found: dict[str, str | None] = {}
    for one, parent in parents.items():
        before = nearest.get(parent)
        if one in kept:
            found[one] = before
        nearest[one] = one if one in kept else before
    return found


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


def load_openings(reading: ReadTransaction, conversation_ids: Iterable[str]) -> dict[str, str]:
    """Return how conversations begin, by id: the first words that everybody heard, on one line."""
    ids = sorted(conversation_ids)
    found: dict[str, str] = {}
    for number in (0, _OPENING_MESSAGES):  # most begin with a message that everybody heard
        missing = [ident for ident in ids if ident not in found]
        for start in range(0, len(missing), _BATCH):
            found |= _load_first_heard(reading, missing[start : start + _BATCH], number)
    return {ident: shorten_to_line(content, _OPENING_LENGTH) for ident, content in found.items()}


def _load_first_heard(reading: ReadTransaction, ids: Sequence[str], last_number: int) -> dict[str, str]:
    """Load the first message of each conversation that everybody heard, up to a number."""
    where = (messages.c.conversation_id.in_(ids), messages.c.number <= last_number)
    order = (desc(messages.c.number),)  # so that the first one is what the dictionary keeps
    rows = reading.rows(messages, *where, order=order, only=("conversation_id", "content", "audience"))
    return {row.conversation_id: row.content for row in rows if row.audience is None and row.content.strip()}


def find_conversations(
    reading: ReadTransaction, participants: Iterable[str], match: ParticipantMatch, *, limit: int | None = None
) -> list[ConversationRecord]:
    """Return conversations by who takes part, the latest first.

    `exact`: these and nobody else; `subset`: all of these, and maybe others; `intersection`: any of these.
    """
    return [read_struct(ConversationRecord, row) for row in _find_rows(reading, participants, match, limit, None)]


def find_conversation_ids(reading: ReadTransaction, participants: Iterable[str], *, limit: int) -> list[str]:
    """Return the ids of conversations in which all of these take part, and maybe others, the latest first."""
    return [row.id for row in _find_rows(reading, participants, "subset", limit, ("id", "conv_key"))]


def number_conversations(reading: ReadTransaction, found: Sequence[ConversationRecord]) -> dict[str, int]:
    """Return the numbers of conversations in the list of all, by id; the latest first, as they are given here."""
    numbers: dict[str, int] = {}
    count, last = 0, None
    for one in found:
        here = {"at": one.changed_at, "id": one.id}
        if last is None:
            count = reading.query(_COUNT_BEFORE, **here)[0][0]
        else:
            count += reading.query(_COUNT_BETWEEN, **here, last_at=last.changed_at, last_id=last.id)[0][0]
        numbers[one.id], last = count + 1, one
    return numbers


def load_records(reading: ReadTransaction, conversation_ids: Sequence[str]) -> list[ConversationRecord]:
    """Load the rows of conversations, in this order."""
    rows = reading.rows(conversations, conversations.c.id.in_(conversation_ids)) if conversation_ids else ()
    records = {row.id: read_struct(ConversationRecord, row) for row in rows}
    return [records[one] for one in conversation_ids if one in records]


def _find_rows(
    reading: ReadTransaction,
    participants: Iterable[str],
    match: ParticipantMatch,
    limit: int | None,
    only: Sequence[str] | None,
) -> Sequence[Row[Any]]:
    """Find conversations, the latest first; `only` has the columns that are wanted, with `conv_key`."""
    wanted = sorted({base_id(one) for one in participants})
    if not wanted:
        return []
    # As an expression, so that the database sorts what it found and does not look through everything in that order.
    by_time = (desc(conversations.c.changed + ""), conversations.c.id)
    if match == "exact":
        is_exact = conversations.c.conv_key == conv_key(wanted)
        is_frequent = limit is not None and reading.count(conversations, is_exact, limit=_MAX_SORTED) == _MAX_SORTED
        order = _LATEST_FIRST if is_frequent else by_time
        return reading.rows(conversations, is_exact, order=order, limit=limit, only=only)
    counts = {one: reading.count(presence, presence.c.participant_id == one, limit=_MAX_COUNTED) for one in wanted}
    candidates = min(counts.values()) if match == "subset" else sum(counts.values())
    has_each = [presence.c.participant_id == one for one in sorted(wanted, key=lambda one: counts[one])]
    clauses = has_each if match == "subset" else [presence.c.participant_id.in_(wanted)]
    if limit is not None and candidates > _MAX_SORTED:
        ids = reading.related_ids(presence, "conversation_id", clauses, limit=_MAX_SORTED + 1)
        if len(ids) <= _MAX_SORTED:
            return reading.rows(conversations, conversations.c.id.in_(ids), order=by_time, limit=limit, only=only)
        found = _find_among_latest(reading, wanted, match, limit, only)
        if len(found) == limit:
            return found
    return reading.rows_related(
        conversations, presence, "conversation_id", clauses, order=by_time, limit=limit, only=only
    )


def _find_among_latest(
    reading: ReadTransaction,
    wanted: Sequence[str],
    match: ParticipantMatch,
    limit: int,
    only: Sequence[str] | None,
) -> list[Row[Any]]:
    """Find conversations of people who take part in many among the latest ones; the others are not looked at."""
    oldest = reading.rows(conversations, order=_LATEST_FIRST[:1], limit=1, only=("changed",), offset=_LATEST)
    key = literal("|") + conversations.c.conv_key + "|"
    has_each = [key.contains(f"|{one}|", autoescape=True) for one in wanted]  # SQLite takes capitals for small letters
    clauses = [and_(*has_each) if match == "subset" else or_(*has_each)]
    if oldest:
        clauses.append(conversations.c.changed > oldest[0].changed)
    takes_part = all if match == "subset" else any
    rows = reading.rows(conversations, *clauses, order=_LATEST_FIRST, limit=limit, only=only)
    return [row for row in rows if takes_part(one in row.conv_key.split("|") for one in wanted)]


def record_message(
    tx: WriteTransaction,
    conversation_id: str,
    new: Message,
    attendance: Attendance | None = None,
    end: Row[Any] | None = None,
) -> Message:
    """Record a message of somebody who takes part; a speaker or listener who is not present there is refused.

    The `attendance`, and the `end` where the conversation goes on, are loaded, unless the caller has them.
    """
    check_length(new.content)
    end = end if end is not None else load_end(tx, conversation_id)
    attendance = attendance or load_attendance(tx, conversation_id, end)
    if new.parent_id is not None and end is not None and new.parent_id != end.leaf_id:
        attendance = attendance.go_to(tx.require(messages, id=new.parent_id).number)
    named = [one for one in (new.speaker, *(new.audience or ())) if one]
    absent = [one for one in named if base_id(one) not in attendance.present] if attendance.is_recorded else []
    if absent:
        raise FabulaError(
            Code.REQUEST_INVALID,
            message(
                "{names} is not present in this conversation. Let them join first. Nothing was changed.",
                names=join_names(dict.fromkeys(map(load_participants(tx).name_of, absent))),
            ),
        )
    return add_messages(tx, conversation_id, (new,), end=end)[0]


def delete_message(tx: WriteTransaction, message_id: str, *, expected: int | None = None) -> Message:
    """Delete a message; what followed on from it then follows on from the message before. Return it as it was."""
    row = tx.require(messages, id=message_id)
    deleted = read_struct(Message, row)
    tx.update_row(messages, {"id": message_id}, {}, expected=expected)
    in_conversation = messages.c.conversation_id == row.conversation_id
    children = tx.rows(
        messages,
        in_conversation,
        messages.c.parent_id == message_id,
        order=(messages.c.number,),
        only=("id", "number", "mode_state"),
    )
    pass_on_state(tx, row, children)
    tx.update_rows(messages, {"parent_id": row.parent_id}, in_conversation, messages.c.parent_id == message_id)
    conversation = tx.require(conversations, id=row.conversation_id)
    values: dict[str, Any] = {"changed": current_timestamp(), **NOTHING_DUE}
    if row.after_number is not None:  # what follows on from it is still on its branch
        values["deleted_branches"] = [*(conversation.deleted_branches or ()), (row.number, row.after_number)]
    if conversation.leaf_id == message_id:  # who came or left behind it stays so
        values["leaf_id"] = children[-1].id if children else row.parent_id
        values["mode_state"] = choose_states(tx, conversation, values["leaf_id"])
        if children:
            values["after_number"] = None if children[-1].number == conversation.said - 1 else children[-1].number
    tx.delete_rows(messages, messages.c.id == message_id)
    tx.update_row(conversations, {"id": row.conversation_id}, values)
    return deleted
