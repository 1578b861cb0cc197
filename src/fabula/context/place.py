"""Place: everything that was chosen, each in its place.

Depth and anchor injection happen here and nowhere else. Depth N means that N messages of the
conversation follow, the current input counting as one. At one spot a higher `order` comes first,
and equals keep the order of the list.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache

from msgspec import Struct, field

from fabula.context.candidates import Offer
from fabula.context.fit import Fitting
from fabula.context.measure import Measure, Piece, Unit
from fabula.context.recipes.preset import Node, Preset
from fabula.context.static_fragments import units_of_rules, units_of_settings
from fabula.core.errors import Code
from fabula.core.fragment import Fragment, Placement, Role
from fabula.text.windows import GAP


class Slot(Struct, gc=False):
    """Units that stand together under one role. `owner` says whose tokens they are."""

    role: Role
    owner: str
    units: list[Unit]
    stable: bool = False


class Placed(Struct):
    """The slots in order, and what could not be placed as it wished."""

    slots: list[Slot]
    warnings: list[str] = field(default_factory=list)
    unanchored: set[str] = field(default_factory=set)


class _Injected(Struct):
    """A message that wants a place of its own."""

    slot: Slot
    order: int
    at: int


UNNAMED = "a preset message"
_Inject = Callable[[Slot, Placement | None, int, str], bool]


def place(
    preset: Preset,
    offer: Offer,
    fitting: Fitting,
    late: Sequence[Piece],
    measure: Measure,
    identity: str,
) -> Placed:
    """Lay out identity, layers, preset messages and conversation."""
    placed = Placed([])
    layout = _layout(preset)
    depths: dict[int, list[_Injected]] = {}
    beside: dict[tuple[str, str], list[_Injected]] = {}

    def inject(slot: Slot, wish: Placement | None, at: int, name: str) -> bool:
        """Keep a message for its depth or anchor; False when it stays where it is listed."""
        if wish is None:
            return False
        if wish.depth is not None:
            depths.setdefault(wish.depth, []).append(_Injected(slot, wish.order, at))
            return True
        if wish.anchor is None:
            return False
        if wish.anchor not in layout.anchors:
            placed.warnings.append(measure.words.warn(Code.PRESET_ANCHOR_MISSING, name=name, anchor=wish.anchor))
            placed.unanchored.add(name)
            return False
        beside.setdefault((wish.anchor, wish.side), []).append(_Injected(slot, wish.order, at))
        return True

    lost = [(at, node) for at, node in layout.wishing if not _wished(node, at, measure, inject)]
    listed: Sequence[_Listed] = layout.listed
    if lost:
        listed = sorted((*listed, *(_listed(at, node) for at, node in lost)), key=lambda one: one.at)

    def staying(pieces: list[Piece], owner: str) -> list[Piece]:
        """Those that stand in their layer, once those with a place of their own have been taken out."""
        own = [piece for piece in pieces if piece.fragment.placement is not None]
        for at, piece in enumerate(own, start=len(preset.nodes)):
            slot = Slot(piece.fragment.role or "system", owner, [piece.unit])
            if inject(slot, piece.fragment.placement, at, piece.fragment.source):
                pieces = [other for other in pieces if other is not piece]
        return pieces

    retrieved, firm = staying(fitting.retrieved, "retrieved"), offer.standing
    if firm is not None and fitting.rules is firm.rules and fitting.constraints is firm.constraints:
        rules = firm.rules_units
    else:
        rules = units_of_rules(fitting.constraints, fitting.rules, measure)
    if firm is not None and fitting.settings is firm.settings:
        settings = firm.settings_units
    else:
        settings = units_of_settings(staying(fitting.settings, "settings"), measure)

    layers = {
        "rules": rules,
        "settings": settings,
        "retrieved": _headed(measure.headings["retrieved"], retrieved),
        "immediate": _immediate(offer, fitting, measure),
    }
    slots = placed.slots
    slots.append(Slot("system", "identity", [measure.kept_unit(identity.strip())], stable=True))
    for node in listed:
        anchor = node.anchor
        if beside:
            _extend(slots, beside.get((anchor, "before"), ()))
        units = layers.get(anchor)
        if units:
            slots.append(Slot(node.role, anchor, units))
        elif anchor == "chat_history":
            slots += _conversation(offer, fitting, late, depths, measure, node.role)
        elif node.text:
            slots.append(Slot(node.role, "preset", [measure.kept_unit(node.text)]))
        if beside:
            _extend(slots, beside.get((anchor, "after"), ()))
        if anchor == "settings":
            for slot in slots:
                slot.stable = True
    return placed


class _Listed(Struct, frozen=True):
    """A node that stands where it is listed: its number, its role, the name of the place if it is one, what it says."""

    at: int
    role: Role
    anchor: str
    text: str


def _listed(at: int, node: Node) -> _Listed:
    return _Listed(at, node.role, node.anchor or "", node.content.strip())


class _Layout(Struct, frozen=True):
    """A preset looked through once: its anchors, what stands where it is listed, what wishes to stand elsewhere."""

    anchors: frozenset[str]
    listed: tuple[_Listed, ...]
    wishing: tuple[tuple[int, Node], ...]


@lru_cache(maxsize=64)
def _layout(preset: Preset) -> _Layout:
    said = [(at, node) for at, node in enumerate(preset.nodes) if node.type != "message" or node.content.strip()]
    wishing = tuple((at, node) for at, node in said if node.type == "message" and node.injection_strategy is not None)
    listed = tuple(_listed(at, node) for at, node in said if (at, node) not in wishing)
    anchors = frozenset(node.anchor for node in preset.nodes if node.anchor)
    return _Layout(anchors, listed, wishing)


def _wished(node: Node, at: int, measure: Measure, inject: _Inject) -> bool:
    wish = node.injection_strategy
    if wish is None:
        return False
    slot = Slot(node.role, "preset", [measure.kept_unit(node.content.strip())])
    placement = Placement(wish.depth, wish.anchor_target, wish.anchor_position, wish.order)
    return inject(slot, placement, at, node.id or UNNAMED)


def _extend(slots: list[Slot], injected: Iterable[_Injected]) -> None:
    slots.extend(one.slot for one in sorted(injected, key=lambda one: (-one.order, one.at)))


def _headed(heading: Unit, pieces: Sequence[Piece]) -> list[Unit]:
    return [heading, *[piece.unit for piece in pieces]] if pieces else []


def _immediate(offer: Offer, fitting: Fitting, measure: Measure) -> list[Unit]:
    """Scene, window, mark, text after the cursor, desk: what changes least stands first."""
    return [
        *[piece.unit for piece in offer.scene],
        *_window(offer, fitting, measure),
        *[piece.unit for piece in offer.mark],
        *_headed(measure.headings["after"], fitting.after),
        *_headed(measure.headings["desk"], fitting.desk),
    ]


def _window(offer: Offer, fitting: Fitting, measure: Measure) -> list[Unit]:
    stretch, cut = offer.window, fitting.cut
    if stretch is None or cut is None:
        return []
    units = [measure.headings["window"]]
    if cut.start > stretch.begin:
        units.append(measure.headings["left_out"])
    text = stretch.since_start(cut.start)
    units.append(Unit(text + GAP, cut.tokens, tail=max(stretch.tail_start() - cut.start, 0)))
    return units


def _conversation(
    offer: Offer,
    fitting: Fitting,
    late: Sequence[Piece],
    depths: dict[int, list[_Injected]],
    measure: Measure,
    role: Role,
) -> list[Slot]:
    """The history with what is injected into it; late joiners and the current input at its end."""
    messages = [Slot(_speaker(piece.fragment), "immediate", [piece.unit]) for piece in fitting.history]
    closing = [piece.unit for piece in offer.closing]
    if closing:
        messages.append(Slot(role, "immediate", closing))
    if not depths and not late:
        return messages
    slots: list[Slot] = []
    for at in range(len(messages) + 1):
        following = len(messages) - at
        here = sorted(
            (depth for depth in depths if depth == following or (at == 0 and depth > following)), reverse=True
        )
        for depth in here:
            _extend(slots, depths[depth])
        if at == len(messages) - (1 if closing else 0) and late:
            units = _headed(measure.headings["late"], late)
            slots.append(Slot(role, "retrieved", units))
        if at < len(messages):
            slots.append(messages[at])
    return slots


def _speaker(fragment: Fragment) -> Role:
    return fragment.role or "user"
