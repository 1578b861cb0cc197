"""Answers by idempotency key: kept for a day, for one person, and only for the request that took the key."""

from __future__ import annotations

import pytest

from fabula.core.errors import Code, FabulaError
from fabula.responses.keys import MAX_KEPT_BODY, KeptResponse, claim_key, keep_response, release_key
from fabula.responses.tables import request_keys
from fabula.store.store import Store

ANSWER = KeptResponse(201, {"etag": '"x"'}, '{"name": "林远"}')


def test_a_key_is_taken_kept_and_given_back(store: Store) -> None:
    with store.write(user="ann") as tx:
        assert claim_key(tx, "k", "f") is None
    with store.write(user="ann") as tx, pytest.raises(FabulaError) as running:
        claim_key(tx, "k", "f")
    assert running.value.code is Code.HTTP_KEY_REUSED
    with store.write(user="ann") as tx:
        keep_response(tx, "k", ANSWER)
        assert claim_key(tx, "k", "f") == ANSWER
    with store.write(user="ann") as tx, pytest.raises(FabulaError):
        claim_key(tx, "k", "another")
    with store.write(user="ann") as tx:
        release_key(tx, "k")
        assert claim_key(tx, "k", "another") is None


def test_a_key_is_forgotten_after_a_day(store: Store) -> None:
    with store.write(user="ann") as tx:
        claim_key(tx, "k", "f")
        tx.update_rows(request_keys, {"made_at": "2020-01-01T00:00:00.000000Z"})
        assert claim_key(tx, "k", "another") is None


def test_an_answer_that_is_too_long_is_not_kept_and_its_request_not_done_again(store: Store) -> None:
    with store.write(user="ann") as tx:
        claim_key(tx, "k", "f")
        keep_response(tx, "k", KeptResponse(200, {}, "x" * (MAX_KEPT_BODY + 1)))
        with pytest.raises(FabulaError):
            claim_key(tx, "k", "f")


def test_neither_keys_nor_streams_change_a_version(store: Store) -> None:
    before = store.versions(project="p", user="ann")
    with store.write(user="ann") as tx:
        claim_key(tx, "k", "f")
    assert store.versions(project="p", user="ann") == before
