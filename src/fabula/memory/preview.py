"""The preview: what of memory a prompt would hold, and why the rest stays out (mem-3).

It reads the trace of a dry run, so it says what the engine does and not what somebody thinks it would do.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from fabula.context.result import Result
from fabula.context.trace import Verdict
from fabula.core.fragment import Layer

Sort = Literal["preference", "style sample", "episode", "working", "conversation"]
_SORTS: dict[str, Sort] = {"style": "style sample", "working": "working", "talk": "conversation"}


class Shown(Struct, frozen=True, kw_only=True):
    """One memory before a prompt."""

    source: str
    sort: Sort
    layer: Layer | None
    included: bool
    reason: str
    sentence: str
    tokens: int
    score: float
    text: str


class Preview(Struct, frozen=True, kw_only=True, rename="camel"):
    """Everything remembered that a prompt would hold, then what it would not; and the profile, where it stands."""

    injected: tuple[Shown, ...]
    left_out: tuple[Shown, ...]
    tokens: int
    profile: str = ""


def preview(result: Result, profile: str = "") -> Preview:
    """What a dry run did with memory; `profile` is the person's own, as it would stand in the prompt."""
    shown = [_shown(verdict, sort) for verdict in result.trace if (sort := _sort(verdict)) is not None]
    inside = tuple(one for one in shown if one.included)
    return Preview(
        injected=inside,
        left_out=tuple(one for one in shown if not one.included),
        tokens=sum(one.tokens for one in inside),
        profile=profile if profile and profile in result.prompt else "",
    )


def _sort(verdict: Verdict) -> Sort | None:
    kind = verdict.source.partition(":")[0]
    if kind == "memory":
        return "preference" if verdict.layer is Layer.SETTINGS else "episode"
    return _SORTS.get(kind)


def _shown(verdict: Verdict, sort: Sort) -> Shown:
    return Shown(
        source=verdict.source,
        sort=sort,
        layer=verdict.layer,
        included=verdict.included,
        reason=verdict.reason.value,
        sentence=verdict.sentence,
        tokens=verdict.tokens,
        score=verdict.score,
        text=verdict.text,
    )
