"""Schemas of constraints and of what breaks them (con-1, con-4)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec import UNSET, UnsetType, to_builtins

from fabula.constraints import Constraint
from fabula.constraints.checks import Violation
from fabula.workspace.constraints import CheckedConstraint
from fabula.workspace.schemas.codex import StoryPlace
from fabula.workspace.schemas.schema import Schema


class ConstraintInfo(Schema, kw_only=True):
    """One constraint; `checks` is what a program can check of it, in a list of constraints."""

    id: str
    text: str
    kind: str
    origin: str
    priority: int
    made: str
    since: StoryPlace | None
    until: StoryPlace | None
    check: dict[str, Any] | None
    checks: dict[str, Any] | UnsetType | None = UNSET


class ViolationInfo(Schema):
    """A span of a text that breaks a constraint."""

    constraint: str
    start: int
    end: int
    words: str
    sentence: str


class CheckReport(Schema):
    """Everything in a text that breaks a constraint."""

    violations: tuple[ViolationInfo, ...]


def describe_constraint(rule: Constraint) -> ConstraintInfo:
    """Describe a constraint."""
    since = None if rule.since is None else StoryPlace(document=rule.since.document, offset=rule.since.offset)
    until = None if rule.until is None else StoryPlace(document=rule.until.document, offset=rule.until.offset)
    return ConstraintInfo(
        id=rule.id,
        text=rule.text,
        kind=rule.kind.value,
        origin=rule.origin.value,
        priority=rule.priority,
        made=rule.created_at,
        since=since,
        until=until,
        check=to_builtins(rule.check),
    )


def describe_checked(checked: CheckedConstraint) -> ConstraintInfo:
    """Describe a constraint with what a program can check of it."""
    info = describe_constraint(checked.constraint)
    info.checks = to_builtins(checked.check)
    return info


def describe_violations(found: Iterable[Violation]) -> CheckReport:
    """Describe what breaks constraints."""
    return CheckReport(violations=tuple(ViolationInfo(**to_builtins(one)) for one in found))
