"""The month's money and the breaker: both hold jobs back, say so, and let them go again."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from fabula.core.errors import Code, FabulaError
from fabula.jobs import guards, leases
from fabula.jobs import maintenance as upkeep
from fabula.jobs.model import Kind, Money, State
from fabula.jobs.tables import breakers, months
from fabula.jobs.timestamps import month_of, next_month, seconds_between
from fabula.settings import edits as settings
from fabula.settings.tables import settings as settings_table
from fabula.store.store import Store
from tests.jobs.fake_jobs import (
    FAR_AHEAD,
    KIND,
    LONG_AGO,
    PROJECT,
    ask,
    begin,
    card,
    failed,
    finished,
    kind_of,
    set_row,
    taken,
)

PAID = kind_of(paid=True)
FRAIL = kind_of(tries=100, breaker_after=3, breaker_pause=60.0)


def _take(store: Store, kind: Kind) -> str | None:
    lease = leases.take(store, {KIND: kind}, seconds=30)
    return None if lease is None else lease.key


def _money(store: Store) -> Money:
    with store.read(project=PROJECT) as reading:
        return guards.money(reading, reading.clock())


def _budget(store: Store, amount: float | None) -> None:
    with store.write(project=PROJECT) as tx:
        guards.set_budget(tx, amount)


def test_money_is_summed_by_month_and_kind(store: Store) -> None:
    begin(store)
    for number, spent in enumerate((5, 7)):
        ask(store, f"note:{number}")
        finished(store, taken(store, PAID), spent=spent)
    ask(store, "other:1", kind="other")
    failed(store, taken(store, PAID, name="other"), PAID, spent=100)
    found = _money(store)
    assert (found.spent, found.by_kind, found.budget) == (112, {"note": 12, "other": 100}, 5_000_000)


def test_when_the_money_is_used_up_paid_jobs_wait_for_the_next_month_and_say_so(store: Store) -> None:
    begin(store)
    _budget(store, 0.01)
    for number in range(3):
        ask(store, f"note:{number}")
    finished(store, taken(store, PAID), spent=10_000)
    assert _take(store, PAID) is None
    cards = [card(store, f"note:{number}") for number in range(3)]
    held = [one for one in cards if one.state is not State.DONE]
    assert [(one.state, one.why) for one in held] == [(State.QUEUED, "JOB_BUDGET")] * 2
    assert held[0].due == next_month(held[0].queued)
    ask(store, "free:1", kind="free")
    assert leases.take(store, {"free": kind_of()}, seconds=30) is not None, "what costs nothing goes on"


def test_paid_jobs_go_on_at_once_when_more_money_is_granted(store: Store) -> None:
    begin(store)
    _budget(store, 0)
    ask(store)
    assert _take(store, PAID) is None
    _budget(store, 1)
    assert _take(store, PAID) == "note:1"


def test_paid_jobs_go_on_when_somebody_changed_the_setting_itself(store: Store) -> None:
    begin(store)
    _budget(store, 0)
    ask(store)
    assert _take(store, PAID) is None
    assert upkeep.release_paid(store) == 0
    with store.write(project=PROJECT) as tx:
        settings.put(tx, guards.BUDGET, 2.5)
    assert upkeep.release_paid(store) == 1
    assert _take(store, PAID) == "note:1"


def test_a_new_month_has_new_money(store: Store) -> None:
    begin(store)
    with store.write(project=PROJECT) as tx:
        month = month_of(tx.clock())
        tx.add(months, {"month": "2020-01", "kind": KIND, "micros": 10**12})
    ask(store)
    assert month != "2020-01"
    assert _take(store, PAID) == "note:1"


def test_one_projects_spending_holds_nobody_else_back(store: Store) -> None:
    begin(store, "poor")
    begin(store, "rich")
    with store.write(project="poor") as tx:
        guards.set_budget(tx, 0)
    ask(store, project="poor")
    ask(store, project="rich")
    set_row(store, project="poor", due=LONG_AGO)
    assert taken(store, PAID).project_id == "rich"


def test_what_running_jobs_have_spent_so_far_counts(store: Store) -> None:
    begin(store)
    _budget(store, 0.001)
    ask(store, "note:1")
    ask(store, "note:2")
    lease = taken(store, PAID)
    assert leases.renew(store, lease, spent=1_000)
    assert _money(store).spent == 1_000
    assert _take(store, PAID) is None
    finished(store, lease, spent=1_500)
    assert _money(store).spent == 1_500


def test_what_a_holder_had_spent_before_it_died_is_counted_once(store: Store) -> None:
    begin(store)
    ask(store)
    assert leases.renew(store, taken(store, PAID), spent=40)
    set_row(store, leased_until=LONG_AGO)
    upkeep.give_back_dead(store, {KIND: PAID}, seconds=30)
    assert (_money(store).spent, card(store).micros) == (40, 40)
    finished(store, taken(store, PAID), spent=2)
    assert (_money(store).spent, card(store).micros) == (42, 42)


@pytest.mark.parametrize("value", ["lots", True, -3, [5], {"usd": 5}, 1e300])
def test_a_budget_that_is_no_sum_of_money_allows_nothing(store: Store, value: object) -> None:
    begin(store)
    with store.write(project=PROJECT) as tx:
        tx.add(settings_table, {"name": guards.BUDGET, "value": value})
    ask(store)
    assert _take(store, PAID) is None
    assert _take(store, kind_of()) is None, "it waits for its time, like the others"
    assert _money(store).budget == 0


@pytest.mark.parametrize("amount", [-1.0, float("nan"), float("inf")])
def test_an_impossible_budget_is_refused(store: Store, amount: float) -> None:
    begin(store)
    with pytest.raises(FabulaError) as refused:
        _budget(store, amount)
    assert refused.value.code is Code.SETTING_INVALID


def test_the_budget_is_left_to_the_house_again(store: Store) -> None:
    begin(store)
    _budget(store, 1)
    _budget(store, None)
    _budget(store, None)
    assert _money(store).budget == 5_000_000


def test_after_repeated_failures_the_breaker_opens_and_says_so(store: Store) -> None:
    begin(store)
    for number in range(5):
        ask(store, f"note:{number}")
    for _ in range(3):
        failed(store, taken(store, FRAIL), FRAIL)
    assert _take(store, FRAIL) is None
    with store.read(project=PROJECT) as reading:
        (breaker,) = guards.breakers_of(reading)
        left = seconds_between(reading.clock(), breaker.open_until)
    assert (breaker.kind, breaker.failures, breaker.why) == (KIND, 3, "LLM_GONE")
    assert 50 < left <= 60
    held = card(store, "note:4")
    assert (held.state, held.why, held.due) == (State.QUEUED, "JOB_BREAKER_OPEN", breaker.open_until)


def test_a_success_in_between_starts_the_count_again(store: Store) -> None:
    begin(store)
    ask(store)
    for _ in range(2):
        failed(store, taken(store, FRAIL), FRAIL)
    finished(store, taken(store, FRAIL))
    ask(store)
    for _ in range(2):
        failed(store, taken(store, FRAIL), FRAIL)
    assert _take(store, FRAIL) == "note:1"


def _opened(store: Store, waiting: int) -> None:
    """A breaker that has been open long enough, and jobs that wait for it."""
    begin(store)
    for number in range(waiting):
        ask(store, f"note:{number}")
    for _ in range(3):
        failed(store, taken(store, FRAIL), FRAIL)
    assert _take(store, FRAIL) is None
    with store.write(project=PROJECT) as tx:
        tx.change(breakers, {"open_until": LONG_AGO})
    for number in range(waiting):
        set_row(store, f"note:{number}", due=LONG_AGO)


def test_after_the_pause_one_job_tries_and_its_success_lets_the_others_go(store: Store) -> None:
    _opened(store, 4)
    lease = taken(store, FRAIL)
    assert _take(store, FRAIL) is None, "one at a time"
    with store.write(project=PROJECT) as tx:
        assert leases.finish(tx, lease), "the breaker closed with it"
    assert upkeep.release(store, PROJECT, Code.JOB_BREAKER_OPEN, KIND) == 3
    assert {_take(store, FRAIL) for _ in range(3)} == {f"note:{n}" for n in range(4)} - {lease.key}


def test_after_the_pause_one_job_tries_and_its_failure_opens_the_breaker_again(store: Store) -> None:
    _opened(store, 4)
    failed(store, taken(store, FRAIL), FRAIL)
    assert _take(store, FRAIL) is None
    with store.read(project=PROJECT) as reading:
        (breaker,) = guards.breakers_of(reading)
        assert (breaker.failures, breaker.open_until > reading.clock()) == (4, True)


def test_of_many_who_ask_a_half_open_breaker_one_may_try(store: Store, address: str) -> None:
    _opened(store, 12)
    others = [Store.open(address) for _ in range(3)]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda one: _take(one, FRAIL), (store, *others)))
    for other in others:
        other.close()
    assert sum(key is not None for key in found) == 1


def test_the_breaker_of_one_project_and_kind_is_nobody_elses(store: Store) -> None:
    begin(store)
    ask(store)
    for _ in range(3):
        failed(store, taken(store, FRAIL), FRAIL)
    assert _take(store, FRAIL) is None
    begin(store, "q")
    ask(store, "q:1", project="q")
    ask(store, "other:1", kind="other")
    assert _take(store, FRAIL) == "q:1"
    assert leases.take(store, {"other": FRAIL}, seconds=30) is not None


def test_a_breaker_that_was_opened_before_the_clock_was_set_back_does_not_stay_open(store: Store) -> None:
    _opened(store, 1)
    with store.write(project=PROJECT) as tx:
        tx.change(breakers, {"open_until": FAR_AHEAD})
    assert _take(store, FRAIL) == "note:0"


def test_a_dead_holder_is_no_failure_of_the_kind(store: Store) -> None:
    begin(store)
    ask(store)
    for _ in range(5):
        taken(store, FRAIL)
        set_row(store, leased_until=LONG_AGO)
        upkeep.give_back_dead(store, {KIND: FRAIL}, seconds=30)
    with store.read(project=PROJECT) as reading:
        assert guards.breakers_of(reading) == []
