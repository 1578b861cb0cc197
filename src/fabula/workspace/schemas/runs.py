"""Schemas of runs: what a model wrote, what it saw, and what it cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import UNSET, UnsetType, field, to_builtins

from fabula.llm.runs import GenerationRun, SpendingTotal, total_by_currency
from fabula.workspace.accepting import AcceptedAnswer
from fabula.workspace.schemas.codex import EntryInfo, describe_entry
from fabula.workspace.schemas.display_names import DisplayNames
from fabula.workspace.schemas.schema import Schema, describe


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
    title: str | UnsetType = UNSET  # of the document


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


class AcceptedAnswerInfo(Schema):
    """What accepting an answer changed: a document, which then has a new revision, or the codex."""

    revision: int | None
    title: str
    words_before: str
    entries: tuple[EntryInfo, ...]
    beat: str
    verdict: dict[str, Any]


def describe_accepted(accepted: AcceptedAnswer) -> AcceptedAnswerInfo:
    """Describe what accepting an answer changed."""
    entries = tuple(describe_entry(one) for one in accepted.entries)
    verdict = to_builtins(accepted.verdict, enc_hook=str)
    return describe(AcceptedAnswerInfo, accepted, entries=entries, verdict=verdict)


def describe_run(run: GenerationRun, names: DisplayNames | None = None) -> RunInfo:
    """Describe a run, perhaps with the title of its document."""
    return describe(
        RunInfo,
        run,
        title=UNSET if names is None or not run.document_id else names.name_document(run.document_id),
        document_id=run.document_id or None,
        conversation_id=run.conversation_id or None,
        stable_prefix_hash=run.prefix_hash,
    )


def describe_run_spending(totals: Sequence[SpendingTotal]) -> RunSpendingSummary:
    """Describe what runs cost."""
    spent = tuple(describe(RunSpendingInfo, total) for total in totals)
    return RunSpendingSummary(spent=spent, total=total_by_currency(totals))
