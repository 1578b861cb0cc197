"""Runs: every generation on record, with what it saw, what it cost and what became of it.

What it saw is kept as sums, sources and hashes; the prompt itself only where the user turned that on.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import Any, Literal, get_args

from msgspec import Struct
from sqlalchemy import Row

from fabula.context.result import Result
from fabula.core.errors import Code, FabulaError
from fabula.core.ids import new_id, now
from fabula.llm.model import Usage
from fabula.llm.pricing import Cost
from fabula.llm.tables import runs
from fabula.store.transaction import Reading, Writing

State = Literal["open", "stopped", "failed", "accepted", "edited", "rejected", "retried", "used"]
SETTLED: tuple[State, ...] = ("accepted", "edited", "rejected", "retried", "used")  # used: by the house itself
KEEP_PROMPTS = "runs.keepPrompts"  # the setting


class Run(Struct, frozen=True, kw_only=True):
    """One generation. `model` names provider and model; `saw` sums up the prompt; `verdicts` are the judge's."""

    model: str
    skill_id: str = ""
    document_id: str = ""
    conversation_id: str = ""
    usage: Usage = Usage(told=False)
    cost: Cost = Cost()
    prefix_hash: str = ""
    saw: Mapping[str, Any] = {}
    prompt: str | None = None
    answer: str = ""
    outcome: State = "open"
    verdicts: tuple[Mapping[str, Any], ...] = ()
    id: str = ""
    at: str = ""


class Spent(Struct, frozen=True, kw_only=True):
    """What runs of one kind used and cost."""

    name: str
    currency: str
    runs: int
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    micros: int

    @property
    def cached_share(self) -> float:
        """The part of what was read that came from a cache."""
        return self.cached_tokens / self.input_tokens if self.input_tokens else 0.0


def seen(result: Result) -> dict[str, Any]:
    """What a run saw, summed up: no text, only counts, sources and hashes."""
    return {
        "tokens": result.token_count,
        "layers": {layer.value: report.tokens for layer, report in result.layers.items()},
        "sources": [verdict.source for verdict in result.trace if verdict.included],
        "warnings": [warning.split(":", 1)[0] for warning in result.warnings],
        "prompt_hash": sha256(result.prompt.encode()).hexdigest(),
        "prefix_unchanged": result.stable_prefix_unchanged,
    }


def record(tx: Writing, run: Run) -> str:
    """A run on record; its id."""
    ident = run.id or new_id()
    tx.add(
        runs,
        {
            "id": ident,
            "skill_id": run.skill_id,
            "model": run.model,
            "document_id": run.document_id,
            "conversation_id": run.conversation_id,
            "at": run.at or now(),
            "input_tokens": run.usage.input_tokens,
            "cached_tokens": run.usage.cached_tokens,
            "output_tokens": run.usage.output_tokens,
            "money_micros": run.cost.micros,
            "currency": run.cost.currency,
            "prefix_hash": run.prefix_hash,
            "trace": {**run.saw, "told": run.usage.told, "priced": run.cost.known, "written": run.usage.written_tokens},
            "prompt": run.prompt,
            "answer": run.answer,
            "outcome": run.outcome,
            "verdicts": list(run.verdicts),
        },
    )
    return ident


def settle(tx: Writing, run_id: str, outcome: State) -> None:
    """What became of an answer. It is settled once: what was accepted cannot be rejected afterwards."""
    if outcome not in SETTLED:
        raise FabulaError(Code.REQUEST_INVALID, f"A run ends as one of {', '.join(SETTLED)}. Nothing was changed.")
    before = get(tx, run_id)
    if not tx.change(runs, {"outcome": outcome}, runs.c.id == run_id, runs.c.outcome.not_in(SETTLED)):
        raise FabulaError(
            Code.STORE_CONFLICT, f"This answer was {before.outcome} already. Nothing was changed.", run=run_id
        )


def get(reading: Reading, run_id: str) -> Run:
    """One run."""
    return _run(reading.need(runs, id=run_id))


def listed(reading: Reading, *, most: int = 50, skill_id: str = "") -> list[Run]:
    """The latest runs, the newest first."""
    where = [runs.c.skill_id == skill_id] if skill_id else []
    return [_run(row) for row in reading.rows(runs, *where, order=(runs.c.at.desc(), runs.c.id.desc()), limit=most)]


def spent(reading: Reading, *, month: str = "", by: Literal["model", "skill"] = "model") -> list[Spent]:
    """What was spent, in all or in one month (`2026-11`), the dearest first."""
    where = [runs.c.at >= month, runs.c.at < f"{month}~"] if month else []
    columns = ("model", "skill_id", "currency", "input_tokens", "cached_tokens", "output_tokens", "money_micros")
    sums: dict[tuple[str, str], list[int]] = {}
    for row in reading.rows(runs, *where, only=columns):
        key = (row.model if by == "model" else row.skill_id, row.currency)
        figures = (1, row.input_tokens, row.cached_tokens, row.output_tokens, row.money_micros)
        sums[key] = [old + new for old, new in zip(sums.get(key, [0] * 5), figures, strict=True)]
    found = [
        Spent(name=name, currency=currency, runs=n, input_tokens=i, cached_tokens=c, output_tokens=o, micros=m)
        for (name, currency), (n, i, c, o, m) in sums.items()
    ]
    return sorted(found, key=lambda one: (-one.micros, one.name, one.currency))


def total(found: Iterable[Spent]) -> dict[str, int]:
    """What it all came to, by currency, in millionths."""
    sums: dict[str, int] = {}
    for one in found:
        sums[one.currency] = sums.get(one.currency, 0) + one.micros
    return sums


def _run(row: Row[Any]) -> Run:
    saw = dict(row.trace)
    told, priced, written = saw.pop("told", True), saw.pop("priced", True), saw.pop("written", 0)
    outcome: State = row.outcome if row.outcome in get_args(State) else "open"
    return Run(
        id=row.id,
        model=row.model,
        skill_id=row.skill_id,
        document_id=row.document_id,
        conversation_id=row.conversation_id,
        at=row.at,
        usage=Usage(
            input_tokens=row.input_tokens,
            cached_tokens=row.cached_tokens,
            written_tokens=written,
            output_tokens=row.output_tokens,
            told=told,
        ),
        cost=Cost(row.money_micros, row.currency, priced),
        prefix_hash=row.prefix_hash,
        saw=saw,
        prompt=row.prompt,
        answer=row.answer,
        outcome=outcome,
        verdicts=tuple(row.verdicts),
    )
