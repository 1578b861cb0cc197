"""The judge: checks generated text against constraints and continuity, by program and by model (con-4).

A program checks what it can; the model checks all constraints in force and answers with a fixed JSON schema. The model
judges from the author's perspective: it knows the secrets that must not be revealed yet, so it can see one revealed. A
finding names the broken rule, the words and the reason. An unreadable answer of the model is reported as a problem: it
neither counts as approval nor blocks the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct, field
from msgspec.structs import replace

from fabula.codex import Codex
from fabula.constraints import Constraint, ConstraintOrigin, Constraints
from fabula.constraints.checks import Violation, check_text, is_in_force
from fabula.context.result import Result
from fabula.core.messages import message, plural
from fabula.core.story import Position
from fabula.core.view import Language, View
from fabula.manuscript.model import Direction
from fabula.skills.continuity import find_continuity_problems
from fabula.skills.model import JudgeFinding
from fabula.skills.structured_answer import STRING, make_list_schema, parse_rows

JudgePolicy = Literal["off", "flag", "regenerate"]
MAX_FINDINGS = 50
MAX_REASON_CHARACTERS = 400
_MARKS = "\"“”'‘’"

_UNREADABLE = message("The model gave no verdict that can be read. Only the checks by program were made.")
_AGAIN = message(
    "This breaks what was agreed. Write it again from the same place, without that, and answer with the new text only:"
)

VERDICT_SCHEMA: Mapping[str, Any] = make_list_schema(
    "violations", {"constraint": STRING, "quote": STRING, "reason": STRING}
)


class JudgeVerdict(Struct, frozen=True, kw_only=True):
    """The findings on a text, whether the model was consulted, and the problem if it did not judge."""

    findings: tuple[JudgeFinding, ...] = ()
    model_consulted: bool = field(default=False, name="asked")
    problem: str = ""

    @property
    def violations(self) -> tuple[JudgeFinding, ...]:
        """The findings that are a reason to regenerate."""
        return tuple(finding for finding in self.findings if not finding.is_hint)


def find_violations(text: str, view: View, position: Position | None) -> list[Violation]:
    """Find violations of the constraints and the project's direction, and names that appear too early."""
    direction, codex = view.snapshot(Direction), view.snapshot(Codex)
    language = view.project.language
    lines = direction.rule_lines(language) if direction is not None else ()
    project_rules = [
        Constraint(id=f"project:{name}", text=line, origin=ConstraintOrigin.PROJECT)
        for name, line in lines
        if line.strip()
    ]
    return check_text(
        text,
        [*_all_constraints(view), *project_rules],
        language,
        position=position,
        timeline=view.timeline,
        entry_names={} if codex is None else {entry.id: entry.names for entry in codex.entries},
        later_names={} if codex is None else codex.later_names,
    )


def find_document_violations(text: str, view: View, document_id: str) -> list[Violation]:
    """Find the violations in the text of a document, each by what holds at its own place in the document."""
    constraints = {constraint.id: constraint for constraint in _all_constraints(view)}
    found = {
        violation: constraints.get(violation.constraint)
        for offset in (0, len(text))
        for violation in find_violations(text, view, Position(document_id, offset))
    }
    codex = view.snapshot(Codex)
    later_names = {} if codex is None else codex.later_names

    def holds(violation: Violation, constraint: Constraint | None) -> bool:
        here = Position(document_id, violation.start)
        if constraint is not None:
            return is_in_force(constraint, here, view.timeline)
        since = later_names.get(violation.constraint.removeprefix("name:"))
        return since is None or not view.timeline.has_reached(since, here)

    kept = (violation for violation, constraint in found.items() if holds(violation, constraint))
    return sorted(kept, key=lambda violation: (violation.start, violation.end, violation.constraint))


def check_by_program(
    text: str, view: View, position: Position | None, known_texts: Sequence[str] = ()
) -> list[JudgeFinding]:
    """Find what a program can find in a text for this position; names in `known_texts` are not flagged."""
    findings = [
        JudgeFinding(
            rule_id=violation.constraint,
            start=violation.start,
            end=violation.end,
            quote=violation.words,
            reason=violation.sentence,
            checked_by="program",
        )
        for violation in find_violations(text, view, position)
    ]
    findings += find_continuity_problems(text, view, position, known_texts)
    findings = sorted(findings, key=lambda finding: finding.is_hint)[:MAX_FINDINGS]  # violations before hints
    return sorted(findings, key=lambda finding: (finding.start or 0, finding.end or 0, finding.rule_id))


def find_active_constraints(view: View, position: Position | None) -> list[Constraint]:
    """Find the constraints in force at this position."""
    return [constraint for constraint in _all_constraints(view) if is_in_force(constraint, position, view.timeline)]


def find_prompt_constraints(result: Result, view: View) -> list[Constraint]:
    """Find the constraints in a prompt, in the order of their numbers there, including any not in force yet."""
    by_source = {f"constraint:{constraint.id}": constraint for constraint in _all_constraints(view)}
    return [by_source[verdict.source] for verdict in result.trace if verdict.included and verdict.source in by_source]


def parse_verdict(
    answer: str,
    text: str,
    constraints: Sequence[Constraint],
    language: Language,
    in_force: Sequence[Constraint] | None = None,
) -> JudgeVerdict:
    """Parse the model's answer on a text; `constraints` are those of its prompt, in order.

    A finding on a constraint that is not `in_force` becomes a hint. The verdict reports constraints in force that were
    not in the prompt, and an unreadable answer, as a problem.
    """
    rows = parse_rows(answer, "violations")
    if rows is None:
        return JudgeVerdict(model_consulted=True, problem=_UNREADABLE.render(language))
    in_force = constraints if in_force is None else in_force
    binding = {"continuity", *(constraint.id for constraint in in_force)}
    parsed = [finding for row in rows[:MAX_FINDINGS] if (finding := _parse_finding(row, text, constraints)) is not None]
    findings = tuple(one if one.rule_id in binding else replace(one, is_hint=True) for one in parsed)
    judged = {constraint.text.strip() for constraint in constraints}
    missing = sum(constraint.text.strip() not in judged for constraint in in_force)
    problem = plural(
        missing,
        "The model did not judge one of the constraints: it had no room in its prompt.",
        "The model did not judge {count} of the constraints: they had no room in its prompt.",
    )
    return JudgeVerdict(findings=findings, model_consulted=True, problem=problem.render(language) if missing else "")


def format_complaint(findings: Iterable[JudgeFinding], constraints: Sequence[Constraint], language: Language) -> str:
    """Format the message that asks the model to write again without these violations."""
    texts = {constraint.id: constraint.text for constraint in constraints}
    lines = [
        message(
            "- “{quote}”: {rule} {reason}",
            quote=finding.quote[:120],
            rule=texts.get(finding.rule_id, ""),
            reason=finding.reason[:MAX_REASON_CHARACTERS],
        )
        for finding in findings
    ]
    return "\n".join(dict.fromkeys(line.render(language) for line in (_AGAIN, *lines)))


def _all_constraints(view: View) -> Sequence[Constraint]:
    constraints = view.snapshot(Constraints)
    return constraints.constraints if constraints is not None else ()


def _parse_finding(row: Mapping[str, Any], text: str, constraints: Sequence[Constraint]) -> JudgeFinding | None:
    rule, quote, reason = row.get("constraint"), row.get("quote"), row.get("reason")
    if not isinstance(quote, str) or not isinstance(reason, str) or not quote.strip():
        return None
    start, end = _find_quote(quote.strip(), text)
    # A quotation that is not in the text cannot be what is wrong with it, so it is only a hint.
    return JudgeFinding(
        rule_id=_find_rule(str(rule or ""), constraints),
        start=start,
        end=end,
        quote=text[start:end] if start is not None else quote.strip()[:200],
        reason=reason.strip()[:MAX_REASON_CHARACTERS],
        checked_by="model",
        is_hint=start is None,
    )


def _find_rule(rule: str, constraints: Sequence[Constraint]) -> str:
    """The id of the constraint that an id or a number means, else `continuity`."""
    if any(rule == constraint.id for constraint in constraints):
        return rule
    digits = re.search(r"\d+", rule)
    number = int(digits[0]) if digits and len(digits[0]) < 5 else 0
    return constraints[number - 1].id if 0 < number <= len(constraints) else "continuity"


def _find_quote(quote: str, text: str) -> tuple[int, int] | tuple[None, None]:
    """The range of a quotation: exact, with other white space and marks, or without the marks around it."""
    at = text.find(quote)
    if at >= 0:
        return at, at + len(quote)
    for words in (quote, quote.strip(f"{_MARKS} ….")):
        pattern = "".join(
            r"\s+" if part.isspace() else f"[{_MARKS}]" if part in _MARKS else re.escape(part)
            for part in re.findall(r"\s+|.", words)
        )
        match = re.search(pattern, text, re.IGNORECASE) if pattern and len(words) < 2000 else None
        if match:
            return match.start(), match.end()
    return None, None
