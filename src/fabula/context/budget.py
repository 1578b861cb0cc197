"""Budget: how many tokens there are, and what each layer may count on.

The total is hard and the minimums are soft. Shares do not wall layers off from each other: they
tell sources how much to offer and draw the line that rules should stay under.
"""

from __future__ import annotations

from math import isfinite

from msgspec import Struct

from fabula.core.errors import Code, FabulaError
from fabula.core.fragment import LAYERS, Layer


class Share(Struct, frozen=True):
    """One layer's part of the budget, and what it is guaranteed while that is possible."""

    ratio: float
    minimum: int


class Profile(Struct, frozen=True, kw_only=True):
    """How a window is divided."""

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
        """Refuse shares that cannot be meant."""
        shares = self.shares()
        ratios = [share.ratio for share in shares] + [self.reply_ratio]
        if not all(_number(r) and 0 <= r <= 1 for r in ratios) or sum(s.ratio for s in shares) > 1 + 1e-9:
            raise FabulaError(
                Code.BUDGET_INVALID_RATIO,
                "Shares must lie between 0 and 1 and must not add up to more than 1. Nothing was changed.",
            )
        minimums = [share.minimum for share in shares] + [self.reply_most]
        if not all(isinstance(m, int) and not isinstance(m, bool) and m >= 0 for m in minimums):
            raise FabulaError(
                Code.BUDGET_INVALID_MINIMUM, "Guaranteed minimums must be whole numbers from 0 up. Nothing was changed."
            )


def _number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)


class Limits(Struct, frozen=True, kw_only=True):
    """What one request may ask of the house."""

    input_tokens: int = 64_000
    retrieved_chunks: int = 200
    at_once: int = 4
    waiting: int = 16
    source_seconds: float = 2.0
    source_fragments: int = 20_000


class Budget(Struct, frozen=True):
    """The sums of one request. `layers` is what the four layers share, `rules_line` what rules should stay under."""

    window: int
    reply: int
    fixed: int
    profile: Profile
    layers: int
    rules_line: int
    shares: dict[Layer, int]

    @property
    def total(self) -> int:
        """What the messages as sent may cost."""
        return self.window - self.reply

    def less(self, tokens: int) -> Budget:
        """The same with so much more spoken for."""
        return make_budget(self.window, self.reply, self.fixed + tokens, self.profile)


def make_budget(window: int, reply: int, fixed: int, profile: Profile) -> Budget:
    """Divide a window."""
    layers = window - reply - fixed
    shares = {
        layer: max(int(layers * share.ratio), share.minimum, 0)
        for layer, share in zip(LAYERS, profile.shares(), strict=True)
    }
    return Budget(window, reply, fixed, profile, layers, shares[Layer.RULES], shares)


def reply_reserve(window: int, profile: Profile, asked: int | None) -> int:
    """Tokens kept free for the answer."""
    if asked is not None:
        return asked
    return min(int(window * profile.reply_ratio), profile.reply_most)
