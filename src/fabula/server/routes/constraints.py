"""Routes of constraints and of what breaks them (con-1, con-4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fabula.access.model import Right
from fabula.server.routes.route import Answer, Call, Route, make_list, make_record, mount
from fabula.skills.model import JudgeFinding
from fabula.workspace.schemas.constraints import (
    CheckReport,
    ConstraintInfo,
    FindingInfo,
    StoryCheckReport,
    describe_checked,
    describe_finding,
    describe_story_check,
    describe_violations,
)

CONSTRAINT = Answer(ConstraintInfo, describe_checked)


def _describe_violations(found: Any, call: Call) -> CheckReport:
    return describe_violations(found, call.handle.constraints.count_unchecked(), call.language)


def _describe_findings(found: Sequence[JudgeFinding], language: str) -> list[FindingInfo]:
    return [describe_finding(one, language) for one in found]


def _describe_story(found: Any, call: Call) -> StoryCheckReport:
    chapter = call.arguments.get("chapter", "")
    return describe_story_check(found, call.handle.constraints.count_unchecked(chapter=chapter), call.language)


ROUTES = mount(
    "constraints",
    "/projects/{project}/constraints",
    (
        Route("GET", "", "list_constraints", Right.READ, make_list(CONSTRAINT, "constraint.id"), {"kind": "world"}),
        Route(
            "POST",
            "",
            "add",
            Right.EDIT,
            CONSTRAINT,
            {"text": "Nobody sings on the quay.", "kind": "world", "priority": 5},
            creates=True,
        ),
        Route("GET", "/{constraint}", "find", Right.READ, CONSTRAINT),
        Route("PATCH", "/{constraint}", "edit", Right.EDIT, CONSTRAINT, {"priority": 7}),
        Route("DELETE", "/{constraint}", "remove", Right.EDIT, CONSTRAINT),
        Route(
            "POST",
            "/check",
            "check_text",
            Right.READ,
            Answer(CheckReport, _describe_violations),
            {"text": "She sang!"},
        ),
        Route(
            "POST",
            "/judge",
            "judge_text",
            Right.READ,
            make_record("TextFindings", findings=Answer(tuple[FindingInfo, ...], _describe_findings)),
            {"text": "She sang!"},
        ),
        Route(
            "GET",
            "/violations",
            "check_story",
            Right.READ,
            Answer(StoryCheckReport, _describe_story),
            {"chapter": "1"},
        ),
        Route(
            "GET",
            "/unchecked",
            "count_unchecked",
            Right.READ,
            make_record("UncheckedConstraints", unchecked=Answer(int)),
        ),
        Route("GET", "/judge", "has_judge", Right.READ, make_record("JudgeState", has_judge=Answer(bool))),
        Route(
            "GET",
            "/numbers",
            "number_all",
            Right.READ,
            make_record("ConstraintNumbers", numbers=Answer(dict[str, int])),
        ),
    ),
)
