"""Load the snapshot of conversations: the newest messages of each active path, from the leaf backwards (cnv-1).

A parent always has a smaller number than its child. So a path is read in ranges of descending numbers, and
older messages are never read. If messages were only added since the previous snapshot, only these are read.
"""

from __future__ import annotations

from collections.abc import Iterable, Set
from typing import Any

from sqlalchemy import Row, bindparam, desc

from fabula.conversation.model import (
    MAX_SNAPSHOT_MESSAGES,
    Conversations,
    ConversationState,
    Message,
    Voices,
    find_note,
    make_history_fragments,
)
from fabula.conversation.participants import Participants, strip_revision
from fabula.conversation.presence import Attendance, load_attendance
from fabula.conversation.tables import conversations, messages
from fabula.core.messages import ENGLISH
from fabula.store.queries import RowQuery
from fabula.store.rows import read_struct
from fabula.store.transaction import ReadTransaction

# rows read at a time, more when most rows are on the path; never so many that the collector of cycles goes through all
_FIRST_BATCH, _MIN_BATCH, _MAX_BATCH = 256, 16, 1000
_IN_CONVERSATION = messages.c.conversation_id == bindparam("conversation")
_BATCH = RowQuery(
    messages,
    _IN_CONVERSATION,
    messages.c.number <= bindparam("newest"),
    messages.c.number > bindparam("before"),
    order=(desc(messages.c.number),),
)
_ADDED = RowQuery(messages, _IN_CONVERSATION, messages.c.number >= bindparam("first"))


def load_conversations(
    reading: ReadTransaction,
    project_id: str,
    conversation_ids: Set[str],
    before: Conversations | None = None,
    moved: Set[str] | None = None,
    participants: Participants | None = None,
    language: str = ENGLISH,
) -> Conversations:
    """Load these conversations, as far as they exist; those that did not change are shared with `before`."""
    old, found = before or Conversations(project_id, {}), Conversations(project_id, {})
    people = participants or Participants()
    for name in sorted(conversation_ids):
        state, attendance = (known := old.states.get(name)), old.attendances.get(name, Attendance())
        if known is None or moved is None or moved & {name, ""}:
            row = reading.row(conversations, id=name)
            state = None if row is None else read_struct(ConversationState, row, note=find_note(row.mode_state))
            found_now = load_attendance(reading, name, row)
            attendance = attendance if attendance.equals(found_now) else found_now
        if state is None:
            continue
        path, history = old.messages.get(name, ()), old.fragments.get(name, ())
        voices, added = old.voices.get(name, Voices()), tuple[Message, ...]()
        if state != known:
            loaded = None if known is None else load_added_messages(reading, name, known, state)
            if loaded is None:
                path, history, voices = (), (), Voices()
                loaded = load_newest_messages(reading, name, state.leaf_id)
            surplus = max(len(path) + len(loaded) - MAX_SNAPSHOT_MESSAGES, 0)
            history = history[sum(one.final for one in path[:surplus]) :]
            path, added = (*path, *loaded)[surplus:], loaded[max(surplus - len(path), 0) :]
            voices = voices.with_messages(added)
        names = _name_speakers(voices, attendance, people)
        if names != old.speaker_names.get(name, names):
            history, added = (), path
        if added:
            history = (*history, *make_history_fragments(project_id, added, attendance.find_knowers, names, language))
        found.messages[name], found.fragments[name], found.states[name] = path, history, state
        found.attendances[name], found.speaker_names[name], found.voices[name] = attendance, names, voices
    return found


def _name_speakers(voices: Voices, attendance: Attendance, people: Participants) -> dict[str, str]:
    """Return the name of each speaker where lines carry names: where roles alone do not tell who speaks."""
    roles = {(strip_revision(speaker), role) for speaker, role in voices.roles}
    speakers = attendance.attendees | {speaker for speaker, _ in roles}
    if len(speakers) <= 2 and len({role for _, role in roles}) == len(roles):
        return {}
    return {one: people.name_of(one) for one in sorted(voices.named)}


def load_newest_messages(
    reading: ReadTransaction, conversation_id: str, leaf: str | None, limit: int = MAX_SNAPSHOT_MESSAGES
) -> tuple[Message, ...]:
    """Load the newest messages of the path that ends in a leaf, oldest first."""
    path: list[Message] = []
    next_id, batch = leaf, min(max(limit, _MIN_BATCH), _FIRST_BATCH)
    while next_id is not None and len(path) < limit:
        newest = reading.row(messages, id=next_id)
        if newest is None:
            break
        length = len(path)
        in_batch = {"newest": newest.number, "before": newest.number - batch}
        for row in reading.query(_BATCH, conversation=conversation_id, **in_batch):
            if row.id == next_id and len(path) < limit:
                path.append(read_struct(Message, row))
                next_id = row.parent_id
        batch = min(max(4 * (len(path) - length), _MIN_BATCH), limit, _MAX_BATCH)
    return tuple(reversed(path))


def follow_path(rows: Iterable[Row[Any]], leaf: str | None) -> list[Row[Any]]:
    """Return the rows of messages that lead to a leaf, as far as they are among these, oldest first."""
    remaining = {row.id: row for row in rows}
    path: list[Row[Any]] = []
    while leaf is not None and (row := remaining.pop(leaf, None)) is not None:
        path.append(row)
        leaf = row.parent_id
    return path[::-1]


def load_added_messages(
    reading: ReadTransaction, name: str, old: ConversationState, new: ConversationState
) -> tuple[Message, ...] | None:
    """Load the messages that were added to the path; None if there were other changes or another branch is active."""
    is_same = (old.created_at, old.version) == (new.created_at, new.version)
    if not is_same or new.message_count - old.message_count > MAX_SNAPSHOT_MESSAGES:
        return None
    rows = follow_path(reading.query(_ADDED, conversation=name, first=old.message_count), new.leaf_id)
    continues = (rows[0].parent_id if rows else new.leaf_id) == old.leaf_id
    return tuple(read_struct(Message, row) for row in rows) if continues else None
