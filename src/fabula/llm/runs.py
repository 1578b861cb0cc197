"""Records of generations: what each prompt contained, what the answer was, cost and became.

A record sums up its prompt as token counts, sources and hashes. It contains the prompt itself only where the setting
`runs.keepPrompts` is on. A run is recorded as `begun` before the model is called, so that one that was killed is known,
and has the text so far while it is written.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import Any, Literal, get_args

from msgspec import Struct
from sqlalchemy import Row

from fabula.context.result import Result
from fabula.core.errors import Code, FabulaError
from fabula.core.ids import current_timestamp, new_id
from fabula.core.messages import message
from fabula.llm.model import Usage
from fabula.llm.pricing import Cost
from fabula.llm.tables import runs
from fabula.store.transaction import ReadTransaction, WriteTransaction

SpendingGroup = Literal["model", "skill", "day"]
RunOutcome = Literal["begun", "open", "stopped", "failed", "accepted", "edited", "rejected", "retried", "used"]
UNFINISHED_OUTCOMES: tuple[RunOutcome, ...] = ("begun", "stopped", "failed")
FINAL_OUTCOMES: tuple[RunOutcome, ...] = ("accepted", "edited", "rejected", "retried", "used")  # used: by a job
_SAME_NAMES = (
    "id",
    "model",
    "skill_id",
    "document_id",
    "conversation_id",
    "prefix_hash",
    "prompt",
    "answer",
    "outcome",
)
_TOKEN_COLUMNS = ("input_tokens", "cached_tokens", "output_tokens")


class GenerationRun(Struct, frozen=True, kw_only=True):
    """One generation. `model` names provider and model; `verdicts` are the judge's, one for each attempt."""

    model: str
    skill_id: str = ""
    document_id: str = ""
    conversation_id: str = ""
    usage: Usage = Usage(reported_by_provider=False)
    cost: Cost = Cost()
    prefix_hash: str = ""
    assembly_summary: Mapping[str, Any] = {}
    prompt: str | None = None
    answer: str = ""
    outcome: RunOutcome = "open"
    verdicts: tuple[Mapping[str, Any], ...] = ()
    id: str = ""
    created_at: str = ""


class SpendingTotal(Struct, frozen=True):
    """The usage and cost of all runs of one model or skill, or of one day."""

    name: str
    currency: str
    run_count: int
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    micros: int

    @property
    def cached_share(self) -> float:
        """The share of the input tokens that came from the provider's cache."""
        return self.cached_tokens / self.input_tokens if self.input_tokens else 0.0


def summarise_assembly(result: Result) -> dict[str, Any]:
    """Sum up an assembled prompt as counts, sources and hashes, without its text."""
    return {
        "tokens": result.token_count,
        "layers": {layer.value: report.tokens for layer, report in result.layers.items()},
        "sources": [verdict.source for verdict in result.trace if verdict.included],
        "warnings": [warning.split(":", 1)[0] for warning in result.warnings],
        "prompt_hash": sha256(result.prompt.encode()).hexdigest(),
        "prefix_unchanged": result.stable_prefix_unchanged,
    }


def record_run(tx: WriteTransaction, run: GenerationRun) -> str:
    """Store a run, in place of the record of its beginning if there is one; returns its id."""
    run_id, usage = run.id or new_id(), run.usage
    row = {name: getattr(run, name) for name in _SAME_NAMES} | {name: getattr(usage, name) for name in _TOKEN_COLUMNS}
    details = {
        "told": usage.reported_by_provider,
        "priced": run.cost.is_known,
        "written": usage.cache_write_tokens,
    }
    row |= {
        "id": run_id,
        "at": run.created_at or current_timestamp(),
        "money_micros": run.cost.micros,
        "currency": run.cost.currency,
        "trace": {**run.assembly_summary, **details},
        "verdicts": list(run.verdicts),
    }
    begun = tx.row(runs, id=run_id)
    if begun is None:
        tx.insert(runs, {**row, "number": (tx.max_value(runs, "number") or 0) + 1})
    else:  # a person may have decided on it meanwhile, and taken the text so far
        row["outcome"] = begun.outcome if begun.outcome in FINAL_OUTCOMES else run.outcome
        if begun.outcome in ("accepted", "edited"):
            row["answer"] = begun.answer
        del row["id"], row["at"]
        tx.update_rows(runs, row, runs.c.id == run_id)
    return run_id


def set_outcome(tx: WriteTransaction, run_id: str, outcome: RunOutcome) -> None:
    """Set the final outcome of a run. It can be set once: an accepted answer cannot be rejected later."""
    run = get_run(tx, run_id)
    if not tx.update_rows(runs, {"outcome": outcome}, runs.c.id == run_id, runs.c.outcome.not_in(FINAL_OUTCOMES)):
        sentence = message("This answer has an outcome already: {outcome}. Nothing was changed.", outcome=run.outcome)
        raise FabulaError(Code.STORE_CONFLICT, sentence, run=run_id)


def get_run(reading: ReadTransaction, run_id: str) -> GenerationRun:
    """Read one run."""
    return _read_row(reading.require(runs, id=run_id))


def list_runs(reading: ReadTransaction, *, limit: int = 50, skill_id: str = "") -> list[GenerationRun]:
    """List the latest runs, the one that was made last first, whatever the clock said."""
    where = [runs.c.skill_id == skill_id] if skill_id else []
    newest_first = (runs.c.number.desc(), runs.c.at.desc(), runs.c.id.desc())
    return [_read_row(row) for row in reading.rows(runs, *where, order=newest_first, limit=limit)]


def sum_spending(reading: ReadTransaction, *, month: str = "", by: SpendingGroup = "model") -> list[SpendingTotal]:
    """Sum up usage and cost, in all or for one month (`2026-11`), the most expensive first, or day after day."""
    where = [runs.c.at >= month, runs.c.at < f"{month}~"] if month else []
    columns = ("at", "model", "skill_id", "currency", "input_tokens", "cached_tokens", "output_tokens", "money_micros")
    sums: dict[tuple[str, str], list[int]] = {}
    for row in reading.rows(runs, *where, only=columns):
        key = ({"model": row.model, "skill": row.skill_id, "day": row.at[:10]}[by], row.currency)
        counts = (1, row.input_tokens, row.cached_tokens, row.output_tokens, row.money_micros)
        sums[key] = [old + new for old, new in zip(sums.get(key, [0] * 5), counts, strict=True)]
    totals = [SpendingTotal(*key, *counts) for key, counts in sums.items()]
    return sorted(totals, key=lambda total: (0 if by == "day" else -total.micros, total.name, total.currency))


def total_by_currency(totals: Iterable[SpendingTotal]) -> dict[str, int]:
    """Add up costs by currency, in millionths."""
    sums = Counter[str]()
    for total in totals:
        sums[total.currency] += total.micros
    return dict(sums)


def _read_row(row: Row[Any]) -> GenerationRun:
    summary = dict(row.trace)
    is_reported, is_priced, written = summary.pop("told", True), summary.pop("priced", True), summary.pop("written", 0)
    tokens = {name: getattr(row, name) for name in _TOKEN_COLUMNS}
    fields = {name: getattr(row, name) for name in _SAME_NAMES}
    fields["outcome"] = row.outcome if row.outcome in get_args(RunOutcome) else "open"
    return GenerationRun(
        **fields,
        created_at=row.at,
        usage=Usage(**tokens, cache_write_tokens=written, reported_by_provider=is_reported),
        cost=Cost(row.money_micros, row.currency, is_priced),
        assembly_summary=summary,
        verdicts=tuple(row.verdicts),
    )
