"""Edit conversations in the store: messages, branches, corrections and the presence of participants (cnv-1, cnv-5).

Adding a message takes the same time in a short and in a long conversation. The version of a conversation
changes with every edit except new messages. If the version is the same, a reader only needs the messages
that were added since.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace
from sqlalchemy import Row, bindparam, desc

from fabula.conversation.mentions import find_mentions
from fabula.conversation.mode_states import choose_states
from fabula.conversation.model import (
    CLEANED_CORRECTION,
    MAX_MESSAGE_CHARACTERS,
    MAX_PARTICIPANTS,
    Conversations,
    Message,
    MessageKind,
    estimate_tokens,
    get_kind,
    hash_content,
)
from fabula.conversation.participants import base_id, conv_key, load_participants, strip_revision
from fabula.conversation.presence import (
    BEGINNING,
    Attendance,
    Presence,
    PresenceChange,
    list_changes,
    load_attendance,
    load_end,
)
from fabula.conversation.tables import RECAP_COUNTERS, conversations, messages, presence
from fabula.core.decoding import explain_decode_error
from fabula.core.errors import Code, FabulaError
from fabula.core.ids import current_timestamp, is_valid_id, new_id
from fabula.core.messages import Sentence, message
from fabula.store.queries import RowQuery
from fabula.store.rows import make_row, read_struct
from fabula.store.transaction import ReadTransaction, WriteTransaction, row_missing
from fabula.text.offsets import normalise

NOTHING_DUE = {"recap_due": 0, "said_due": 0, "tokens_due": 0}  # it is not known when the next summary is due
_IN_CONVERSATION = messages.c.conversation_id == bindparam("conversation")
_LAST_BEGINNING = RowQuery(
    messages,
    _IN_CONVERSATION,
    messages.c.round > 0,
    order=(desc(messages.c.number),),
    limit=1,
    only=("number", "kind"),
)
_SINCE = RowQuery(
    messages,
    _IN_CONVERSATION,
    messages.c.number >= bindparam("first"),
    only=("id", "parent_id", "final", "speaker", "round"),
)
_INVALID = (msgspec.ValidationError, TypeError, RecursionError)


class ConversationRecord(Struct, frozen=True, kw_only=True):
    """The row of a conversation, without its messages."""

    id: str
    conv_key: str
    title: str
    mode: str
    mode_state: Mapping[str, Any]
    leaf_id: str | None
    message_count: int = field(name="said")
    round_count: int = field(name="rounds")
    created_at: str = field(name="made")
    changed_at: str = field(name="changed")
    version: int


class MessageEvent(Struct, frozen=True):
    """A message was recorded in a conversation: what subscribers get once it is stored."""

    project_id: str
    conversation_id: str
    message: Message


class ConversationChange(Struct, forbid_unknown_fields=True):
    """What can be changed of a conversation."""

    title: str = ""
    mode: str = ""
    mode_state: dict[str, Any] = {}


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
    _check_count(present)
    at = current_timestamp()
    row = {"id": ident, "conv_key": conv_key(present), "title": title.strip(), "mode": mode, "made": at, "changed": at}
    tx.insert(conversations, row)
    _insert_changes(tx, ident, [PresenceChange(participant_id=who) for who in present], at)
    return ident


def update_conversation(
    tx: WriteTransaction, conversation_id: str, values: Mapping[str, Any], *, expected: int | None = None
) -> int:
    """Change the title, the mode or the mode's state; return the new version."""
    try:
        msgspec.convert(msgspec.to_builtins(values), ConversationChange)
    except _INVALID as error:
        raise _refused(
            message(
                "The conversation cannot be changed like this: {problem}.",
                problem=explain_decode_error(error, ConversationChange),
            )
        ) from error
    return tx.update_row(
        conversations, {"id": conversation_id}, {**values, "changed": current_timestamp()}, expected=expected
    )


def remove_conversation(tx: WriteTransaction, conversation_id: str, *, expected: int | None = None) -> None:
    """Remove a conversation with all its messages."""
    tx.update_row(conversations, {"id": conversation_id}, {}, expected=expected)
    tx.delete_rows(conversations, conversations.c.id == conversation_id)


def join_conversation(tx: WriteTransaction, conversation_id: str, participant_id: str) -> bool:
    """Let a participant join where the conversation goes on; they hear messages from now on, on this branch.

    Return False, and change nothing, if they are present.
    """
    ident, row = base_id(participant_id), tx.require(conversations, id=conversation_id)
    attendance = load_attendance(tx, conversation_id, row)
    if ident in attendance.present:
        return False
    everybody = attendance.everybody | {ident}
    _check_count(everybody)
    _change_presence(tx, row, ident, leaves=False)
    values = {"conv_key": conv_key(everybody), "changed": current_timestamp()}
    tx.update_row(conversations, {"id": conversation_id}, values)
    return True


def leave_conversation(tx: WriteTransaction, conversation_id: str, participant_id: str) -> None:
    """Let a participant leave; they hear no further messages on this branch. They stay part of the key."""
    ident, row = base_id(participant_id), tx.require(conversations, id=conversation_id)
    if ident not in load_attendance(tx, conversation_id, row).present:
        raise FabulaError(
            Code.STORE_NOT_FOUND,
            message(
                "{name} does not take part in this conversation. Nothing was changed.",
                name=load_participants(tx).name_of(ident),
            ),
        )
    _change_presence(tx, row, ident, leaves=True)
    tx.update_row(conversations, {"id": conversation_id}, {"changed": current_timestamp()})


def restore_presence(tx: WriteTransaction, conversation_id: str, message_id: str) -> None:
    """Let those be present for what is said next in the place of a message who were present when that was said."""
    replaced = get_message(tx, message_id)
    row = tx.require(conversations, id=conversation_id)
    attendance = load_attendance(tx, conversation_id, row)
    after = BEGINNING if replaced.parent_id is None else _find_number(tx, conversation_id, replaced.parent_id)
    now = attendance.go_to(after).present
    for one in sorted(now ^ attendance.list_present_at(replaced.number or 0)):
        _change_presence(tx, row, one, leaves=one in now, after=after)


def _change_presence(
    tx: WriteTransaction, row: Row[Any], participant_id: str, *, leaves: bool, after: int | None = None
) -> None:
    """Store that somebody came or left behind a message, by default where the conversation goes on.

    A change at the same place is replaced.
    """
    if after is None:
        after = row.said - 1 if row.after_number is None else row.after_number
    change = PresenceChange(participant_id=participant_id, number=row.said, after=after, leaves=leaves)
    is_there = (
        presence.c.conversation_id == row.id,
        presence.c.participant_id == participant_id,
        presence.c.since_number == change.number,
        presence.c.after_number == change.after,
    )
    at = current_timestamp()
    if not tx.update_rows(presence, {"leaves": int(leaves), "joined": at}, *is_there):
        _insert_changes(tx, row.id, [change], at)


def copy_changes(tx: WriteTransaction, conversation_id: str, changes: Iterable[PresenceChange]) -> None:
    """Let the same people come and leave where the conversation goes on, as they did elsewhere."""
    row = tx.require(conversations, id=conversation_id)
    for one in changes:
        _change_presence(tx, row, one.participant_id, leaves=one.leaves)


def _insert_changes(tx: WriteTransaction, conversation_id: str, changes: Iterable[PresenceChange], at: str) -> None:
    own = {"conversation_id": conversation_id, "joined": at}
    tx.insert(presence, *({**make_row(presence, one), **own} for one in changes))


def add_message(tx: WriteTransaction, conversation_id: str, new: Message, *, as_first: bool = False) -> Message:
    """Add a message behind its parent, by default the newest message, or as a new beginning if `as_first`.

    It becomes the leaf of the active path. The message is returned as it is stored.
    """
    return add_messages(tx, conversation_id, (new,), as_first=as_first)[0]


def add_messages(
    tx: WriteTransaction,
    conversation_id: str,
    new_messages: Sequence[Message],
    *,
    as_first: bool = False,
    end: Row[Any] | None = None,
) -> list[Message]:
    """Add several messages, each behind the one before; `end` is where the conversation goes on, if that is loaded."""
    if any(get_kind(new) == MessageKind.USER and not new.content.strip() for new in new_messages):
        raise FabulaError(Code.TEXT_INVALID, message("This message is empty. Nothing was changed."))
    return _append(tx, conversation_id, new_messages, as_first=as_first, end=end)


def check_length(text: str, *, limit: int = MAX_MESSAGE_CHARACTERS) -> None:
    """Refuse the text of a message that is too long."""
    if len(text) > limit:
        raise FabulaError(
            Code.TEXT_INVALID,
            message(
                "This message has {count:,} characters, and one may have {limit:,}. Nothing was changed.",
                count=len(text),
                limit=limit,
            ),
        )


def select_branch(
    tx: WriteTransaction,
    conversation_id: str,
    message_id: str | None,
    *,
    expected: int | None = None,
    place: int | None = None,
) -> int:
    """Make the path to a message the active one, or an empty path, with the states that modes had on it.

    Return the conversation's new version.
    `place` is the number behind which it went on before, where that is known: of a message that was deleted since.
    """
    number = BEGINNING if message_id is None else _find_number(tx, conversation_id, message_id)
    number = number if place is None else place
    row = tx.require(conversations, id=conversation_id)
    values = {
        "leaf_id": message_id,
        "after_number": None if number == row.said - 1 else number,
        "mode_state": choose_states(tx, row, message_id),
        "changed": current_timestamp(),
        **NOTHING_DUE,  # the recaps that this path needs are not known yet
    }
    return tx.update_row(conversations, {"id": conversation_id}, values, expected=expected)


def correct_message(
    tx: WriteTransaction,
    message_id: str,
    content: str,
    *,
    expected: int | None = None,
    names: Mapping[str, Iterable[str]] | None = None,
) -> int:
    """Replace the text of a message and keep the old text for undo; return the message's new version.

    Of `names`, those of each participant, prompts show the mentions in the new text without their signs.
    """
    row = tx.require(messages, id=message_id)
    text = normalise(content)
    if not text.strip():
        raise FabulaError(Code.TEXT_INVALID, message("A corrected message needs a text. Nothing was changed."))
    check_length(text, limit=max(MAX_MESSAGE_CHARACTERS, len(row.content)))
    if text == row.content and expected in (None, row.version):
        return int(row.version)
    return _replace_content(tx, row, text, expected, find_mentions(text, names or {}).text)


def pin_message(tx: WriteTransaction, message_id: str, words: str | None, *, expected: int | None = None) -> int:
    """Pin a message or some of its words (empty: all of them), or let go of it (None); return its new version."""
    row = tx.require(messages, id=message_id)
    pinned = None if words is None else normalise(words).strip()
    if pinned and pinned not in row.content:
        raise _refused(message("The message does not contain {words!r}.", words=pinned))
    version = tx.update_row(messages, {"id": message_id}, {"pinned": pinned}, expected=expected)
    tx.update_row(conversations, {"id": row.conversation_id}, {"changed": current_timestamp()})
    return version


def undo_correction(tx: WriteTransaction, message_id: str, *, expected: int | None = None) -> int:
    """Undo the last correction of a message, or redo it; return the message's new version."""
    row = tx.require(messages, id=message_id)
    if row.before is None:
        raise _refused(message("This message was not corrected, so there is nothing to undo."))
    return _replace_content(tx, row, row.before, expected)


def get_conversation(reading: ReadTransaction, conversation_id: str) -> ConversationRecord:
    """Return one conversation."""
    return read_struct(ConversationRecord, reading.require(conversations, id=conversation_id))


def list_conversations(
    reading: ReadTransaction, *, limit: int | None = None, offset: int = 0
) -> list[ConversationRecord]:
    """Return conversations, the latest first."""
    order = (desc(conversations.c.changed), conversations.c.id)
    rows = reading.rows(conversations, order=order, limit=limit, offset=offset)
    return [read_struct(ConversationRecord, row) for row in rows]


def get_message(reading: ReadTransaction, message_id: str) -> Message:
    """Return one message."""
    return read_struct(Message, reading.require(messages, id=message_id))


def save_conversations(tx: WriteTransaction, snapshot: Conversations) -> None:
    """Store the conversations of a snapshot as new ones under their names; each is one path of messages."""
    for name, path in snapshot.messages.items():
        start_conversation(tx, name)
        parents = (None, *(one.id for one in path))
        _append(tx, name, [replace(one, parent_id=parent) for one, parent in zip(path, parents, strict=False)])


def save_tree(
    tx: WriteTransaction,
    conversation_id: str,
    tree: Sequence[Message],
    leaf_id: str,
    *,
    ranges: Iterable[Presence] = (),
    title: str = "",
    mode: str = "",
    mode_state: Mapping[str, Any] | None = None,
    kept_states: Mapping[str, Mapping[str, Any]] | None = None,
    created_at: str = "",
) -> None:
    """Store a conversation that came with all its branches: each message behind its parent, an empty one too.

    `ranges` say who took part, by the places of messages in the tree: who heard each message, on whatever branch it
    is, and who is present now. So the messages count as added one after the other. `kept_states` are those of modes
    that messages keep, by their ids.
    """
    _check_id(conversation_id)
    at = current_timestamp()
    known: set[str | None] = {None}
    stored: list[Message] = []
    counter = RoundCounter()
    for number, one in enumerate(tree):
        checked = _check_message(one)
        if checked.parent_id not in known or checked.id in known:
            raise _refused(message("A message must stand behind the one that it follows."))
        stored.append(_complete(checked, number, counter.count(checked), at))
        known.add(checked.id)
    numbers = {one.id: one.number or 0 for one in stored}
    after = numbers.get(leaf_id, BEGINNING)
    changes = _place_changes(list(ranges), after, len(stored))
    _check_count({one.participant_id for one in changes})
    row = {
        "id": conversation_id,
        "conv_key": conv_key(one.participant_id for one in changes),
        "title": title.strip(),
        "mode": mode,
        "mode_state": dict(mode_state or {}),
        "leaf_id": leaf_id,
        "after_number": None if after == len(stored) - 1 else after,
        "said": len(stored),
        "rounds": counter.rounds,
        "tokens": sum(one.token_estimate for one in stored),
        "made": created_at or at,
        "changed": at,
    }
    tx.insert(conversations, row)
    _insert_changes(tx, conversation_id, changes, at)
    _insert_messages(tx, conversation_id, stored, {})
    for ident, states in (kept_states or {}).items():
        tx.update_rows(messages, {"mode_state": states}, messages.c.id == ident)


def _place_changes(ranges: Sequence[Presence], after: int, said: int) -> list[PresenceChange]:
    """Return who came and left where; behind the newest message those are present whose ranges go on."""
    changes = list_changes(ranges)
    if after == said - 1:
        return changes
    present = {one.participant_id for one in ranges if one.until is None}
    differing = Attendance(changes, end=after).present ^ present
    return changes + [
        PresenceChange(participant_id=one, number=said, after=after, leaves=one not in present)
        for one in sorted(differing)
    ]


def _append(
    tx: WriteTransaction,
    conversation_id: str,
    new_messages: Sequence[Message],
    *,
    as_first: bool = False,
    end: Row[Any] | None = None,
) -> list[Message]:
    row = end if end is not None else load_end(tx, conversation_id)
    if row is None:
        raise row_missing(conversations, {"id": conversation_id})
    leaf, at = None if as_first else row.leaf_id, current_timestamp()
    counter = RoundCounter(row.rounds, tx, conversation_id)
    stored: list[Message] = []
    branches: dict[str, int] = {}  # the number of the message that one follows, where it is not the one added before
    numbers: dict[str | None, int] = {None: BEGINNING}
    if not as_first:  # of a message that was deleted, where that was the leaf
        numbers[leaf] = row.said - 1 if row.after_number is None else row.after_number
    for number, new in enumerate(new_messages, start=row.said):
        checked = _check_message(new)
        parent = checked.parent_id or leaf
        if parent not in numbers:
            numbers[parent] = _find_number(tx, conversation_id, parent or "")
        if numbers[parent] != number - 1:
            branches[checked.id] = numbers[parent]
        placed = replace(checked, parent_id=parent)
        stored.append(_complete(placed, number, counter.count(placed), at))
        leaf = checked.id
        numbers[leaf] = number
    if stored:
        _insert_messages(tx, conversation_id, stored, branches)
        tokens = row.tokens + sum(one.token_estimate for one in stored)
        values = {
            "leaf_id": leaf,
            "said": row.said + len(stored),
            "rounds": counter.rounds,
            "tokens": tokens,
            "changed": at,
        }
        if row.after_number is not None or branches:
            values |= {"after_number": None, "branches": row.branches + len(branches)}
        if stored[0].parent_id != row.leaf_id:  # another path, on which modes may have other states
            conversation = tx.require(conversations, id=conversation_id)
            values["mode_state"] = choose_states(tx, conversation, stored[0].parent_id)
        tx.change_row(conversations, {"id": conversation_id}, values, returned=RECAP_COUNTERS)
    return stored


class RoundCounter:
    """Counts rounds while messages are added: a user message begins one (cnv-6).

    Where characters speak among themselves, one begins when somebody speaks again who has spoken since the last began.
    """

    def __init__(self, rounds: int = 0, tx: ReadTransaction | None = None, conversation_id: str = "") -> None:
        self.rounds = rounds
        self._reading, self._conversation_id = tx, conversation_id
        # Who has spoken since a round of characters began, by the message up to which; None in a round of a user
        self._speakers: dict[str | None, frozenset[str] | None] = {None: frozenset()}

    def count(self, said: Message) -> int:
        """Count a message behind its parent; return the number of the round that it begins, or 0."""
        if said.kind is MessageKind.USER:
            self._speakers[said.id] = None
        else:
            if said.parent_id not in self._speakers:
                self._speakers[said.parent_id] = self._load_speakers(said.parent_id)
            spoken, own = self._speakers[said.parent_id], frozenset({strip_revision(said.speaker)})
            if spoken is None or not said.final:
                self._speakers[said.id] = spoken
                return 0
            if own.isdisjoint(spoken):
                self._speakers[said.id] = spoken | own
                return 0
            self._speakers[said.id] = own
        self.rounds += 1
        return self.rounds

    def _load_speakers(self, message_id: str | None) -> frozenset[str] | None:
        if self._reading is None:
            return None
        last = self._reading.query(_LAST_BEGINNING, conversation=self._conversation_id)
        if last and last[0].kind == MessageKind.USER.value:
            return None
        first = last[0].number if last else 0
        rows = {row.id: row for row in self._reading.query(_SINCE, conversation=self._conversation_id, first=first)}
        speakers: set[str] = set()
        while message_id in rows:
            row = rows[message_id]
            if row.final:
                speakers.add(strip_revision(row.speaker))
            message_id = None if row.round else row.parent_id
        return frozenset(speakers)


def _complete(said: Message, number: int, round_number: int, at: str) -> Message:
    """Fill in what the store keeps of a new message; `round_number` is that of the round that it begins, or 0."""
    return replace(
        said,
        number=number,
        timestamp=said.timestamp or at,
        round=round_number,
        token_estimate=estimate_tokens(said.content),
        version=1,
    )


def _insert_messages(
    tx: WriteTransaction, conversation_id: str, stored: Sequence[Message], branches: Mapping[str, int]
) -> None:
    """Insert messages, and tell subscribers of them once they are stored.

    `branches` has the number of the message that one follows, by its id, where that is not the one added before.
    """
    own = {"conversation_id": conversation_id}
    rows = [{**make_row(messages, one), **own, "content_hash": hash_content(one.content)} for one in stored]
    rows = [{**row, "after_number": branches[row["id"]]} if row["id"] in branches else row for row in rows]
    tx.insert(messages, *rows)
    tx.events += (MessageEvent(tx.owner_id("project"), conversation_id, one) for one in stored)


def _replace_content(
    tx: WriteTransaction, row: Row[Any], content: str, expected: int | None, cleaned: str | None = None
) -> int:
    extra = {name: value for name, value in row.extra.items() if name != CLEANED_CORRECTION}
    if cleaned is not None and cleaned != content:
        extra[CLEANED_CORRECTION] = cleaned
    values = {
        "extra": extra,
        "content": content,
        "before": row.content,
        "content_hash": hash_content(content),
        "tokens": estimate_tokens(content),
    }
    version = tx.update_row(messages, {"id": row.id}, values, expected=expected)
    tx.update_row(conversations, {"id": row.conversation_id}, {"changed": current_timestamp()})
    return version


def _find_number(tx: WriteTransaction, conversation_id: str, message_id: str) -> int:
    """Return the number of a message; one of another conversation is refused."""
    row = tx.require(messages, id=message_id)
    if row.conversation_id != conversation_id:
        raise _refused(message("The message {id!r} belongs to another conversation.", id=message_id))
    return int(row.number)


def _check_message(new: Message) -> Message:
    """Check a message; return it with an id, a kind and normalised line ends."""
    changes = {"id": new.id or new_id(), "kind": get_kind(new), "content": normalise(new.content)}
    try:
        checked = msgspec.convert(msgspec.to_builtins(replace(new, **changes)), Message)
    except _INVALID as error:
        raise _refused(
            message("The message cannot be stored like this: {problem}.", problem=explain_decode_error(error, Message))
        ) from error
    _check_id(checked.id)
    return checked


def _check_count(participants: Collection[str]) -> None:
    if len(participants) > MAX_PARTICIPANTS:
        raise _refused(message("At most {limit:,} people can take part in one conversation.", limit=MAX_PARTICIPANTS))


def _check_id(ident: str) -> None:
    if not is_valid_id(ident):
        raise _refused(message("{id!r} cannot be an id. Leave out spaces, slashes and `|`.", id=ident))


def _refused(sentence: Sentence) -> FabulaError:
    return FabulaError(Code.REQUEST_INVALID, message("{sentence} Nothing was changed.", sentence=sentence))
