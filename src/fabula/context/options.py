"""Overrides of engine and recipe by a project: limits (bud-8), late joiners (ctx-1), caps and injection (cnv-2, cnv-9).

The engine finds these options in the view, as it finds the project's budget profile, so a change holds for the next
assembly.
"""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from fabula.context.budget import Limits
from fabula.context.recipes.model import Recipe


class AssemblyOptions(Struct, frozen=True, kw_only=True):
    """A project's own limits and recipe options; None leaves one to the engine or the recipe."""

    input_tokens: int | None = None
    retrieved_chunks: int | None = None
    late_joiners: bool | None = None
    max_history_tokens: int | None = None
    max_injected_characters: int | None = None
    injection: bool = True
    passages: bool = True
    max_history_messages: int | None = None

    def adjust_limits(self, limits: Limits) -> Limits:
        """The engine's limits with those of the project in their place."""
        return replace(
            limits,
            input_tokens=limits.input_tokens if self.input_tokens is None else self.input_tokens,
            retrieved_chunks=limits.retrieved_chunks if self.retrieved_chunks is None else self.retrieved_chunks,
        )

    def adjust_recipe(self, recipe: Recipe) -> Recipe:
        """The recipe with the options of the project in their place."""
        return replace(
            recipe,
            late_joiners=recipe.late_joiners if self.late_joiners is None else self.late_joiners,
            history_tokens=recipe.history_tokens if self.max_history_tokens is None else self.max_history_tokens,
            injected_characters=self._limit_injected(recipe),
            sources=self._select_sources(recipe),
            history_messages=(
                recipe.history_messages if self.max_history_messages is None else self.max_history_messages
            ),
        )

    def _select_sources(self, recipe: Recipe) -> tuple[str, ...]:
        """The sources that are asked; the same tuple where all are."""
        excluded = {*(() if self.injection else recipe.injected_sources), *(() if self.passages else ("search",))}
        return tuple([name for name in recipe.sources if name not in excluded]) if excluded else recipe.sources

    def _limit_injected(self, recipe: Recipe) -> int | None:
        """The project's cap, where the recipe is that of a chat."""
        own = self.max_injected_characters
        return own if own is not None and recipe.injected_sources else recipe.injected_characters
