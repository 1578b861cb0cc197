"""The episode source: past work that is relevant to the text being written, and working notes (mem-1).

An episode is offered if enough of its words are in the text near the cursor, the conversation or the
instruction. At most a few are offered. One that was included last time is offered again until the layer is
reselected, so that the cached prefix stays valid.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from weakref import WeakKeyDictionary

from fabula.context.gate import judge_fragment
from fabula.context.request import SourceRequest
from fabula.context.trace import Reason, Verdict, omit_for_speaker
from fabula.core.errors import Code
from fabula.core.fragment import Fragment, Layer
from fabula.core.messages import message
from fabula.core.view import View
from fabula.memory.model import RELEVANCE_LEVELS, Memory, is_told_memory, omit_fragment
from fabula.text.automaton import Automaton
from fabula.text.terms import split_terms

MAX_EPISODES = 4  # in one prompt
MIN_SHARED_WORDS = 2
MIN_SHARE = 0.1  # share of an episode's words that must be in the text
FULL_SHARE = 0.4  # share of an episode's words from which its relevance is 1
FULL_INSTRUCTION_SHARE = 0.5  # share of an instruction's words from which the relevance is 1
MAX_TEXT_CHARS = 4_000  # of each nearby text
_MIN_WORD_LENGTH = 4


class EpisodeSource:
    """A source of past work that may serve as an example."""

    name = "episodes"
    unavailable_code = Code.MEMORY_UNAVAILABLE
    blocking = False
    runs_first = False

    def __init__(self) -> None:
        self._indexes: WeakKeyDictionary[Memory, _WordIndex] = WeakKeyDictionary()

    def fragments(self, source_request: SourceRequest, view: View) -> Iterable[Fragment]:
        """Offer the relevant episodes and the working notes."""
        memory = view.snapshot(Memory)
        if memory is None or not is_told_memory(source_request.request):
            return ()
        if not memory.episode_fragments:
            return memory.working_fragments
        chosen = self._choose(memory, source_request, view)
        return [*(memory.episode_fragments[index][level] for index, level in chosen), *memory.working_fragments]

    def explain_omitted(self, source_request: SourceRequest, view: View) -> Iterable[Verdict]:
        """Explain episodes that are not relevant here, and those that repeat another memory."""
        memory = view.snapshot(Memory)
        if memory is None:
            return ()
        if not is_told_memory(source_request.request):
            offered = [levels[0] for levels in memory.episode_fragments]
            return [omit_for_speaker(one) for one in offered]
        chosen = self._choose(memory, source_request, view) if memory.episode_fragments else []
        indexes = {index for index, _ in chosen}
        omitted = [levels[0] for index, levels in enumerate(memory.episode_fragments) if index not in indexes]
        detail = message("few of its words occur near the cursor")
        return [
            *(verdict for verdict in memory.omitted if verdict.layer is Layer.RETRIEVED),
            *(omit_fragment(fragment, Reason.NOT_CHOSEN, detail) for fragment in omitted),
        ]

    def _choose(self, memory: Memory, source_request: SourceRequest, view: View) -> list[tuple[int, int]]:
        """Return the indexes of the chosen episodes with their relevance levels."""
        index = self._indexes.get(memory)
        if index is None:
            index = self._indexes[memory] = _WordIndex([episode.text for episode in memory.distinct_episodes])
        scores = index.compute_relevance(
            [nearby.text[:MAX_TEXT_CHARS] for nearby in source_request.nearby],
            source_request.request.additional_input[:MAX_TEXT_CHARS],
        )
        ranked = sorted((n for n, score in enumerate(scores) if score), key=lambda n: (-scores[n], n))
        if not source_request.reselect:
            included = frozenset(source_request.previously_included)
            previous = [n for n, levels in enumerate(memory.episode_fragments) if levels[0].source in included]
            ranked = [*previous, *(n for n in ranked if n not in previous)]
        chosen, free = [], MAX_EPISODES
        for number in ranked:
            if not free:
                break
            chosen.append(number)
            # An episode that the gate will stop does not count.
            fragment = memory.episode_fragments[number][0]
            free -= judge_fragment(fragment, source_request.vantage, view.timeline) in (None, Reason.NOT_REVEALED)
        return [(number, round(scores[number] * (RELEVANCE_LEVELS - 1))) for number in sorted(chosen)]


class _WordIndex:
    """An automaton over the words of all episodes, so that one search covers them all."""

    def __init__(self, texts: Sequence[str]) -> None:
        words_by_episode = [_select_words(text) for text in texts]
        self._sizes = [_count_words(words) for words in words_by_episode]
        known = sorted(frozenset().union(*words_by_episode))
        self._episodes = [[n for n, words in enumerate(words_by_episode) if word in words] for word in known]
        self._find = Automaton(known).find

    def compute_relevance(self, nearby: Sequence[str], instruction: str) -> list[float]:
        """Return the relevance of each episode to the texts, from 0 to 1.

        A word counts once, also inside a longer word: an episode about a lamp is relevant to lamps.
        """
        shared = self._count_shared("\n".join(nearby))
        with_instruction = self._count_shared(instruction) if instruction else [0] * len(shared)
        instruction_size = max(_count_words(_select_words(instruction)), MIN_SHARED_WORDS)
        relevance = []
        for size, common, instructed in zip(self._sizes, shared, with_instruction, strict=True):
            share = common / max(size, 1.0)
            by_text = share / FULL_SHARE if share >= MIN_SHARE else 0.0
            by_instruction = instructed / instruction_size if instructed >= MIN_SHARED_WORDS else 0.0
            best = max(by_text, by_instruction / FULL_INSTRUCTION_SHARE)
            relevance.append(min(best, 1.0) if common >= MIN_SHARED_WORDS else 0.0)
        return relevance

    def _count_shared(self, text: str) -> list[int]:
        """Return how many words of each episode are in the text."""
        shared = [0] * len(self._sizes)
        for word in {match[0] for match in self._find(text.lower())}:
            for number in self._episodes[word]:
                shared[number] += 1
        return shared


def _count_words(words: frozenset[str]) -> float:
    """Count words; the pairs of characters of a language without spaces overlap, so each counts half."""
    return sum([1.0 if word.isascii() else 0.5 for word in words])


def _select_words(text: str) -> frozenset[str]:
    """Select the words of a text that are long enough, and the pairs of a language without spaces."""
    return frozenset(word for word in split_terms(text) if len(word) >= _MIN_WORD_LENGTH or not word.isascii())
