"""The built-in recipes: novel, chat, character chat, plain, digest, record, scene."""

from __future__ import annotations

from msgspec.structs import replace

from fabula.context.recipes.model import Recipe
from fabula.context.recipes.preset import Node, NodeType, Preset
from fabula.core.fragment import Role

_TYPES: dict[str, NodeType] = {"chat_history": "chat_history", "user_profile": "user_profile"}


def _make_preset(**roles: Role) -> Preset:
    """A preset of anchors alone, each with its role."""
    return Preset(
        nodes=tuple(Node(type=_TYPES.get(name, "placeholder"), id=name, role=role) for name, role in roles.items())
    )


_WRITING = _make_preset(
    user_profile="system",
    character="system",
    rules="system",
    settings="system",
    retrieved="user",
    immediate="user",
    chat_history="user",
)
_CHATTING = _make_preset(
    user_profile="system",
    character="system",
    rules="system",
    settings="system",
    retrieved="system",
    immediate="system",
    chat_history="user",
)
_RETRIEVED = ("codex", "lorebook", "memory", "episodes", "synopses")
_INJECTED = ("recaps", "search", *_RETRIEVED, "talks")  # not told where injection is switched off
_FIRST, _LAST = ("editor", "conversation", "skill", "constraints", "project"), ("talks", "personas", "turn")
_KEPT_LONGEST = ("biography", "pinned", "recap")  # in chats they say what the messages no longer do

NOVEL = Recipe(name="novel", preset=_WRITING, sources=(*_FIRST, *_RETRIEVED, "search", *_LAST))
CHAT = Recipe(  # among several
    name="chat",
    preset=_CHATTING,
    sources=(*_FIRST, "recaps", "search", *_RETRIEVED, *_LAST),  # what was said before, then everything else
    injected_sources=_INJECTED,
    late_joiners=True,
    history_step=0.75,
    kept_longest=_KEPT_LONGEST,
    last_kinds=("recap",),
)
# A player and a character alone. Recaps stand in their order (cnv-8), and not where they change least of the prefix.
CHARACTER_CHAT = replace(CHAT, name="character-chat", injected_characters=4000, last_kinds=())
PLAIN = Recipe(name="plain", preset=_WRITING, sources=())
# A text that comes as the input, with the same stable prefix as the novel recipe's.
DIGEST = Recipe(
    name="digest", preset=_WRITING, sources=("skill", "constraints", "project", "codex", "lorebook", "memory")
)
# A text that is told to others, who may know less: with the rules, and without anything that only some know.
RECORD = Recipe(name="record", preset=_WRITING, sources=("skill", "constraints", "project"))
# A question about the scene at the cursor: its text, who is in it and what happened before, and nothing of a person.
SCENE = Recipe(
    name="scene",
    preset=_make_preset(rules="system", settings="system", retrieved="user", immediate="user", chat_history="user"),
    sources=("editor", "skill", "project", "codex", "synopses"),
)

RECIPES = {recipe.name: recipe for recipe in (NOVEL, CHAT, CHARACTER_CHAT, PLAIN, DIGEST, RECORD, SCENE)}
