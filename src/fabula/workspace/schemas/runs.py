"""Schemas of runs: what a model wrote, what it saw, and what it cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import field

from fabula.llm.runs import GenerationRun, SpendingTotal, total_by_currency
from fabula.workspace.schemas.schema import Schema


class UsageInfo(Schema):
    """Tokens of a run; `told` is whether the provider counted them."""

    input_tokens: int
    cached_tokens: int
    cache_write_tokens: int = field(name="writtenTokens")
    output_tokens: int
    reported_by_provider: bool = field(name="told")


class CostInfo(Schema):
    """The cost of a run in millionths of a currency, if the price is known."""

    micros: int
    currency: str
    is_known: bool = field(name="known")


class RunInfo(Schema):
    """One answer of a model, with what became of it; `saw` describes its prompt."""

    id: str
    created_at: str = field(name="at")
    skill_id: str
    model: str
    document_id: str | None
    conversation_id: str | None
    outcome: str
    answer: str
    verdicts: tuple[dict[str, Any], ...]
    assembly_summary: dict[str, Any] = field(name="saw")
    stable_prefix_hash: str
    prompt: str | None
    usage: UsageInfo
    cost: CostInfo


class RunSpendingInfo(Schema):
    """What the runs of one model or skill cost in one currency, in millionths."""

    name: str
    currency: str
    run_count: int = field(name="runs")
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    micros: int


class RunSpendingSummary(Schema):
    """What runs cost, and the total by currency, in millionths."""

    spent: tuple[RunSpendingInfo, ...]
    total: dict[str, int]


def describe_run(run: GenerationRun) -> RunInfo:
    """Describe a run."""
    return RunInfo(
        id=run.id,
        created_at=run.created_at,
        skill_id=run.skill_id,
        model=run.model,
        document_id=run.document_id or None,
        conversation_id=run.conversation_id or None,
        outcome=run.outcome,
        answer=run.answer,
        verdicts=tuple(dict(verdict) for verdict in run.verdicts),
        assembly_summary=dict(run.assembly_summary),
        stable_prefix_hash=run.prefix_hash,
        prompt=run.prompt,
        usage=UsageInfo(
            input_tokens=run.usage.input_tokens,
            cached_tokens=run.usage.cached_tokens,
            cache_write_tokens=run.usage.cache_write_tokens,
            output_tokens=run.usage.output_tokens,
            reported_by_provider=run.usage.reported_by_provider,
        ),
        cost=CostInfo(micros=run.cost.micros, currency=run.cost.currency, is_known=run.cost.is_known),
    )


def describe_run_spending(totals: Sequence[SpendingTotal]) -> RunSpendingSummary:
    """Describe what runs cost."""
    return RunSpendingSummary(
        spent=tuple(
            RunSpendingInfo(
                name=total.name,
                currency=total.currency,
                run_count=total.run_count,
                input_tokens=total.input_tokens,
                cached_tokens=total.cached_tokens,
                output_tokens=total.output_tokens,
                micros=total.micros,
            )
            for total in totals
        ),
        total=total_by_currency(totals),
    )
