"""How much of a lasting detail a sentence tells: a scar, a promise, a debt, a habit, kinship, a secret.

A scene that needs an earlier detail often shares nothing with it but a name, and a book names its people on every
page. What is worth keeping in mind says what was so before and still is. Its words are those of a few kinds of detail:
the kinds in a sentence are counted, each once. Direct speech does not count, for a speaker may be mistaken, and
neither does a question.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise

from fabula.text.sentences import find_sentence_starts
from fabula.text.stemmer import stem
from fabula.text.word_list import load_word_lists

MAX_KINDS = 4  # of details in one sentence that count
PAST_PERFECT = "before"  # the kind of what had been done before
_WEAK_KINDS = frozenset({"number", "death", "origin"})  # each counts half: most such sentences tell what happens now
_MIN_LENGTH, _MIN_UNSPACED_LENGTH = 30, 8  # characters of a sentence that can tell something
_SPEECH = re.compile(r"“[^”]*(?:”|$)|\"[^\"]*(?:\"|$)|「[^」]*(?:」|$)|『[^』]*(?:』|$)")
_ADDRESS = frozenset(["you", "your", "yours", "thou", "thee", "thy", "thine", "ye"])
_NOT_PERFECT = frozenset(
    ["to", "better", "rather", "a", "an", "no", "the"]
)  # what follows `had` where it is no auxiliary
_WORD = re.compile(r"[a-z]+")
_QUESTION = ("?", "？")
_UNSPACED = re.compile("[\u2e80-\u9fff]")


def _read_kinds() -> tuple[dict[str, str], dict[str, str], dict[str, str]]:
    """The kinds of English words by stem, of pairs of English words, and of Chinese words."""
    words: dict[str, str] = {}
    pairs: dict[str, str] = {}
    chinese: dict[str, str] = {}
    for name, listed in load_word_lists("detail_words").items():
        language, _, kind = name.partition("_")
        for word in listed:
            if language == "chinese":
                chinese[word] = kind
            elif "_" in word:
                pairs[word] = kind
            else:
                words[stem(word)] = kind
    return words, pairs, chinese


_ENGLISH, _ENGLISH_PAIRS, _CHINESE = _read_kinds()
_PAIR_BEGINNINGS = frozenset(pair.partition("_")[0] for pair in _ENGLISH_PAIRS)
_CHINESE_WORD = re.compile("|".join(sorted(_CHINESE, key=len, reverse=True)))


def measure_telling(text: str) -> float:
    """How much the most telling sentence of a text tells, from 0 to 1."""
    starts = find_sentence_starts(text)
    if len(starts) == 1:
        return measure_sentence(text)
    return max(measure_sentence(text[start:end]) for start, end in pairwise([*starts, len(text)]))


def measure_sentence(sentence: str) -> float:
    """How much a sentence tells, from 0 to 1."""
    kinds, factor = _find_kinds(sentence)
    return factor * min(sum(0.5 if kind in _WEAK_KINDS else 1.0 for kind in kinds) / MAX_KINDS, 1.0)


def _find_kinds(sentence: str) -> tuple[set[str], float]:
    """The kinds of details in a sentence, and a factor for how sure it is that it tells them."""
    narration = _SPEECH.sub(" ", sentence).strip()
    if not narration.endswith(_QUESTION):
        if narration.isascii() or not _UNSPACED.search(narration):
            return _find_english_kinds(narration) if len(narration) >= _MIN_LENGTH else (set(), 0.0)
        if len(narration) >= _MIN_UNSPACED_LENGTH:
            return {_CHINESE[word] for word in _CHINESE_WORD.findall(narration)}, 1.0
    return set(), 0.0


def _find_english_kinds(narration: str) -> tuple[set[str], float]:
    """The kinds of details in an English sentence, and a factor: somebody who is addressed is told, not the reader."""
    words = _WORD.findall(narration.lower())
    kinds = {kind for kind in map(_find_kind, words) if kind}
    for word, following in pairwise(words):
        if word == "had" and following not in _NOT_PERFECT:
            kinds.add(PAST_PERFECT)
        elif word in _PAIR_BEGINNINGS and f"{word}_{following}" in _ENGLISH_PAIRS:
            kinds.add(_ENGLISH_PAIRS[f"{word}_{following}"])
    return kinds, 0.5 if not _ADDRESS.isdisjoint(words) else 1.0


@lru_cache(maxsize=1 << 15)
def _find_kind(word: str) -> str:
    return _ENGLISH.get(stem(word), "")
