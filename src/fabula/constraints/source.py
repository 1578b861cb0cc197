"""The constraints source: offers the constraints that may hold where the request is (con-1, con-2).

The gate drops those whose span of the story is elsewhere. A rule that names chapters in its own words ("not before
chapter 5") is offered in those chapters only, as far as a program understands the rule, or it begins with them. A
principal with limits is told none: a rule is the author's, and may name what nobody knows yet. A rule of the plot is
the author's plan, and whoever speaks in a conversation is not told it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from fabula.constraints.checks import EntryNames, find_limits, is_elsewhere
from fabula.constraints.conditions import name_story_range
from fabula.constraints.model import ChapterLimits, ConstraintKind, Constraints
from fabula.context.request import SourceRequest, has_limits
from fabula.context.trace import Reason, Verdict, omit_for_speaker
from fabula.core.errors import Code
from fabula.core.fragment import Fragment, Layer
from fabula.core.messages import message
from fabula.core.view import View

NOT_FOR_SPEAKERS = message("it is what you plan for the plot, and whoever speaks is not told it")
LimitedRules = dict[str, ChapterLimits]  # the source of a rule that holds in some chapters -> these


class ConstraintsSource:
    """Offers the constraints of the project, in order; `find_limited` finds those that hold in some chapters only."""

    name = "constraints"
    unavailable_code = Code.SOURCE_UNAVAILABLE
    blocking = False
    runs_first = False

    def __init__(self, find_limited: Callable[[View], LimitedRules] | None = None) -> None:
        self._find_limited = find_limited or (lambda view: find_limited_rules(view.snapshot(Constraints)))

    def fragments(self, source_request: SourceRequest, view: View) -> Iterable[Fragment]:
        """Offer the fragments of the snapshot, without those that hold in other chapters."""
        constraints = view.snapshot(Constraints)
        if constraints is None or has_limits(source_request.request.principal):
            return ()
        omitted = {*self._find_omitted(source_request, view), *_find_plans(source_request, constraints)}
        return (
            tuple(one for one in constraints.fragments if one.source not in omitted)
            if omitted
            else constraints.fragments
        )

    def explain_omitted(self, source_request: SourceRequest, view: View) -> Iterable[Verdict]:
        """Explain the constraints that hold in other chapters, and those that whoever speaks is not told."""
        constraints = view.snapshot(Constraints)
        if constraints is None:
            return
        omitted, plans = self._find_omitted(source_request, view), _find_plans(source_request, constraints)
        for fragment in constraints.fragments:
            if fragment.source in plans:
                yield omit_for_speaker(fragment, NOT_FOR_SPEAKERS)
            elif fragment.source in omitted:
                chapters = name_story_range(omitted[fragment.source], view.timeline)
                cause = message("it holds only {chapters}", chapters=chapters)
                yield Verdict(
                    fragment.source,
                    "",
                    Layer.RULES,
                    Reason.CONDITION_UNMET,
                    0,
                    fragment.score,
                    text=fragment.text,
                    part=fragment.part,
                    cause=cause,
                )

    def _find_omitted(self, source_request: SourceRequest, view: View) -> LimitedRules:
        here = source_request.vantage.position
        if here is None:
            return {}
        limited = self._find_limited(view)
        return {source: limits for source, limits in limited.items() if is_elsewhere(limits, here, view.timeline)}


def _find_plans(source_request: SourceRequest, constraints: Constraints) -> frozenset[str]:
    """Find the rules of the plot where somebody speaks in a conversation; nothing elsewhere."""
    if not source_request.request.speaker_id:
        return frozenset()
    return frozenset(f"constraint:{one.id}" for one in constraints.constraints if one.kind is ConstraintKind.PLOT)


def find_limited_rules(constraints: Constraints | None, entry_names: EntryNames | None = None) -> LimitedRules:
    """Find the rules whose own words say in which chapters they hold."""
    limited = (
        (f"constraint:{one.id}", find_limits(one, entry_names))
        for one in (constraints.constraints if constraints else ())
    )
    return {source: limits for source, limits in limited if limits is not None}
