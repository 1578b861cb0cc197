"""Memory preview: which memories a prompt would contain, and why the others are omitted (mem-3).

It is made from the trace of a dry run, so it always agrees with the engine.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct, field

from fabula.context.result import Result
from fabula.context.trace import Verdict
from fabula.core.fragment import Layer
from fabula.core.messages import Sentence

PreviewKind = Literal["preference", "style sample", "episode", "working", "conversation"]
_KINDS: dict[str, PreviewKind] = {"style": "style sample", "working": "working", "talk": "conversation"}


class MemoryPreviewItem(Struct, frozen=True, kw_only=True):
    """A memory with the reason why it is included or omitted."""

    source: str
    kind: PreviewKind = field(name="sort")
    layer: Layer | None
    included: bool
    reason: str
    sentence: str | Sentence
    tokens: int
    score: float
    text: str


class MemoryPreview(Struct, frozen=True, kw_only=True, rename="camel"):
    """The memories that a prompt would contain and those that it would not, and the profile if it is included."""

    injected: tuple[MemoryPreviewItem, ...]
    omitted: tuple[MemoryPreviewItem, ...] = field(name="leftOut")
    tokens: int
    profile: str = ""


def preview_memory(result: Result, profile: str = "") -> MemoryPreview:
    """Preview the memories in the result of a dry run; `profile` is the user's profile as a prompt would show it."""
    items = [_make_item(verdict, kind) for verdict in result.trace if (kind := _find_kind(verdict)) is not None]
    included = tuple(item for item in items if item.included)
    return MemoryPreview(
        injected=included,
        omitted=tuple(item for item in items if not item.included),
        tokens=sum(item.tokens for item in included),
        profile=profile if profile and profile in result.prompt else "",
    )


def _find_kind(verdict: Verdict) -> PreviewKind | None:
    prefix = verdict.source.partition(":")[0]
    if prefix == "memory":
        return "preference" if verdict.layer is Layer.SETTINGS else "episode"
    return _KINDS.get(prefix)


def _make_item(verdict: Verdict, kind: PreviewKind) -> MemoryPreviewItem:
    return MemoryPreviewItem(
        source=verdict.source,
        kind=kind,
        layer=verdict.layer,
        included=verdict.included,
        reason=verdict.reason.value,
        sentence=verdict.message,
        tokens=verdict.tokens,
        score=verdict.score,
        text=verdict.text,
    )
