"""What is remembered: preferences, episodes, style samples, and what a person says of themselves.

A memory was said by somebody or learnt from what they did with the texts they were offered. What was learnt
waits as a proposal until somebody says yes.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Literal

from msgspec import Struct

from fabula.context.trace import Reason, Verdict
from fabula.core.fragment import Fragment, Layer, Part
from fabula.core.relevance import EPISODE, within
from fabula.core.story import Position
from fabula.core.view import Language
from fabula.memory.deduplicate import Meanings
from fabula.memory.dialogue_share import spoken

SAMPLES = 3  # style samples in one prompt
LEVELS = 4  # of relevance, so that an episode's fragment is one of a few and is measured once
NOTES = 12  # of a sitting
Scene = Literal["talk", "told"]


class Kind(StrEnum):
    """What sort of memory."""

    PREFERENCE = "preference"
    EPISODE = "episode"
    STYLE_SAMPLE = "style_sample"
    WORKING = "working"  # what a project folder says of its last sitting; a sitting under way is no row


class State(StrEnum):
    """Whether somebody said yes to it."""

    CONFIRMED = "confirmed"
    PROPOSED = "proposed"
    DISMISSED = "dismissed"


class Origin(StrEnum):
    """Where a memory comes from."""

    SAID = "said"
    LEARNED = "learned"


class Scope(StrEnum):
    """Whose memory: one book's, or a person's in all their books."""

    PROJECT = "project"
    USER = "user"


class Preference(Struct, frozen=True):
    """Something the writer likes or dislikes, and how sure we are."""

    id: str
    text: str
    confidence: float = 0.5
    since: Position | None = None  # when it speaks of some point of the story
    scope: Scope = Scope.PROJECT
    because: str = ""  # what it rests on, for those who ask why it is in a prompt


class Note(Struct, frozen=True):
    """An episode, a style sample or a note of a sitting; `since` when it speaks of some point of the story."""

    id: str
    text: str
    since: Position | None = None


class Remembered(Struct, frozen=True, kw_only=True):
    """One memory, as the store keeps it. `version` and `made` are the store's."""

    text: str
    kind: Kind = Kind.PREFERENCE
    origin: Origin = Origin.SAID
    confidence: float = 0.5
    evidence: tuple[str, ...] = ()
    state: State = State.CONFIRMED
    since: Position | None = None
    agreeing: int = 0  # outcomes that speak for it, and against it
    against: int = 0
    seen: str = ""  # when something last spoke for it
    id: str = ""
    version: int = 1
    made: str = ""


class Profile(Struct, frozen=True, kw_only=True):
    """What a person says about themselves; version 0 before anything was said."""

    text: str = ""
    version: int = 0
    changed: str = ""


class Fate(StrEnum):
    """What became of a suggestion."""

    ACCEPTED = "accepted"
    REJECTED = "rejected"
    REWRITTEN = "rewritten"


class Outcome(Struct, frozen=True, kw_only=True):
    """A text that was offered, and what the writer made of it.

    `recalled` are the memories that stood in the prompt it came from: what a model does because it was told
    to is no sign that the writer likes it.
    """

    offered: str
    fate: Fate
    became: str = ""  # what a rewritten one became
    skill: str = ""
    at: Position | None = None
    recalled: tuple[str, ...] = ()
    id: str = ""
    made: str = ""


_SAYS: dict[Language, dict[str, str]] = {
    "en": {"style": "A passage in the writer's own voice: “{text}”", "episode": "[From earlier work together] {text}"},
    "zh": {"style": "作者本人的文字，供参考语感：“{text}”", "episode": "[以往的合作] {text}"},
}


class Memory:
    """A snapshot of what is remembered: the things themselves, and their fragments, each fact once.

    A preference of the project stands in for one of the person that says the same, and overrules one that
    says the opposite; an episode that only says what a preference says is left out.
    """

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
        self.project_id, self.language = project_id, language
        self.preferences = tuple(sorted(preferences, key=lambda p: (-p.confidence, p.id)))
        self.style_samples, self.episodes, self.recent = tuple(style_samples), tuple(episodes), tuple(recent)
        self.left_out: list[Verdict] = []
        say = _SAYS[language]
        liked, told = self._each_fact_once()
        self.offered = tuple(liked)
        samples = [
            self._fragment("style", s, say["style"].format(text=s.text), Layer.SETTINGS, 0.5) for s in style_samples
        ]
        preferred = tuple(
            self._fragment("memory", p, p.text, Layer.SETTINGS, p.confidence, p.because) for p in self.offered
        )
        self.settings: dict[Scene, tuple[Fragment, ...]] = {
            scene: (*preferred, *(samples[at] for at in _fitting(self.style_samples, scene)))
            for scene in ("talk", "told")
        }
        if self.settings["talk"] == self.settings["told"]:
            self.settings["talk"] = self.settings["told"]  # one tuple, so that it is shaped once
        self.tellable = tuple(told)
        self.levels = tuple(
            tuple(
                self._fragment(
                    "memory", e, say["episode"].format(text=e.text), Layer.RETRIEVED, within(EPISODE, n / (LEVELS - 1))
                )
                for n in range(LEVELS)
            )
            for e in self.tellable
        )
        self.sitting = tuple(self._fragment("working", n, n.text, Layer.IMMEDIATE, 0.5) for n in self.recent[-NOTES:])
        self.fragments = (*preferred, *samples, *(some[0] for some in self.levels), *self.sitting)

    def same(self, other: Memory) -> bool:
        """Would the other put the same into every prompt, and say the same about it?"""
        return self.fragments == other.fragments and self.left_out == other.left_out

    def _fragment(
        self, source: str, note: Note | Preference, text: str, layer: Layer, score: float, because: str = ""
    ) -> Fragment:
        return Fragment(
            source=f"{source}:{note.id}",
            layer=layer,
            text=text,
            project_id=self.project_id,
            score=score,
            part=Part.DESK if layer is Layer.IMMEDIATE else Part.PLAIN,
            since=note.since,
            because=because,
        )

    def _each_fact_once(self) -> tuple[list[Preference], list[Note]]:
        known = Meanings()
        kept: set[str] = set()
        since: dict[str, Position | None] = {}
        for one in sorted(self.preferences, key=lambda p: p.scope is Scope.USER):
            holds = [name for name in known.saying(one.text) if since[name] in (None, one.since)]
            against = [name for name in known.denying(one.text) if since[name] is None and name in kept]
            if holds:
                self._leave_out(one, Layer.SETTINGS, Reason.DUPLICATE, f"memory:{holds[0]}")
            elif against and one.scope is Scope.USER:
                self._leave_out(
                    one, Layer.SETTINGS, Reason.NOT_CHOSEN, f"this project says otherwise: memory:{against[0]}"
                )
            else:
                known.add(one.id, one.text)
                since[one.id] = one.since
                if one.scope is Scope.PROJECT:
                    kept.add(one.id)
        told = []
        for episode in self.episodes:
            holds = [name for name in known.saying(episode.text) if since[name] in (None, episode.since)]
            if holds:
                self._leave_out(episode, Layer.RETRIEVED, Reason.DUPLICATE, f"memory:{holds[0]}")
            else:
                told.append(episode)
                known.add(episode.id, episode.text)
                since[episode.id] = episode.since
        left = {verdict.source for verdict in self.left_out}
        return [one for one in self.preferences if f"memory:{one.id}" not in left], told

    def _leave_out(self, one: Preference | Note, layer: Layer, reason: Reason, detail: str) -> None:
        score = one.confidence if isinstance(one, Preference) else EPISODE[0]
        self.left_out.append(Verdict(f"memory:{one.id}", "", layer, reason, 0, score, detail, one.text))


def _fitting(samples: Sequence[Note], scene: Scene) -> list[int]:
    """The samples that fit a scene of talk, or one that is told, in the order in which they were chosen."""
    sign = -1 if scene == "talk" else 1
    ranked = sorted(range(len(samples)), key=lambda at: (sign * spoken(samples[at].text), at))
    return sorted(ranked[:SAMPLES])
