"""What a recipe says."""

from __future__ import annotations

from msgspec import Struct

from fabula.context.recipes.preset import Preset


class Recipe(Struct, frozen=True, kw_only=True):
    """A preset, the names of the sources that feed it, and how its windows behave."""

    name: str
    preset: Preset
    sources: tuple[str, ...]
    late_joiners: bool = False
    history_tokens: int | None = 4000
    history_messages: int | None = None
    history_characters: int | None = None
    window_step: float = 0.5  # how much of a full window is given up when it steps
    history_step: float = 0.5
    spare: float = 0.1  # of all room, left free when the retrieved layer must give something up
    patience: int = 8  # requests for which something told before is kept without being called for
    merge_same_role: bool = True
    merge_system: bool = False
    alternate: bool = False
