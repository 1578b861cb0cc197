"""The token budget of a request: its total, the share of each layer, and the limits (bud-1, bud-8).

The total is hard, the minimums are soft. A share tells sources how much to offer; what one layer
leaves unused the others may use. The share of the rules is also the limit above which rules are
reduced.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from math import isfinite
from typing import TYPE_CHECKING

from msgspec import Struct

from fabula.core.errors import Code, FabulaError
from fabula.core.fragment import LAYERS, Layer
from fabula.core.messages import message

if TYPE_CHECKING:
    from fabula.context.measure import Measure
    from fabula.context.recipes import Preset, Recipe


class Share(Struct, frozen=True):
    """The share of one layer, and the minimum it gets while that is possible."""

    ratio: float
    minimum: int


class BudgetProfile(Struct, frozen=True, kw_only=True):
    """How a model's window is divided among the layers and the reply."""

    rules: Share = Share(0.15, 500)
    settings: Share = Share(0.10, 200)
    retrieved: Share = Share(0.25, 0)
    immediate: Share = Share(0.50, 2000)
    reply_ratio: float = 0.25
    reply_most: int = 4096

    def shares(self) -> tuple[Share, Share, Share, Share]:
        """The four shares, in the order of the layers."""
        return self.rules, self.settings, self.retrieved, self.immediate

    def check(self) -> None:
        """Refuse shares and minimums that make no sense (bud-7)."""
        shares = self.shares()
        ratios = [share.ratio for share in shares] + [self.reply_ratio]
        if not all(_is_number(r) and 0 <= r <= 1 for r in ratios) or sum(s.ratio for s in shares) > 1 + 1e-9:
            raise FabulaError(
                Code.BUDGET_INVALID_RATIO,
                message("Shares must lie between 0 and 1 and must not add up to more than 1. Nothing was changed."),
            )
        minimums = [share.minimum for share in shares] + [self.reply_most]
        if not all(isinstance(m, int) and not isinstance(m, bool) and m >= 0 for m in minimums):
            raise FabulaError(
                Code.BUDGET_INVALID_MINIMUM,
                message("Guaranteed minimums must be whole numbers from 0 up. Nothing was changed."),
            )


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)


class Limits(Struct, frozen=True, kw_only=True):
    """The limits on one request, and on requests at the same time."""

    input_tokens: int = 64_000
    retrieved_chunks: int = 200
    at_once: int = 4  # assemblies of one document that run at the same time
    waiting: int = 16  # more of them that may wait
    source_seconds: float = 2.0
    source_fragments: int = 20_000


class Budget(Struct, frozen=True):
    """The sums of one request."""

    window: int
    reply: int
    fixed: int  # identity, preset messages and the overhead of messages
    profile: BudgetProfile
    layer_tokens: int  # for the four layers together
    rules_limit: int
    shares: Mapping[Layer, int]

    @property
    def total(self) -> int:
        """The tokens that the messages as sent may take."""
        return self.window - self.reply

    def reserve(self, tokens: int) -> Budget:
        """The same budget with so many more tokens taken."""
        return divide_window(self.window, self.reply, self.fixed + tokens, self.profile)


@lru_cache(maxsize=256)  # most requests divide the same window in the same way
def divide_window(window: int, reply: int, fixed: int, profile: BudgetProfile) -> Budget:
    """Divide a window among the reply, the fixed part and the layers."""
    layer_tokens = window - reply - fixed
    shares = {
        layer: max(int(layer_tokens * share.ratio), share.minimum, 0)
        for layer, share in zip(LAYERS, profile.shares(), strict=True)
    }
    return Budget(window, reply, fixed, profile, layer_tokens, shares[Layer.RULES], shares)


def compute_budget(
    measure: Measure, recipe: Recipe, preset: Preset, identity: str, profile: BudgetProfile, reply_tokens: int | None
) -> Budget:
    """The budget before any fragment: what identity, preset and message overhead leave of the window.

    Where messages will split is not known yet, so the overhead is counted for the worst case.
    """
    model = measure.model
    fixed = (measure.make_fixed_block(identity.strip()).tokens if identity.strip() else 0) + model.tokens_per_reply
    messages, last_role = 2, "system"
    for node in preset.nodes:
        if node.content.strip():
            fixed += measure.make_fixed_block(node.content.strip()).tokens
            if node.injection_strategy is not None:
                messages += 2
        if node.role != last_role or not (recipe.merge_same_role or recipe.alternate):
            messages += 1
            last_role = node.role or last_role
    if recipe.alternate:
        fixed += measure.count_block(measure.phrases.first_turn)
        messages += 1
    fixed += messages * model.tokens_per_message
    reply = reply_tokens
    if reply is None:
        reply = min(int(model.window * profile.reply_ratio), profile.reply_most)
    if not 0 <= reply < model.window:
        raise FabulaError(
            Code.REQUEST_INVALID,
            message(
                "{reply} tokens cannot be kept for the answer in a window of {window}. "
                "Ask for fewer, or give the size of the model's window, in tokens.",
                reply=reply,
                window=model.window,
            ),
        )
    budget = divide_window(model.window, reply, fixed, profile)
    if budget.layer_tokens <= 0:
        raise FabulaError(
            Code.RULES_TOO_LARGE,
            message(
                "The identity prompt and the preset need {fixed} tokens, and a window of {window} with {reply} kept "
                "for the answer leaves {total}. Use a larger window or a shorter preset. Nothing was changed.",
                fixed=fixed,
                window=model.window,
                reply=reply,
                total=budget.total,
            ),
        )
    return budget
