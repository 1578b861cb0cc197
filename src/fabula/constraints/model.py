"""Constraints and their order."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Annotated, Literal

from msgspec import Meta, Struct

from fabula.core.errors import Code, FabulaError
from fabula.core.fragment import Fragment, Layer, Part, Tier
from fabula.core.story import Position

MOST = 500
Said = Annotated[str, Meta(min_length=1, max_length=200, pattern=r"\S")]  # one word, mark or name


class Kind(StrEnum):
    """What a constraint is about."""

    NARRATIVE = "narrative"
    CHARACTER = "character"
    WORLD = "world"
    STYLE = "style"
    PLOT = "plot"


class Origin(StrEnum):
    """Where a constraint comes from; also the order in which they stand."""

    USER = "user"
    PROJECT = "project"
    LEARNED = "learned"
    GRAPH = "graph"


_TIERS = {
    Origin.USER: Tier.USER,
    Origin.PROJECT: Tier.PROJECT,
    Origin.LEARNED: Tier.LEARNED,
    Origin.GRAPH: Tier.GRAPH,
}
_ORDER = list(Origin)


class Banned(Struct, frozen=True, kw_only=True, tag_field="kind", tag="banned", forbid_unknown_fields=True):
    """Words and marks that must not occur, anywhere or in the narration only."""

    words: Annotated[tuple[Said, ...], Meta(min_length=1, max_length=500)]
    narration: bool = False


class Length(Struct, frozen=True, kw_only=True, tag_field="kind", tag="length", forbid_unknown_fields=True):
    """How long a sentence may be: in words, or in characters (字 in Chinese)."""

    most: Annotated[int, Meta(ge=1, le=10_000)]
    unit: Literal["words", "characters"] = "words"


class Person(Struct, frozen=True, kw_only=True, tag_field="kind", tag="person", forbid_unknown_fields=True):
    """In which person the story is told."""

    person: Literal["first", "second", "third"]


class Unnamed(Struct, frozen=True, kw_only=True, tag_field="kind", tag="unnamed", forbid_unknown_fields=True):
    """Who must not be named: by name or id of an entry, perhaps only before a chapter."""

    names: Annotated[tuple[Said, ...], Meta(min_length=1, max_length=500)]
    before: Annotated[int, Meta(ge=1, le=100_000)] | None = None


Check = Banned | Length | Person | Unnamed


class Constraint(Struct, frozen=True, kw_only=True):
    """One rule, perhaps for a span of the story only; `check` where a program can hold a text against it."""

    id: str
    text: str
    kind: Kind = Kind.STYLE
    origin: Origin = Origin.USER
    priority: int = 50
    made: str = ""
    since: Position | None = None
    until: Position | None = None
    check: Check | None = None

    def __post_init__(self) -> None:
        if not self.id.strip() or not self.text.strip() or not 0 <= self.priority <= 100:
            raise FabulaError(
                Code.CONSTRAINT_VALIDATION_ERROR,
                f"The constraint {self.id!r} was refused: it needs an id, a text and a priority from 0 to 100. "
                "Nothing was changed.",
            )


class Constraints:
    """A snapshot of all constraints of a project, sorted, with their fragments."""

    def __init__(self, project_id: str, constraints: Iterable[Constraint], *, most: int = MOST) -> None:
        newest_first = sorted(constraints, key=lambda c: c.id)
        newest_first.sort(key=lambda c: c.made, reverse=True)
        newest_first.sort(key=lambda c: (_ORDER.index(c.origin), -c.priority))
        self.constraints = tuple(newest_first)
        if len(self.constraints) > most:
            raise FabulaError(
                Code.CONSTRAINT_LIMIT,
                f"A project may have {most} constraints and this would make {len(self.constraints)}. "
                "Merge or delete some first. Nothing was changed.",
                most=most,
            )
        self.fragments = tuple(
            Fragment(
                source=f"constraint:{c.id}",
                layer=Layer.RULES,
                text=c.text,
                project_id=project_id,
                part=Part.CONSTRAINT,
                tier=_TIERS[c.origin],
                score=c.priority / 100,
                since=c.since,
                until=c.until,
            )
            for c in self.constraints
        )
