"""Conversations in the store: begun, joined, said into, corrected, followed along another branch.

Saying something costs the same after a million messages as after ten: a row by its key, a row added. A
conversation's version moves with every other change, so a reader who finds it unmoved needs only what was
said since.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace
from sqlalchemy import ColumnElement, Row, desc

from fabula.conversation.model import Conversations, Kind, Message, content_hash, kind_of
from fabula.conversation.participants import base_id, conv_key
from fabula.conversation.snapshot import message_of
from fabula.conversation.tables import conversations, messages, presence
from fabula.core.errors import Code, FabulaError
from fabula.core.ids import new_id, now, sound_id
from fabula.store.transaction import Reading, Writing
from fabula.text.offsets import normalise

_FIELDS = frozenset({"title", "mode", "mode_state"})
_ROLES = ("system", "user", "assistant")


class Talk(Struct, frozen=True, kw_only=True):
    """What a list of conversations shows of one."""

    id: str
    key: str
    title: str
    mode: str
    mode_state: Mapping[str, Any]
    leaf: str | None
    said: int
    rounds: int
    made: str
    changed: str
    version: int


class Presence(Struct, frozen=True, kw_only=True):
    """Somebody could hear what was said from one number on, up to another or still."""

    participant: str
    since: int
    until: int | None


def start(
    tx: Writing,
    conversation_id: str | None = None,
    *,
    participants: Iterable[str] = (),
    title: str = "",
    mode: str = "",
) -> str:
    """A new conversation of these people; its id."""
    chosen = conversation_id or new_id()
    _check_id(chosen)
    there = list(dict.fromkeys(base_id(ident) for ident in participants))
    at = now()
    row = {"id": chosen, "conv_key": conv_key(there), "title": title.strip(), "mode": mode, "made": at, "changed": at}
    tx.add(conversations, row)
    tx.add(presence, *({"conversation_id": chosen, "participant_id": ident, "joined": at} for ident in there))
    return chosen


def update(tx: Writing, conversation_id: str, values: Mapping[str, Any], *, expected: int | None = None) -> int:
    """Change title, mode or the mode's state; says the new version."""
    strange = set(values) - _FIELDS
    if strange:
        raise _refused(f"Of a conversation, {', '.join(sorted(strange))} cannot be changed.")
    texts = (values.get("title", ""), values.get("mode", ""))
    if not all(isinstance(text, str) for text in texts) or not isinstance(values.get("mode_state", {}), Mapping):
        raise _refused("Title and mode are texts, and the mode's state is a mapping.")
    _check_packed(values)
    return tx.edit(conversations, {"id": conversation_id}, {**values, "changed": now()}, expected=expected)


def remove(tx: Writing, conversation_id: str, *, expected: int | None = None) -> None:
    """Take a conversation away with all that was said in it."""
    tx.edit(conversations, {"id": conversation_id}, {}, expected=expected)
    tx.remove(conversations, conversations.c.id == conversation_id)


def join(tx: Writing, conversation_id: str, participant_id: str) -> None:
    """Somebody joins, and hears what is said from now on. Who is there already stays."""
    ident, row = base_id(participant_id), tx.need(conversations, id=conversation_id)
    known = tx.rows(presence, *_seat(conversation_id, ident))
    if any(seat.until_number is None for seat in known):
        return
    if any(seat.since_number == row.said for seat in known):
        tx.change(presence, {"until_number": None}, *_seat(conversation_id, ident), presence.c.since_number == row.said)
        return
    seat = {"conversation_id": conversation_id, "participant_id": ident, "since_number": row.said, "joined": now()}
    tx.add(presence, seat)
    everybody = tx.rows(presence, presence.c.conversation_id == conversation_id, only=("participant_id",))
    key = conv_key(seat.participant_id for seat in everybody)
    if key != row.conv_key:
        tx.change(conversations, {"conv_key": key}, conversations.c.id == conversation_id)


def leave(tx: Writing, conversation_id: str, participant_id: str) -> None:
    """Somebody leaves, and hears nothing from now on. The conversation stays theirs too."""
    ident, row = base_id(participant_id), tx.need(conversations, id=conversation_id)
    here = (*_seat(conversation_id, ident), presence.c.until_number.is_(None))
    if not tx.change(presence, {"until_number": row.said}, *here):
        raise FabulaError(
            Code.STORE_NOT_FOUND, f"{ident!r} does not take part in this conversation (any more). Nothing was changed."
        )


def attendance(reading: Reading, conversation_id: str) -> list[Presence]:
    """Who took part, from which message to which."""
    order = (presence.c.since_number, presence.c.participant_id)
    rows = reading.rows(presence, presence.c.conversation_id == conversation_id, order=order)
    return [Presence(participant=row.participant_id, since=row.since_number, until=row.until_number) for row in rows]


def say(tx: Writing, conversation_id: str, message: Message, *, afresh: bool = False) -> Message:
    """Say something, behind the newest message unless it names a parent, or first of all if `afresh`.

    It becomes the leaf of the active path. Returns the message as it is kept.
    """
    return say_all(tx, conversation_id, (message,), afresh=afresh)[0]


def say_all(tx: Writing, conversation_id: str, many: Sequence[Message], *, afresh: bool = False) -> list[Message]:
    """Several things, each behind the one before."""
    for message in many:
        if kind_of(message) == Kind.USER and not message.content.strip():
            raise FabulaError(Code.TEXT_INVALID, "There is nothing in this message. Nothing was changed.")
    return _append(tx, conversation_id, many, afresh=afresh)


def follow(tx: Writing, conversation_id: str, message_id: str, *, expected: int | None = None) -> int:
    """Make the path to a message the active one; says the conversation's new version."""
    _check_parent(tx, conversation_id, message_id)
    values = {"leaf_id": message_id, "changed": now(), "recap_due": 0}  # what is told of this path is yet to be seen
    return tx.edit(conversations, {"id": conversation_id}, values, expected=expected)


def correct(tx: Writing, message_id: str, content: str, *, expected: int | None = None) -> int:
    """Correct a message where it stands, the old text kept for undo; says its new version."""
    row = tx.need(messages, id=message_id)
    text = normalise(content)
    if not text.strip():
        raise FabulaError(Code.TEXT_INVALID, "A corrected message needs a text. Nothing was changed.")
    if text == row.content and expected in (None, row.version):
        return int(row.version)
    return _reword(tx, row, text, expected)


def undo(tx: Writing, message_id: str, *, expected: int | None = None) -> int:
    """Take the last correction of a message back, or back again; says its new version."""
    row = tx.need(messages, id=message_id)
    if row.before is None:
        raise _refused("This message was not corrected: there is nothing to take back.")
    return _reword(tx, row, row.before, expected)


def get(reading: Reading, conversation_id: str) -> Talk:
    """One conversation."""
    return _talk(reading.need(conversations, id=conversation_id))


def listed(reading: Reading, *, key: str | None = None, limit: int | None = None) -> list[Talk]:
    """Conversations, the latest first: all, or those of exactly these people."""
    where = () if key is None else (conversations.c.conv_key == key,)
    order = (desc(conversations.c.changed), conversations.c.id)
    return [_talk(row) for row in reading.rows(conversations, *where, order=order, limit=limit)]


def message(reading: Reading, message_id: str) -> Message:
    """One message."""
    return message_of(reading.need(messages, id=message_id))


def put(tx: Writing, talks: Conversations) -> None:
    """The conversations of a snapshot, as new ones under their names: each is one path of what was said."""
    for name, path in talks.messages.items():
        start(tx, name)
        chained, before = [], None
        for one in path:
            chained.append(replace(one, parent_id=before))
            before = one.id
        _append(tx, name, chained)


def _append(tx: Writing, conversation_id: str, many: Sequence[Message], *, afresh: bool = False) -> list[Message]:
    row = tx.need(conversations, id=conversation_id)
    leaf, at, rounds = None if afresh else row.leaf_id, now(), row.rounds
    kept: list[Message] = []
    own: set[str | None] = {None, leaf}
    for number, message in enumerate(many, start=row.said):
        said = _checked(message)
        parent = said.parent_id or leaf
        if parent not in own:
            _check_parent(tx, conversation_id, parent or "")
        said = replace(said, parent_id=parent, number=number, timestamp=said.timestamp or at, version=1)
        rounds += said.kind is Kind.USER
        leaf = said.id
        own.add(leaf)
        kept.append(said)
    if kept:
        tx.add(messages, *(_row(conversation_id, said) for said in kept))
        values = {"leaf_id": leaf, "said": row.said + len(kept), "rounds": rounds, "changed": at}
        tx.change(conversations, values, conversations.c.id == conversation_id)
    return kept


def _reword(tx: Writing, row: Row[Any], content: str, expected: int | None) -> int:
    values = {"content": content, "before": row.content, "content_hash": content_hash(content)}
    version = tx.edit(messages, {"id": row.id}, values, expected=expected)
    tx.edit(conversations, {"id": row.conversation_id}, {"changed": now()})
    return version


def _check_parent(tx: Writing, conversation_id: str, message_id: str) -> None:
    if tx.need(messages, id=message_id).conversation_id != conversation_id:
        raise _refused(f"The message {message_id!r} belongs to another conversation.")


def _checked(said: Message) -> Message:
    """A message that can be kept, with an id, its kind and plain line ends."""
    if said.role not in _ROLES or kind_of(said) not in tuple(Kind):
        raise _refused(f"There is no role {said.role!r} or no kind {said.kind!r} of messages.")
    said = replace(said, id=said.id or new_id(), content=normalise(said.content), kind=Kind(kind_of(said)))
    _check_id(said.id)
    _check_packed({"audience": said.audience, "extra": said.extra})
    return said


def _check_packed(values: Mapping[str, Any]) -> None:
    try:
        msgspec.json.encode(values)
    except (TypeError, ValueError, RecursionError) as error:
        raise _refused(f"This cannot be kept as JSON: {error}.") from error


def _check_id(ident: str) -> None:
    if not sound_id(ident):
        raise _refused(f"{ident!r} cannot be an id: leave out spaces, slashes and `|`.")


def _refused(sentence: str) -> FabulaError:
    return FabulaError(Code.REQUEST_INVALID, f"{sentence} Nothing was changed.")


def _seat(conversation_id: str, participant_id: str) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    return presence.c.conversation_id == conversation_id, presence.c.participant_id == participant_id


def _row(conversation_id: str, said: Message) -> dict[str, Any]:
    return {
        "id": said.id,
        "conversation_id": conversation_id,
        "parent_id": said.parent_id,
        "number": said.number,
        "kind": kind_of(said).value,
        "final": int(said.final),
        "role": said.role,
        "speaker": said.speaker,
        "content": said.content,
        "content_hash": content_hash(said.content),
        "before": said.before,
        "audience": None if said.audience is None else list(said.audience),
        "at": said.timestamp,
        "skill_id": said.skill_id,
        "extra": said.extra,
    }


def _talk(row: Row[Any]) -> Talk:
    return Talk(
        id=row.id,
        key=row.conv_key,
        title=row.title,
        mode=row.mode,
        mode_state=row.mode_state,
        leaf=row.leaf_id,
        said=row.said,
        rounds=row.rounds,
        made=row.made,
        changed=row.changed,
        version=row.version,
    )
