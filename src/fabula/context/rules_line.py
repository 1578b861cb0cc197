"""Rules over their line: which of them go.

Rules are never cut as text and what a user made never goes at all. The rest goes in a fixed order:
all codex entries that are not relevant here, graph and learned constraints, entries that are relevant,
the project's own; fixed prompts only where they cannot fit at all. The reduced set is sticky: it is
kept until something left out is needed or the chapter changes, because each change of it would
throw the cached prefix away.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabula.context.budget import Budget
from fabula.context.candidates import Offer
from fabula.context.continuity import Continuity
from fabula.context.measure import Measure, Piece
from fabula.context.static_fragments import units_of_rules
from fabula.context.trace import Reason
from fabula.core.errors import Code, FabulaError
from fabula.core.fragment import Layer, Tier

if TYPE_CHECKING:
    from fabula.context.fit import Fitting

_ORDER = {Tier.GRAPH: 1, Tier.LEARNED: 2, Tier.PROJECT: 4}
_RELEVANT_ENTRY = 3


def fit_rules(
    offer: Offer, fitting: Fitting, budget: Budget, measure: Measure, room: int, before: Continuity | None
) -> int:
    """Keep what may stay, and say what it costs. `room` is all there is for any layer."""
    firm = offer.standing
    cost = firm.rules_cost if firm is not None else rules_cost(offer.constraints, offer.rules, measure)
    if cost <= budget.rules_line and cost <= room:
        fitting.constraints, fitting.rules = offer.constraints, offer.rules
        fitting.kept += (offer.constraints, offer.rules)
        return cost
    pieces = [*offer.constraints, *offer.rules]
    gone: set[int] = set()
    if cost > budget.rules_line:
        fitting.warnings.append(measure.words.warn(Code.RULES_OVERBUDGET, cost=cost, line=budget.rules_line))
        gone = _sticky(pieces, before, budget.rules_line, measure) or _reduce(pieces, cost, budget.rules_line)
        cost = _cost_without(pieces, gone, measure)
    if cost > room:
        gone |= _drop_fixed(pieces, gone, cost - room, fitting, measure)
        cost = _cost_without(pieces, gone, measure)
    if cost > max(room, 0):
        raise FabulaError(
            Code.RULES_TOO_LARGE,
            f"Your own rules need {cost} tokens and this window leaves {max(room, 0)} for them. Shorten or switch off "
            "some constraints, or use a model with a larger window. Nothing was changed.",
            tokens=cost,
            room=max(room, 0),
        )
    fitting.outcomes += [
        (piece.fragment, Reason.RULES_OVERBUDGET, piece.tokens, "") for piece in pieces if id(piece) in gone
    ]
    fitting.constraints = [piece for piece in offer.constraints if id(piece) not in gone]
    fitting.rules = [piece for piece in offer.rules if id(piece) not in gone]
    fitting.kept += (fitting.constraints, fitting.rules)
    fitting.rules_left_out = tuple(piece.fragment.source for piece in pieces if id(piece) in gone)
    if gone:
        fitting.truncated.add(Layer.RULES)
    return cost


def rules_cost(constraints: list[Piece], rules: list[Piece], measure: Measure) -> int:
    """What a set of rules costs as rendered."""
    return sum(unit.tokens for unit in units_of_rules(constraints, rules, measure))


def _cost_without(pieces: list[Piece], gone: set[int], measure: Measure) -> int:
    stays = [piece for piece in pieces if id(piece) not in gone]
    return rules_cost(
        [piece for piece in stays if piece.fragment.part == "constraint"],
        [piece for piece in stays if piece.fragment.part != "constraint"],
        measure,
    )


def _rank(piece: Piece) -> int | None:
    """The place in the order of going; None for what does not go for the line's sake."""
    tier = Tier(piece.fragment.tier)
    if tier is Tier.ENTRY:
        return _RELEVANT_ENTRY if piece.fragment.score > 0 else 0
    return _ORDER.get(tier)


def _reduce(pieces: list[Piece], cost: int, line: int) -> set[int]:
    gone: set[int] = set()
    places = {id(piece): place for place, piece in enumerate(pieces)}
    order = sorted(
        (piece for piece in pieces if _rank(piece) is not None),
        key=lambda piece: (_rank(piece), piece.fragment.score, -places[id(piece)]),
    )
    for piece in order:
        if cost <= line and _rank(piece) != 0:
            break
        gone.add(id(piece))
        cost -= piece.tokens
    return gone


def _sticky(pieces: list[Piece], before: Continuity | None, line: int, measure: Measure) -> set[int] | None:
    """Last time's reduction, if it still does: nothing left out is needed, and the rest fits."""
    if before is None or not before.rules_left_out:
        return None
    out = frozenset(before.rules_left_out)
    gone = {id(piece) for piece in pieces if piece.fragment.source in out and _rank(piece) is not None}
    if any(piece.fragment.score > 0 and piece.fragment.tier == Tier.ENTRY for piece in pieces if id(piece) in gone):
        return None
    return gone if _cost_without(pieces, gone, measure) <= line else None


def _drop_fixed(pieces: list[Piece], gone: set[int], over: int, fitting: Fitting, measure: Measure) -> set[int]:
    """Fixed prompts go last, whole, and never silently; what remains over is the user's own."""
    dropped: set[int] = set()
    rest = [piece for piece in pieces if id(piece) not in gone and piece.fragment.tier < Tier.USER]
    for piece in sorted(rest, key=lambda piece: (piece.fragment.tier, piece.fragment.score)):
        if over <= 0:
            break
        dropped.add(id(piece))
        over -= piece.tokens
        if piece.fragment.tier == Tier.FIXED:
            fitting.warnings.append(measure.words.warn(Code.FIXED_PROMPT_DROPPED, name=piece.fragment.name))
    return dropped
