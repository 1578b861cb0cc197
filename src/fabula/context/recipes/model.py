"""The recipe: how one kind of application wants its prompt."""

from __future__ import annotations

from msgspec import Struct

from fabula.context.recipes.preset import Preset


class Recipe(Struct, frozen=True, kw_only=True):
    """A preset, the names of the sources that feed it, and how its windows move."""

    name: str
    preset: Preset
    sources: tuple[str, ...]
    late_joiners: bool = False
    history_tokens: int | None = 4000
    history_messages: int | None = None
    history_characters: int | None = None
    step_kinds: tuple[str, ...] = ()  # of messages that are not final, shown among the history with their kind
    injected_characters: int | None = None  # of fixed prompts, biography, recaps and earlier messages together
    injected_sources: tuple[str, ...] = ()  # that are not asked where injection is switched off
    window_step: float = 0.5  # the share of a full text window that is given up when it steps
    history_step: float = 0.5
    spare_ratio: float = 0.1  # the share of all tokens left free when the retrieved layer must drop something
    kept_longest: tuple[str, ...] = ()  # kinds of retrieved fragments that are given up after the conversation
    last_kinds: tuple[str, ...] = ()  # that stand last in the retrieved layer, because they change with each step
    unused_limit: int = 8  # requests for which a fragment that is not needed stays in the retrieved layer
    merge_same_role: bool = True
    merge_system: bool = False
    alternate: bool = False
