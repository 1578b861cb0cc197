"""Answers by idempotency key: kept for a day, for one person, and only for the request that took the key."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress

import pytest

from fabula.core.errors import Code, FabulaError
from fabula.jobs.worker import Worker
from fabula.manuscript import projects
from fabula.responses.keys import (
    MAX_KEPT_BODY,
    KeptResponse,
    KeyLease,
    claim_key,
    keep_response,
    mark_changes,
    release_key,
    renew_lease,
)
from fabula.responses.tables import request_keys
from fabula.store.store import Store
from fabula.workspace.responses import ResponseLog
from tests.responses.workers import start

ANSWER = KeptResponse(201, {"etag": '"x"'}, '{"name": "林远"}')


def claim(store: Store, key: str = "k", fingerprint: str = "f", **options: float) -> KeyLease:
    with store.write(user="ann") as tx:
        lease = claim_key(tx, key, fingerprint, **options)
    assert isinstance(lease, KeyLease)
    return lease


def refuse(store: Store, key: str = "k", fingerprint: str = "f", *, code: Code = Code.HTTP_KEY_IN_USE) -> str:
    with store.write(user="ann") as tx, pytest.raises(FabulaError) as refused:
        claim_key(tx, key, fingerprint)
    assert refused.value.code is code
    return refused.value.sentence


def wait_for_key(store: Store) -> KeyLease:
    """Take a key as soon as its lease is over."""
    ends = time.monotonic() + 20
    while time.monotonic() < ends:
        with suppress(FabulaError):
            return claim(store)
        time.sleep(0.1)
    pytest.fail("the key was never free")


def test_a_key_is_taken_kept_and_given_back(store: Store) -> None:
    lease = claim(store)
    assert "has not ended" in refuse(store)
    with store.write(user="ann") as tx:
        keep_response(tx, lease, ANSWER)
        assert claim_key(tx, "k", "f") == ANSWER
    assert "another request" in refuse(store, fingerprint="another", code=Code.HTTP_KEY_REUSED)
    with store.write(user="ann") as tx:
        release_key(tx, lease)
    claim(store, fingerprint="another")


def test_a_key_is_forgotten_after_a_day(store: Store) -> None:
    claim(store)
    with store.write(user="ann") as tx:
        tx.update_rows(request_keys, {"made_at": "2020-01-01T00:00:00.000000Z"})
    claim(store, fingerprint="another")


def test_the_worker_deletes_the_answers_of_yesterday_of_everybody(store: Store) -> None:
    for user in ("ann", "bea"):
        for key in ("old", "new"):
            with store.write(user=user) as tx:
                claim_key(tx, key, "f")
                if key == "old":
                    tx.update_rows(request_keys, {"made_at": "2020-01-01T00:00:00.000000Z"})

    def list_keys() -> list[str]:
        with store.all_projects(request_keys) as everybody:
            return [row.key for row in everybody.rows()]

    with Worker(store, {}):
        ends = time.monotonic() + 20
        while "old" in list_keys() and time.monotonic() < ends:
            time.sleep(0.02)
    assert list_keys() == ["new", "new"]


def test_an_answer_that_is_too_long_is_not_kept_and_its_request_not_done_again(store: Store) -> None:
    lease = claim(store)
    with store.write(user="ann") as tx:
        mark_changes(tx, lease)
        keep_response(tx, lease, KeptResponse(200, {}, "x" * (MAX_KEPT_BODY + 1)))
    assert "too long" in refuse(store, code=Code.HTTP_KEY_CUT_OFF)


def test_neither_keys_nor_streams_change_a_version(store: Store) -> None:
    before = store.versions(project="p", user="ann")
    claim(store)
    assert store.versions(project="p", user="ann") == before


def test_a_lease_that_is_renewed_goes_on(store: Store) -> None:
    lease = claim(store, lease_seconds=0)
    with store.write(user="ann") as tx:
        renew_lease(tx, lease)
    assert "has not ended" in refuse(store)


def test_whoever_answers_renews_its_lease(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fabula.workspace.responses.RENEW_SECONDS", 0.02)
    lease = claim(store, lease_seconds=0)

    def read_end() -> str:
        with store.read(user="ann") as reading:
            return str(reading.require(request_keys, key="k").held_until)

    async def answer_slowly(before: str) -> None:
        async with ResponseLog(store).hold("ann", lease):
            while read_end() == before:
                await asyncio.sleep(0.02)

    asyncio.run(asyncio.wait_for(answer_slowly(read_end()), 20))
    assert "has not ended" in refuse(store)


def test_who_has_lost_its_lease_changes_nothing_more(store: Store) -> None:
    lost = claim(store, lease_seconds=0)
    taken = claim(store)
    log = ResponseLog(store)

    async def answer(lease: KeyLease, title: str) -> None:
        async with log.hold("ann", lease):
            projects.create(store, title)

    with pytest.raises(FabulaError) as refused:
        asyncio.run(answer(lost, "Twice"))
    assert refused.value.code is Code.HTTP_KEY_IN_USE
    asyncio.run(answer(taken, "Once"))
    assert [one.title for one in projects.list_projects(store)] == ["Once"]
    log.keep("ann", lost, KeptResponse(500, {}, ""))
    log.release("ann", lost)
    log.keep("ann", taken, ANSWER)
    assert log.claim("ann", "k", "f") == ANSWER


def test_the_key_of_a_killed_process_that_changed_nothing_can_be_taken_again(store: Store, prepared: str) -> None:
    with start("claim", prepared) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "claimed\n"
        assert "has not ended" in refuse(store)
        process.kill()
        process.wait()
    taken = wait_for_key(store)
    with store.write(user="ann") as tx:
        keep_response(tx, taken, ANSWER)
    assert ResponseLog(store).claim("ann", "k", "f") == ANSWER


def test_a_request_that_changed_something_before_its_process_was_killed_is_not_done_again(
    store: Store, prepared: str
) -> None:
    with start("change", prepared) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "changed\n"
        process.kill()
        process.wait()
    assert [one.title for one in projects.list_projects(store)] == ["Made once"]
    with store.write(user="ann") as tx:
        tx.update_rows(request_keys, {"held_until": ""})
    assert "Look what is there" in refuse(store, code=Code.HTTP_KEY_CUT_OFF)


def test_a_request_that_is_refused_after_its_change_is_not_done_again(store: Store) -> None:
    lease = claim(store)
    with store.write(user="ann") as tx:
        mark_changes(tx, lease)
    ResponseLog(store).release("ann", lease)
    assert "Look what is there" in refuse(store, code=Code.HTTP_KEY_CUT_OFF)


def test_a_change_that_is_rolled_back_is_no_change(store: Store) -> None:
    lease = claim(store, lease_seconds=0)

    async def fail() -> None:
        async with ResponseLog(store).hold("ann", lease):
            with store.write(user="ann"):
                raise RuntimeError

    with pytest.raises(RuntimeError):
        asyncio.run(fail())
    claim(store)
