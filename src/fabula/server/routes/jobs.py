"""Routes of background jobs and of proposed codex entries (cdx-7)."""

from __future__ import annotations

from typing import Any

from fabula.access.model import Right
from fabula.server.routes.route import Answer, Route, make_list, make_record, mount
from fabula.text.extraction.model import ProposedEntry
from fabula.workspace.extraction import ProposalReview
from fabula.workspace.schemas.extraction import ExtractionReport, ProposalInfo, describe_proposal, describe_review
from fabula.workspace.schemas.jobs import ProjectJobsInfo, SpendingInfo, describe_project_jobs, describe_spending

_SPENDING = Answer(SpendingInfo, describe_spending)
_PROPOSALS = 200  # that one answer holds at most


def _describe_proposal(found: ProposedEntry) -> ProposalInfo:
    return describe_proposal(found, {})


def _describe_review(review: ProposalReview) -> ExtractionReport:
    return describe_review(review, limit=_PROPOSALS)


def _describe_jobs(found: Any) -> list[ProjectJobsInfo]:
    return [describe_project_jobs(one) for one in found]


_JOBS = make_record("JobList", projects=Answer(list[ProjectJobsInfo], _describe_jobs))

ROUTES = (
    mount(
        "workspace",
        "",
        (
            Route("GET", "/jobs", "list_jobs", Right.STORE, _JOBS, {"states": ["failed"]}),
            Route("GET", "/projects/{project}/jobs", "list_jobs", Right.READ, _JOBS),
        ),
    )
    + mount(
        "jobs",
        "/projects/{project}/jobs",
        (
            Route(
                "POST",
                "/retry",
                "retry",
                Right.MANAGE,
                make_record("RetriedJobs", keys=Answer(list[str])),
                {"failed": True},
            ),
            Route(
                "POST",
                "/cancel",
                "cancel",
                Right.MANAGE,
                make_record("CancelledJobs", states=Answer(dict[str, str])),
                {"unfinished": True},
            ),
            Route("GET", "/spending", "read_spending", Right.READ, _SPENDING),
            Route("PUT", "/spending", "set_monthly_budget", Right.MANAGE, _SPENDING, {"amount": 2.5}),
        ),
    )
    + mount(
        "extraction",
        "/projects/{project}/proposals",
        (
            Route(
                "GET",
                "",
                "propose",
                Right.READ,
                make_list(Answer(ProposalInfo, _describe_proposal), "name"),
            ),
            Route(
                "POST",
                "",
                "review",
                Right.EDIT,
                Answer(ExtractionReport, _describe_review),
                {"dismiss": ["Board"]},
            ),
            Route(
                "GET",
                "/dismissed",
                "list_dismissed",
                Right.READ,
                make_record("DismissedProposals", dismissed=Answer(list[str])),
            ),
        ),
    )
)
