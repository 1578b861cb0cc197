"""Gate: the one place that decides what a request may know (ctx-12); refuses fragments of another project (ctx-5).

No source filters for itself. A fragment passes when the story has reached it, it still holds, and
the perspective of the request may know it by now. Text derived from other text passes only where
everything it was derived from passes. Text of a document passes only where whoever asks may be told that
document at all, and for a character only where the document says that the character knows it, or names the character.
The author may know everything; what the story has not revealed yet is marked so. A fragment of another project
refuses the whole assembly (ctx-5).
"""

from __future__ import annotations

import logging

from msgspec import Struct, field

from fabula.context.trace import Reason
from fabula.core.errors import Code, FabulaError
from fabula.core.fragment import Fragment, Visibility
from fabula.core.messages import message
from fabula.core.story import Perspective, Timeline, Vantage

log = logging.getLogger("fabula.context")


class Gate(Struct, frozen=True):
    """The gate of one request: its project, its vantage and the timeline of the story."""

    project_id: str
    vantage: Vantage
    timeline: Timeline
    judged: dict[frozenset[str], Reason | None] = field(default_factory=dict)  # by who may know it, if that is all

    def judge(self, fragment: Fragment) -> Reason | None:
        """Why a fragment does not pass; None where it does. `NOT_REVEALED` passes too, and must be marked."""
        if fragment.project_id == self.project_id:
            known_to = fragment.known_to
            has_limits = fragment.since is not None or fragment.until is not None or fragment.derived_from
            if has_limits or fragment.made_of:
                return judge_fragment(fragment, self.vantage, self.timeline)
            if known_to is not None and known_to not in self.judged:  # many messages are known to the same few
                self.judged[known_to] = judge_fragment(fragment, self.vantage, self.timeline)
            return None if known_to is None else self.judged[known_to]
        source, other = fragment.source, fragment.project_id
        log.error("security: project %s was offered %s of project %s", self.project_id, source, other)
        raise FabulaError(
            Code.SCOPE_VIOLATION,
            message(
                "Something of another project was offered ({source}). Nothing was assembled. "
                "Check the source that offered it.",
                source=source,
            ),
            source=source,
        )


def judge_fragment(fragment: Fragment, vantage: Vantage, timeline: Timeline) -> Reason | None:
    """The strictest reason against a fragment and everything it was derived from; None where there is none."""
    if fragment.made_of and not _may_be_told(fragment.made_of, vantage):
        return Reason.NOT_KNOWN
    strictest = judge_visibility(fragment, vantage, timeline)
    if not fragment.derived_from or (strictest is not None and strictest is not Reason.NOT_REVEALED):
        return strictest
    is_known = True
    for visibility in fragment.derived_from:
        reason = judge_visibility(visibility, vantage, timeline)
        if reason is Reason.NOT_REVEALED:
            strictest = reason
        elif reason is not None:
            return reason
        if visibility.learned_at:
            is_known = is_known and _has_learned(visibility, vantage, timeline)
        if visibility.document:
            is_known = is_known and knows_document(visibility.document, vantage, timeline)
    return strictest if is_known else Reason.NOT_KNOWN


def judge_visibility(visibility: Visibility | Fragment, vantage: Vantage, timeline: Timeline) -> Reason | None:
    """The reason against one visibility alone; for sources whose material brings other material along."""
    here, known_to = vantage.position, visibility.known_to
    if visibility.until is not None and timeline.has_reached(visibility.until, here):
        return Reason.NO_LONGER
    if known_to is not None and vantage.perspective is not Perspective.AUTHOR and known_to.isdisjoint(vantage.knowers):
        return Reason.NOT_KNOWN
    if visibility.since is not None and not timeline.has_reached(visibility.since, here):
        return Reason.NOT_REVEALED if vantage.perspective is Perspective.AUTHOR else Reason.NOT_YET
    return None


def _has_learned(visibility: Visibility, vantage: Vantage, timeline: Timeline) -> bool:
    """Whether a perspective that learns it somewhere in the story has learned it by now."""
    if not visibility.learned_at or vantage.perspective is Perspective.AUTHOR:
        return True
    knowers = vantage.knowers
    return all(
        character not in knowers or timeline.has_reached(position, vantage.position)
        for character, position in visibility.learned_at
    )


def _may_be_told(documents: frozenset[str], vantage: Vantage) -> bool:
    """Whether whoever asks may be told the text of all these documents."""
    is_granted = vantage.documents is None or documents <= vantage.documents
    return is_granted and documents.isdisjoint(vantage.unknown_documents)


def knows_document(document: str, vantage: Vantage, timeline: Timeline) -> bool:
    """Whether a perspective knows a document; what comes from no document, or from one that is gone, is known.

    A vantage that is limited to some documents knows no others.
    """
    if document and not _may_be_told(frozenset({document}), vantage):
        return False
    entry = timeline.entry(document) if document else None
    if entry is None or entry.known_to is None or vantage.perspective is Perspective.AUTHOR:
        return True
    return not entry.known_to.isdisjoint(vantage.knowers)
