"""Budget: how many tokens there are, and what each layer may count on.

The total is hard and the minimums are soft. Shares do not wall layers off from each other: they
tell sources how much to offer and draw the line that rules should stay under.
"""

from __future__ import annotations

from math import isfinite

from msgspec import Struct

from fabula.core.errors import Code, FabulaError
from fabula.core.fragments import Layer


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

    def of(self, layer: Layer) -> Share:
        """The share of a layer."""
        return _SHARES[layer](self)

    def check(self) -> None:
        """Refuse shares that cannot be meant."""
        shares = [self.of(layer) for layer in Layer]
        ratios = [share.ratio for share in shares] + [self.reply_ratio]
        if not all(_number(r) and 0 <= r <= 1 for r in ratios) or sum(s.ratio for s in shares) > 1 + 1e-9:
            raise FabulaError(
                Code.BUDGET_INVALID_RATIO,
                "Shares must lie between 0 and 1 and must not add up to more than 1. Nothing was changed.",
            )
        minimums = [share.minimum for share in shares] + [self.reply_most]
        if not all(isinstance(m, int) and not isinstance(m, bool) and m >= 0 for m in minimums):
            raise FabulaError(
                Code.BUDGET_INVALID_MINIMUM, "Guaranteed minimums are whole numbers from 0 up. Nothing was changed."
            )


_SHARES = {
    Layer.RULES: lambda p: p.rules,
    Layer.SETTINGS: lambda p: p.settings,
    Layer.RETRIEVED: lambda p: p.retrieved,
    Layer.IMMEDIATE: lambda p: p.immediate,
}


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
    """The sums of one request. `layers` is what the four layers share."""

    window: int
    reply: int
    fixed: int
    profile: Profile

    @property
    def total(self) -> int:
        """What the messages as sent may cost."""
        return self.window - self.reply

    @property
    def layers(self) -> int:
        """What is left for the four layers."""
        return self.total - self.fixed

    @property
    def rules_line(self) -> int:
        """Rules beyond this are reduced."""
        share = self.profile.rules
        return max(int(self.layers * share.ratio), share.minimum)

    def share(self, layer: Layer) -> int:
        """What sources of a layer should offer, at the most."""
        share = self.profile.of(layer)
        return max(int(self.layers * share.ratio), share.minimum, 0)


def reply_reserve(window: int, profile: Profile, asked: int | None) -> int:
    """Tokens kept free for the answer."""
    if asked is not None:
        return asked
    return min(int(window * profile.reply_ratio), profile.reply_most)
