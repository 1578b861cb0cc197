"""Load the snapshot of conversations: the newest messages of each active path, from the leaf backwards (cnv-1).

A parent always has a smaller number than its child. So a path is read in ranges of descending numbers, and
older messages are never read. If messages were only added since the previous snapshot, only these are read.
"""

from __future__ import annotations

from collections.abc import Set
from typing import Any

from sqlalchemy import Row, desc

from fabula.conversation.model import (
    MAX_SNAPSHOT_MESSAGES,
    Conversations,
    ConversationState,
    Message,
    MessageKind,
    make_history_fragments,
)
from fabula.conversation.tables import conversations, messages
from fabula.store.transaction import ReadTransaction

_FIRST_BATCH, _MIN_BATCH = 256, 16  # rows read at a time; more when most rows are on the path


def load_conversations(
    reading: ReadTransaction,
    project_id: str,
    conversation_ids: Set[str],
    before: Conversations | None = None,
    moved: Set[str] | None = None,
) -> Conversations:
    """Load these conversations, as far as they exist; those that did not change are shared with `before`."""
    old, found = before or Conversations(project_id, {}), Conversations(project_id, {})
    for name in sorted(conversation_ids):
        known = old.states.get(name)
        if known is not None and moved is not None and not moved & {name, ""}:
            _share(old, found, name)
            continue
        row = reading.row(conversations, id=name)
        if row is None:
            continue
        state = read_state(row)
        if known == state:
            _share(old, found, name)
        elif known is None or not _add_new_messages(reading, project_id, old, found, name, state):
            path = load_newest_messages(reading, name, state.leaf_id)
            found.messages[name], found.fragments[name] = path, make_history_fragments(project_id, path)
            found.states[name] = state
    return found


def load_newest_messages(
    reading: ReadTransaction, conversation_id: str, leaf: str | None, limit: int = MAX_SNAPSHOT_MESSAGES
) -> tuple[Message, ...]:
    """Load the newest messages of the path that ends in a leaf, oldest first."""
    path: list[Message] = []
    next_id, batch = leaf, _FIRST_BATCH
    in_conversation = messages.c.conversation_id == conversation_id
    while next_id is not None and len(path) < limit:
        newest = reading.row(messages, id=next_id)
        if newest is None:
            break
        length = len(path)
        in_batch = (messages.c.number <= newest.number, messages.c.number > newest.number - batch)
        for row in reading.rows(messages, in_conversation, *in_batch, order=(desc(messages.c.number),)):
            if row.id == next_id and len(path) < limit:
                path.append(make_message(row))
                next_id = row.parent_id
        batch = min(max(4 * (len(path) - length), _MIN_BATCH), limit)
    return tuple(reversed(path))


def make_message(row: Row[Any]) -> Message:
    """Make a message from its row."""
    return Message(
        id=row.id,
        role=row.role,
        content=row.content,
        speaker=row.speaker,
        timestamp=row.at,
        kind=MessageKind(row.kind),
        final=bool(row.final),
        parent_id=row.parent_id,
        number=row.number,
        audience=None if row.audience is None else tuple(row.audience),
        skill_id=row.skill_id,
        extra=row.extra,
        previous_content=row.before,
        version=row.version,
    )


def read_state(row: Row[Any]) -> ConversationState:
    """Read the state of a conversation from its row."""
    return ConversationState(row.made, row.version, row.said, row.leaf_id, row.mode)


def _share(old: Conversations, found: Conversations, name: str) -> None:
    found.messages[name], found.fragments[name] = old.messages[name], old.fragments[name]
    found.states[name] = old.states[name]


def _add_new_messages(
    reading: ReadTransaction,
    project_id: str,
    old: Conversations,
    found: Conversations,
    name: str,
    state: ConversationState,
) -> bool:
    """Add the new messages to the old path; return False if there were other changes or another branch is active."""
    old_state = old.states[name]
    if (old_state.created_at, old_state.version) != (state.created_at, state.version):
        return False
    if state.message_count - old_state.message_count > MAX_SNAPSHOT_MESSAGES:
        return False
    is_new = (messages.c.conversation_id == name, messages.c.number >= old_state.message_count)
    rows = {row.id: row for row in reading.rows(messages, *is_new)}
    added: list[Message] = []
    next_id = state.leaf_id
    while next_id in rows:
        row = rows[next_id]
        added.append(make_message(row))
        next_id = row.parent_id
    if next_id != old_state.leaf_id:
        return False
    added.reverse()
    path = (*old.messages[name], *added)
    removed = path[: max(len(path) - MAX_SNAPSHOT_MESSAGES, 0)]
    history = (*old.fragments[name], *make_history_fragments(project_id, added))
    found.messages[name] = path[len(removed) :]
    found.fragments[name] = history[sum(message.final for message in removed) :]
    found.states[name] = state
    return True
