"""The judge: is the answer what the story allows?

First what a program can check, then the model with an answer of a fixed shape, over every constraint in
force and from the author's side: it knows the secret that must not be told yet, and so can see it told. A
finding names what is broken, where, and why. A model that answers rubbish has judged nothing, and that is
said: it is never taken for a good verdict, and never stands in the way of the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from fabula.codex.model import Codex
from fabula.constraints.checks import Violation, check_text, in_force
from fabula.constraints.model import Constraint, Constraints, Origin
from fabula.context.result import Result
from fabula.core.story import Position
from fabula.core.view import Language, View
from fabula.manuscript.model import Direction
from fabula.skills.continuity import hints
from fabula.skills.structured_answer import TEXT, list_of, rows_in

Policy = Literal["off", "flag", "regenerate"]
MOST_FINDINGS = 50
LONGEST_REASON = 400
_MARKS = "\"“”'‘’"

SCHEMA: Mapping[str, Any] = list_of("violations", {"constraint": TEXT, "quote": TEXT, "reason": TEXT})


class Finding(Struct, frozen=True, kw_only=True):
    """One thing that does not fit: what it breaks, where, in which words, why, and who says so.

    `breaks` is a constraint's id, or `continuity`. A quotation of the model's that is not in the text has no place.
    """

    breaks: str
    words: str
    reason: str
    by: Literal["program", "model"]
    start: int | None = None
    end: int | None = None
    hint: bool = False  # worth a look, and no reason to write anew


class Verdict(Struct, frozen=True, kw_only=True):
    """What was found, and whether the model's part was done; `problem` says why not."""

    findings: tuple[Finding, ...] = ()
    asked: bool = False
    problem: str = ""

    @property
    def broken(self) -> tuple[Finding, ...]:
        """The findings that are reason enough to write anew."""
        return tuple(finding for finding in self.findings if not finding.hint)


def violations(text: str, view: View, here: Position | None) -> list[Violation]:
    """What a text breaks of the constraints, of the project's own direction, and by names that come later."""
    rules, direction, codex = view.room(Constraints), view.room(Direction), view.room(Codex)
    language = view.project.language
    lines = direction.lines(language) if direction is not None else ()
    own = [Constraint(id=f"project:{name}", text=said, origin=Origin.PROJECT) for name, said in lines if said.strip()]
    return check_text(
        text,
        [*(rules.constraints if rules is not None else ()), *own],
        language,
        here=here,
        timeline=view.timeline,
        cast={} if codex is None else {entry.id: entry.names for entry in codex.entries},
        later={} if codex is None else codex.later,
    )


def by_program(text: str, view: View, here: Position | None, known: str = "") -> list[Finding]:
    """What a program can say about a text written for this place; names that stand in `known` are no news."""
    found = [
        Finding(breaks=one.constraint, start=one.start, end=one.end, words=one.words, reason=one.sentence, by="program")
        for one in violations(text, view, here)
    ]
    found += [
        Finding(
            breaks="continuity",
            start=hint.start,
            end=hint.end,
            words=hint.words,
            reason=hint.sentence,
            by="program",
            hint=hint.kind == "unknown_name",
        )
        for hint in hints(text, view, here, known)
    ]
    most = sorted(found, key=lambda one: one.hint)[:MOST_FINDINGS]  # a hint gives way to what is broken
    return sorted(most, key=lambda one: (one.start or 0, one.end or 0, one.breaks))


def active(view: View, here: Position | None) -> list[Constraint]:
    """The constraints in force at this place."""
    constraints = view.room(Constraints)
    everything = constraints.constraints if constraints is not None else ()
    return [constraint for constraint in everything if in_force(constraint, here, view.timeline)]


def numbered(result: Result, view: View) -> list[Constraint]:
    """The constraints of a prompt in the order of their numbers; an author's prompt holds later ones, too."""
    constraints = view.room(Constraints)
    known = {f"constraint:{one.id}": one for one in (constraints.constraints if constraints is not None else ())}
    return [known[verdict.source] for verdict in result.trace if verdict.included and verdict.source in known]


def read_verdict(
    answer: str,
    text: str,
    constraints: Sequence[Constraint],
    language: Language,
    here: Sequence[Constraint] | None = None,
) -> Verdict:
    """The model's answer as findings in the text, by the numbers of its prompt; rubbish is said to be rubbish.

    `here` are those in force: a finding against another one is a hint, and one of them that the prompt did not hold
    was not judged, which is said.
    """
    rows = rows_in(answer, "violations")
    if rows is None:
        return Verdict(asked=True, problem=_SAYS[language]["rubbish"])
    held = constraints if here is None else here
    holding = {"continuity", *(one.id for one in held)}
    found = [finding for row in rows[:MOST_FINDINGS] if (finding := _finding(row, text, constraints)) is not None]
    findings = tuple(one if one.breaks in holding else replace(one, hint=True) for one in found)
    told = {one.text.strip() for one in constraints}
    missing = sum(one.text.strip() not in told for one in held)
    problem = _SAYS[language]["missing"].format(many=missing) if missing else ""
    return Verdict(findings=findings, asked=True, problem=problem)


def complaint(findings: Iterable[Finding], constraints: Sequence[Constraint], language: Language) -> str:
    """What is said to the model that is to write anew."""
    says, texts = _SAYS[language], {constraint.id: constraint.text for constraint in constraints}
    lines = [
        says["line"].format(words=one.words[:120], rule=texts.get(one.breaks, ""), reason=one.reason[:LONGEST_REASON])
        for one in findings
    ]
    return "\n".join([says["again"], *dict.fromkeys(lines)])


_SAYS: dict[Language, dict[str, str]] = {
    "en": {
        "again": "This breaks what was agreed. Write it again from the same place, without that, and answer with the "
        "new text only:",
        "line": "- “{words}”: {rule} {reason}",
        "rubbish": "The model did not give a verdict that can be read; only what a program checks was checked.",
        "missing": "The model did not judge {many} of the constraints: they had no room in its prompt.",
    },
    "zh": {
        "again": "这段文字违反了约定。请从同一处重写，避免下列问题，只给出新的正文：",
        "line": "- “{words}”：{rule} {reason}",
        "rubbish": "模型没有给出可读的判断；只完成了程序能做的检查。",
        "missing": "有{many}条约束未放进模型的提示，模型没有判断。",
    },
}


def _finding(row: Mapping[str, Any], text: str, constraints: Sequence[Constraint]) -> Finding | None:
    named, quote, reason = row.get("constraint"), row.get("quote"), row.get("reason")
    if not isinstance(quote, str) or not isinstance(reason, str) or not quote.strip():
        return None
    start, end = _find(quote.strip(), text)
    words = text[start:end] if start is not None else quote.strip()[:200]
    breaks = _constraint(str(named or ""), constraints)
    # What is not in the text cannot be what is wrong with it: it is shown, and nothing is written anew for it.
    return Finding(
        breaks=breaks,
        start=start,
        end=end,
        words=words,
        reason=reason.strip()[:LONGEST_REASON],
        by="model",
        hint=start is None,
    )


def _constraint(named: str, constraints: Sequence[Constraint]) -> str:
    """Which constraint is meant by an id or a number; continuity, where none is."""
    known = {constraint.id for constraint in constraints}
    if named in known:
        return named
    number = re.search(r"\d+", named)
    place = int(number[0]) if number and len(number[0]) < 5 else 0
    return constraints[place - 1].id if 0 < place <= len(constraints) else "continuity"


def _find(quote: str, text: str) -> tuple[int, int] | tuple[None, None]:
    """Where a quotation stands: as it is, with other white space and marks, or without the marks around it."""
    at = text.find(quote)
    if at >= 0:
        return at, at + len(quote)
    for words in (quote, quote.strip(f"{_MARKS} ….")):
        pattern = "".join(
            r"\s+" if part.isspace() else f"[{_MARKS}]" if part in _MARKS else re.escape(part)
            for part in re.findall(r"\s+|.", words)
        )
        found = re.search(pattern, text, re.IGNORECASE) if pattern and len(words) < 2000 else None
        if found:
            return found.start(), found.end()
    return None, None
