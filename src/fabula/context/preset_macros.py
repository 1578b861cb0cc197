"""Macros in the identity and in preset messages: expanded here, and kept out of the stable prefix where they change.

A text with the time, with chance or with a variable in it differs from one request to the next. In the stable prefix it
would cost the cached tokens of everything behind it, so it stands before the newest message instead.
"""

from __future__ import annotations

from msgspec.structs import replace

from fabula.context.recipes.preset import CompletePreset, InjectionStrategy, Node
from fabula.text.macros import MacroExpander, has_macros, is_changing

CHANGING_DEPTH = 1  # the newest message follows
_NEAR_THE_END = InjectionStrategy(depth=CHANGING_DEPTH)


def expand_preset(preset: CompletePreset, identity: str, macros: MacroExpander) -> tuple[CompletePreset, str]:
    """Return a preset and an identity with their macros expanded; what a person says about themselves stays."""
    if not (preset.may_have_macros or has_macros(identity)):
        return preset, identity
    named: list[tuple[str, Node]] = []
    moved: list[tuple[str, Node]] = []
    for name, node in zip(preset.names, preset.nodes, strict=True):
        if node.type == "user_profile" or not has_macros(node.content):
            named.append((name, node))
            continue
        expanded = replace(node, content=macros.expand(node.content))
        has_depth = node.injection_strategy is not None and node.injection_strategy.depth is not None
        if is_changing(node.content) and not (node.type == "message" and has_depth):
            if node.type == "message":
                expanded = replace(expanded, injection_strategy=_NEAR_THE_END)
            else:
                moved.append(_make_message(name, expanded.content))
                expanded = replace(node, content="")
        named.append((name, expanded))
    text = macros.expand(identity)
    if is_changing(identity):
        moved.append(_make_message("identity", text))
        text = ""
    named += moved
    return replace(preset, names=tuple([name for name, _ in named]), nodes=tuple([node for _, node in named])), text


def _make_message(name: str, content: str) -> tuple[str, Node]:
    """A message of its own for the text of an anchor or of the identity."""
    return f"{name}#text", Node(role="system", content=content, injection_strategy=_NEAR_THE_END)
