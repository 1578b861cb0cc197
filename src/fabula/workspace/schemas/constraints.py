"""Schemas of constraints and of what breaks them (con-1, con-4)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec import UNSET, UnsetType, to_builtins

from fabula.constraints import Constraint
from fabula.constraints.checks import Violation
from fabula.core.messages import ENGLISH
from fabula.workspace.constraints import CheckedConstraint
from fabula.workspace.schemas.codex import StoryPlace
from fabula.workspace.schemas.schema import Schema, describe


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
    return describe(ConstraintInfo, rule, made=rule.created_at, check=to_builtins(rule.check))


def describe_checked(checked: CheckedConstraint) -> ConstraintInfo:
    """Describe a constraint with what a program can check of it."""
    info = describe_constraint(checked.constraint)
    info.checks = to_builtins(checked.check)
    return info


def describe_violations(found: Iterable[Violation], language: str = ENGLISH) -> CheckReport:
    """Describe what breaks constraints."""
    return CheckReport(violations=tuple(describe(ViolationInfo, one, language) for one in found))
