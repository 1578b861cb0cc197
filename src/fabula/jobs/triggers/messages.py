"""The trigger on messages: a final reply enqueues recaps when enough was said (cnv-6, cht-6).

The job is enqueued in the transaction that stores the reply, whoever stores it. Storing a message must stay fast, so
only the counters of the conversation are read here. They can count a round of another branch; then the job finds
nothing to do and corrects them. Nothing is enqueued for a conversation that comes with its whole project, as a sample
does: the next reply decides.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Row, bindparam

from fabula.conversation.documents import get_document_id
from fabula.conversation.edits import MessageEvent
from fabula.conversation.model import Message, MessageKind
from fabula.conversation.tables import RECAP_COUNTERS, conversations, messages
from fabula.jobs.queue import enqueue, is_valid_key, postpone
from fabula.jobs.triggers.recap_settings import read_recap_rules
from fabula.store.queries import RowQuery
from fabula.store.store import Store
from fabula.store.tables import projects
from fabula.store.transaction import ReadTransaction, WriteTransaction

RECAP_JOB = "recap"
PAUSE = 10.0  # seconds without another reply
MAX_DELAY = 60.0
_COUNTERS = RowQuery(conversations, conversations.c.id == bindparam("conversation"), only=RECAP_COUNTERS)
_KIND = RowQuery(messages, messages.c.id == bindparam("message"), only=("kind", "final"))


def connect(store: Store) -> None:
    """Enqueue recaps for conversations that change through this store."""
    store.hooks.add_before_commit(messages, _enqueue_jobs)


def queue_rebuild(tx: WriteTransaction, conversation_id: str) -> str:
    """Enqueue a job that makes all recaps of a conversation anew; its key."""
    tx.require(conversations, id=conversation_id)
    key = f"{RECAP_JOB}:{conversation_id}:anew"
    enqueue(tx, RECAP_JOB, key, {"conversation": conversation_id, "anew": tx.current_time()})
    return key


def _enqueue_jobs(tx: WriteTransaction, changed: Sequence[str]) -> None:
    if tx.changed_items(projects):  # the project is made in this transaction
        return
    for conversation in changed:
        key = f"{RECAP_JOB}:{conversation}"
        if get_document_id(conversation) or not is_valid_key(key):
            continue  # a writer's requests in a chapter are told as they are, and never summarised
        counters = _find_counters(tx, conversation)
        # Where a job waits already, the rules said so; they are not read again.
        if counters is not None and not postpone(tx, key, PAUSE) and _is_due(tx, conversation, counters):
            enqueue(tx, RECAP_JOB, key, {"conversation": conversation}, due_in=PAUSE, max_delay=MAX_DELAY)


def _find_counters(tx: WriteTransaction, conversation_id: str) -> Row[Any] | None:
    """Return the counters of a conversation if they may be over a limit and the newest message is a final reply."""
    events = (one for one in tx.events if isinstance(one, MessageEvent))
    added = [one.message for one in events if one.conversation_id == conversation_id]
    if added and not any(map(_is_reply, added)):  # what a player says costs no query
        return None
    row = tx.changed_row(conversations, conversation_id)  # adding a message returns them
    if row is None:
        row = next(iter(tx.query(_COUNTERS, conversation=conversation_id)), None)
    if row is None or row.leaf_id is None or not any(_compare_limits(row)):
        return None
    return row if _is_final_reply(tx, row.leaf_id) else None


def _compare_limits(counters: Row[Any]) -> tuple[bool, bool, bool]:
    """Whether the rounds, the messages and the tokens have reached the numbers from which a recap may be due."""
    return (
        counters.rounds >= counters.recap_due,
        counters.said >= counters.said_due,
        counters.tokens >= counters.tokens_due,
    )


def _is_due(reading: ReadTransaction, conversation_id: str, counters: Row[Any]) -> bool:
    """Whether enough rounds have passed or enough was said, by the rules of the project."""
    over_rounds, over_messages, over_tokens = _compare_limits(counters)
    rules, _ = read_recap_rules(reading, counters.mode, conversation_id)
    return rules.enabled and (
        (over_rounds and counters.rounds >= rules.rounds_per_summary)
        or (over_messages and counters.said > rules.max_messages)
        or (over_tokens and counters.tokens > rules.shown_tokens)
    )


def _is_final_reply(tx: WriteTransaction, message_id: str) -> bool:
    """Whether a message is a final reply; one that this transaction added is known without a query."""
    for event in reversed(tx.events):
        if isinstance(event, MessageEvent) and event.message.id == message_id:
            return _is_reply(event.message)
    rows = tx.query(_KIND, message=message_id)
    return bool(rows) and rows[0].kind == MessageKind.REPLY.value and bool(rows[0].final)


def _is_reply(said: Message) -> bool:
    return said.kind is MessageKind.REPLY and said.final
