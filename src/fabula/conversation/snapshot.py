"""From rows to a snapshot: the newest messages of each active path, found from the leaf backwards.

A parent's number is always smaller than its child's, so a path is followed down through ranges of numbers,
and what lies far behind is never read. Where a conversation has only been said into since the snapshot
before, only what was said is read.
"""

from __future__ import annotations

from collections.abc import Set
from typing import Any

from sqlalchemy import Row, desc

from fabula.conversation.model import MOST, Conversations, Kind, Mark, Message, fragments_of
from fabula.conversation.tables import conversations, messages
from fabula.store.transaction import Reading

_FIRST, _FEWEST = 256, 16  # rows looked through at a time: more where most are on the path, fewer where few are


def load(
    reading: Reading,
    project_id: str,
    conversation_ids: Set[str],
    before: Conversations | None = None,
    moved: Set[str] | None = None,
) -> Conversations:
    """Those conversations as they stand, as far as they exist; what did not move is shared."""
    old, found = before or Conversations(project_id, {}), Conversations(project_id, {})
    for name in sorted(conversation_ids):
        mark = old.marks.get(name)
        if mark is not None and moved is not None and not moved & {name, ""}:
            _share(old, found, name, mark)
            continue
        row = reading.row(conversations, id=name)
        if row is None:
            continue
        now = Mark(row.made, row.version, row.said, row.leaf_id, row.mode)
        if mark == now:
            _share(old, found, name, now)
        elif mark is None or not _grow(reading, project_id, old, found, name, mark, now):
            path = newest(reading, name, now.leaf)
            found.messages[name], found.fragments[name] = path, fragments_of(project_id, path)
            found.marks[name] = now
    return found


def newest(reading: Reading, conversation_id: str, leaf: str | None, most: int = MOST) -> tuple[Message, ...]:
    """The newest messages of the path that ends in a leaf, oldest first."""
    path: list[Message] = []
    wanted, batch = leaf, _FIRST
    here = messages.c.conversation_id == conversation_id
    while wanted is not None and len(path) < most:
        at = reading.row(messages, id=wanted)
        if at is None:
            break
        known = len(path)
        within = (messages.c.number <= at.number, messages.c.number > at.number - batch)
        for row in reading.rows(messages, here, *within, order=(desc(messages.c.number),)):
            if row.id == wanted and len(path) < most:
                path.append(message_of(row))
                wanted = row.parent_id
        batch = min(max(4 * (len(path) - known), _FEWEST), most)
    return tuple(reversed(path))


def message_of(row: Row[Any]) -> Message:
    """One message."""
    return Message(
        id=row.id,
        role=row.role,
        content=row.content,
        speaker=row.speaker,
        timestamp=row.at,
        kind=Kind(row.kind),
        final=bool(row.final),
        parent_id=row.parent_id,
        number=row.number,
        audience=None if row.audience is None else tuple(row.audience),
        skill_id=row.skill_id,
        extra=row.extra,
        before=row.before,
        version=row.version,
    )


def _share(old: Conversations, found: Conversations, name: str, mark: Mark) -> None:
    found.messages[name], found.fragments[name], found.marks[name] = old.messages[name], old.fragments[name], mark


def _grow(
    reading: Reading, project_id: str, old: Conversations, found: Conversations, name: str, then: Mark, now: Mark
) -> bool:
    """Add what was said since to what is known; False where more than that happened, or on another branch."""
    if (then.made, then.version) != (now.made, now.version) or now.said - then.said > MOST:
        return False
    here = (messages.c.conversation_id == name, messages.c.number >= then.said)
    said = {row.id: row for row in reading.rows(messages, *here)}
    new: list[Message] = []
    wanted = now.leaf
    while wanted in said:
        row = said[wanted]
        new.append(message_of(row))
        wanted = row.parent_id
    if wanted != then.leaf:
        return False
    new.reverse()
    path = (*old.messages[name], *new)
    gone = path[: max(len(path) - MOST, 0)]
    history = (*old.fragments[name], *fragments_of(project_id, new))
    found.messages[name] = path[len(gone) :]
    found.fragments[name] = history[sum(message.final for message in gone) :]
    found.marks[name] = now
    return True
