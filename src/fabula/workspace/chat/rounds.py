"""Rounds of a chat as they are stored: who still has to answer, and the state of the mode (cht-2).

The step that is being answered is stored beside the mode's state, and each reply takes its speaker from those who are
waited for, in one transaction. So a round goes on where it stopped, after a failure as after a crash.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import inf
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from fabula.conversation import edits
from fabula.conversation.edits import ConversationRecord
from fabula.conversation.mode_states import (
    ModeBeginning,
    begin_keeping,
    describe_beginning,
    get_own_state,
    keep_state,
    read_beginnings,
)
from fabula.conversation.model import (
    BEGUN,
    MAX_SNAPSHOT_MESSAGES,
    NOTE,
    OTHERS,
    ROUND,
    STATE_TOLD,
    Message,
    MessageKind,
)
from fabula.conversation.modes import DEFAULT_MODE, Announcement, Step
from fabula.conversation.participants import Participant, Participants, load_participants, strip_revision
from fabula.conversation.presence import Attendance, load_attendance
from fabula.conversation.snapshot import follow_path
from fabula.conversation.tables import conversations, messages
from fabula.store.rows import read_struct
from fabula.store.transaction import ReadTransaction, WriteTransaction

HISTORY_END = "after"  # among the extras of a reply: the newest message that its speaker had heard
PLAYER_PREFIX = "player:"


class ChatRound(Struct, frozen=True, kw_only=True):
    """The step of a round that is being answered, or was answered last."""

    message_id: str = ""  # what was said; empty where a mode goes on by itself
    after: str | None = None  # the newest message when the step began: the end of the history for parallel answers
    speakers: tuple[str, ...] = ()
    waiting: tuple[str, ...] = ()  # who has not answered yet
    in_parallel: bool = True
    audience: tuple[str, ...] | None = None
    replies: tuple[str, ...] = ()  # ids of the answers to this step
    is_ended: bool = False  # the mode has said that nothing follows


class ChatState(Struct, frozen=True, kw_only=True):
    """A conversation as a turn finds it: its mode and state, the running round, who is present."""

    record: ConversationRecord
    mode: str
    state: Mapping[str, Any]
    round: ChatRound
    other_states: Mapping[str, Any]  # of modes that the conversation had before
    beginnings: Mapping[str, ModeBeginning]  # of this mode and of those before
    attendance: Attendance
    people: Participants
    note: Any = None  # the author's note, as it is stored
    is_begun: bool = True  # the mode has begun

    @property
    def present(self) -> list[Participant]:
        """Everybody who is present, in the order in which they came; those who came together, by their ids."""
        came = [one.participant_id for one in self.attendance.ranges if one.until is None]
        return [self.people.by_id.get(one) or Participant(id=one) for one in came]

    def list_answerers(self, speaker: str = "") -> tuple[Participant, ...]:
        """Return who is present and can answer: neither a player nor the speaker, nor who is gone."""
        return tuple(
            one
            for one in self.present
            if not one.id.startswith(PLAYER_PREFIX) and one.id != strip_revision(speaker) and not one.is_gone
        )


def load_chat(reading: ReadTransaction, conversation_id: str) -> ChatState:
    """Load the state of a chat; a stored round that makes no sense counts as none."""
    row = reading.require(conversations, id=conversation_id)
    record = read_struct(ConversationRecord, row)
    stored = record.mode_state
    running, others = stored.get(ROUND), stored.get(OTHERS)
    try:
        chat_round = msgspec.convert(running, ChatRound)
    except msgspec.ValidationError:
        chat_round = ChatRound(is_ended=True)
    return ChatState(
        record=record,
        mode=record.mode or DEFAULT_MODE,
        state=get_own_state(stored),
        round=chat_round,
        other_states=others if isinstance(others, dict) else {},
        beginnings=read_beginnings(stored),
        attendance=load_attendance(reading, conversation_id, row),
        people=load_participants(reading),
        note=stored.get(NOTE),
        is_begun=running is not None,
    )


def store_state(tx: WriteTransaction, chat: ChatState) -> None:
    """Store the state of a mode with the running round; the conversation keeps its version, as with new messages."""
    stored: dict[str, Any] = {**chat.state, ROUND: msgspec.to_builtins(chat.round)}
    if chat.other_states:
        stored[OTHERS] = dict(chat.other_states)
    beginnings = chat.beginnings or begin_keeping(tx, chat.record.leaf_id, chat.mode, chat.record.mode_state)
    if beginnings:
        stored[BEGUN] = msgspec.to_builtins(beginnings)
    if chat.note is not None:
        stored[NOTE] = chat.note
    values: dict[str, Any] = {"mode_state": stored, "mode": chat.mode}
    if chat.mode != chat.record.mode:  # in another mode, other rounds are due
        values |= edits.NOTHING_DUE
    tx.update_rows(conversations, values, conversations.c.id == chat.record.id)


def change_state(tx: WriteTransaction, chat: ChatState, state: Mapping[str, Any], behind: str | None) -> ChatState:
    """Return a chat whose mode has another state behind a message, which keeps it; before any, it begins so."""
    if state == chat.state:
        return chat
    beginnings = dict(chat.beginnings or begin_keeping(tx, chat.record.leaf_id, chat.mode, chat.record.mode_state))
    if behind is not None:
        keep_state(tx, behind, chat.mode, state)
    else:
        known = beginnings.get(chat.mode, ModeBeginning())
        beginnings[chat.mode] = replace(known, state=dict(state))
    return replace(chat, state=dict(state), beginnings=beginnings)


def begin_mode(tx: WriteTransaction, chat: ChatState, state: Mapping[str, Any], settings: tuple[str, ...]) -> ChatState:
    """Return a chat whose mode begins with a state, behind the newest message; the settings hold on every branch."""
    leaf = chat.record.leaf_id
    known = chat.beginnings or begin_keeping(tx, leaf, chat.record.mode or chat.mode, chat.record.mode_state)
    beginnings = describe_beginning(known, chat.mode, state, settings, is_first=leaf is None)
    if leaf is not None and chat.mode in known:
        keep_state(tx, leaf, chat.mode, state)
    return replace(chat, state=dict(state), round=ChatRound(is_ended=True), beginnings=beginnings, is_begun=True)


def end_round(tx: WriteTransaction, conversation_id: str) -> None:
    """Wait for nobody."""
    store_state(tx, replace(load_chat(tx, conversation_id), round=ChatRound(is_ended=True)))


def announce(tx: WriteTransaction, conversation_id: str, announcements: Iterable[Announcement]) -> list[Message]:
    """Record what a mode tells; with an audience, as a whisper to these."""
    told = [
        Message(
            id="",
            role="user",
            content=one.text,
            audience=one.audience,
            kind=MessageKind.KNOWLEDGE,
            extra={STATE_TOLD: True} if one.is_state else {},
        )
        for one in announcements
        if one.text.strip()
    ]
    return edits.add_messages(tx, conversation_id, told) if told else []


def retract_secrets(tx: WriteTransaction, conversation_id: str) -> None:
    """Take what modes told some alone out of the history; a mode that comes back tells it in its state."""
    secrets = (
        messages.c.conversation_id == conversation_id,
        messages.c.kind == MessageKind.KNOWLEDGE.value,
        messages.c.speaker == "",
        messages.c.audience.is_not(None),
    )
    if tx.update_rows(messages, {"final": 0}, *secrets):
        tx.update_row(conversations, {"id": conversation_id}, {})


def begin_step(
    tx: WriteTransaction, chat: ChatState, step: Step, message_id: str, *, behind: str | None = None
) -> ChatState:
    """Store the state of the mode, and who is asked next; replies to a whisper are whispers.

    `behind` is the message behind which the state holds, by default the newest one when the chat was loaded.
    """
    said = tx.row(messages, id=message_id) if message_id else None
    audience = step.audience
    if audience is None and said is not None and said.audience is not None:
        audience = tuple(dict.fromkeys(filter(None, (strip_revision(said.speaker), *said.audience))))
    running = ChatRound(
        message_id=message_id,
        after=tx.require(conversations, id=chat.record.id).leaf_id,
        speakers=step.speakers,
        waiting=step.speakers,
        in_parallel=step.in_parallel,
        audience=audience,
        is_ended=not step.speakers,
    )
    state = chat.state if step.state is None else dict(step.state)
    changed = replace(change_state(tx, chat, state, behind or chat.record.leaf_id), round=running)
    store_state(tx, changed)
    return changed


def dismiss_absent(tx: WriteTransaction, chat: ChatState) -> ChatState:
    """Wait no longer for those who have left."""
    waiting = tuple(one for one in chat.round.waiting if one in chat.attendance.present)
    changed = replace(chat, round=replace(chat.round, waiting=waiting))
    store_state(tx, changed)
    return changed


def choose_branch(tx: WriteTransaction, conversation_id: str, message_id: str) -> None:
    """Make the path to a message the active one; whoever has not answered on it is waited for if they were asked on it.

    A round of another branch ends.
    """
    edits.select_branch(tx, conversation_id, message_id)
    chat = load_chat(tx, conversation_id)
    running = chat.round
    if running.is_ended:
        return
    changed = ChatRound(is_ended=True)
    asked_at = tx.row(messages, id=running.after) if running.after is not None else None
    if asked_at is not None and _is_behind(tx, message_id, asked_at.id, asked_at.number):
        since = (messages.c.conversation_id == conversation_id, messages.c.number > asked_at.number)
        path = follow_path(tx.rows(messages, *since, order=(messages.c.number,)), message_id)
        if all(row.kind != MessageKind.USER.value for row in path):
            given = {strip_revision(row.speaker): row.id for row in path if row.final and row.speaker}
            waiting = tuple(one for one in running.speakers if one not in given)
            replies = tuple(given[one] for one in running.speakers if one in given)
            changed = replace(running, waiting=waiting, replies=replies)
    if changed != running:
        store_state(tx, replace(chat, round=changed))


def store_reply(
    tx: WriteTransaction, conversation_id: str, reply: Message, *, asked_in: ChatRound, sibling_of: str | None = None
) -> Message:
    """Store a reply behind the newest message, and wait no longer for its speaker if it is final.

    A reply that is given again is stored beside the first one, is heard by those who were present then, and takes its
    place in a round that is not over. Replies behind it that others gave on the same history stand behind the new one
    too. Where another branch became active meanwhile, the reply is stored on the branch where it was asked for, and the
    active one stays.
    """
    row = tx.require(conversations, id=conversation_id)
    parent = reply.parent_id
    active_leaf: str | None = None
    if sibling_of is None:
        parent = None
        asked_at = tx.row(messages, id=asked_in.after) if asked_in.after is not None else None
        if asked_at is not None and not _is_behind(tx, row.leaf_id, asked_at.id, asked_at.number):
            parent, active_leaf = asked_at.id, row.leaf_id
    is_first = sibling_of is not None and parent is None
    if sibling_of is not None:
        edits.restore_presence(tx, conversation_id, sibling_of)
    stored = edits.add_message(tx, conversation_id, replace(reply, parent_id=parent), as_first=is_first)
    if active_leaf is not None:
        place = row.said - 1 if row.after_number is None else row.after_number
        edits.select_branch(tx, conversation_id, active_leaf, place=place)
    if not reply.final:
        return stored
    chat = load_chat(tx, conversation_id)
    if sibling_of is not None:
        copies = _copy_parallel_replies(tx, chat, row.leaf_id, sibling_of)
        given = {sibling_of: stored.id, **copies}
        if sibling_of in chat.round.replies and not chat.round.is_ended:
            replies = tuple(given.get(one, one) for one in chat.round.replies)
            store_state(tx, replace(chat, round=replace(chat.round, replies=replies)))
        else:
            store_state(tx, replace(chat, round=_find_round(tx, chat, given)))
    else:
        speaker = strip_revision(reply.speaker)
        if chat.round.after == asked_in.after and speaker in chat.round.waiting:
            waiting = tuple(one for one in chat.round.waiting if one != speaker)
            running = replace(chat.round, waiting=waiting, replies=(*chat.round.replies, stored.id))
            store_state(tx, replace(chat, round=running))
    return stored


def _copy_parallel_replies(tx: WriteTransaction, chat: ChatState, leaf: str | None, message_id: str) -> dict[str, str]:
    """Copy the replies that follow a message and answer the same history to the newest message; return ids by ids.

    A copy is known to those who heard the reply. Whoever came or left behind it does so behind the copy too.
    """
    replaced = edits.get_message(tx, message_id)
    end = replaced.extra.get(HISTORY_END)
    since = (messages.c.conversation_id == chat.record.id, messages.c.number >= replaced.number)
    path = follow_path(tx.rows(messages, *since, order=(messages.c.number,)), leaf)
    if not end or not path or path[0].id != message_id:
        return {}
    copies: dict[str, str] = {}
    attendance = chat.attendance
    later: list[float] = [*(row.number for row in path[2:]), inf]
    for row, next_number in zip(path[1:], later, strict=False):
        said = read_struct(Message, row)
        if said.final and said.extra.get(HISTORY_END) != end:
            break
        if not said.final:
            continue
        heard = attendance.find_listeners(said)
        copy = replace(said, id="", parent_id=None, number=None)
        if heard is not None and attendance.find_listeners(copy) != heard:
            copy = replace(copy, audience=tuple(sorted(heard - {strip_revision(said.speaker)})))
        copies[said.id] = edits.add_message(tx, chat.record.id, copy).id
        changes = attendance.find_changes_behind(said.number or 0, next_number)
        if changes:
            edits.copy_changes(tx, chat.record.id, changes.values())
            attendance = load_attendance(tx, chat.record.id)
    return copies


def _find_round(tx: ReadTransaction, chat: ChatState, given: Mapping[str, str]) -> ChatRound:
    """Find the step of replies that are given again, where that is over; `given` has their ids by those of before.

    If the mode went on behind the first ones, it has not yet done so behind these, and is asked once more.
    """
    last = tx.row(messages, id=[*given][-1])
    if last is None or chat.mode not in (last.mode_state or {}):
        return ChatRound(is_ended=True)
    replies = [tx.require(messages, id=one) for one in given.values()]
    is_same_step, message_id, before = True, "", replies[0].parent_id
    for _ in range(MAX_SNAPSHOT_MESSAGES):
        row = None if before is None else tx.row(messages, id=before)
        if row is None or row.kind == MessageKind.USER.value:
            message_id = "" if row is None else row.id
            break
        is_same_step = is_same_step and chat.mode not in (row.mode_state or {})
        if is_same_step and row.final and row.speaker:
            replies.insert(0, row)
        before = row.parent_id
    return ChatRound(
        message_id=message_id,
        after=replies[0].parent_id,
        speakers=tuple(strip_revision(row.speaker) for row in replies),
        replies=tuple(row.id for row in replies),
    )


def _is_behind(tx: ReadTransaction, leaf: str | None, message_id: str, number: int) -> bool:
    """Whether the path to a leaf goes through a message."""
    while leaf is not None and leaf != message_id:
        row = tx.row(messages, id=leaf)
        if row is None or row.number < number:
            return False
        leaf = row.parent_id
    return leaf == message_id


def load_replies(reading: ReadTransaction, ids: Iterable[str]) -> tuple[Message, ...]:
    """Load the replies of a step, as far as they still exist."""
    return tuple(edits.get_message(reading, one) for one in ids if reading.row(messages, id=one) is not None)
