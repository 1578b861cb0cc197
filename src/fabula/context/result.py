"""The result: the prompt, its sums, and everything needed to explain or continue it."""

from __future__ import annotations

from collections.abc import Mapping, Set

from msgspec import Struct

from fabula.context.budget import Budget
from fabula.context.continuity import Continuity
from fabula.context.render import Message, Rendered
from fabula.context.trace import Trace, Verdict
from fabula.core.fragment import LAYERS, Layer
from fabula.core.story import Vantage
from fabula.text.tokens.models import Model


class LayerReport(Struct, frozen=True):
    """One layer's part in the prompt."""

    tokens: int
    truncated: bool
    chunks: int | None = None


class Result(Struct, frozen=True, kw_only=True):
    """What one assembly gives back."""

    rendered: Rendered
    stable_prefix_unchanged: bool
    truncated: Set[Layer]
    chunks: int  # things in the retrieved layer
    warnings: tuple[str, ...]
    trace: Trace
    continuity: Continuity
    budget: Budget
    vantage: Vantage
    model: Model
    exact: bool

    @property
    def layers(self) -> Mapping[Layer, LayerReport]:
        """What each layer costs, and whether something of it had to go."""
        return {
            layer: LayerReport(
                self.rendered.tokens_of(layer),
                layer in self.truncated,
                self.chunks if layer is Layer.RETRIEVED else None,
            )
            for layer in LAYERS
        }

    @property
    def prompt(self) -> str:
        """The whole prompt as one text."""
        return self.rendered.prompt

    @property
    def messages(self) -> list[Message]:
        """The messages as sent."""
        return self.rendered.messages

    @property
    def token_count(self) -> int:
        """Tokens of the messages as sent."""
        return self.rendered.tokens

    @property
    def stable_prefix_hash(self) -> str:
        """SHA-256 of identity, rules and settings as rendered."""
        return self.rendered.prefix_hash

    @property
    def identity_tokens(self) -> int:
        """What the identity prompt costs."""
        return self.rendered.tokens_of("identity")

    @property
    def preset_tokens(self) -> int:
        """What preset messages cost, beside the layers."""
        return self.rendered.tokens_of("preset")

    def why(self, name: str) -> list[Verdict]:
        """Why something of that name is, or is not, in the prompt."""
        return self.trace.find(name)
