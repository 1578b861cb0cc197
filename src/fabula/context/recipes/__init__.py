"""Recipes: data that tells the engine how one kind of application likes its prompt."""

from fabula.context.recipes.builtin import CHARACTER_CHAT, CHAT, DIGEST, NOVEL, PLAIN, RECIPES
from fabula.context.recipes.conditions import Condition
from fabula.context.recipes.model import Recipe
from fabula.context.recipes.preset import Injection, Node, Preset, UserProfile, available_anchors, prepare

__all__ = [
    "CHARACTER_CHAT",
    "CHAT",
    "DIGEST",
    "NOVEL",
    "PLAIN",
    "RECIPES",
    "Condition",
    "Injection",
    "Node",
    "Preset",
    "Recipe",
    "UserProfile",
    "available_anchors",
    "prepare",
]
