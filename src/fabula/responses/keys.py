"""Answers by idempotency key: a request that is sent again with its key is answered as before, and not done again."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from msgspec import Struct

from fabula.core.errors import Code, FabulaError
from fabula.core.ids import current_timestamp
from fabula.core.messages import message
from fabula.responses.tables import request_keys
from fabula.store.transaction import WriteTransaction

KEPT_HOURS = 24
MAX_KEPT_BODY = 1_000_000  # characters; a longer answer is not kept, and its key stays taken


class KeptResponse(Struct, frozen=True):
    """The answer to a request that was done."""

    status: int
    headers: Mapping[str, str]
    body: str


def claim_key(tx: WriteTransaction, key: str, fingerprint: str) -> KeptResponse | None:
    """Take a key for a request; return the answer where the same request was done with it already.

    A key of another request, or of one that has not ended, is refused.
    """
    oldest = (datetime.now(UTC) - timedelta(hours=KEPT_HOURS)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    tx.delete_rows(request_keys, request_keys.c.made_at < oldest)
    row = tx.row(request_keys, key=key)
    if row is None:
        tx.insert(request_keys, {"key": key, "fingerprint": fingerprint, "made_at": current_timestamp()})
        return None
    if row.fingerprint != fingerprint:
        raise FabulaError(
            Code.HTTP_KEY_REUSED,
            message("This Idempotency-Key belongs to another request. Use a new one. Nothing was changed."),
        )
    if row.status == 0:
        raise FabulaError(
            Code.HTTP_KEY_REUSED,
            message(
                "The first request with this Idempotency-Key has not ended, or was cut off. Wait a moment and try "
                "again; if it stays so, look whether it was done before you send it with a new key. "
                "Nothing was changed."
            ),
        )
    return KeptResponse(row.status, row.headers, row.body)


def keep_response(tx: WriteTransaction, key: str, kept: KeptResponse) -> None:
    """Keep the answer to the request of a key."""
    if len(kept.body) <= MAX_KEPT_BODY:
        values = {"status": kept.status, "headers": dict(kept.headers), "body": kept.body}
        tx.update_rows(request_keys, values, request_keys.c.key == key)


def release_key(tx: WriteTransaction, key: str) -> None:
    """Give a key back, because its request was refused."""
    tx.delete_rows(request_keys, request_keys.c.key == key)
