"""Routes of runs: what a model wrote, what became of it, and what it cost."""

from __future__ import annotations

from fabula.access.model import Right
from fabula.server.routes.conversations import MESSAGE
from fabula.server.routes.route import Answer, Route, make_list, make_optional, make_record, mount
from fabula.workspace.schemas.runs import (
    AcceptedAnswerInfo,
    RunInfo,
    RunSpendingSummary,
    describe_accepted,
    describe_run,
    describe_run_spending,
)

_RUN = Answer(RunInfo, lambda run, call: describe_run(run, call.names))


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
        Route(
            "POST",
            "",
            "propose",
            Right.EDIT,
            _RUN,
            {"chapter": "1", "text": "The lamp went out.", "reason": "The chapter ends too early."},
            creates=True,
        ),
        Route("POST", "/{run}/accept", "accept", Right.EDIT, Answer(AcceptedAnswerInfo, describe_accepted)),
        Route("POST", "/{run}/reject", "reject", Right.EDIT, _RUN),
    ),
)
