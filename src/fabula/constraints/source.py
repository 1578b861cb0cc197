"""The constraints source: offers every constraint; the gate drops those that do not hold here (con-1, con-2)."""

from __future__ import annotations

from collections.abc import Iterable

from fabula.constraints.model import Constraints
from fabula.context.request import SourceRequest
from fabula.context.trace import Verdict
from fabula.core.errors import Code
from fabula.core.fragment import Fragment
from fabula.core.view import View


class ConstraintsSource:
    """Offers every constraint of the project, in order."""

    name = "constraints"
    unavailable_code = Code.SOURCE_UNAVAILABLE
    blocking = False
    runs_first = False

    def fragments(self, source_request: SourceRequest, view: View) -> Iterable[Fragment]:
        """Offer the fragments of the snapshot."""
        constraints = view.snapshot(Constraints)
        return constraints.fragments if constraints is not None else ()

    def explain_omitted(self, source_request: SourceRequest, view: View) -> Iterable[Verdict]:
        """Return nothing: every constraint is offered."""
        return ()
