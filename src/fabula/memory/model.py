"""The types of memory, and the snapshot of what is remembered (mem-1).

A memory is stated by the writer, or learnt from what the writer accepts, rejects and rewrites. A learnt
memory stays a proposal until the writer confirms it.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Literal

from msgspec import Struct, field

from fabula.context.trace import Reason, Verdict
from fabula.core.fragment import Fragment, Layer, Part
from fabula.core.relevance import EPISODE, score_in_range
from fabula.core.story import Position
from fabula.core.view import Language
from fabula.memory.deduplicate import MeaningIndex
from fabula.memory.style_metrics import get_dialogue_share

MAX_STYLE_SAMPLES = 3  # in one prompt
RELEVANCE_LEVELS = 4  # an episode has one fragment for each level, so that each is measured once
MAX_WORKING_NOTES = 12
SceneType = Literal["talk", "told"]  # mostly dialogue, or mostly narration


class MemoryKind(StrEnum):
    """The kind of a memory."""

    PREFERENCE = "preference"
    EPISODE = "episode"
    STYLE_SAMPLE = "style_sample"
    WORKING = "working"  # notes from a project folder; the current working memory has no rows


class MemoryState(StrEnum):
    """Whether the writer has confirmed a memory."""

    CONFIRMED = "confirmed"
    PROPOSED = "proposed"
    DISMISSED = "dismissed"


class MemoryOrigin(StrEnum):
    """Where a memory comes from: the writer stated it, or it was learnt from outcomes."""

    STATED = "said"
    LEARNED = "learned"


class MemoryScope(StrEnum):
    """Whether a memory holds in one project or in all projects of a user."""

    PROJECT = "project"
    USER = "user"


class Preference(Struct, frozen=True):
    """A preference of the writer, with a confidence from 0 to 1."""

    id: str
    text: str
    confidence: float = 0.5
    since: Position | None = None  # the point of the story from which it may be revealed
    scope: MemoryScope = MemoryScope.PROJECT
    explanation: str = ""  # its evidence in words, for the trace


class MemoryNote(Struct, frozen=True):
    """An episode, a style sample or a working note; `since` is the point from which it may be revealed."""

    id: str
    text: str
    since: Position | None = None


class MemoryItem(Struct, frozen=True, kw_only=True):
    """A memory as it is stored. The store sets `version`."""

    text: str
    kind: MemoryKind = MemoryKind.PREFERENCE
    origin: MemoryOrigin = MemoryOrigin.STATED
    confidence: float = 0.5
    evidence: tuple[str, ...] = ()
    state: MemoryState = MemoryState.CONFIRMED
    since: Position | None = None
    votes_for: int = field(default=0, name="agreeing")  # outcomes that support it
    votes_against: int = field(default=0, name="against")
    last_vote_at: str = field(default="", name="seen")  # when an outcome last supported it
    id: str = ""
    version: int = 1
    created_at: str = field(default="", name="made")


class WriterProfile(Struct, frozen=True, kw_only=True):
    """What the writer says about themselves (mem-5); version 0 if nothing was written yet."""

    text: str = ""
    version: int = 0
    changed_at: str = field(default="", name="changed")


class Decision(StrEnum):
    """What the writer did with a suggestion."""

    ACCEPTED = "accepted"
    REJECTED = "rejected"
    REWRITTEN = "rewritten"


class SuggestionOutcome(Struct, frozen=True, kw_only=True):
    """A suggested text, and what the writer did with it.

    `memory_sources` are the memories in the prompt that gave the suggestion. A feature that a memory asked
    for does not show that the writer likes it.
    """

    suggestion: str = field(name="offered")
    decision: Decision = field(name="fate")
    rewritten_text: str = field(default="", name="became")
    skill: str = ""
    position: Position | None = field(default=None, name="at")
    memory_sources: tuple[str, ...] = field(default=(), name="recalled")
    id: str = ""
    created_at: str = field(default="", name="made")


_TEMPLATES: dict[Language, dict[str, str]] = {
    "en": {"style": "A passage in the writer's own voice: “{text}”", "episode": "[From earlier work together] {text}"},
    "zh": {"style": "作者本人的文字，供参考语感：“{text}”", "episode": "[以往的合作] {text}"},
}


class Memory:
    """A snapshot of confirmed memories and their fragments, each fact once.

    If a preference of the project and one of the user say the same, or the opposite, the project's is
    used. An episode that only repeats a preference is omitted.
    """

    def __init__(
        self,
        project_id: str,
        *,
        language: Language = "en",
        preferences: Sequence[Preference] = (),
        style_samples: Sequence[MemoryNote] = (),
        episodes: Sequence[MemoryNote] = (),
        working_notes: Sequence[MemoryNote] = (),
    ) -> None:
        self.project_id, self.language = project_id, language
        self.preferences = tuple(sorted(preferences, key=lambda one: (-one.confidence, one.id)))
        self.style_samples, self.episodes = tuple(style_samples), tuple(episodes)
        self.working_notes = tuple(working_notes)
        self.omitted: list[Verdict] = []
        templates = _TEMPLATES[language]
        self.distinct_preferences, self.distinct_episodes = self._deduplicate()
        samples = [
            self._make_fragment("style", sample, templates["style"].format(text=sample.text), Layer.SETTINGS, 0.5)
            for sample in style_samples
        ]
        preferred = tuple(
            self._make_fragment("memory", one, one.text, Layer.SETTINGS, one.confidence, one.explanation)
            for one in self.distinct_preferences
        )
        self.settings_fragments: dict[SceneType, tuple[Fragment, ...]] = {
            scene: (*preferred, *(samples[index] for index in _choose_samples(self.style_samples, scene)))
            for scene in ("talk", "told")
        }
        if self.settings_fragments["talk"] == self.settings_fragments["told"]:
            self.settings_fragments["talk"] = self.settings_fragments["told"]  # one tuple is measured once
        self.episode_fragments = tuple(
            tuple(
                self._make_fragment(
                    "memory",
                    episode,
                    templates["episode"].format(text=episode.text),
                    Layer.RETRIEVED,
                    score_in_range(EPISODE, level / (RELEVANCE_LEVELS - 1)),
                )
                for level in range(RELEVANCE_LEVELS)
            )
            for episode in self.distinct_episodes
        )
        self.working_fragments = tuple(
            self._make_fragment("working", note, note.text, Layer.IMMEDIATE, 0.5)
            for note in self.working_notes[-MAX_WORKING_NOTES:]
        )
        episodes_once = tuple(levels[0] for levels in self.episode_fragments)
        self.fragments = (*preferred, *samples, *episodes_once, *self.working_fragments)

    def has_same_fragments(self, other: Memory) -> bool:
        """Return whether the other snapshot gives the same prompts and the same explanations."""
        return self.fragments == other.fragments and self.omitted == other.omitted

    def _make_fragment(
        self,
        prefix: str,
        memory: MemoryNote | Preference,
        text: str,
        layer: Layer,
        score: float,
        explanation: str = "",
    ) -> Fragment:
        return Fragment(
            source=f"{prefix}:{memory.id}",
            layer=layer,
            text=text,
            project_id=self.project_id,
            score=score,
            part=Part.EDITOR_STATE if layer is Layer.IMMEDIATE else Part.PLAIN,
            since=memory.since,
            explanation=explanation,
        )

    def _deduplicate(self) -> tuple[tuple[Preference, ...], tuple[MemoryNote, ...]]:
        """Return the preferences and episodes that repeat or contradict no stronger one; explain the others."""
        index = MeaningIndex()
        project_ids: set[str] = set()
        since: dict[str, Position | None] = {}
        for preference in sorted(self.preferences, key=lambda one: one.scope is MemoryScope.USER):
            same = [name for name in index.find_same(preference.text) if since[name] in (None, preference.since)]
            opposite = [
                name for name in index.find_opposite(preference.text) if since[name] is None and name in project_ids
            ]
            if same:
                self._omit(preference, Layer.SETTINGS, Reason.DUPLICATE, f"memory:{same[0]}")
            elif opposite and preference.scope is MemoryScope.USER:
                detail = f"this project says otherwise: memory:{opposite[0]}"
                self._omit(preference, Layer.SETTINGS, Reason.NOT_CHOSEN, detail)
            else:
                index.add(preference.id, preference.text)
                since[preference.id] = preference.since
                if preference.scope is MemoryScope.PROJECT:
                    project_ids.add(preference.id)
        episodes = []
        for episode in self.episodes:
            same = [name for name in index.find_same(episode.text) if since[name] in (None, episode.since)]
            if same:
                self._omit(episode, Layer.RETRIEVED, Reason.DUPLICATE, f"memory:{same[0]}")
            else:
                episodes.append(episode)
                index.add(episode.id, episode.text)
                since[episode.id] = episode.since
        omitted = {verdict.source for verdict in self.omitted}
        return tuple(one for one in self.preferences if f"memory:{one.id}" not in omitted), tuple(episodes)

    def _omit(self, memory: Preference | MemoryNote, layer: Layer, reason: Reason, detail: str) -> None:
        score = memory.confidence if isinstance(memory, Preference) else EPISODE[0]
        self.omitted.append(Verdict(f"memory:{memory.id}", "", layer, reason, 0, score, detail, memory.text))


def omit_fragment(fragment: Fragment, reason: Reason, detail: str) -> Verdict:
    """Return the verdict on a memory that is not offered."""
    return Verdict(fragment.source, "", fragment.layer, reason, 0, fragment.score, detail, fragment.text)


def _choose_samples(samples: Sequence[MemoryNote], scene: SceneType) -> list[int]:
    """Return the indexes of the samples whose share of dialogue fits the scene best, in their order."""
    sign = -1 if scene == "talk" else 1
    ranked = sorted(range(len(samples)), key=lambda index: (sign * get_dialogue_share(samples[index].text), index))
    return sorted(ranked[:MAX_STYLE_SAMPLES])
