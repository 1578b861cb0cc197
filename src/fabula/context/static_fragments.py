"""Standing: rules and settings that no request can change, shaped together once.

A snapshot's group without terms (no `since`, nobody it is kept from) passes every gate. Such groups
come again with each request of a project, so what becomes of them (shape, sums, rendered lists) is
worked out once and found again by the identity of the groups. They stand before the rules that do
depend on the place in the story, which keeps the cached prefix longer, too.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from fabula.context.gate_cache import SEATS, Group
from fabula.context.measure import Measure, Piece, Unit
from fabula.context.trace import Outcome, Reason

_MOST = 256  # sets of groups kept


class Standing(Struct, frozen=True, eq=False):
    """The standing rules and settings of one project. Its lists are shared: nobody may change them."""

    groups: tuple[Group, ...]  # held, so that their ids stay taken
    constraints: list[Piece]
    rules: list[Piece]
    settings: list[Piece]
    repeated: list[Outcome]
    tokens: int
    rules_units: list[Unit]
    rules_cost: int
    settings_units: list[Unit]


def standing(groups: Sequence[Group], measure: Measure) -> Standing:
    """What becomes of groups that stand."""
    key = tuple(map(id, groups))
    known = measure.standings.get(key)
    if known is None:
        if len(measure.standings) >= _MOST:
            measure.standings.clear()
        known = measure.standings[key] = _shaped(tuple(groups), measure)
    return known


def _shaped(groups: tuple[Group, ...], measure: Measure) -> Standing:
    seats: dict[str, list[Piece]] = {name: [] for name in SEATS}
    for fragment in (fragment for group in groups for fragment in group):
        piece = measure.piece_of(fragment, marked=False)
        seats[piece.seat].append(piece)
    out: list[Outcome] = []
    constraints, rules, settings = (once(seats[name], out) for name in SEATS)
    rules = without_repeats(rules, constraints, out)
    rules_units = units_of_rules(constraints, rules, measure)
    return Standing(
        groups,
        constraints,
        rules,
        settings,
        out,
        sum(piece.tokens for pieces in (constraints, rules, settings) for piece in pieces),
        rules_units,
        sum(unit.tokens for unit in rules_units),
        units_of_settings(settings, measure),
    )


def units_of_rules(constraints: Sequence[Piece], rules: Sequence[Piece], measure: Measure) -> list[Unit]:
    """Constraints as one numbered list, then the other rules under their heading."""
    units: list[Unit] = []
    if constraints:
        units.append(measure.numbered(measure.words.constraints, tuple([piece.text for piece in constraints])))
    if rules:
        units += [measure.headings["rules"], *[piece.unit for piece in rules]]
    return units


def units_of_settings(settings: Sequence[Piece], measure: Measure) -> list[Unit]:
    """A line for each under one heading."""
    if not settings:
        return []
    return [measure.bulleted(measure.words.settings, tuple([piece.text for piece in settings]))]


def once(pieces: list[Piece], out: list[Outcome]) -> list[Piece]:
    """The same rule or preference enters once, in its strongest form."""
    seen: dict[str, Piece] = {}
    for piece in pieces:
        twin = seen.get(piece.text)
        if twin is None:
            seen[piece.text] = piece
            continue
        if piece.fragment.tier > twin.fragment.tier:
            seen[piece.text], piece, twin = piece, twin, piece
        out.append((piece.fragment, Reason.DUPLICATE, piece.tokens, twin.fragment.source))
    return pieces if len(seen) == len(pieces) else list(seen.values())


def without_repeats(rules: list[Piece], constraints: list[Piece], out: list[Outcome]) -> list[Piece]:
    """A project rule that says what a constraint says already stands once, as the constraint."""
    said = {piece.text: piece for piece in constraints}
    repeated = [piece for piece in rules if piece.text in said]
    out += [(p.fragment, Reason.DUPLICATE, p.tokens, said[p.text].fragment.source) for p in repeated]
    return [piece for piece in rules if piece.text not in said] if repeated else rules
