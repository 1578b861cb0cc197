"""Schemas of constraints and of what breaks them (con-1, con-4)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from msgspec import field, to_builtins

from fabula.constraints.checks import Violation
from fabula.core.messages import ENGLISH
from fabula.skills.model import JudgeFinding
from fabula.workspace.constraints import CheckedConstraint, DocumentViolations
from fabula.workspace.schemas.codex import StoryPlace
from fabula.workspace.schemas.schema import Schema, describe

QUOTED = 40  # characters on either side of what breaks a rule


class ConstraintInfo(Schema, kw_only=True):
    """One constraint; `checks` is what a program can check of it, and `how` says who checks it and why."""

    id: str
    number: int
    text: str
    kind: str
    origin: str
    priority: int
    made: str
    since: StoryPlace | None
    until: StoryPlace | None
    check: dict[str, Any] | None
    checks: dict[str, Any] | None
    how: str


class ViolationInfo(Schema):
    """A span of a text that breaks a constraint."""

    constraint: str
    start: int
    end: int
    words: str
    sentence: str


class DocumentViolationInfo(ViolationInfo):
    """A span of the story that breaks a constraint, with its place and the words around it."""

    document_id: str
    title: str
    chapter_name: str
    line: int
    quotation: str


class StoryCheckReport(Schema):
    """Everything in the story, or in one chapter, that breaks a constraint."""

    documents: int
    violations: tuple[DocumentViolationInfo, ...]
    unchecked: int  # constraints that only the judge model checks


class FindingInfo(Schema):
    """What is wrong with a text: the rule or `continuity`, the words with their place in it, and the reason.

    A hint may be meant as it is.
    """

    rule_id: str = field(name="constraint")
    quote: str = field(name="words")
    start: int | None
    end: int | None
    reason: str
    is_hint: bool = field(name="hint")


class ContinuityReport(Schema, kw_only=True):
    """What programs found in the story (`violations`) or in a text that is not in it yet (`findings`).

    `total` counts all of them, also those beyond the limit of one report.
    """

    violations: tuple[DocumentViolationInfo, ...] = ()
    findings: tuple[FindingInfo, ...] = ()
    total: int
    unchecked: int  # constraints that only the judge model checks


class CheckReport(Schema):
    """Everything in a text that breaks a constraint."""

    violations: tuple[ViolationInfo, ...]
    unchecked: int  # constraints that only the judge model checks


def describe_checked(checked: CheckedConstraint, language: str = ENGLISH) -> ConstraintInfo:
    """Describe a constraint with who checks it."""
    rule = checked.constraint
    check, checks = to_builtins(rule.check), to_builtins(checked.check)
    return describe(
        ConstraintInfo,
        rule,
        language,
        number=checked.number,
        made=rule.created_at,
        check=check,
        checks=checks,
        how=checked.how,
    )


def describe_story_check(
    found: Sequence[DocumentViolations], unchecked: int, language: str = ENGLISH
) -> StoryCheckReport:
    """Describe what breaks constraints in documents of the story."""
    violations = [
        describe(
            DocumentViolationInfo,
            violation,
            language,
            document_id=one.document.id,
            title=one.document.name,
            chapter_name=one.chapter_name or "",
            line=one.document.text.count("\n", 0, violation.start) + 1,
            quotation=_quote(one.document.text, violation),
        )
        for one in found
        for violation in one.violations
    ]
    return StoryCheckReport(documents=len(found), violations=tuple(violations), unchecked=unchecked)


def describe_finding(finding: JudgeFinding, language: str = ENGLISH) -> FindingInfo:
    """Describe a finding of the judge."""
    return describe(FindingInfo, finding, language)


def describe_violations(found: Iterable[Violation], unchecked: int, language: str = ENGLISH) -> CheckReport:
    """Describe what breaks constraints."""
    return CheckReport(violations=tuple(describe(ViolationInfo, one, language) for one in found), unchecked=unchecked)


def _quote(text: str, violation: Violation) -> str:
    """The words that break a rule, with what stands around them in the same paragraph."""
    line_start = text.rfind("\n", 0, violation.start) + 1
    line_end = text.find("\n", violation.end)
    line_end = len(text) if line_end < 0 else line_end
    start, end = max(line_start, violation.start - QUOTED), min(line_end, violation.end + QUOTED)
    quotation = " ".join(text[start:end].split())
    return f"{'…' if start > line_start else ''}{quotation}{'…' if end < line_end else ''}"
