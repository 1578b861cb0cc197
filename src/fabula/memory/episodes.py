"""What memory offers beside settings: episodes that bear on what is being written, and the last sitting.

An episode is offered when enough of its words are near the cursor, in the talk or in the instruction. A few
are enough, and one told before stays while the layer is not chosen anew, so that the prompt before it keeps
its bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from weakref import WeakKeyDictionary

from ahocorasick_rs import AhoCorasick

from fabula.context.request import Ask
from fabula.context.trace import Reason, Verdict
from fabula.core.errors import Code
from fabula.core.fragment import Fragment, Layer
from fabula.core.story import Eyes, Position
from fabula.core.view import View
from fabula.memory.model import LEVELS, Memory
from fabula.text.terms import terms

MOST = 4  # episodes in one prompt
SHARED = 2  # words an episode must share with what is near
NEAR = 0.1  # of an episode's words, for it to be offered at all
BEST = 0.4  # of its words, from where on it cannot be more to the point
ASKED = 0.5  # of an instruction's words, to be as much to the point
REACH = 4_000  # characters of each thing that is near
_SHORT = 4  # letters; shorter words say too little


class EpisodeSource:
    """Past work together that may serve as an example here."""

    name = "episodes"
    failing = Code.MEMORY_UNAVAILABLE
    waits = False
    ahead = False

    def __init__(self) -> None:
        self._indexes: WeakKeyDictionary[Memory, _Index] = WeakKeyDictionary()

    def fragments(self, ask: Ask, view: View) -> Iterable[Fragment]:
        """The episodes that bear on this, and the notes of the last sitting."""
        memory = view.room(Memory)
        if memory is None:
            return ()
        if not memory.levels:
            return memory.sitting
        chosen = self._chosen(memory, ask, view)
        return [*(memory.levels[at][level] for at, level in chosen), *memory.sitting]

    def absent(self, ask: Ask, view: View) -> Iterable[Verdict]:
        """Episodes about other things, and those that say what is said already."""
        memory = view.room(Memory)
        if memory is None:
            return ()
        chosen = {at for at, _ in self._chosen(memory, ask, view)} if memory.levels else set()
        return [
            *(verdict for verdict in memory.left_out if verdict.layer is Layer.RETRIEVED),
            *(
                Verdict(
                    some[0].source,
                    "",
                    some[0].layer,
                    Reason.NOT_CHOSEN,
                    0,
                    some[0].score,
                    "few of its words are near",
                    some[0].text,
                )
                for at, some in enumerate(memory.levels)
                if at not in chosen
            ),
        ]

    def _chosen(self, memory: Memory, ask: Ask, view: View) -> list[tuple[int, int]]:
        """Episodes by their place, with the level of their relevance."""
        index = self._indexes.get(memory)
        if index is None:
            index = self._indexes[memory] = _Index([episode.text for episode in memory.tellable])
        scores = index.relevance([near.text[:REACH] for near in ask.near], ask.request.additional_input[:REACH])
        told = frozenset(ask.held)
        held = [at for at, some in enumerate(memory.levels) if some[0].source in told]
        ranked = sorted((at for at, score in enumerate(scores) if score), key=lambda at: (-scores[at], at))
        if not ask.fresh:
            ranked = [*held, *(at for at in ranked if at not in held)]
        kept, room = [], MOST
        for at in ranked:
            if not room:
                break
            kept.append(at)
            # What the gate will stop takes nobody's place.
            room -= _behind_us(memory.tellable[at].since, ask, view)
        return [(at, round(scores[at] * (LEVELS - 1))) for at in sorted(kept)]


def _behind_us(since: Position | None, ask: Ask, view: View) -> bool:
    if since is None or ask.vantage.eyes is Eyes.AUTHOR:
        return True
    return view.timeline.reached(since, ask.vantage.position)


class _Index:
    """The words of all episodes in one automaton: a request asks for all of them at once."""

    def __init__(self, texts: Sequence[str]) -> None:
        words = [_words(text) for text in texts]
        self._sizes = [_size(one) for one in words]
        known = sorted(frozenset().union(*words))
        self._holders = [[at for at, some in enumerate(words) if word in some] for word in known]
        self._find = AhoCorasick(known).find_matches_as_indexes

    def relevance(self, near: Sequence[str], asked: str) -> list[float]:
        """How much each episode bears on what is near, from 0 (not at all) to 1.

        A word counts once, and inside a longer one too: what was done with a lamp bears on lamps.
        """
        shared = self._shared("\n".join(near))
        wanted = self._shared(asked) if asked else shared
        most = max(_size(_words(asked)), SHARED) if asked else 0.0
        return [
            _bearing(shared[at], size, wanted[at] / most if most and wanted[at] >= SHARED else 0.0)
            for at, size in enumerate(self._sizes)
        ]

    def _shared(self, text: str) -> list[int]:
        shared = [0] * len(self._sizes)
        for word in {found[0] for found in self._find(text.lower(), overlapping=True)}:
            for at in self._holders[word]:
                shared[at] += 1
        return shared


def _bearing(shared: int, size: float, wanted: float) -> float:
    if shared < SHARED:
        return 0.0
    share = shared / max(size, 1.0)
    return min(max(share / BEST if share >= NEAR else 0.0, wanted / ASKED), 1.0)


def _size(words: frozenset[str]) -> float:
    """How many words: of the pairs that a text without spaces is cut into, every other lies across two."""
    return sum([1.0 if word.isascii() else 0.5 for word in words])


def _words(text: str) -> frozenset[str]:
    """Words that say something: long ones, and the pairs of a language without spaces."""
    return frozenset(word for word in terms(text) if len(word) >= _SHORT or not word.isascii())
