"""Schemas of memories, of what is learnt from outcomes, and of the preview of a prompt's memory (mem-3)."""

from __future__ import annotations

from msgspec import field

from fabula.core.fragment import Layer
from fabula.core.story import Position
from fabula.memory.model import SuggestionOutcome, WriterProfile
from fabula.memory.preview import MemoryPreview, MemoryPreviewItem
from fabula.workspace.memory import LearningReport, MemoryRecord
from fabula.workspace.schemas.codex import StoryPlace
from fabula.workspace.schemas.schema import Schema


class MemoryInfo(Schema):
    """One memory; `today` is its confidence now, and a resting one is not used."""

    text: str
    kind: str
    origin: str
    confidence: float
    evidence: tuple[str, ...]
    state: str
    since: StoryPlace | None
    votes_for: int = field(name="agreeing")
    votes_against: int = field(name="against")
    last_vote_at: str = field(name="seen")
    id: str
    version: int
    created_at: str = field(name="made")
    scope: str
    confidence_today: float = field(name="today")
    is_resting: bool = field(name="resting")
    contradicts: tuple[str, ...]


class LearningInfo(Schema):
    """What was learnt from outcomes; changed and withdrawn memories by id."""

    outcome_count: int = field(name="outcomes")
    proposed: tuple[MemoryInfo, ...]
    changed: tuple[str, ...]
    withdrawn: tuple[str, ...]


class OutcomeInfo(Schema):
    """A suggested text, and what the writer did with it."""

    suggestion: str = field(name="offered")
    decision: str = field(name="fate")
    rewritten_text: str = field(name="became")
    skill: str
    position: StoryPlace | None = field(name="at")
    memory_sources: tuple[str, ...] = field(name="recalled")
    id: str
    created_at: str = field(name="made")


class ProfileInfo(Schema):
    """What the writer says about themselves; version 0 if nothing was written yet."""

    text: str
    version: int
    changed_at: str = field(name="changed")


class MemoryPreviewItemInfo(Schema):
    """A memory with the reason why a prompt includes or omits it."""

    source: str
    kind: str = field(name="sort")
    layer: Layer | None
    included: bool
    reason: str
    sentence: str
    tokens: int
    score: float
    text: str


class MemoryPreviewInfo(Schema):
    """The memories that a prompt would contain and those that it would not, and the profile if it is included."""

    injected: tuple[MemoryPreviewItemInfo, ...]
    omitted: tuple[MemoryPreviewItemInfo, ...] = field(name="leftOut")
    tokens: int
    profile: str


def describe_memory(record: MemoryRecord) -> MemoryInfo:
    """Describe a memory."""
    item = record.item
    return MemoryInfo(
        text=item.text,
        kind=item.kind.value,
        origin=item.origin.value,
        confidence=item.confidence,
        evidence=item.evidence,
        state=item.state.value,
        since=_place(item.since),
        votes_for=item.votes_for,
        votes_against=item.votes_against,
        last_vote_at=item.last_vote_at,
        id=item.id,
        version=item.version,
        created_at=item.created_at,
        scope=record.scope.value,
        confidence_today=record.confidence,
        is_resting=record.is_resting,
        contradicts=record.contradicts,
    )


def describe_learning(report: LearningReport) -> LearningInfo:
    """Describe what was learnt."""
    return LearningInfo(
        outcome_count=report.outcome_count,
        proposed=tuple(describe_memory(record) for record in report.proposed),
        changed=report.changed,
        withdrawn=report.withdrawn,
    )


def describe_outcome(outcome: SuggestionOutcome) -> OutcomeInfo:
    """Describe an outcome."""
    return OutcomeInfo(
        suggestion=outcome.suggestion,
        decision=outcome.decision.value,
        rewritten_text=outcome.rewritten_text,
        skill=outcome.skill,
        position=_place(outcome.position),
        memory_sources=outcome.memory_sources,
        id=outcome.id,
        created_at=outcome.created_at,
    )


def describe_profile(profile: WriterProfile) -> ProfileInfo:
    """Describe a person's profile."""
    return ProfileInfo(text=profile.text, version=profile.version, changed_at=profile.changed_at)


def describe_memory_preview(preview: MemoryPreview) -> MemoryPreviewInfo:
    """Describe what a prompt would contain of memory."""
    return MemoryPreviewInfo(
        injected=tuple(_describe_preview_item(item) for item in preview.injected),
        omitted=tuple(_describe_preview_item(item) for item in preview.omitted),
        tokens=preview.tokens,
        profile=preview.profile,
    )


def _describe_preview_item(item: MemoryPreviewItem) -> MemoryPreviewItemInfo:
    return MemoryPreviewItemInfo(
        source=item.source,
        kind=item.kind,
        layer=item.layer,
        included=item.included,
        reason=item.reason,
        sentence=str(item.sentence),
        tokens=item.tokens,
        score=item.score,
        text=item.text,
    )


def _place(position: Position | None) -> StoryPlace | None:
    return None if position is None else StoryPlace(document=position.document, offset=position.offset)
