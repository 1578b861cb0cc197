"""Recipes and presets: data that says how one kind of application wants its prompt."""

from fabula.context.recipes.builtin import CHARACTER_CHAT, CHAT, DIGEST, NOVEL, PLAIN, RECIPES
from fabula.context.recipes.conditions import Condition
from fabula.context.recipes.model import Recipe
from fabula.context.recipes.preset import (
    CompletePreset,
    InjectionStrategy,
    Node,
    NodeType,
    Preset,
    UserProfile,
    available_anchors,
    complete_preset,
    validate_preset,
)

__all__ = [
    "CHARACTER_CHAT",
    "CHAT",
    "DIGEST",
    "NOVEL",
    "PLAIN",
    "RECIPES",
    "CompletePreset",
    "Condition",
    "InjectionStrategy",
    "Node",
    "NodeType",
    "Preset",
    "Recipe",
    "UserProfile",
    "available_anchors",
    "complete_preset",
    "validate_preset",
]
