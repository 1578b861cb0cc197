"""Rules over their limit: which of them are dropped, and in which order (bud-4).

Rules are never cut as text, and what the user wrote is never dropped. The others go in a fixed
order: codex entries that are not relevant here, graph constraints, learned constraints, relevant
entries, the project's own rules; fixed prompts only where they cannot fit at all. The reduced set
stays until something left out is needed or the chapter changes, because each change of it
invalidates the cached prefix.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct, field

from fabula.context.budget import Budget
from fabula.context.continuity import Continuity
from fabula.context.measure import Measure, MeasuredFragment, TextBlock
from fabula.core.errors import Code, FabulaError
from fabula.core.fragment import Part, Tier
from fabula.core.messages import message

_DROP_ORDER = {Tier.GRAPH: 1, Tier.LEARNED: 2, Tier.PROJECT: 4}
_IRRELEVANT_ENTRY, _RELEVANT_ENTRY = 0, 3


class RulesSelection(Struct):
    """The rules that stay, as rendered, and those that are dropped."""

    constraints: list[MeasuredFragment]
    rules: list[MeasuredFragment]
    blocks: list[TextBlock]
    dropped: list[MeasuredFragment] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    @property
    def tokens(self) -> int:
        """The tokens of the rules that stay."""
        return sum([block.tokens for block in self.blocks])


def fit_rules(
    constraints: list[MeasuredFragment],
    rules: list[MeasuredFragment],
    budget: Budget,
    measure: Measure,
    available: int,
    before: Continuity | None,
    rendered: list[TextBlock],
) -> RulesSelection:
    """Select the rules that stay. `available` are the tokens of all layers; `before` is of the same document.

    `rendered` gets the blocks of all rules, unless they were rendered for an earlier request with the same ones.
    """
    if not rendered:
        rendered[:] = render_rules(constraints, rules, measure)
    selection = RulesSelection(constraints, rules, rendered)
    tokens, limit = selection.tokens, budget.rules_limit
    if tokens <= limit and tokens <= available:
        return selection
    pieces, dropped = [*constraints, *rules], set[int]()
    if tokens > limit:
        selection.warnings.append(measure.phrases.format_warning(Code.RULES_OVERBUDGET, cost=tokens, line=limit))
        dropped = _repeat_reduction(pieces, before, limit, measure) or _reduce(pieces, tokens, limit)
        tokens = _count_without(pieces, dropped, measure)
    if tokens > available:
        dropped |= _drop_fixed(pieces, dropped, tokens - available, selection, measure)
        tokens = _count_without(pieces, dropped, measure)
    if tokens > max(available, 0):
        raise FabulaError(
            Code.RULES_TOO_LARGE,
            message(
                "Your own rules need {tokens} tokens, and this window leaves {left} for them. Shorten or switch off "
                "some constraints, or use a model with a larger window.",
                tokens=tokens,
                left=max(available, 0),
            ),
            tokens=tokens,
            room=max(available, 0),
        )
    selection.dropped = [piece for piece in pieces if id(piece) in dropped]
    selection.constraints = [piece for piece in constraints if id(piece) not in dropped]
    selection.rules = [piece for piece in rules if id(piece) not in dropped]
    selection.blocks = render_rules(selection.constraints, selection.rules, measure)
    return selection


def render_rules(
    constraints: Sequence[MeasuredFragment], rules: Sequence[MeasuredFragment], measure: Measure
) -> list[TextBlock]:
    """Constraints as one numbered list (con-1), the other rules, and fixed prompts, each under their heading."""
    blocks: list[TextBlock] = []
    if constraints:
        blocks.append(measure.make_list("constraints", tuple([piece.text for piece in constraints])))
    fixed = [piece.block for piece in rules if piece.fragment.tier == Tier.FIXED]
    others = [piece.block for piece in rules if not fixed or piece.fragment.tier != Tier.FIXED]
    if others:
        blocks += [measure.headings["rules"], *others]
    if fixed:
        blocks += [measure.headings["fixed_prompts"], *fixed]
    return blocks


def _count_without(pieces: Sequence[MeasuredFragment], dropped: set[int], measure: Measure) -> int:
    kept = [piece for piece in pieces if id(piece) not in dropped]
    constraints = [piece for piece in kept if piece.fragment.part is Part.CONSTRAINT]
    rules = [piece for piece in kept if piece.fragment.part is not Part.CONSTRAINT]
    return sum([block.tokens for block in render_rules(constraints, rules, measure)])


def _drop_rank(piece: MeasuredFragment) -> int | None:
    """The rank in the order of dropping; None for rules that the limit does not drop."""
    tier = Tier(piece.fragment.tier)
    if tier is Tier.ENTRY:
        return _RELEVANT_ENTRY if piece.fragment.score > 0 else _IRRELEVANT_ENTRY
    return _DROP_ORDER.get(tier)


def _reduce(pieces: Sequence[MeasuredFragment], tokens: int, limit: int) -> set[int]:
    """The ids of the pieces to drop: irrelevant entries all, then one by one until the rest fits."""
    ranks = {index: rank for index, piece in enumerate(pieces) if (rank := _drop_rank(piece)) is not None}
    order = sorted(ranks, key=lambda index: (ranks[index], pieces[index].fragment.score, -index))
    dropped: set[int] = set()
    for index in order:
        if tokens <= limit and ranks[index] != _IRRELEVANT_ENTRY:
            break
        dropped.add(id(pieces[index]))
        tokens -= pieces[index].tokens
    return dropped


def _repeat_reduction(
    pieces: Sequence[MeasuredFragment], before: Continuity | None, limit: int, measure: Measure
) -> set[int] | None:
    """The reduction of the last request, if nothing in it is needed now and the rest still fits."""
    if before is None or not before.rules_left_out:
        return None
    left_out = frozenset(before.rules_left_out)
    again = [piece for piece in pieces if piece.fragment.source in left_out and _drop_rank(piece) is not None]
    if any(piece.fragment.score > 0 and piece.fragment.tier == Tier.ENTRY for piece in again):
        return None
    dropped = {id(piece) for piece in again}
    return dropped if _count_without(pieces, dropped, measure) <= limit else None


def _drop_fixed(
    pieces: Sequence[MeasuredFragment], dropped: set[int], excess: int, selection: RulesSelection, measure: Measure
) -> set[int]:
    """Drop whole rules that the user did not write, fixed prompts last and with a warning (cnv-7)."""
    more: set[int] = set()
    rest = [piece for piece in pieces if id(piece) not in dropped and piece.fragment.tier < Tier.USER]
    for piece in sorted(rest, key=lambda piece: (piece.fragment.tier, piece.fragment.score)):
        if excess <= 0:
            break
        more.add(id(piece))
        excess -= piece.tokens
        if piece.fragment.tier == Tier.FIXED:
            name = piece.fragment.display_name
            selection.warnings.append(measure.phrases.format_warning(Code.FIXED_PROMPT_DROPPED, name=name))
    return more
