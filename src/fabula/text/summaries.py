"""Summarise a text by selecting a few of its own sentences (cdx-6, without a model).

Nothing is invented. A sentence scores by the words that the text uses most without being stop words, and by its
people. Direct speech scores less than narration, and so does a sentence that leans on the one before it (She …,
But …). Sentences are chosen one by one, the best first, each for the words it adds to those already chosen and with a
bonus for a part of the text that has none yet; then they stand in the order of the story. The same text always gives
the same sentences, in bounded time.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from math import log1p, sqrt
from typing import Protocol

from msgspec import Struct

from fabula.core.view import Language
from fabula.text.keywords import find_capitalised_names, is_unspaced, split_content_words
from fabula.text.statements import Statement, split_into_statements

SYNOPSIS_WORDS = (60, 120)  # shortest and longest synopsis, by the length of the chapter
SYNOPSIS_CHARACTERS = (100, 200)  # the same for text without spaces
MAX_SHARE = 0.3  # of a short text
_LONG_CHAPTER = 20_000  # characters from which on a synopsis has its full length
_MAX_SENTENCE = {False: 45, True: 60}  # words, or characters of unspaced text, after which a sentence is cut
_LEANING_START = re.compile(
    r"(?:he|she|it|they|we|this|that|these|those|him|her|his|its|their|but|and|so|then|yet|still|or|nor|however|"
    r"therefore|such)\b|[他她它这那其此但而又便就却]|于是|因此|所以|然后",
    re.IGNORECASE,
)
_CLAUSE_END = re.compile(r"[,;:，；：、—]|\s[-–—]\s")
_OPEN_ENDINGS = tuple(":：,，;；")  # lead to text that is not in the summary
_MAX_CANDIDATES = 120  # statements from which the summary is chosen
_LONG_WORD = 12  # letters; a longer run without a space counts as several words
_LETTERS_PER_WORD = 6  # on average, with the space
_TOKENS_PER_UNIT = {False: 1.4, True: 1.1}  # per word, or per character of unspaced text, on average
_TOLERANCE = 1.15  # how far a summary may exceed its length
_ENOUGH = 0.9  # share of the length at which the summary is complete

# Weights of a sentence. Tried on novels in both languages; none of them is delicate.
_PERSON = 1.6  # a name, against another word used as often
_SINGLE_USE = 0.3  # a word that the text uses once
_LENGTH_OFFSET = 6  # words added to every sentence's length, so that short ones do not win by being short
_REPEATED = 0.25  # what remains of a score when all words of the sentence are already covered
_NEW_SECTION = 1.5  # factor for a part of the text of which nothing is chosen yet
_MISSING_NAME = 2.5  # factor for a sentence that names a required person who is not named yet


class Summariser(Protocol):
    """Anything that can summarise a text: a model, or `extract_summary` below."""

    def __call__(self, text: str, *, language: Language, length: int, names: Sequence[str]) -> str:
        """A summary of about `length` words (characters of unspaced text) that names these people."""
        ...


def choose_synopsis_length(text: str) -> int:
    """How long a synopsis of a text should be: in words, or in characters of unspaced text."""
    shortest, longest = SYNOPSIS_CHARACTERS if is_unspaced(text) else SYNOPSIS_WORDS
    return int(shortest + (longest - shortest) * min(len(text) / _LONG_CHAPTER, 1.0))


def estimate_summary_tokens(text: str) -> int:
    """About how many tokens `extract_summary` of a text will take, without making it."""
    unspaced = is_unspaced(text)
    limit = len(text) * MAX_SHARE / (1 if unspaced else _LETTERS_PER_WORD)
    return int(min(choose_synopsis_length(text), limit) * _TOKENS_PER_UNIT[unspaced])


def estimate_condensed_tokens(text: str, share: float) -> int:
    """About how many tokens `condense_texts` takes at most, for texts in the script of this one."""
    unspaced = is_unspaced(text)
    return int((SYNOPSIS_CHARACTERS if unspaced else SYNOPSIS_WORDS)[1] * share * _TOKENS_PER_UNIT[unspaced])


def extract_summary(text: str, *, language: Language = "en", length: int = 0, names: Sequence[str] = ()) -> str:
    """The most telling sentences of a text; the script of the text decides, whatever the language."""
    statements = split_into_statements(text)
    if not statements:
        return ""
    unspaced = is_unspaced(text)
    total = sum(_measure(statement.text, unspaced) for statement in statements)
    limit = max(min(length or choose_synopsis_length(text), int(total * MAX_SHARE)), 1)
    sections = max(round(limit / (_MAX_SENTENCE[unspaced] / 2)), 1)
    section_of = [min(int(statement.position * sections), sections - 1) for statement in statements]
    return _join(_choose(_score(statements, unspaced, names), section_of, limit), unspaced)


def condense_texts(texts: Sequence[str], share: float = 1.0) -> str:
    """Several short texts as one of synopsis length, or a share of that: something of each, where it fits."""
    unspaced = is_unspaced("\n".join(texts))
    found = [(number, statement) for number, text in enumerate(texts) for statement in split_into_statements(text)]
    candidates = _score([statement for _, statement in found], unspaced, ())
    limit = int((SYNOPSIS_CHARACTERS if unspaced else SYNOPSIS_WORDS)[1] * share)
    return _join(_choose(candidates, [number for number, _ in found], limit), unspaced)


class _Candidate(Struct, gc=False):
    """A statement with its score."""

    text: str  # cut where it is too long
    size: int
    words: set[str]
    people: set[str]  # required people it names
    score: float


def _score(statements: Sequence[Statement], unspaced: bool, names: Sequence[str]) -> list[_Candidate]:
    words_of = [split_content_words(statement.text) for statement in statements]
    counts = Counter(word for words in words_of for word in words)
    people = {word for name in names for word in split_content_words(name)}
    if not unspaced:
        people |= find_capitalised_names(" ".join([statement.text for statement in statements]))
    weights = {word: log1p(count) * (_PERSON if word in people else 1.0) for word, count in counts.items() if count > 1}
    longest = _MAX_SENTENCE[unspaced]
    candidates = []
    for statement, words in zip(statements, words_of, strict=True):
        text, size = statement.text, _measure(statement.text, unspaced)
        if size > longest:
            text = _cut_sentence(text, unspaced)
            size, words = _measure(text, unspaced), split_content_words(text)
        distinct = dict.fromkeys(words)
        density = sum([weights.get(word, _SINGLE_USE) for word in distinct]) / sqrt(size + _LENGTH_OFFSET)
        score = density * _weigh_form(statement, text, size, unspaced)
        named = {name for name in names if name in text}
        candidates.append(_Candidate(text, size, weights.keys() & distinct, named, score))
    return candidates


def _weigh_form(statement: Statement, text: str, size: int, unspaced: bool) -> float:
    """How well a statement can be understood by itself, and whether it stands where a text tells most."""
    weight = 1.0 - 0.8 * statement.spoken_share
    if _LEANING_START.match(statement.text):
        weight *= 0.7
    if size < (8 if unspaced else 6):
        weight *= 0.4
    if not statement.starts_sentence:
        weight *= 0.3
    if text.endswith(_OPEN_ENDINGS):
        weight *= 0.5
    if statement.opens_paragraph:
        weight *= 1.1
    return weight * 1.15 if statement.position > 0.9 or statement.position < 0.03 else weight


def _choose(candidates: Sequence[_Candidate], sections: Sequence[int], limit: int) -> list[_Candidate]:
    """The best first, each for what it adds; returned in the order of the text."""
    chosen: list[int] = []
    used = 0
    covered: set[str] = set()
    named: set[str] = set()
    sections_used: set[int] = set()
    remaining = sorted(range(len(candidates)), key=lambda at: (-candidates[at].score, at))[:_MAX_CANDIDATES]
    while remaining:
        best, best_gain = -1, 0.0 if chosen else -1.0  # where no sentence scores, the first one is chosen
        for at in remaining:
            candidate = candidates[at]
            if used + candidate.size > limit * _TOLERANCE and chosen:
                continue
            new = len(candidate.words - covered) / len(candidate.words) if candidate.words else 0.2
            gain = candidate.score * (_REPEATED + (1 - _REPEATED) * new)
            if sections[at] not in sections_used:
                gain *= _NEW_SECTION
            if not candidate.people <= named:
                gain *= _MISSING_NAME
            if gain > best_gain:
                best, best_gain = at, gain
        if best < 0:
            break
        chosen.append(best)
        remaining.remove(best)
        used += candidates[best].size
        covered |= candidates[best].words
        named |= candidates[best].people
        sections_used.add(sections[best])
        if used >= limit * _ENOUGH:
            break
    return [candidates[at] for at in sorted(chosen)]


def _join(chosen: Sequence[_Candidate], unspaced: bool) -> str:
    return ("" if unspaced else " ").join(candidate.text for candidate in chosen)


def _measure(text: str, unspaced: bool) -> int:
    return len(text) if unspaced else max(text.count(" ") + 1, len(text) // _LONG_WORD)


def _cut_sentence(text: str, unspaced: bool) -> str:
    """A sentence that is too long, cut where a clause ends."""
    limit = _MAX_SENTENCE[unspaced]
    end = limit if unspaced else min(_find_nth_space(text, limit), limit * _LONG_WORD)
    edges = [match.start() for match in _CLAUSE_END.finditer(text, end // 2, end)]
    return text[: edges[-1] if edges else end].rstrip() + "…"


def _find_nth_space(text: str, number: int) -> int:
    at = -1
    for _ in range(number):
        at = text.find(" ", at + 1)
        if at < 0:
            return len(text)
    return at
