"""What memory offers to settings: preferences and style samples.

They belong to the stable prefix, so the same tuple is offered again and again: snapshots make it once, for a
scene of talk and for one that is told, and the choice between the two is made anew only when the retrieved
layer is. A preference that says what a constraint says already is left to the constraint, which is stronger.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from fabula.context.request import Ask
from fabula.context.trace import Reason, Verdict
from fabula.core.errors import Code
from fabula.core.fragment import Fragment, Layer
from fabula.core.view import View
from fabula.memory.deduplicate import Meanings
from fabula.memory.dialogue_share import TALK, spoken
from fabula.memory.model import Memory, Scene

Group = tuple[Fragment, ...]
Ruled = Callable[[View], Group]
_KEPT = 64  # groups held against rules, for as many projects


def _no_rules(view: View) -> Group:
    return ()


class MemorySource:
    """What the writer likes, the surest first, and how they write."""

    name = "memory"
    failing = Code.MEMORY_UNAVAILABLE
    waits = False
    ahead = False

    def __init__(self, ruled: Ruled = _no_rules) -> None:
        """`ruled` tells the constraints of a view; the same tuple for the same snapshot."""
        self._ruled = ruled
        self._known: dict[tuple[int, int], tuple[Group, Group, Group, list[Verdict]]] = {}

    def fragments(self, ask: Ask, view: View) -> Iterable[Fragment]:
        """The snapshot's settings for this scene, made once."""
        memory = view.room(Memory)
        if memory is None:
            return ()
        return self._beside(memory.settings[scene_of(memory, ask)], self._ruled(view))[2]

    def absent(self, ask: Ask, view: View) -> Iterable[Verdict]:
        """What is said already by another memory or a constraint, and samples that fit other scenes better."""
        memory = view.room(Memory)
        if memory is None:
            return ()
        offered = memory.settings[scene_of(memory, ask)]
        shown = {fragment.source for fragment in offered}
        return [
            *(verdict for verdict in memory.left_out if verdict.layer is Layer.SETTINGS),
            *self._beside(offered, self._ruled(view))[3],
            *(
                _verdict(fragment, Reason.NOT_CHOSEN, "other samples fit this scene better")
                for fragment in memory.fragments
                if fragment.source.startswith("style:") and fragment.source not in shown
            ),
        ]

    def leaves(self, ask: Ask, view: View) -> bytes:
        """The kind of scene that samples were chosen for, where there was a choice."""
        memory = view.room(Memory)
        return b"" if memory is None or not _chooses(memory) else scene_of(memory, ask).encode()

    def _beside(self, offered: Group, rules: Group) -> tuple[Group, Group, Group, list[Verdict]]:
        """What is left of a group beside these rules."""
        key = (id(offered), id(rules))
        known = self._known.get(key)
        if known is None or known[0] is not offered or known[1] is not rules:
            if len(self._known) >= _KEPT:
                self._known.clear()
            known = self._known[key] = (offered, rules, *_without(offered, rules))
        return known


def scene_of(memory: Memory, ask: Ask) -> Scene:
    """Is this a scene of talk, or one that is told? As it was last time, unless the layer is chosen anew."""
    if not _chooses(memory):
        return "told"
    left = ask.left.get(MemorySource.name)
    if left is not None and not ask.fresh:
        return "talk" if left == b"talk" else "told"
    text = next((near.text for near in ask.near if near.cursor is not None), "")
    return "talk" if spoken(text) >= TALK else "told"


def _chooses(memory: Memory) -> bool:
    return memory.settings["talk"] is not memory.settings["told"]


def _without(offered: Group, rules: Sequence[Fragment]) -> tuple[Group, list[Verdict]]:
    """A group without what a rule says that always holds."""
    firm = [rule for rule in rules if rule.since is None and rule.until is None]
    if not firm:
        return offered, []
    said = Meanings()
    for rule in firm:
        said.add(rule.source, rule.text)
    repeated = {fragment.source: twins[0] for fragment in offered if (twins := said.saying(fragment.text))}
    if not repeated:
        return offered, []
    left = [
        _verdict(fragment, Reason.DUPLICATE, repeated[fragment.source])
        for fragment in offered
        if fragment.source in repeated
    ]
    return tuple(fragment for fragment in offered if fragment.source not in repeated), left


def _verdict(fragment: Fragment, reason: Reason, detail: str) -> Verdict:
    return Verdict(fragment.source, "", fragment.layer, reason, 0, fragment.score, detail, fragment.text)
