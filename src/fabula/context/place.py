"""Place: put fragments and preset messages in order, by depth and anchor (inj-2 … inj-4); no empty layers (ctx-4).

Injection by depth and by anchor happens here and nowhere else. Depth N means that N messages of the conversation
follow, the current input counting as one; the line that says who speaks next is none, and at depth 0 `side` says on
which side of it. At one place a higher `order` comes first, and equal ones keep the order of the list. A message whose
anchor is missing stays where it is listed, with a warning.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import groupby, zip_longest
from operator import itemgetter

from msgspec import Struct, field

from fabula.context.candidates import Candidates
from fabula.context.fit import Selection
from fabula.context.measure import Measure, MeasuredFragment, TextBlock
from fabula.context.order import RetrievedOrder
from fabula.context.recipes import NOVEL
from fabula.context.recipes.preset import CompletePreset, Node, NodeText
from fabula.context.request import Request
from fabula.context.trace import Reason, Verdict
from fabula.core.errors import Code
from fabula.core.fragment import Placement, Role
from fabula.core.messages import Sentence, message
from fabula.text.windows import BLOCK_SEPARATOR

TURN, MODE_NOTE = "turn", "mode"  # sources of what says who speaks next
TURN_SOURCES = frozenset({TURN, MODE_NOTE})


_BEFORE_INPUT, _BEFORE_TURN = Placement(depth=1), Placement(depth=0, side="before")


def place_own(request: Request) -> Placement:
    """Return where a prompt for a participant has what not everybody present is told.

    It stands before the input. Without one it stands behind the newest message, which all have in common.
    """
    has_turn = request.speaker_id and request.conversation_id and request.recipe not in ("", NOVEL.name)
    return _BEFORE_TURN if has_turn and not request.additional_input else _BEFORE_INPUT


class Slot(Struct, gc=False):
    """Blocks that stand together under one role. `owner` is the layer, or what else, that their tokens belong to."""

    role: Role
    owner: str
    blocks: list[TextBlock]
    is_stable: bool = False
    source: str = ""  # of a fragment that is a message of its own


class PlacedPrompt(Struct):
    """The slots in their order, the warnings, and the sources whose anchor is missing."""

    slots: list[Slot] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    without_anchor: set[str] = field(default_factory=set)


def place(
    preset: CompletePreset,
    candidates: Candidates,
    selection: Selection,
    order: RetrievedOrder,
    measure: Measure,
    identity: str,
) -> PlacedPrompt:
    """Place identity, layers, preset messages and conversation; `order` is that of the retrieved layer."""
    placed = PlacedPrompt()
    injector = _Injector(preset, measure, placed)
    nodes = injector.take_nodes(preset)
    retrieved = injector.take_fragments(order.main, "retrieved")
    settings = injector.take_fragments(selection.settings, "settings")
    layers = {
        "rules": selection.rules,
        "settings": [measure.make_list("settings", tuple([piece.text for piece in settings]))] if settings else [],
        "retrieved": _render_retrieved(measure.headings["retrieved"], retrieved),
        "immediate": _render_immediate(candidates, selection, measure),
    }
    slots = placed.slots
    if identity.strip():
        slots.append(Slot("system", "identity", [measure.make_fixed_block(identity.strip())], is_stable=True))
    for anchor, role, content in nodes:
        if injector.by_anchor:
            slots += injector.at_anchor(anchor, "before")
        if layers.get(anchor):
            slots.append(Slot(role, anchor, layers[anchor]))
        elif anchor == "chat_history":
            slots += _place_conversation(candidates, selection, order, injector, measure, role)
        elif content:
            slots.append(Slot(role, "preset", [measure.make_fixed_block(content)]))
        if injector.by_anchor:
            slots += injector.at_anchor(anchor, "after")
        if anchor == "settings":  # the stable prefix ends here (pre-1)
            for slot in slots:
                slot.is_stable = True
    return placed


_Injected = tuple[int, Slot]  # its order and the slot


class _Injector:
    """Takes messages and fragments with a placement of their own, and gives them back where they belong."""

    def __init__(self, preset: CompletePreset, measure: Measure, placed: PlacedPrompt) -> None:
        self._anchors = preset.anchors
        self._measure = measure
        self._placed = placed
        self.by_anchor: dict[tuple[str, str], list[_Injected]] = {}
        self.by_depth: dict[int, list[_Injected]] = {}
        self.before_turn: list[_Injected] = []

    def take_nodes(self, preset: CompletePreset) -> Sequence[NodeText]:
        """Take the preset's messages that are injected; return the nodes that stay where they are listed."""
        if not preset.has_injected:
            return preset.texts
        staying: list[NodeText] = []
        for name, node, text in zip(preset.names, preset.nodes, preset.texts, strict=True):
            strategy, (_, role, content) = node.injection_strategy, text
            if node.type != "message" or strategy is None:
                staying.append(text)
            elif content:
                side = strategy.anchor_position if strategy.depth is None else "after"
                placement = Placement(strategy.depth, strategy.anchor_target, side, strategy.order)
                slot = Slot(role, "preset", [self._measure.make_block(content)])
                title = node.id or message("Message {number} of the preset", number=name)
                if not self._take(slot, placement, f"preset:{name}", title):
                    staying.append(text)
        return staying

    def take_fragments(self, pieces: list[MeasuredFragment], owner: str) -> list[MeasuredFragment]:
        """Take the fragments with a placement; return those that stay in their layer."""
        if not [one for one in pieces if one.fragment.placement is not None]:  # most prompts have none
            return pieces
        taken: set[int] = set()
        for (conversation, placement), group in groupby(pieces, lambda one: (one.conversation, one.fragment.placement)):
            if placement is None:
                continue
            if conversation is not None:  # its messages stand together
                together = [*group]
                slots = [(Slot("system", owner, _render_messages(together)), together)]
            else:
                slots = [(Slot(one.fragment.role or "system", owner, [one.block]), [one]) for one in group]
            for slot, own in slots:
                source = own[0].fragment.source
                if self._take(slot, placement, source, source):
                    taken.update(map(id, own))
        return [piece for piece in pieces if id(piece) not in taken] if taken else pieces

    def _take(self, slot: Slot, placement: Placement, source: str, title: Sentence | str) -> bool:
        """Keep a slot for its depth or anchor; False when it stays where it is listed."""
        anchor, injected = placement.anchor, (placement.order, slot)
        if placement.depth == 0 and placement.side == "before":
            self.before_turn.append(injected)
        elif placement.depth is not None:
            self.by_depth.setdefault(placement.depth, []).append(injected)
        elif anchor in self._anchors:
            self.by_anchor.setdefault((anchor or "", placement.side), []).append(injected)
        else:
            if anchor is not None:
                values = {"name": title, "anchor": anchor}
                warning = self._measure.phrases.format_warning(Code.PRESET_ANCHOR_MISSING, **values)
                self._placed.warnings.append(warning)
                self._placed.without_anchor.add(source)
            return False
        return True

    def at_anchor(self, anchor: str, side: str) -> list[Slot]:
        """The slots beside an anchor."""
        return _in_order(self.by_anchor.get((anchor, side), ()))

    def at_depth(self, following: int, *, is_oldest: bool) -> list[Slot]:
        """The slots that so many messages follow; before the oldest message, also those of greater depth."""
        depths = [depth for depth in self.by_depth if depth == following or (is_oldest and depth > following)]
        return [slot for depth in sorted(depths, reverse=True) for slot in _in_order(self.by_depth[depth])]


def _in_order(injected: Iterable[_Injected]) -> list[Slot]:
    """The highest order first; equal ones as they were taken."""
    return [slot for _, slot in sorted(injected, key=itemgetter(0), reverse=True)]


def _with_heading(heading: TextBlock, pieces: Sequence[MeasuredFragment]) -> list[TextBlock]:
    return [heading, *[piece.block for piece in pieces]] if pieces else []


def _render_retrieved(heading: TextBlock, pieces: Sequence[MeasuredFragment]) -> list[TextBlock]:
    """Fragments under their heading, and the messages of each conversation under its own."""
    if not [piece for piece in pieces if piece.heading is not None]:  # most prompts have no messages here
        return _with_heading(heading, pieces)
    blocks: list[TextBlock] = []
    for conversation, group in groupby(pieces, lambda piece: piece.conversation):
        together = [*group]
        blocks += _with_heading(heading, together) if conversation is None else _render_messages(together)
    return blocks


def _render_messages(pieces: Sequence[MeasuredFragment]) -> list[TextBlock]:
    """Messages under the heading of their conversation; a blank line stands where others were said in between."""
    blocks = [pieces[0].heading or pieces[0].block]
    for piece, following in zip_longest(pieces, pieces[1:]):
        blocks.append(piece.line if following is not None and _is_next(piece, following) else piece.block)
    return blocks


def _is_next(piece: MeasuredFragment, following: MeasuredFragment) -> bool:
    said, answer = piece.fragment.earlier, following.fragment.earlier
    return said is not None and answer is not None and answer.follows == said.number


def _render_late(pieces: Sequence[MeasuredFragment], measure: Measure) -> list[TextBlock]:
    """Late joiners under their heading, then earlier messages; what follows these is not taken for one of them."""
    earlier = [piece for piece in pieces if piece.heading is not None]
    blocks = _with_heading(measure.headings["late"], [piece for piece in pieces if piece.heading is None])
    if earlier:
        blocks += [*_render_retrieved(measure.headings["late"], earlier), measure.headings["earlier_end"]]
    return blocks


def _render_immediate(candidates: Candidates, selection: Selection, measure: Measure) -> list[TextBlock]:
    """Scene, text window, cursor, text after the cursor, editor state: what changes least comes first."""
    return [
        *[piece.block for piece in candidates.scene],
        *_render_window(candidates, selection, measure),
        *[piece.block for piece in candidates.cursor],
        *_with_heading(measure.headings["after"], selection.after),
        *_with_heading(measure.headings["editor_state"], selection.editor_state),
    ]


def _render_window(candidates: Candidates, selection: Selection, measure: Measure) -> list[TextBlock]:
    window, cut = candidates.window, selection.window_cut
    if window is None or cut is None:
        return []
    blocks = [measure.headings["window"]]
    if cut.start > window.begin:
        blocks.append(measure.headings["left_out"])
    last_paragraph = max(window.cursor_paragraph_start() - cut.start, 0)
    blocks.append(TextBlock(window.text_from(cut.start) + BLOCK_SEPARATOR, cut.tokens, last_paragraph=last_paragraph))
    return blocks


def _place_conversation(
    candidates: Candidates,
    selection: Selection,
    order: RetrievedOrder,
    injector: _Injector,
    measure: Measure,
    role: Role,
) -> list[Slot]:
    """The history with injected messages and late joiners in it; the instruction at its end."""
    messages = [
        Slot(
            piece.fragment.role or "user",
            "immediate",
            [piece.block],
            source=piece.fragment.source if piece.fragment.is_own_message else "",
        )
        for piece in selection.history
    ]
    is_message = [True] * len(messages)
    if candidates.instruction:
        is_message.append(any(piece.fragment.source not in TURN_SOURCES for piece in candidates.instruction))
        messages.append(Slot(role, "immediate", [piece.block for piece in candidates.instruction]))
    if not injector.by_depth and not injector.before_turn and not order.late:
        return messages
    late: dict[str, list[MeasuredFragment]] = {}
    for piece in order.late:
        late.setdefault(order.late_after[piece.fragment.source], []).append(piece)
    blocks = {after: Slot(role, "retrieved", _render_late(pieces, measure)) for after, pieces in late.items()}
    slots: list[Slot] = []
    following = sum(is_message)
    for index in range(len(messages) + 1):
        if index == len(messages) or is_message[index]:
            slots += injector.at_depth(following, is_oldest=index == 0)
            following -= 1
        elif index == 0:  # nobody has said anything yet: there is only the line that says who speaks next
            slots += injector.at_depth(following + 1, is_oldest=True)
        if index == len(messages) - bool(candidates.instruction):
            slots += _in_order(injector.before_turn)
        if index == 0 and "" in blocks:  # no message is shown
            slots.append(blocks[""])
        if index < len(messages):
            slots.append(messages[index])
        if index < len(selection.history):
            slots += filter(None, (blocks.get(selection.history[index].fragment.source),))
    return slots


def trace_preset(
    preset: CompletePreset, unmet: Mapping[str, Sentence], without_anchor: Collection[str], measure: Measure
) -> list[Verdict]:
    """A verdict for every node with content; `unmet` says why conditions do not hold, by the node's name.

    The nodes belong to no layer: their tokens are taken from the budget before any layer.
    """
    verdicts: list[Verdict] = []
    for name, node in zip(preset.names, preset.nodes, strict=True):
        content = node.content.strip()
        if not content:
            continue
        reason, tokens = Reason.KEPT, measure.count_block(content)
        detail: Sentence | str = _describe_place(node)
        strategy = node.injection_strategy
        anchor = strategy.anchor_target if strategy is not None and strategy.depth is None else None
        if node.condition is not None and name in unmet:
            reason, tokens, detail = Reason.CONDITION_UNMET, 0, unmet[name]
        elif anchor and f"preset:{name}" in without_anchor:
            reason, detail = Reason.ANCHOR_MISSING, anchor
        verdicts.append(Verdict(f"preset:{name}", node.id, None, reason, tokens, 1.0, detail, node.content))
    return verdicts


def _describe_place(node: Node) -> Sentence:
    strategy = node.injection_strategy
    if node.type != "message" or strategy is None or (strategy.depth is None and strategy.anchor_target is None):
        return message("a message of the preset, where it is listed")
    if strategy.depth is not None:
        return message("a message of the preset, at depth {depth}", depth=strategy.depth)
    if strategy.anchor_position == "before":
        return message("a message of the preset, before {anchor}", anchor=strategy.anchor_target)
    return message("a message of the preset, after {anchor}", anchor=strategy.anchor_target)
