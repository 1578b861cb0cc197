"""Preferences, episodes, style samples, the notes of this sitting, and what a person says of themselves."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from msgspec import Struct

from fabula.core.fragments import Fragment, Layer, Part
from fabula.core.scale import EPISODE
from fabula.core.story import Position
from fabula.core.view import Language


class Preference(Struct, frozen=True):
    """Something the writer likes or dislikes, and how sure we are."""

    id: str
    text: str
    confidence: float = 0.5
    since: Position | None = None  # when it speaks of some point of the story


class Note(Struct, frozen=True):
    """An episode, a style sample or a note of this sitting; `since` when it speaks of some point of the story."""

    id: str
    text: str
    since: Position | None = None


class Kind(StrEnum):
    """What sort of memory."""

    PREFERENCE = "preference"
    EPISODE = "episode"
    STYLE_SAMPLE = "style_sample"
    WORKING = "working"


class State(StrEnum):
    """Whether somebody said yes to it."""

    CONFIRMED = "confirmed"
    PROPOSED = "proposed"
    DISMISSED = "dismissed"


class Remembered(Struct, frozen=True, kw_only=True):
    """One memory, as the store keeps it. `version` and `made` are the store's."""

    text: str
    kind: Kind = Kind.PREFERENCE
    confidence: float = 0.5
    evidence: tuple[str, ...] = ()
    state: State = State.CONFIRMED
    since: Position | None = None
    id: str = ""
    version: int = 1
    made: str = ""


class Profile(Struct, frozen=True, kw_only=True):
    """What a person says about themselves; version 0 before anything was said."""

    text: str = ""
    version: int = 0
    changed: str = ""


_SAYS: dict[Language, dict[str, str]] = {
    "en": {"style": "A passage in the writer's own voice: “{text}”", "episode": "[From earlier work together] {text}"},
    "zh": {"style": "作者本人的文字，供参考语感：“{text}”", "episode": "[以往的合作] {text}"},
}


class Memory:
    """A snapshot of what is remembered: the things themselves, and their fragments."""

    def __init__(
        self,
        project_id: str,
        *,
        language: Language = "en",
        preferences: Sequence[Preference] = (),
        style_samples: Sequence[Note] = (),
        episodes: Sequence[Note] = (),
        recent: Sequence[Note] = (),
    ) -> None:
        say = _SAYS[language]

        def fragment(source: str, note: Note | Preference, text: str, layer: Layer, score: float) -> Fragment:
            return Fragment(
                source=f"{source}:{note.id}",
                layer=layer,
                text=text,
                project_id=project_id,
                score=score,
                part=Part.DESK if layer is Layer.IMMEDIATE else Part.PLAIN,
                since=note.since,
            )

        self.language = language
        self.preferences = tuple(sorted(preferences, key=lambda p: (-p.confidence, p.id)))
        self.style_samples, self.episodes, self.recent = tuple(style_samples), tuple(episodes), tuple(recent)
        self.fragments = (
            *(fragment("memory", p, p.text, Layer.SETTINGS, p.confidence) for p in self.preferences),
            *(fragment("style", s, say["style"].format(text=s.text), Layer.SETTINGS, 0.5) for s in style_samples),
            *(fragment("memory", e, say["episode"].format(text=e.text), Layer.RETRIEVED, EPISODE[0]) for e in episodes),
            *(fragment("working", n, n.text, Layer.IMMEDIATE, 0.5) for n in recent),
        )
