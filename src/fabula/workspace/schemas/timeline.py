"""Schemas of the timeline: who appears where, what becomes true when, and who knows it."""

from __future__ import annotations

from fabula.core.messages import ENGLISH
from fabula.workspace.schemas.codex import StoryPlace
from fabula.workspace.schemas.schema import Schema, describe
from fabula.workspace.timeline import StoryTimeline


class StoryDocumentInfo(Schema):
    """One document of the story, in reading order; `story_index` is its place in the order in which things happen."""

    document_id: str
    number: int | None
    title: str
    pov: str
    story_index: int
    happens_elsewhere: bool


class AppearanceInfo(Schema):
    """How often an entry is named in each document, in the order of the documents."""

    entry_id: str
    name: str
    type: str
    counts: tuple[int, ...]
    total: int


class FactKnowerInfo(Schema):
    """Somebody who knows a fact, and since when; null from the start."""

    knower_id: str
    name: str
    since: StoryPlace | None


class StoryFactInfo(Schema):
    """Something that becomes true in the story, or that only its knowers know."""

    entry_id: str
    name: str
    text: str
    progression: int
    related_to: str | None
    since: StoryPlace | None
    until: StoryPlace | None
    is_secret: bool
    knowers: tuple[FactKnowerInfo, ...]


class TimelineInfo(Schema):
    """The timeline of a story."""

    documents: tuple[StoryDocumentInfo, ...]
    appearances: tuple[AppearanceInfo, ...]
    facts: tuple[StoryFactInfo, ...]


def describe_timeline(timeline: StoryTimeline, language: str = ENGLISH) -> TimelineInfo:
    """Describe a timeline."""
    facts = [describe(StoryFactInfo, fact, language) for fact in timeline.facts]
    return describe(TimelineInfo, timeline, facts=facts)
