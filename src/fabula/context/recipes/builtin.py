"""The recipes that come with the house."""

from __future__ import annotations

from fabula.context.recipes.model import Recipe
from fabula.context.recipes.preset import Node, Preset
from fabula.core.fragment import Role


def _places(*places: tuple[str, Role]) -> Preset:
    nodes = [
        Node(type="chat_history", id=name, role=role)
        if name == "chat_history"
        else Node(type="user_profile", id=name, role=role)
        if name == "user_profile"
        else Node(type="placeholder", id=name, role=role)
        for name, role in places
    ]
    return Preset(nodes=tuple(nodes))


_DESK = _places(
    ("user_profile", "system"),
    ("character", "system"),
    ("rules", "system"),
    ("settings", "system"),
    ("retrieved", "user"),
    ("immediate", "user"),
    ("chat_history", "user"),
)
_ROOM = _places(
    ("user_profile", "system"),
    ("character", "system"),
    ("rules", "system"),
    ("settings", "system"),
    ("retrieved", "system"),
    ("immediate", "system"),
    ("chat_history", "user"),
)
_SOURCES = (
    *("editor", "conversation", "skill", "constraints", "project"),
    *("codex", "lorebook", "memory", "episodes", "synopses", "search", "talks"),
)

NOVEL = Recipe(name="novel", preset=_DESK, sources=_SOURCES, history_tokens=1000)
CHAT = Recipe(name="chat", preset=_ROOM, sources=_SOURCES, late_joiners=True, history_tokens=None, history_step=0.75)
CHARACTER_CHAT = Recipe(
    name="character-chat",
    preset=_ROOM,
    sources=_SOURCES,
    late_joiners=True,
    history_tokens=4000,
    history_characters=4000,
    history_step=0.75,
)
PLAIN = Recipe(name="plain", preset=_DESK, sources=())
# A text that comes along as the input, beside what is always told: the same stable prefix as the novel's.
DIGEST = Recipe(name="digest", preset=_DESK, sources=("skill", "constraints", "project", "codex", "lorebook", "memory"))

RECIPES = {recipe.name: recipe for recipe in (NOVEL, CHAT, CHARACTER_CHAT, PLAIN, DIGEST)}
