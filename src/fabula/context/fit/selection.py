"""Selection: what enters the prompt, and what became of every other fragment (bud-3)."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct, field

from fabula.context.measure import MeasuredFragment, TextBlock
from fabula.context.trace import FragmentOutcome, OutcomeExplanation, Reason
from fabula.core.fragment import Layer
from fabula.core.messages import Sentence
from fabula.text.windows import WindowCut


class Selection(Struct):
    """What enters the prompt, and what became of the rest."""

    rules: list[TextBlock] = field(default_factory=list)
    settings: list[MeasuredFragment] = field(default_factory=list)
    retrieved: list[MeasuredFragment] = field(default_factory=list)
    editor_state: list[MeasuredFragment] = field(default_factory=list)
    history: list[MeasuredFragment] = field(default_factory=list)
    after: list[MeasuredFragment] = field(default_factory=list)
    window_cut: WindowCut | None = None
    window_budget: int = 0
    window_stepped: bool = False
    history_steps_soon: bool = False  # the conversation takes most of the tokens that it may have
    retrieved_crowded: bool = False  # the retrieved layer dropped something to have tokens to spare
    truncated_layers: set[Layer] = field(default_factory=set)
    included: list[Sequence[MeasuredFragment]] = field(default_factory=list)  # whole fragments, in any order
    outcomes: list[FragmentOutcome] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    rules_left_out: tuple[str, ...] = ()

    def record(
        self,
        piece: MeasuredFragment,
        reason: Reason,
        tokens: int | None = None,
        detail: Sentence | str | OutcomeExplanation = "",
    ) -> None:
        """Record what became of a fragment."""
        self.outcomes.append((piece.fragment, reason, piece.tokens if tokens is None else tokens, detail))

    def drop(self, pieces: Sequence[MeasuredFragment], reason: Reason, layer: Layer) -> None:
        """Record that fragments are left out of a layer."""
        if pieces:
            self.truncated_layers.add(layer)
            self.outcomes += [(piece.fragment, reason, piece.tokens, "") for piece in pieces]
