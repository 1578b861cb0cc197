"""Answers by idempotency key: a request that is sent again with its key is answered as before, and not done again.

Whoever answers a request holds its key by a lease, which it renews while it works. What the request changes is marked
in the same transaction as the change. So when a process is killed, the key of a request that has changed nothing can be
taken again as soon as its lease is over, and a request that has changed something is never done twice.

Of a request that takes or returns a secret, only that it was done is kept (`DONE`). The worker deletes rows that are
older than a day; those of a person go whenever the person takes a key, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from msgspec import Struct
from sqlalchemy import ColumnElement

from fabula.core.errors import Code, FabulaError
from fabula.core.ids import current_timestamp, new_id
from fabula.core.messages import Sentence, message
from fabula.responses.tables import request_keys
from fabula.store.store import Store
from fabula.store.transaction import WriteTransaction

KEPT_HOURS = 24
MAX_KEPT_BODY = 1_000_000  # characters; a longer answer is not kept, and its key stays taken
LEASE_SECONDS = 30.0
RENEW_SECONDS = 10.0

_RUNNING = message(
    "The first request with this Idempotency-Key has not ended. Wait a moment and try again. Nothing was changed."
)
_CUT_OFF = message(
    "The first request with this Idempotency-Key has changed something, but its answer is not there: it was cut off, "
    "or the answer was too long to keep. Look what is there before you send it with a new key. "
    "Nothing more was changed."
)
_LOST = message("Another process has taken over this request. Nothing was changed.")


class KeptResponse(Struct, frozen=True):
    """The answer to a request that was done."""

    status: int
    headers: Mapping[str, str]
    body: str


DONE = KeptResponse(204, {}, "")  # in place of an answer of which nothing may be kept


class KeyLease(Struct, frozen=True):
    """The right to answer the request of a key; it ends unless it is renewed."""

    key: str
    holder: str


def claim_key(
    tx: WriteTransaction, key: str, fingerprint: str, *, lease_seconds: float = LEASE_SECONDS
) -> KeptResponse | KeyLease:
    """Take a key for a request; return its answer where the same request was done with it already.

    A key of another request, of one that is being answered, or of one that was cut off after it had changed something
    is refused.
    """
    tx.delete_rows(request_keys, _is_old())
    row, lease = tx.row(request_keys, key=key), KeyLease(key, new_id())
    held = {"holder": lease.holder, "held_until": _format_time(timedelta(seconds=lease_seconds))}
    if row is None:
        tx.insert(request_keys, {"key": key, "fingerprint": fingerprint, "made_at": current_timestamp(), **held})
        return lease
    if row.fingerprint != fingerprint:
        raise FabulaError(
            Code.HTTP_KEY_REUSED,
            message("This Idempotency-Key belongs to another request. Use a new one. Nothing was changed."),
        )
    if row.status:
        return KeptResponse(row.status, row.headers, row.body)
    if row.held_until > current_timestamp():
        raise _refuse_running(_RUNNING)
    if row.has_changes:
        raise FabulaError(Code.HTTP_KEY_CUT_OFF, _CUT_OFF)
    # Whoever held it may be about to commit its first change: this waits for that, and looks again.
    is_free = (request_keys.c.holder == row.holder, request_keys.c.has_changes == 0)
    if not tx.update_rows(request_keys, held, request_keys.c.key == key, *is_free):
        raise _refuse_running(_RUNNING)
    return lease


def renew_lease(tx: WriteTransaction, lease: KeyLease) -> None:
    """Hold a key for another while, because its request is still being answered."""
    values = {"held_until": _format_time(timedelta(seconds=LEASE_SECONDS))}
    tx.update_rows(request_keys, values, *_match(lease))


def mark_changes(tx: WriteTransaction, lease: KeyLease) -> None:
    """Mark in the transaction of a change that the request of a key has made one; refused where the lease is lost."""
    if not tx.update_rows(request_keys, {"has_changes": 1}, *_match(lease)):
        raise _refuse_running(_LOST)


def keep_response(tx: WriteTransaction, lease: KeyLease, kept: KeptResponse) -> None:
    """Keep the answer to the request of a key; one that is too long only ends the lease."""
    values: dict[str, object] = {"held_until": ""}
    if len(kept.body) <= MAX_KEPT_BODY:
        values |= {"status": kept.status, "headers": dict(kept.headers), "body": kept.body}
    tx.update_rows(request_keys, values, *_match(lease))


def release_key(tx: WriteTransaction, lease: KeyLease) -> None:
    """Give a key back, because its request was refused; one whose request has changed something only ends its lease.

    A request may be refused after its change, where the database went away before it could say that it had committed.
    """
    if not tx.delete_rows(request_keys, *_match(lease), request_keys.c.has_changes == 0):
        tx.update_rows(request_keys, {"held_until": ""}, *_match(lease))


def prune_keys(store: Store) -> int:
    """Delete what was kept a day ago, of everybody; return how many keys that were."""
    with store.all_projects(request_keys, writable=True) as everybody:
        owners = everybody.owner_ids(_is_old())
        return sum(everybody.for_owner(owner).delete_rows(request_keys, _is_old()) for owner in owners)


def _is_old() -> ColumnElement[bool]:
    return request_keys.c.made_at < _format_time(-timedelta(hours=KEPT_HOURS))


def _match(lease: KeyLease) -> tuple[ColumnElement[bool], ...]:
    return request_keys.c.key == lease.key, request_keys.c.holder == lease.holder


def _refuse_running(sentence: Sentence) -> FabulaError:
    return FabulaError(Code.HTTP_KEY_IN_USE, sentence)


def _format_time(later: timedelta) -> str:
    return (datetime.now(UTC) + later).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
