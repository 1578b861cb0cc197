"""Preferences, episodes, style samples, and the notes of this sitting."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from fabula.core.fragments import Fragment, Layer, Part
from fabula.core.scale import EPISODE


class Preference(Struct, frozen=True):
    """Something the writer likes or dislikes, and how sure we are."""

    id: str
    text: str
    confidence: float = 0.5


class Note(Struct, frozen=True):
    """An episode or a style sample: a text with an id."""

    id: str
    text: str


class Memory:
    """A snapshot of what is remembered, with its fragments."""

    def __init__(
        self,
        project_id: str,
        *,
        preferences: Sequence[Preference] = (),
        style_samples: Sequence[Note] = (),
        episodes: Sequence[Note] = (),
        recent: Sequence[str] = (),
    ) -> None:
        def fragment(source: str, text: str, layer: Layer, score: float, part: Part = Part.PLAIN) -> Fragment:
            return Fragment(source=source, layer=layer, text=text, project_id=project_id, score=score, part=part)

        ordered = sorted(preferences, key=lambda p: (-p.confidence, p.id))
        self.fragments = (
            *(fragment(f"memory:{p.id}", p.text, Layer.SETTINGS, p.confidence) for p in ordered),
            *(fragment(f"style:{s.id}", s.text, Layer.SETTINGS, 0.5) for s in style_samples),
            *(fragment(f"memory:{e.id}", e.text, Layer.RETRIEVED, EPISODE[0]) for e in episodes),
            *(
                fragment(f"working:{n}", text, Layer.IMMEDIATE, 0.5, Part.DESK)
                for n, text in enumerate(recent, start=1)
            ),
        )
