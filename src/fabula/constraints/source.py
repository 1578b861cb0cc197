"""What constraints offer: all of them; the gate knows which hold here."""

from __future__ import annotations

from collections.abc import Iterable

from fabula.constraints.model import Constraints
from fabula.context.request import Ask
from fabula.context.trace import Verdict
from fabula.core.errors import Code
from fabula.core.fragment import Fragment
from fabula.core.view import View


class ConstraintsSource:
    """Every constraint of the project, in its order."""

    name = "constraints"
    failing = Code.SOURCE_UNAVAILABLE
    waits = False
    ahead = False

    def fragments(self, ask: Ask, view: View) -> Iterable[Fragment]:
        """The snapshot's fragments, made once."""
        constraints = view.room(Constraints)
        return constraints.fragments if constraints is not None else ()

    def absent(self, ask: Ask, view: View) -> Iterable[Verdict]:
        """Every constraint is offered."""
        return ()
