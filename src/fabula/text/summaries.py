"""Summarise: a text told in a few of its own sentences.

Nothing is asked of a model and nothing is invented. A sentence is worth telling when it holds what the
text is about: the words it uses most without being every text's words, and its people. What is spoken
tells less than what happens, and a sentence that leans on the one before it (She …, But …) tells less by
itself. Sentences are taken one by one, the best first, each for what it adds to those already taken and
from a part of the text that has none yet; then they stand in the order of the story. The same text always
gives the same sentences, in a time that does not grow beyond a bound.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from math import log1p, sqrt
from typing import Protocol

from msgspec import Struct

from fabula.core.view import Language
from fabula.text.keywords import content, names, wide
from fabula.text.statements import Statement, statements

WORDS = (60, 120)  # of a synopsis, by the length of its chapter
CHARACTERS = (100, 200)  # the same, where there are no spaces
SHARE = 0.3  # of a short text at the most
_LONG_CHAPTER = 20_000  # characters from which on a synopsis is as long as it gets
_SENTENCE = {False: 45, True: 60}  # words or characters beyond which a sentence is cut short
_LEANS = re.compile(
    r"(?:he|she|it|they|we|this|that|these|those|him|her|his|its|their|but|and|so|then|yet|still|or|nor|however|"
    r"therefore|such)\b|[他她它这那其此但而又便就却]|于是|因此|所以|然后",
    re.IGNORECASE,
)
_CLAUSE = re.compile(r"[,;:，；：、—]|\s[-–—]\s")
_LEADS_ON = tuple(":：,，;；")  # to what is not told
_RANKED = 120  # statements among which those to be told are chosen
_LONG_WORD = 12  # letters; what goes on without a space counts as several words
_LETTERS = 6  # of a word and the space behind it, mostly
_TOKENS = {False: 1.4, True: 1.1}  # of a word or a character, mostly
_OVER = 1.15  # how far a synopsis may go beyond its length
_FULL = 0.9  # how much of it is enough

# What makes a sentence worth telling. Tried on novels of both languages; none of it is delicate.
_PERSON = 1.6  # a name, against another word used as often
_ONCE = 0.3  # a word that the text uses once
_EVEN = 6  # words added to every sentence's length, so that short ones do not win by being short
_AGAIN = 0.25  # what is left of a sentence's worth when all its words have been told
_ELSEWHERE = 1.5  # from a part of the text of which nothing has been told
_UNNAMED = 2.5  # names somebody who should be named and has not been


class Summariser(Protocol):
    """Whoever can tell a text in short: a model, or `extract` below."""

    def __call__(self, text: str, *, language: Language, length: int, names: Sequence[str]) -> str:
        """The text in about so many words (characters, where there are no spaces), these people named."""
        ...


def proper_length(text: str) -> int:
    """How long a synopsis should be: words, or characters where there are no spaces."""
    low, high = CHARACTERS if wide(text) else WORDS
    grown = low + (high - low) * min(len(text) / _LONG_CHAPTER, 1.0)
    return int(grown)


def expected_tokens(text: str) -> int:
    """About what `extract` of a text will cost, for whoever wants to know before it is worked out."""
    chinese = wide(text)
    most = len(text) * SHARE / (1 if chinese else _LETTERS)
    return int(min(proper_length(text), most) * _TOKENS[chinese])


def longest_together(text: str, share: float) -> int:
    """About what `condense` costs at the most, of texts written like this one."""
    chinese = wide(text)
    return int((CHARACTERS if chinese else WORDS)[1] * share * _TOKENS[chinese])


def extract(text: str, *, language: Language = "en", length: int = 0, names: Sequence[str] = ()) -> str:
    """A text in its own most telling sentences; it goes by the text's own script, whatever the language."""
    return _told(statements(text), wide(text), length or proper_length(text), names, len(text))


def condense(texts: Sequence[str], share: float = 1.0) -> str:
    """Several short texts as one of ordinary length, or a share of that: something of each, where there is room."""
    chinese = wide("\n".join(texts))
    found = [(number, one) for number, text in enumerate(texts) for one in statements(text)]
    weighed = _weigh([one for _, one in found], chinese, ())
    length = int((CHARACTERS if chinese else WORDS)[1] * share)
    return _joined(_choose(weighed, [number for number, _ in found], chinese, length), chinese)


class _Weighed(Struct, gc=False):
    """A statement with what it is worth."""

    text: str  # cut short where it is too long
    size: int
    words: set[str]
    people: set[str]  # those it should name
    worth: float


def _told(found: Sequence[Statement], chinese: bool, length: int, called: Sequence[str], size: int) -> str:
    if not found:
        return ""
    total = sum(_size(one.text, chinese) for one in found)
    room = max(min(length, int(total * SHARE)), 1)
    weighed = _weigh(found, chinese, called)
    parts = max(round(room / (_SENTENCE[chinese] / 2)), 1)
    sections = [min(int(one.place * parts), parts - 1) for one in found]
    return _joined(_choose(weighed, sections, chinese, room), chinese)


def _weigh(found: Sequence[Statement], chinese: bool, called: Sequence[str]) -> list[_Weighed]:
    told = [content(one.text) for one in found]
    counted = Counter(word for words in told for word in words)
    people = {word for name in called for word in content(name)}
    if not chinese:
        people |= names(" ".join([one.text for one in found]))
    weights = {word: log1p(many) * (_PERSON if word in people else 1.0) for word, many in counted.items() if many > 1}
    weighed = []
    for one, words in zip(found, told, strict=True):
        text = _cut(one.text, chinese)
        size = _size(text, chinese)
        kept = dict.fromkeys(words if text == one.text else content(text))
        worth = (
            sum([weights.get(word, _ONCE) for word in kept]) / sqrt(size + _EVEN) * _standing(one, text, size, chinese)
        )
        named = {name for name in called if name in text}
        weighed.append(_Weighed(text, size, weights.keys() & kept, named, worth))
    return weighed


def _standing(one: Statement, text: str, size: int, chinese: bool) -> float:
    """How well a statement stands by itself, and whether it stands where things are told."""
    worth = 1.0 - 0.8 * one.spoken
    if _LEANS.match(one.text):
        worth *= 0.7
    if size < (8 if chinese else 6):
        worth *= 0.4
    if not one.whole:
        worth *= 0.3
    if text.endswith(_LEADS_ON):
        worth *= 0.5
    if one.opening:
        worth *= 1.1
    return worth * 1.15 if one.place > 0.9 or one.place < 0.03 else worth


def _choose(weighed: Sequence[_Weighed], sections: Sequence[int], chinese: bool, room: int) -> list[_Weighed]:
    """The best first, for what each adds; then in order."""
    slack = room * _OVER
    taken: list[int] = []
    used = 0
    covered: set[str] = set()
    named: set[str] = set()
    served: set[int] = set()
    left = sorted(range(len(weighed)), key=lambda at: (-weighed[at].worth, at))[:_RANKED]
    while left:
        best, most = -1, 0.0 if taken else -1.0  # where nothing is worth telling, the first thing is told
        for at in left:
            one = weighed[at]
            if used + one.size > slack and taken:
                continue
            new = len(one.words - covered) / len(one.words) if one.words else 0.2
            gain = one.worth * (_AGAIN + (1 - _AGAIN) * new)
            if sections[at] not in served:
                gain *= _ELSEWHERE
            if not one.people <= named:
                gain *= _UNNAMED
            if gain > most:
                best, most = at, gain
        if best < 0:
            break
        taken.append(best)
        left.remove(best)
        used += weighed[best].size
        covered |= weighed[best].words
        named |= weighed[best].people
        served.add(sections[best])
        if used >= room * _FULL:
            break
    return [weighed[at] for at in sorted(taken)]


def _joined(chosen: Sequence[_Weighed], chinese: bool) -> str:
    return ("" if chinese else " ").join(one.text for one in chosen)


def _size(text: str, chinese: bool) -> int:
    return len(text) if chinese else max(text.count(" ") + 1, len(text) // _LONG_WORD)


def _cut(text: str, chinese: bool) -> str:
    """A sentence that goes on too long, cut where a clause ends."""
    most = _SENTENCE[chinese]
    if _size(text, chinese) <= most:
        return text
    end = most if chinese else min(_nth_space(text, most), most * _LONG_WORD)
    edges = [found.start() for found in _CLAUSE.finditer(text, end // 2, end)]
    return text[: edges[-1] if edges else end].rstrip() + "…"


def _nth_space(text: str, number: int) -> int:
    at = -1
    for _ in range(number):
        at = text.find(" ", at + 1)
        if at < 0:
            return len(text)
    return at
