"""Routes of runs: what a model wrote, what became of it, and what it cost."""

from __future__ import annotations

from typing import Any

from msgspec import to_builtins

from fabula.access.model import Right
from fabula.server.routes.codex import ENTRY
from fabula.server.routes.conversations import MESSAGE
from fabula.server.routes.route import Answer, Call, Route, make_list, make_optional, make_record, mount
from fabula.workspace.accepting import AcceptedAnswer
from fabula.workspace.schemas.codex import EntryInfo
from fabula.workspace.schemas.runs import RunInfo, RunSpendingSummary, describe_run, describe_run_spending
from fabula.workspace.schemas.schema import Schema, describe

_RUN = Answer(RunInfo, describe_run)


class AcceptedAnswerInfo(Schema):
    """What accepting an answer changed: a document, which then has a new revision, or the codex."""

    revision: int | None
    title: str
    words_before: str
    entries: tuple[EntryInfo, ...]
    beat: str
    verdict: dict[str, Any]


def _describe_accepted(accepted: AcceptedAnswer, call: Call) -> AcceptedAnswerInfo:
    entries = tuple(ENTRY.make(one, call) for one in accepted.entries)
    verdict = to_builtins(accepted.verdict, enc_hook=str)
    return describe(AcceptedAnswerInfo, accepted, entries=entries, verdict=verdict)


ROUTES = mount(
    "runs",
    "/projects/{project}/runs",
    (
        Route("GET", "", "list_runs", Right.READ, make_list(_RUN), {"limit": 20}),
        Route(
            "GET",
            "/spending",
            "sum_spending",
            Right.READ,
            Answer(RunSpendingSummary, describe_run_spending),
            {"by": "model"},
        ),
        Route("GET", "/{run}", "find", Right.READ, _RUN),
        Route("GET", "/{run}/prompt", "read_prompt", Right.INSPECT, make_record("RunPrompt", prompt=Answer(str))),
        Route(
            "GET",
            "/{run}/message",
            "find_recorded",
            Right.READ,
            make_record("RecordedAnswer", message=make_optional(MESSAGE)),
        ),
        Route("POST", "/{run}/accept", "accept", Right.EDIT, Answer(AcceptedAnswerInfo, _describe_accepted)),
        Route("POST", "/{run}/reject", "reject", Right.EDIT, _RUN),
    ),
)
