"""Data types of constraints, and their order in the prompt (con-1, con-2, con-3).

A constraint has a kind, an origin, a priority and perhaps a span of the story in which it holds. It may carry a
check that a program can run on a text. `Constraints` sorts them by origin, then priority, then newest, then id.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Annotated, Literal

from msgspec import Meta, Struct, field

from fabula.core.errors import Code, FabulaError
from fabula.core.fragment import Fragment, Layer, Part, Tier
from fabula.core.messages import message
from fabula.core.story import Division, DivisionUnit, Position

MAX_CONSTRAINTS = 500
HIGHEST_LIMIT = 10_000  # that a project can set
CheckTerm = Annotated[str, Meta(min_length=1, max_length=200, pattern=r"\S")]  # one word, mark or name
Person = Literal["first", "second", "third"]
LengthUnit = Literal["words", "characters"]
Span = tuple[int, int]  # start and end in a text


class ConstraintKind(StrEnum):
    """What a constraint is about."""

    NARRATIVE = "narrative"
    CHARACTER = "character"
    WORLD = "world"
    STYLE = "style"
    PLOT = "plot"


class ConstraintOrigin(StrEnum):
    """Where a constraint comes from; constraints are sorted in this order."""

    USER = "user"
    PROJECT = "project"
    LEARNED = "learned"
    GRAPH = "graph"


_ORIGIN_ORDER = list(ConstraintOrigin)


class ChapterLimits(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """The chapters in which a check holds: from one on, before another, by the numbers that a reader gives them.

    `division` says what the numbers count, and `within` in which part or volume.
    """

    from_number: Annotated[int, Meta(ge=1, le=100_000)] | None = field(default=None, name="from")
    before_number: Annotated[int, Meta(ge=1, le=100_000)] | None = field(default=None, name="before")
    division: DivisionUnit = "chapter"
    within: Division | None = None


class ScopeLimits(ChapterLimits, frozen=True, kw_only=True):
    """The chapters, and perhaps only the narration or only the dialogue, in which a check holds."""

    narration_only: bool = field(default=False, name="narration")
    dialogue_only: bool = field(default=False, name="dialogue")


class BannedWords(ScopeLimits, frozen=True, kw_only=True, tag_field="kind", tag="banned"):
    """A check for words and marks that must not occur."""

    words: Annotated[tuple[CheckTerm, ...], Meta(min_length=1, max_length=500)]


class SentenceLength(ChapterLimits, frozen=True, kw_only=True, tag_field="kind", tag="length"):
    """A check for sentences or paragraphs that are too long, in words or in characters (字 in Chinese)."""

    max_length: Annotated[int, Meta(ge=1, le=10_000)] = field(name="most")
    unit: LengthUnit = "words"
    measured: Literal["sentence", "paragraph"] = field(default="sentence", name="of")


class NarrativePerson(ChapterLimits, frozen=True, kw_only=True, tag_field="kind", tag="person"):
    """A check for the grammatical person of the narration: that it is one, or (`not`) that it is not."""

    person: Person
    is_excluded: bool = field(default=False, name="not")


class ForbiddenNames(ScopeLimits, frozen=True, kw_only=True, tag_field="kind", tag="unnamed"):
    """A check for names, or ids of entries, that must not occur."""

    names: Annotated[tuple[CheckTerm, ...], Meta(min_length=1, max_length=500)]


TextCheck = BannedWords | SentenceLength | NarrativePerson | ForbiddenNames


class Constraint(Struct, frozen=True, kw_only=True):
    """One rule, for the whole story or a span of it; `check` says what a program can check."""

    id: str
    text: str
    kind: ConstraintKind = ConstraintKind.STYLE
    origin: ConstraintOrigin = ConstraintOrigin.USER
    priority: int = 50
    created_at: str = field(default="", name="made")
    since: Position | None = None
    until: Position | None = None
    check: TextCheck | None = None

    def __post_init__(self) -> None:
        if not self.id.strip() or not self.text.strip():
            raise FabulaError(
                Code.CONSTRAINT_VALIDATION_ERROR,
                message("A constraint needs a text and an id: say what must not happen. Nothing was changed."),
            )
        if not 0 <= self.priority <= 100:
            raise FabulaError(
                Code.CONSTRAINT_VALIDATION_ERROR,
                message(
                    "The priority of a constraint is a number from 0 to 100, not {priority}. Nothing was changed.",
                    priority=self.priority,
                ),
            )


class Constraints:
    """An immutable snapshot of all constraints of a project, sorted, with their fragments."""

    def __init__(
        self, project_id: str, constraints: Iterable[Constraint], *, limit: int | None = MAX_CONSTRAINTS
    ) -> None:
        self.constraints = tuple(sort_constraints(constraints))
        if limit is not None:
            check_limit(len(self.constraints), limit)
        self.fragments = tuple(
            Fragment(
                source=f"constraint:{c.id}",
                layer=Layer.RULES,
                text=c.text,
                project_id=project_id,
                part=Part.CONSTRAINT,
                tier=Tier[c.origin.name],
                score=c.priority / 100,
                since=c.since,
                until=c.until,
            )
            for c in self.constraints
        )


def sort_constraints(constraints: Iterable[Constraint]) -> list[Constraint]:
    """Sort constraints by origin, then priority, then newest, then id (con-3)."""
    ordered = sorted(constraints, key=lambda c: c.id)
    ordered.sort(key=lambda c: c.created_at, reverse=True)
    ordered.sort(key=lambda c: (_ORIGIN_ORDER.index(c.origin), -c.priority))
    return ordered


def number_constraints(constraints: Iterable[Constraint]) -> dict[str, int]:
    """Number constraints by id in the order in which they were made, so that a new one gets the next number."""
    made = sorted(constraints, key=lambda constraint: (constraint.created_at, constraint.id))
    return {constraint.id: number for number, constraint in enumerate(made, start=1)}


def check_limit(count: int, limit: int) -> None:
    """Refuse more constraints than a project may have."""
    if count > limit:
        raise FabulaError(
            Code.CONSTRAINT_LIMIT,
            message(
                "A project may have {limit} constraints, and this would make {count}. "
                "Merge or delete some first. Nothing was changed.",
                limit=limit,
                count=count,
            ),
            most=limit,
        )
