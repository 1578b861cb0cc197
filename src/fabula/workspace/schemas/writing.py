"""Schemas of what happens while a model writes: pieces of text, retries, and how each answer ended (con-4)."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, UnsetType, to_builtins

from fabula.core.messages import ENGLISH, show
from fabula.workspace.schemas.chat import ChatProblem, describe_problem
from fabula.workspace.schemas.context import AssembleRequest
from fabula.workspace.schemas.runs import CostInfo, UsageInfo
from fabula.workspace.schemas.schema import Schema, describe
from fabula.workspace.writing import Completed, JudgeStart, Retry, TextDelta, WritingEvent


class WriteRequest(AssembleRequest, kw_only=True):
    """A request for text: for a prompt, and who answers it how often; `again` names a run that is to be retried."""

    provider: str | None = None
    judge: str | None = None
    variants: int = 1
    again: str = ""


class WritingEventInfo(Schema, tag_field="event"):
    """Something that happens while a model writes one of several answers; `event` says what."""

    variant: int


class WritingDelta(WritingEventInfo, tag="delta"):
    """The next piece of an answer."""

    text: str


class WritingJudged(WritingEventInfo, tag="judge"):
    """The judge model begins to check an answer."""


class WritingRetry(WritingEventInfo, tag="retry"):
    """An answer broke a rule and is written again; its text so far does not count."""

    verdict: dict[str, Any]


class WritingCompleted(WritingEventInfo, tag="completed"):
    """An answer is complete; `run_id` is empty where it is recorded nowhere."""

    text: str
    run_id: str
    finish_reason: str
    verdict: dict[str, Any]
    usage: UsageInfo
    cost: CostInfo
    record_error: ChatProblem | UnsetType = UNSET


class WritingFailed(WritingEventInfo, tag="failed"):
    """An answer failed; `text` is what was received."""

    text: str
    run_id: str
    error: ChatProblem


def describe_writing(event: WritingEvent, language: str = ENGLISH) -> WritingEventInfo:
    """Describe an event of writing."""
    match event:
        case TextDelta():
            return describe(WritingDelta, event)
        case JudgeStart():
            return describe(WritingJudged, event)
        case Retry():
            return WritingRetry(variant=event.variant, verdict=_describe_verdict(event.verdict, language))
        case Completed():
            failed = event.record_error
            return describe(
                WritingCompleted,
                event,
                verdict=_describe_verdict(event.verdict, language),
                usage=describe(UsageInfo, event.usage),
                cost=describe(CostInfo, event.cost),
                record_error=UNSET if failed is None else describe_problem(failed, language),
            )
        case _:
            return describe(WritingFailed, event, error=describe_problem(event.error, language))


def _describe_verdict(verdict: object, language: str) -> dict[str, Any]:
    described: dict[str, Any] = to_builtins(verdict, enc_hook=lambda value: str(show(value, language)))
    return described
