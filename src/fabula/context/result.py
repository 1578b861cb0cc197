"""The result of an assembly: the prompt, its sums, its trace and the continuity (ctx-2)."""

from __future__ import annotations

from collections.abc import Mapping, Set

from msgspec import Struct

from fabula.context.budget import Budget
from fabula.context.continuity import Continuity
from fabula.context.render import PromptMessage, RenderedPrompt
from fabula.context.trace import Trace, Verdict
from fabula.core.errors import Code, FabulaError
from fabula.core.fragment import LAYERS, Layer
from fabula.core.messages import message
from fabula.core.story import Vantage
from fabula.text.tokens.models import Model


class LayerReport(Struct, frozen=True):
    """The tokens of one layer, whether it was truncated and, for the retrieved layer, how many fragments it has."""

    tokens: int
    truncated: bool
    chunks: int | None = None


class Result(Struct, frozen=True, kw_only=True):
    """The result of one assembly."""

    rendered: RenderedPrompt
    stable_prefix_unchanged: bool
    truncated_layers: Set[Layer]
    retrieved_count: int  # fragments in the retrieved layer
    warnings: tuple[str, ...]
    trace: Trace
    continuity: Continuity
    budget: Budget
    vantage: Vantage
    model: Model
    exact: bool  # counted with the model's own tokenizer
    unknown_macros: tuple[str, ...] = ()  # names of macros that stand in the prompt as they are written
    assembly_id: str = ""  # under which the answer is reported, where a workspace keeps the continuity

    @property
    def layers(self) -> Mapping[Layer, LayerReport]:
        """The report of each of the four layers."""
        return {
            layer: LayerReport(
                self.rendered.tokens_of(layer),
                layer in self.truncated_layers,
                self.retrieved_count if layer is Layer.RETRIEVED else None,
            )
            for layer in LAYERS
        }

    @property
    def prompt(self) -> str:
        """The whole prompt as one text."""
        return self.rendered.prompt

    @property
    def messages(self) -> list[PromptMessage]:
        """The messages as sent."""
        return self.rendered.messages

    @property
    def token_count(self) -> int:
        """The tokens of the messages as sent."""
        return self.rendered.tokens

    @property
    def stable_prefix_hash(self) -> str:
        """SHA-256 of identity, rules and settings as rendered."""
        return self.rendered.prefix_hash

    @property
    def identity_tokens(self) -> int:
        """The tokens of the identity prompt."""
        return self.rendered.tokens_of("identity")

    @property
    def preset_tokens(self) -> int:
        """The tokens of the preset's messages, which belong to no layer."""
        return self.rendered.tokens_of("preset")

    def explain(self, name: str) -> list[Verdict]:
        """Why something of that name is in the prompt, or is not."""
        if not isinstance(name, str):
            raise FabulaError(Code.REQUEST_INVALID, message("What is to be explained must be named by a text."))
        return self.trace.find(name)
