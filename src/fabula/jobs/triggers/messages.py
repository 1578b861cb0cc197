"""What follows from something said: when enough rounds are over, they are told in short, in the background.

A job is queued in the transaction that says a final reply, whoever says it. Saying something must stay quick, so
nothing is looked through here: the conversation's own counters tell whether anything can be due, and mostly that is
the one question asked. They may count a round of another branch; the job then finds nothing to do and sets them right.
"""

from __future__ import annotations

from collections.abc import Sequence

from fabula.conversation.model import Kind
from fabula.conversation.tables import conversations, messages
from fabula.jobs import queue as service
from fabula.jobs.triggers.recap_settings import rules_of
from fabula.store.store import Store
from fabula.store.transaction import Reading, Writing

RECAP = "recap"
_PAUSE = 10.0  # seconds without another reply
_AT_MOST = 60.0
_COUNTERS = ("leaf_id", "rounds", "recap_due")


def follow(store: Store) -> None:
    """From now on, what is said through this store is followed."""
    store.following.join(messages, _queue)


def rebuild(tx: Writing, conversation_id: str) -> str:
    """Ask for all recaps of a conversation to be made anew; the key of the job."""
    tx.need(conversations, id=conversation_id)
    key = f"{RECAP}:{conversation_id}:anew"
    service.queue(tx, RECAP, key, {"conversation": conversation_id, "anew": tx.clock()})
    return key


def _queue(tx: Writing, changed: Sequence[str]) -> None:
    for ident in changed:
        key = f"{RECAP}:{ident}"
        if _due(tx, ident) and service.sound_key(key):
            service.queue(tx, RECAP, key, {"conversation": ident}, due_in=_PAUSE, at_most=_AT_MOST)


def _due(reading: Reading, conversation_id: str) -> bool:
    """Was this a final reply, and do enough rounds wait?"""
    found = reading.rows(conversations, conversations.c.id == conversation_id, only=_COUNTERS)
    if not found or found[0].leaf_id is None or found[0].rounds < found[0].recap_due:
        return False
    newest = reading.rows(messages, messages.c.id == found[0].leaf_id, only=("kind", "final"))
    if not newest or newest[0].kind != Kind.REPLY.value or not newest[0].final:
        return False
    rules, _ = rules_of(reading)
    return rules.on and found[0].rounds >= rules.every
