"""The memory source: preferences and style samples for the settings layer (mem-1, man-5).

They are part of the stable prefix, so the same tuple is offered again and again. A snapshot holds one tuple for
scenes with much dialogue and one for other scenes. The choice between the two changes only when the
retrieved layer is reselected. A preference that says the same as a constraint is omitted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from fabula.context.request import SourceRequest
from fabula.context.trace import Reason, Verdict, name_fragment, omit_for_speaker
from fabula.core.errors import Code
from fabula.core.fragment import Fragment, Layer
from fabula.core.messages import message
from fabula.core.view import View
from fabula.memory.deduplicate import MeaningIndex
from fabula.memory.model import Memory, SceneType, is_told_memory, omit_fragment
from fabula.memory.style_metrics import MIN_DIALOGUE_SHARE, get_dialogue_share

FragmentGroup = tuple[Fragment, ...]
ListConstraints = Callable[[View], FragmentGroup]
_CACHE_SIZE = 64


class MemorySource:
    """A source of preferences, by descending confidence, and style samples."""

    name = "memory"
    unavailable_code = Code.MEMORY_UNAVAILABLE
    blocking = False
    runs_first = False

    def __init__(self, list_constraints: ListConstraints = lambda view: ()) -> None:
        """`list_constraints` returns the constraints of a view, the same tuple for the same snapshot."""
        self._list_constraints = list_constraints
        # By the identity of both groups, which the values keep alive.
        self._cache: dict[tuple[int, int], tuple[FragmentGroup, list[Verdict], tuple[FragmentGroup, ...]]] = {}

    def fragments(self, source_request: SourceRequest, view: View) -> Iterable[Fragment]:
        """Offer the preferences and samples for this type of scene."""
        memory = view.snapshot(Memory)
        if memory is None or not is_told_memory(source_request.request):
            return ()
        offered = memory.settings_fragments[get_scene_type(memory, source_request)]
        return self._remove_duplicates(offered, view)[0]

    def explain_omitted(self, source_request: SourceRequest, view: View) -> Iterable[Verdict]:
        """Explain preferences that repeat another memory or a constraint, and samples that fit other scenes better."""
        memory = view.snapshot(Memory)
        if memory is None:
            return ()
        offered = memory.settings_fragments[get_scene_type(memory, source_request)]
        if not is_told_memory(source_request.request):
            return [omit_for_speaker(one) for one in offered]
        shown = {fragment.source for fragment in offered}
        return [
            *(verdict for verdict in memory.omitted if verdict.layer is Layer.SETTINGS),
            *self._remove_duplicates(offered, view)[1],
            *(
                omit_fragment(fragment, Reason.NOT_CHOSEN, message("other samples fit this scene better"))
                for fragment in memory.fragments
                if fragment.source.startswith("style:") and fragment.source not in shown
            ),
        ]

    def save_state(self, source_request: SourceRequest, view: View) -> bytes:
        """Return the type of scene for which samples were chosen, if there was a choice."""
        memory = view.snapshot(Memory)
        return b"" if memory is None or not _has_choice(memory) else get_scene_type(memory, source_request).encode()

    def _remove_duplicates(self, offered: FragmentGroup, view: View) -> tuple[FragmentGroup, list[Verdict]]:
        """Return the offered fragments that no constraint repeats, and verdicts on the others, from a cache."""
        constraints = self._list_constraints(view)
        key = (id(offered), id(constraints))
        cached = self._cache.get(key)
        if cached is None:
            if len(self._cache) >= _CACHE_SIZE:
                self._cache.clear()
            cached = self._cache[key] = (*_split_repeated(offered, constraints), (offered, constraints))
        return cached[0], cached[1]


def get_scene_type(memory: Memory, source_request: SourceRequest) -> SceneType:
    """Return the type of the scene: the same as last time, unless the layer is reselected."""
    if not _has_choice(memory):
        return "told"
    previous = source_request.source_state.get(MemorySource.name)
    if previous is not None and not source_request.reselect:
        return "talk" if previous == b"talk" else "told"
    text = next((nearby.text for nearby in source_request.nearby if nearby.cursor is not None), "")
    return "talk" if get_dialogue_share(text) >= MIN_DIALOGUE_SHARE else "told"


def _has_choice(memory: Memory) -> bool:
    return memory.settings_fragments["talk"] is not memory.settings_fragments["told"]


def _split_repeated(offered: FragmentGroup, constraints: Sequence[Fragment]) -> tuple[FragmentGroup, list[Verdict]]:
    """Split off the fragments that repeat a constraint which holds in the whole story, as verdicts."""
    holding = {one.source: one for one in constraints if one.since is None and one.until is None}
    permanent = MeaningIndex((source, one.text) for source, one in holding.items())
    repeated = {
        one.source: name_fragment(holding[same[0]]) for one in offered if (same := permanent.find_same(one.text))
    }
    if not repeated:
        return offered, []
    verdicts = [omit_fragment(one, Reason.DUPLICATE, repeated[one.source]) for one in offered if one.source in repeated]
    return tuple(one for one in offered if one.source not in repeated), verdicts
