"""Schemas of proposed codex entries (cdx-7)."""

from __future__ import annotations

from collections.abc import Mapping

from fabula.text.extraction.model import ProposedEntry
from fabula.workspace.extraction import ProposalReview
from fabula.workspace.schemas.schema import Schema, describe


class ProposalInfo(Schema):
    """A proposed entry with its evidence: how often its name stands and in which chapter first, and a few sentences."""

    name: str
    aliases: tuple[str, ...]
    kind: str
    mentions: int
    document_id: str
    chapter: str
    offset: int
    evidence: tuple[str, ...]
    score: float


class ExtractionReport(Schema):
    """The names accepted, dismissed and restored just now, and the proposals that are still open."""

    accepted: tuple[str, ...]
    dismissed: tuple[str, ...]
    restored: tuple[str, ...]
    proposals: tuple[ProposalInfo, ...]


class DismissedNames(Schema):
    """The names that are never proposed again."""

    dismissed: tuple[str, ...]


def describe_proposal(proposal: ProposedEntry, chapters: Mapping[str, str]) -> ProposalInfo:
    """Describe a proposed entry, with the title of the chapter that mentions it first."""
    document_id = proposal.document
    return describe(ProposalInfo, proposal, document_id=document_id, chapter=chapters.get(document_id, ""))


def describe_review(review: ProposalReview, *, limit: int) -> ExtractionReport:
    """Describe what became of proposals, with the best of those still open."""
    return ExtractionReport(
        accepted=tuple(one.name for one in review.accepted),
        dismissed=tuple(review.dismissed),
        restored=tuple(review.restored),
        proposals=tuple(describe_proposal(one, review.chapters) for one in review.proposals[:limit]),
    )
