"""The types of memory, and the snapshot of what is remembered (mem-1).

A memory is stated by the writer, or learnt from what the writer accepts, rejects and rewrites. A learnt
memory stays a proposal until the writer confirms it.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated, Literal

from msgspec import Meta, Struct, field
from msgspec.structs import replace

from fabula.context.request import Request, has_limits, is_character_speaking
from fabula.context.trace import Reason, Verdict
from fabula.core.errors import Code, FabulaError
from fabula.core.fragment import Fragment, Layer, Part, Visibility
from fabula.core.messages import Sentence, message
from fabula.core.relevance import EPISODE, score_in_range
from fabula.core.story import Position
from fabula.core.view import Language
from fabula.memory.deduplicate import MeaningIndex
from fabula.memory.style_metrics import get_dialogue_share
from fabula.text.truncation import shorten_to_line

MAX_MEMORIES = 1_000  # of one project or user
MAX_TEXT = 20_000  # characters of one memory, wherever it comes from
MAX_STYLE_SAMPLES = 3  # in one prompt
RELEVANCE_LEVELS = 4  # an episode has one fragment for each level, so that each is measured once
MAX_WORKING_NOTES = 12
_QUOTE_CHARS = 40  # of another memory, in a reason
Confidence = Annotated[float, Meta(ge=0, le=1)]
VoteCount = Annotated[int, Meta(ge=0, le=2**31 - 1)]
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
    explanation: str | Sentence = ""  # its evidence in words, for the trace


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
    confidence: Confidence = 0.5
    evidence: tuple[str, ...] = ()
    state: MemoryState = MemoryState.CONFIRMED
    since: Position | None = None
    votes_for: VoteCount = field(default=0, name="agreeing")  # outcomes that support it
    votes_against: VoteCount = field(default=0, name="against")
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


_SAMPLE = message("A passage in the writer's own voice: “{text}”")
_EPISODE = message("[From earlier work together] {text}")
_PLAIN = message("{text}")


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
        self.distinct_preferences, self.distinct_episodes = self._deduplicate()
        samples = [self._make_fragment("style", one, Layer.SETTINGS, 0.5, _SAMPLE) for one in style_samples]
        preferred = tuple(
            self._make_fragment("memory", one, Layer.SETTINGS, one.confidence) for one in self.distinct_preferences
        )
        self.settings_fragments: dict[SceneType, tuple[Fragment, ...]] = {
            scene: (*preferred, *(samples[index] for index in _choose_samples(self.style_samples, scene)))
            for scene in ("talk", "told")
        }
        if self.settings_fragments["talk"] == self.settings_fragments["told"]:
            self.settings_fragments["talk"] = self.settings_fragments["told"]  # one tuple is measured once
        levels = [score_in_range(EPISODE, level / (RELEVANCE_LEVELS - 1)) for level in range(RELEVANCE_LEVELS)]
        self.episode_fragments = tuple(
            tuple(self._make_fragment("memory", one, Layer.RETRIEVED, score, _EPISODE) for score in levels)
            for one in self.distinct_episodes
        )
        self.working_fragments = tuple(
            self._make_fragment("working", one, Layer.IMMEDIATE, 0.5) for one in self.working_notes[-MAX_WORKING_NOTES:]
        )
        episodes_once = tuple(levels[0] for levels in self.episode_fragments)
        self.fragments = (*preferred, *samples, *episodes_once, *self.working_fragments)

    def has_same_fragments(self, other: Memory) -> bool:
        """Return whether the other snapshot gives the same prompts and the same explanations."""
        return self.fragments == other.fragments and self.omitted == other.omitted

    def _make_fragment(
        self, prefix: str, memory: MemoryNote | Preference, layer: Layer, score: float, template: Sentence = _PLAIN
    ) -> Fragment:
        source = f"{prefix}:{memory.id}"
        return Fragment(
            source=source,
            layer=layer,
            text=replace(template, values={"text": memory.text}).render(self.language),
            project_id=self.project_id,
            score=score,
            part=Part.EDITOR_STATE if layer is Layer.IMMEDIATE else Part.PLAIN,
            since=memory.since,
            derived_from=() if memory.since is None else (Visibility(source, document=memory.since.document),),
            explanation=memory.explanation if isinstance(memory, Preference) else "",
        )

    def _deduplicate(self) -> tuple[tuple[Preference, ...], tuple[MemoryNote, ...]]:
        """Return the preferences and episodes that repeat or contradict no stronger one; explain the others."""
        index = MeaningIndex()
        kept: list[Preference | MemoryNote] = []
        candidates: list[Preference | MemoryNote] = [*self.preferences, *self.episodes]
        for memory in sorted(candidates, key=_rank):
            same = [kept[int(number)] for number in index.find_same(memory.text)]
            same = [one for one in same if one.since in (None, memory.since)]
            opposite = _find_opposite(memory, [kept[int(number)] for number in index.find_opposite(memory.text)])
            if same:
                self._omit(memory, Reason.DUPLICATE, shorten_to_line(same[0].text, _QUOTE_CHARS))
            elif opposite:
                quoted = shorten_to_line(opposite[0].text, _QUOTE_CHARS)
                detail = message("this project says otherwise: {text}", text=quoted)
                self._omit(memory, Reason.NOT_CHOSEN, detail)
            else:
                index.add(str(len(kept)), memory.text)
                kept.append(memory)
        identities = set(map(id, kept))
        return (
            tuple(one for one in self.preferences if id(one) in identities),
            tuple(one for one in self.episodes if id(one) in identities),
        )

    def _omit(self, memory: Preference | MemoryNote, reason: Reason, detail: str | Sentence) -> None:
        layer, score = Layer.RETRIEVED, EPISODE[0]
        if isinstance(memory, Preference):
            layer, score = Layer.SETTINGS, memory.confidence
        self.omitted.append(Verdict(f"memory:{memory.id}", "", layer, reason, 0, score, detail, memory.text))


def _rank(memory: Preference | MemoryNote) -> int:
    """Return which memories come first: preferences of the project, then of the user, then episodes."""
    return 2 if isinstance(memory, MemoryNote) else int(memory.scope is MemoryScope.USER)


def _find_opposite(
    memory: Preference | MemoryNote, opposite: Sequence[Preference | MemoryNote]
) -> list[Preference | MemoryNote]:
    """Return the preferences of the project that contradict a preference of the user."""
    if isinstance(memory, MemoryNote) or memory.scope is MemoryScope.PROJECT:
        return []
    preferences = [one for one in opposite if isinstance(one, Preference) and one.scope is MemoryScope.PROJECT]
    return [one for one in preferences if one.since is None]


def refuse(sentence: Sentence) -> FabulaError:
    """Return the error for a request about memories that makes no sense."""
    return FabulaError(Code.REQUEST_INVALID, message("{sentence} Nothing was changed.", sentence=sentence))


def is_told_memory(request: Request) -> bool:
    """Return whether a prompt is told how the writer writes: to a character who speaks, in its own words, it is not.

    An agent works for the writer, and is told. Whoever plays a character is not.
    """
    return not is_character_speaking(request) and not has_limits(request.principal)


def omit_fragment(fragment: Fragment, reason: Reason, detail: str | Sentence) -> Verdict:
    """Return the verdict on a memory that is not offered."""
    return Verdict(fragment.source, "", fragment.layer, reason, 0, fragment.score, detail, fragment.text)


def _choose_samples(samples: Sequence[MemoryNote], scene: SceneType) -> list[int]:
    """Return the indexes of the samples whose share of dialogue fits the scene best, in their order."""
    sign = -1 if scene == "talk" else 1
    ranked = sorted(range(len(samples)), key=lambda index: (sign * get_dialogue_share(samples[index].text), index))
    return sorted(ranked[:MAX_STYLE_SAMPLES])
