"""Sums over all projects of a store, for those who run a server: jobs by state, tokens of models, and costs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from msgspec import Struct

from fabula.jobs import queue
from fabula.llm import runs
from fabula.store.store import Store


class ActivitySums(Struct, frozen=True, kw_only=True):
    """Jobs by state, tokens and costs of all projects; no project is named."""

    jobs: Mapping[str, int]
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    micros: Mapping[str, int]  # millionths by currency


def sum_activity(store: Store) -> ActivitySums:
    """Sum up what all projects have done and have to do."""
    jobs, micros, tokens = Counter[str](), Counter[str](), Counter[str]()
    for project_id in store.project_ids():
        with store.read(project=project_id) as reading:
            jobs.update({state.value: count for state, count in queue.count_jobs(reading).items()})
            totals = runs.sum_spending(reading)
        micros.update(runs.total_by_currency(totals))
        for one in totals:
            tokens.update(input=one.input_tokens, cached=one.cached_tokens, output=one.output_tokens)
    return ActivitySums(
        jobs=dict(jobs),
        input_tokens=tokens["input"],
        cached_tokens=tokens["cached"],
        output_tokens=tokens["output"],
        micros={currency: total for currency, total in micros.items() if total},
    )
