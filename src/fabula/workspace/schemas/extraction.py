"""Schemas of proposed codex entries (cdx-7)."""

from __future__ import annotations

from fabula.text.extraction.model import ProposedEntry
from fabula.workspace.extraction import ProposalReview
from fabula.workspace.schemas.schema import Schema, describe


class ProposalInfo(Schema):
    """A proposed entry with its evidence: how often and where its name stands, and a few sentences."""

    name: str
    aliases: tuple[str, ...]
    kind: str
    mentions: int
    document_id: str
    offset: int
    evidence: tuple[str, ...]
    score: float


class ExtractionReport(Schema):
    """The names accepted and dismissed just now, and the proposals that are still open."""

    accepted: tuple[str, ...]
    dismissed: tuple[str, ...]
    proposals: tuple[ProposalInfo, ...]


def describe_proposal(proposal: ProposedEntry) -> ProposalInfo:
    """Describe a proposed entry."""
    return describe(ProposalInfo, proposal, document_id=proposal.document)


def describe_review(review: ProposalReview, *, limit: int) -> ExtractionReport:
    """Describe what became of proposals, with the best of those still open."""
    return ExtractionReport(
        accepted=tuple(one.name for one in review.accepted),
        dismissed=tuple(review.dismissed),
        proposals=tuple(map(describe_proposal, review.proposals[:limit])),
    )
