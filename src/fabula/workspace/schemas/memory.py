"""Schemas of memories, of what is learnt from outcomes, and of the preview of a prompt's memory (mem-3)."""

from __future__ import annotations

from msgspec import field

from fabula.core.fragment import Layer
from fabula.core.messages import ENGLISH
from fabula.memory.model import SuggestionOutcome, WriterProfile
from fabula.memory.preview import MemoryPreview
from fabula.workspace.memory import LearningReport, MemoryRecord
from fabula.workspace.schemas.codex import StoryPlace
from fabula.workspace.schemas.schema import Schema, describe


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
    return describe(
        MemoryInfo,
        record.item,
        scope=record.scope,
        confidence_today=record.confidence,
        is_resting=record.is_resting,
        contradicts=record.contradicts,
    )


def describe_learning(report: LearningReport) -> LearningInfo:
    """Describe what was learnt."""
    return describe(LearningInfo, report, proposed=[describe_memory(record) for record in report.proposed])


def describe_outcome(outcome: SuggestionOutcome) -> OutcomeInfo:
    """Describe an outcome."""
    return describe(OutcomeInfo, outcome)


def describe_profile(profile: WriterProfile) -> ProfileInfo:
    """Describe a person's profile."""
    return describe(ProfileInfo, profile)


def describe_memory_preview(preview: MemoryPreview, language: str = ENGLISH) -> MemoryPreviewInfo:
    """Describe what a prompt would contain of memory."""
    injected = [describe(MemoryPreviewItemInfo, item, language) for item in preview.injected]
    omitted = [describe(MemoryPreviewItemInfo, item, language) for item in preview.omitted]
    return describe(MemoryPreviewInfo, preview, injected=injected, omitted=omitted)
