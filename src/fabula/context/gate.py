"""Gate: the only place that decides what may be known here and now.

No source filters for itself. A fragment passes when the story has come to it, it still holds, and
whoever's eyes we look through may know it by now; text that was made from other text passes only
where all it was made from would. The author knows everything, and is told what must not be revealed.
"""

from __future__ import annotations

import logging

from msgspec import Struct

from fabula.context.trace import Reason
from fabula.core.errors import Code, FabulaError
from fabula.core.fragment import Fragment, Terms
from fabula.core.story import Eyes, Timeline, Vantage

log = logging.getLogger("fabula.context")

READER = Eyes.READER.value  # may stand among the characters in `known_to`


class Gate(Struct, frozen=True):
    """The gate of one request. Nothing of another project comes even near it."""

    project_id: str
    vantage: Vantage
    timeline: Timeline

    def word(self, fragment: Fragment) -> Reason | None:
        """What is held against a fragment. One that is merely not revealed yet passes, and must be marked."""
        if fragment.project_id != self.project_id:
            raise self._stranger(fragment)
        return None if fragment.open else judge(fragment, self.vantage, self.timeline)

    def _stranger(self, fragment: Fragment) -> FabulaError:
        log.error(
            "security: project %s was offered %s of project %s", self.project_id, fragment.source, fragment.project_id
        )
        return FabulaError(
            Code.SCOPE_VIOLATION,
            f"Something of another project was offered ({fragment.source}). Nothing was assembled; "
            "check the source that offered it.",
            source=fragment.source,
        )


def judge(fragment: Fragment, vantage: Vantage, timeline: Timeline) -> Reason | None:
    """The strictest word on a fragment and on all it was made from; None when nothing is held against it."""
    strictest = judge_terms(fragment, vantage, timeline)
    if strictest is not None and strictest is not Reason.NOT_REVEALED:
        return strictest
    unlearnt = False
    for terms in fragment.derived_from:
        reason = judge_terms(terms, vantage, timeline)
        if reason is Reason.NOT_REVEALED:
            strictest = reason
        elif reason is not None:
            return reason
        unlearnt = unlearnt or (bool(terms.learnt) and not _learnt(terms, vantage, timeline))
    return Reason.NOT_KNOWN if unlearnt else strictest


def judge_terms(terms: Terms | Fragment, vantage: Vantage, timeline: Timeline) -> Reason | None:
    """The word on one set of terms; a source whose material calls up other material asks here beforehand."""
    here = vantage.position
    if terms.until is not None and timeline.reached(terms.until, here):
        return Reason.NO_LONGER
    if terms.known_to is not None and vantage.eyes is not Eyes.AUTHOR and _knower(vantage) not in terms.known_to:
        return Reason.NOT_KNOWN
    if terms.since is not None and not timeline.reached(terms.since, here):
        return Reason.NOT_REVEALED if vantage.eyes is Eyes.AUTHOR else Reason.NOT_YET
    return None


def _learnt(terms: Terms, vantage: Vantage, timeline: Timeline) -> bool:
    """Whoever learns it at some point of the story has learnt it by now."""
    if vantage.eyes is Eyes.AUTHOR:
        return True
    knower = _knower(vantage)
    return all(who != knower or timeline.reached(since, vantage.position) for who, since in terms.learnt)


def _knower(vantage: Vantage) -> str | None:
    """A fact that only some may know is none of the reader's business either, unless it says so."""
    return vantage.character if vantage.eyes is Eyes.CHARACTER else READER
