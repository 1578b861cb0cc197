"""The month's money and the breaker: both hold jobs back, say so, and let them go again."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from fabula.core.errors import Code, FabulaError
from fabula.jobs import guards, leases
from fabula.jobs import maintenance as upkeep
from fabula.jobs.model import JobKind, JobState, MonthlySpending
from fabula.jobs.tables import breakers, months
from fabula.jobs.timestamps import month_of, next_month_start, seconds_between
from fabula.jobs.triggers import monthly_budget
from fabula.settings import edits as settings
from fabula.settings.tables import settings as settings_table
from fabula.settings.tables import user_settings
from fabula.store.store import LOCAL_USER, Store
from tests.jobs.fake_jobs import (
    FAR_AHEAD,
    KIND,
    LONG_AGO,
    PROJECT,
    create_project,
    enqueue_job,
    fail_job,
    finish_job,
    load_job,
    make_kind,
    requeue_lost,
    set_row,
    take_job,
)

PAID = make_kind(costs_money=True)
FRAIL = make_kind(max_tries=100, breaker_threshold=3, breaker_pause=60.0)


def _take(store: Store, kind: JobKind) -> str | None:
    lease = leases.take_job(store, {KIND: kind}, seconds=30)
    return None if lease is None else lease.key


def _read_spending(store: Store) -> MonthlySpending:
    budget = guards.read_monthly_budget(store)
    with store.read(project=PROJECT) as reading:
        return guards.read_spending(reading, reading.current_time(), budget)


def _set_budget(store: Store, amount: float | None) -> None:
    with store.write(user=LOCAL_USER) as tx:
        guards.set_monthly_budget(tx, amount)


def test_money_is_summed_by_month_and_kind(store: Store) -> None:
    create_project(store)
    for number, spent in enumerate((5, 7)):
        enqueue_job(store, f"note:{number}")
        finish_job(store, take_job(store, PAID), cost=spent)
    enqueue_job(store, "other:1", kind="other")
    fail_job(store, take_job(store, PAID, name="other"), PAID, cost=100)
    found = _read_spending(store)
    assert (found.spent, found.by_kind, found.budget) == (112, {"note": 12, "other": 100}, 5_000_000)


def test_when_the_money_is_used_up_paid_jobs_wait_for_the_next_month_and_say_so(store: Store) -> None:
    create_project(store)
    _set_budget(store, 0.01)
    for number in range(3):
        enqueue_job(store, f"note:{number}")
    finish_job(store, take_job(store, PAID), cost=10_000)
    assert _take(store, PAID) is None
    cards = [load_job(store, f"note:{number}") for number in range(3)]
    held = [one for one in cards if one.state is not JobState.DONE]
    assert [(one.state, one.reason) for one in held] == [(JobState.QUEUED, "JOB_BUDGET")] * 2
    assert held[0].due_at == next_month_start(held[0].queued_at)
    enqueue_job(store, "free:1", kind="free")
    assert leases.take_job(store, {"free": make_kind()}, seconds=30) is not None, "what costs nothing goes on"


def test_paid_jobs_go_on_at_once_when_more_money_is_granted(store: Store) -> None:
    monthly_budget.connect(store)
    monthly_budget.connect(store)
    create_project(store)
    _set_budget(store, 0)
    enqueue_job(store)
    assert _take(store, PAID) is None
    _set_budget(store, 1)
    assert _take(store, PAID) == "note:1"


def test_paid_jobs_go_on_when_somebody_changed_the_setting_itself(store: Store) -> None:
    create_project(store)
    _set_budget(store, 0)
    enqueue_job(store)
    assert _take(store, PAID) is None
    assert upkeep.release_within_budget(store) == 0
    with store.write(user=LOCAL_USER) as tx:
        settings.set_value(tx, guards.BUDGET, 2.5, scope="person")
    assert upkeep.release_within_budget(store) == 1
    assert _take(store, PAID) == "note:1"


def test_a_project_grants_itself_no_money(store: Store) -> None:
    create_project(store)
    with store.write(project=PROJECT) as tx:
        tx.insert(settings_table, {"name": guards.BUDGET, "value": 1000})
    assert _read_spending(store).budget == 5_000_000


def test_the_machine_grants_money_where_the_person_says_nothing(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    create_project(store)
    monkeypatch.setenv("FABULA_MONTHLY_BUDGET_USD", "7.5")
    assert _read_spending(store).budget == 7_500_000
    _set_budget(store, 1)
    assert _read_spending(store).budget == 1_000_000


def test_a_new_month_has_new_money(store: Store) -> None:
    create_project(store)
    with store.write(project=PROJECT) as tx:
        month = month_of(tx.current_time())
        tx.insert(months, {"month": "2020-01", "kind": KIND, "micros": 10**12})
    enqueue_job(store)
    assert month != "2020-01"
    assert _take(store, PAID) == "note:1"


def test_one_projects_spending_holds_nobody_else_back(store: Store) -> None:
    create_project(store, "poor")
    create_project(store, "rich")
    with store.write(project="poor") as tx:
        tx.insert(months, {"month": month_of(tx.current_time()), "kind": KIND, "micros": 5_000_000})
    enqueue_job(store, project="poor")
    enqueue_job(store, project="rich")
    set_row(store, project="poor", due=LONG_AGO)
    assert take_job(store, PAID).project_id == "rich"


def test_what_running_jobs_have_spent_so_far_counts(store: Store) -> None:
    create_project(store)
    _set_budget(store, 0.001)
    enqueue_job(store, "note:1")
    enqueue_job(store, "note:2")
    lease = take_job(store, PAID)
    assert leases.renew_lease(store, lease, cost=1_000)
    assert _read_spending(store).spent == 1_000
    assert _take(store, PAID) is None
    finish_job(store, lease, cost=1_500)
    assert _read_spending(store).spent == 1_500


def test_what_a_holder_had_spent_before_it_died_is_counted_once(store: Store) -> None:
    create_project(store)
    enqueue_job(store)
    assert leases.renew_lease(store, take_job(store, PAID), cost=40)
    set_row(store, leased_until=LONG_AGO)
    requeue_lost(store, {KIND: PAID}, seconds=30)
    assert (_read_spending(store).spent, load_job(store).cost_micros) == (40, 40)
    finish_job(store, take_job(store, PAID), cost=2)
    assert (_read_spending(store).spent, load_job(store).cost_micros) == (42, 42)


@pytest.mark.parametrize("value", ["lots", True, -3, [5], {"usd": 5}, 1e300])
def test_a_budget_that_is_no_sum_of_money_allows_nothing(store: Store, value: object) -> None:
    create_project(store)
    with store.write(user=LOCAL_USER) as tx:
        tx.insert(user_settings, {"name": guards.BUDGET, "value": value})
    enqueue_job(store)
    assert _take(store, PAID) is None
    assert _take(store, make_kind()) is None, "it waits for its time, like the others"
    assert _read_spending(store).budget == 0


@pytest.mark.parametrize("amount", [-1.0, float("nan"), float("inf")])
def test_an_impossible_budget_is_refused(store: Store, amount: float) -> None:
    create_project(store)
    with pytest.raises(FabulaError) as refused:
        _set_budget(store, amount)
    assert refused.value.code is Code.SETTING_INVALID


def test_the_budget_is_left_to_the_house_again(store: Store) -> None:
    create_project(store)
    _set_budget(store, 1)
    _set_budget(store, None)
    _set_budget(store, None)
    assert _read_spending(store).budget == 5_000_000


def test_after_repeated_failures_the_breaker_opens_and_says_so(store: Store) -> None:
    create_project(store)
    for number in range(5):
        enqueue_job(store, f"note:{number}")
    for _ in range(3):
        fail_job(store, take_job(store, FRAIL), FRAIL)
    assert _take(store, FRAIL) is None
    with store.read(project=PROJECT) as reading:
        (breaker,) = guards.list_breakers(reading)
        left = seconds_between(reading.current_time(), breaker.open_until)
    assert (breaker.kind, breaker.failures, breaker.reason) == (KIND, 3, "LLM_GONE")
    assert 50 < left <= 60
    held = load_job(store, "note:4")
    assert (held.state, held.reason, held.due_at) == (JobState.QUEUED, "JOB_BREAKER_OPEN", breaker.open_until)


def test_a_success_in_between_starts_the_count_again(store: Store) -> None:
    create_project(store)
    enqueue_job(store)
    for _ in range(2):
        fail_job(store, take_job(store, FRAIL), FRAIL)
    finish_job(store, take_job(store, FRAIL))
    enqueue_job(store)
    for _ in range(2):
        fail_job(store, take_job(store, FRAIL), FRAIL)
    assert _take(store, FRAIL) == "note:1"


def _open_breaker(store: Store, waiting: int) -> None:
    """A breaker that has been open long enough, and jobs that wait for it."""
    create_project(store)
    for number in range(waiting):
        enqueue_job(store, f"note:{number}")
    for _ in range(3):
        fail_job(store, take_job(store, FRAIL), FRAIL)
    assert _take(store, FRAIL) is None
    with store.write(project=PROJECT) as tx:
        tx.update_rows(breakers, {"open_until": LONG_AGO})
    for number in range(waiting):
        set_row(store, f"note:{number}", due=LONG_AGO)


def test_after_the_pause_one_job_tries_and_its_success_lets_the_others_go(store: Store) -> None:
    _open_breaker(store, 4)
    lease = take_job(store, FRAIL)
    assert _take(store, FRAIL) is None, "one at a time"
    with store.write(project=PROJECT) as tx:
        assert leases.finish_job(tx, lease), "the breaker closed with it"
    assert upkeep.release_waiting(store, PROJECT, Code.JOB_BREAKER_OPEN, KIND) == 3
    assert {_take(store, FRAIL) for _ in range(3)} == {f"note:{n}" for n in range(4)} - {lease.key}


def test_after_the_pause_one_job_tries_and_its_failure_opens_the_breaker_again(store: Store) -> None:
    _open_breaker(store, 4)
    fail_job(store, take_job(store, FRAIL), FRAIL)
    assert _take(store, FRAIL) is None
    with store.read(project=PROJECT) as reading:
        (breaker,) = guards.list_breakers(reading)
        assert (breaker.failures, breaker.open_until > reading.current_time()) == (4, True)


def test_of_many_who_ask_a_half_open_breaker_one_may_try(store: Store, address: str) -> None:
    _open_breaker(store, 12)
    others = [Store.open(address) for _ in range(3)]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda one: _take(one, FRAIL), (store, *others)))
    for other in others:
        other.close()
    assert sum(key is not None for key in found) == 1


def test_the_breaker_of_one_project_and_kind_is_nobody_elses(store: Store) -> None:
    create_project(store)
    enqueue_job(store)
    for _ in range(3):
        fail_job(store, take_job(store, FRAIL), FRAIL)
    assert _take(store, FRAIL) is None
    create_project(store, "q")
    enqueue_job(store, "q:1", project="q")
    enqueue_job(store, "other:1", kind="other")
    assert _take(store, FRAIL) == "q:1"
    assert leases.take_job(store, {"other": FRAIL}, seconds=30) is not None


def test_a_breaker_that_was_opened_before_the_clock_was_set_back_does_not_stay_open(store: Store) -> None:
    _open_breaker(store, 1)
    with store.write(project=PROJECT) as tx:
        tx.update_rows(breakers, {"open_until": FAR_AHEAD})
    assert _take(store, FRAIL) == "note:0"


def test_a_dead_holder_is_no_failure_of_the_kind(store: Store) -> None:
    create_project(store)
    enqueue_job(store)
    for _ in range(5):
        take_job(store, FRAIL)
        set_row(store, leased_until=LONG_AGO)
        requeue_lost(store, {KIND: FRAIL}, seconds=30)
    with store.read(project=PROJECT) as reading:
        assert guards.list_breakers(reading) == []
