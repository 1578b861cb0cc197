"""Weigh what a sentence tells of somebody or something that it names (cdx-10).

A reader wants to know what lasts or what became of somebody: who they are, a marriage, a death, an appointment, a
hatred, a debt. Steps, looks, errands and the moves of a battle belong to their scene. A sentence has features: what its
words show of the name (`find.py`), where the name stands, the signs around it (`signs.py`), and how many words of some
kinds there are, near the name and elsewhere. Each has a weight, and their sum says how likely a reader finds the
sentence worth a line. The weights were found by logistic regression over sentences of four old novels that were judged
one by one. Words that only these novels have count nothing; how their time writes of people does.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from math import exp
from typing import Literal

from msgspec import Struct

from fabula.codex.facts.patterns import (
    LISTED_BEFORE,
    UNSPACED_CLAUSE_EDGE,
    UNSPACED_CONNECTIVES,
    WORD,
)
from fabula.codex.facts.signs import (
    CHINESE_ANYWHERE,
    CHINESE_BEFORE,
    CHINESE_BEFORE_PLACE,
    CHINESE_BEHIND,
    CHINESE_BEHIND_PLACE,
    CHINESE_BEHIND_SUBJECT,
    CHINESE_OWN,
    ENGLISH_ANYWHERE,
    ENGLISH_BEFORE,
    ENGLISH_BEFORE_PLACE,
    ENGLISH_BEHIND,
    Signs,
)
from fabula.text.stemmer import stem
from fabula.text.telling import measure_sentence
from fabula.text.word_list import load_word_lists

_WORDS = load_word_lists("deed_words")
_MAX_COUNT = 3  # words of one kind that count
NameKind = Literal["person", "place", "thing"]


class NamePlace(Struct, frozen=True):
    """Where a sentence names somebody or something, or has the pronoun that stands for them."""

    owner: str  # the id of the entry
    start: int
    end: int
    kind: NameKind


class NameSigns(Struct, frozen=True):
    """What the words beside a name show of its owner."""

    is_first: bool = False  # the sentence begins with the name
    is_lasting: bool = False  # they tell something that lasts
    is_role: bool = False  # they say only by the way who somebody is
    is_event: bool = False  # they tell what became of the owner, or what they do that a writer may need later
    is_done: bool = False  # somebody else does something to the owner


class NamedSentence:
    """A sentence with the names in it, to be weighed for each of them."""

    def __init__(self, text: str, names: Sequence[NamePlace], *, is_unspaced: bool) -> None:
        self.text, self.names = text, names
        self._is_unspaced = is_unspaced

    def measure_chance(self, name: NamePlace, signs: NameSigns) -> float:
        """How likely a reader finds worth knowing what the sentence tells of a name."""
        weights = CHINESE_WEIGHTS if self._is_unspaced else ENGLISH_WEIGHTS
        weight = weights["all"] + sum(weights[kind] * amount for kind, amount in self.list_features(name, signs))
        return 1 / (1 + exp(-weight))

    def list_features(self, name: NamePlace, signs: NameSigns) -> Iterator[tuple[str, float]]:
        """The features of the sentence for a name, each with its amount; those without an amount may be left out."""
        yield "lasting", signs.is_lasting
        yield "event", signs.is_event
        yield "done", signs.is_done
        yield "first", signs.is_first
        yield from self._list_chinese(name, signs) if self._is_unspaced else self._list_english(name, signs)

    def _list_english(self, name: NamePlace, signs: NameSigns) -> Iterator[tuple[str, float]]:
        head, rest = self.text[: name.start], self.text[name.end :]
        is_owner = _POSSESSIVE.match(rest) is not None
        is_subject = (signs.is_first or _is_finite(rest)) and not is_owner
        before = _BEFORE.search(head)
        is_place = name.kind == "place"
        yield "place", is_place
        yield "thing", name.kind == "thing"
        yield "place first", name.kind != "person" and is_subject
        yield "within place", is_place and before is not None and before[1] in _TOWARDS
        yield "listed", (_LISTED_BEHIND.match(rest) or LISTED_BEFORE.search(head)) is not None
        yield "who", rest.startswith((" who ", ", who "))
        yield "perfect", is_subject and _PERFECT.match(rest) is not None
        yield "state", is_subject and _STATE.match(rest) is not None
        yield "feels", is_subject and _FEELS.match(rest) is not None
        yield "pronoun before", min(len(_PRONOUN.findall(head)), 2)
        yield "unknown subject", not is_subject and self._has_unknown_subject(name)
        yield "far", min(name.start, 150) / 100
        yield from _find_signs(ENGLISH_BEFORE, head[-_NEAR_HEAD:])
        if name.kind != "person":
            yield from _find_signs(ENGLISH_BEFORE_PLACE, head[-_NEAR_HEAD:])
        yield from _find_signs_behind(ENGLISH_BEHIND, rest)
        near = _count(self._words, name.start - _NEAR_BEFORE, name.end + _NEAR_BEHIND)
        for kind in ("money", "feeling", "gesture"):
            yield f"near {kind}", min(near[kind], _MAX_COUNT)
        yield "near character", min(near["character"], 2)
        yield from self._english_of_all

    def _has_unknown_subject(self, name: NamePlace) -> bool:
        """Whether a sentence begins with somebody whom only the sentences before it name."""
        subject = _UNKNOWN_SUBJECT.match(self.text)
        return subject is not None and subject.end() <= min(one.start for one in (name, *self.names))

    @cached_property
    def _english_of_all(self) -> tuple[tuple[str, float], ...]:
        """The features of an English sentence that are the same for all its names."""
        text, everywhere = self.text, self._everywhere
        return (
            ("length", min(len(text), 160) / 100),
            ("talk", min(len(_TALK.findall(text)), 2)),
            ("telling", measure_sentence(text)),
            ("scene", min(everywhere["scene"], 4)),
            ("clothes", 0 if _HABIT.search(text) else min(everywhere["clothes"], 4)),
            ("words", min(sum(everywhere[kind] for kind in _TELLING_KINDS), 12) / 4),
            *_find_signs(ENGLISH_ANYWHERE, text),
        )

    def _list_chinese(self, name: NamePlace, signs: NameSigns) -> Iterator[tuple[str, float]]:
        masked = self._masked
        edge = max((one for one in self._edges if one <= name.start), default=0)
        lead, rest = masked[edge : name.start].lstrip(), self.text[name.end :]
        is_subject = signs.is_first or UNSPACED_CONNECTIVES.fullmatch(lead) is not None
        end = self._find_own_end(name, is_subject=is_subject, is_sent=_SENT.search(lead) is not None)
        others = list(self._list_others(name))
        is_place = name.kind == "place"
        yield "role", signs.is_role
        yield "place", is_place
        yield "held place", is_place and (_CHINESE_HELD.search(lead) or _OVERCOME.search(lead)) is not None
        yield "appointed", _APPOINTED.search(lead) is not None
        yield "by", _BY.search(lead) is not None
        yield "perceives", is_subject and _PERCEIVES.match(rest) is not None
        yield "somebody of", _SOMEBODY_OF.match(rest) is not None
        yield "open", self._is_open and not any(one.kind == "person" for one in others)
        yield "far", min(name.start, 60) / 30
        yield "own length", min(end - edge, 40) / 20
        yield "as", _AS_TITLE.search(masked, edge, end) is not None
        yield from _find_signs(CHINESE_BEFORE, lead)
        behind = masked[name.end :]
        yield from _find_signs_behind(CHINESE_BEHIND, behind)
        if is_subject:
            yield from _find_signs_behind(CHINESE_BEHIND_SUBJECT, behind)
        if is_place:
            yield from _find_signs(CHINESE_BEFORE_PLACE, lead)
            yield from _find_signs_behind(CHINESE_BEHIND_PLACE, behind)
        yield from _find_signs(CHINESE_OWN, masked[edge:end])
        own = _count(self._words, edge, end)
        everywhere = self._everywhere
        for kind in ("appointment", "death", "killing", "holding", "feeling", "instant"):
            yield kind, min(own[kind], 2)
        for kind in ("march", "errand", "movement", "talk"):
            yield kind, min(own[kind], _MAX_COUNT)
        near = _count(self._words, max(edge, name.start - 8), min(end, name.end + 26))
        yield "near", min(sum(near[kind] for kind in _NEAR_KINDS), 4)
        yield "elsewhere", min(sum(everywhere[kind] - own[kind] for kind in _MATTER_KINDS), 6)
        for kind in ("talk", "instant"):
            yield f"{kind} elsewhere", min(everywhere[kind] - own[kind], _MAX_COUNT)
        yield from self._chinese_of_all

    @cached_property
    def _chinese_of_all(self) -> tuple[tuple[str, float], ...]:
        """The features of a Chinese sentence that are the same for all its names."""
        masked = self._masked
        return (
            ("length", min(len(masked), 60) / 30),
            ("short", len(masked) < _SHORT),
            *_find_signs(CHINESE_ANYWHERE, masked),
        )

    @cached_property
    def _is_open(self) -> bool:
        return _OPEN.search(self._masked) is not None

    def _find_own_end(self, name: NamePlace, *, is_subject: bool, is_sent: bool) -> int:
        """Where the words end that tell of a name: with its clause, or where somebody else becomes the subject."""
        masked = self._masked
        if not is_subject and not is_sent:
            return min((one for one in self._edges if one >= name.end), default=len(masked))
        for other in self._list_others(name):
            edge = max((one for one in self._edges if one <= other.start), default=0)
            if edge >= name.end and UNSPACED_CONNECTIVES.fullmatch(masked[edge : other.start]):
                return edge
        part = -1 if is_subject else masked.find("；", name.end)
        return len(masked) if part < 0 else part

    def _list_others(self, name: NamePlace) -> Iterator[NamePlace]:
        return (one for one in self.names if one.owner != name.owner)

    @cached_property
    def _masked(self) -> str:
        """A Chinese sentence whose names have no words in them."""
        parts, at = [], 0
        for name in self.names:
            if name.start >= at:
                parts += [self.text[at : name.start], "〇" * (name.end - name.start)]
                at = name.end
        return "".join([*parts, self.text[at:]])

    @cached_property
    def _edges(self) -> tuple[int, ...]:
        return tuple(one.end() for one in UNSPACED_CLAUSE_EDGE.finditer(self._masked))

    @cached_property
    def _words(self) -> tuple[tuple[int, tuple[str, ...]], ...]:
        """Where words of some kinds begin, with their kinds."""
        if self._is_unspaced:
            return tuple(_find_chinese_words(self._masked))
        found = ((one.start(), _find_english_kinds(one[0].lower())) for one in WORD.finditer(self.text))
        return tuple((start, kinds) for start, kinds in found if kinds)

    @cached_property
    def _everywhere(self) -> Counter[str]:
        return _count(self._words, 0, len(self.text))


def _find_signs(signs: Signs, text: str) -> Iterator[tuple[str, float]]:
    return ((sign, 1.0) for sign, pattern in signs.items() if pattern.search(text))


def _find_signs_behind(signs: Signs, text: str) -> Iterator[tuple[str, float]]:
    return ((sign, 1.0) for sign, pattern in signs.items() if pattern.match(text))


def _count(words: Iterable[tuple[int, tuple[str, ...]]], start: int, end: int) -> Counter[str]:
    """How many words of each kind begin between two places."""
    return Counter(kind for at, kinds in words if start <= at < end for kind in kinds)


_NEAR_BEFORE, _NEAR_BEHIND = 30, 110  # characters around an English name that tell most of it
_NEAR_HEAD = 120  # characters before an English name in which signs are looked for
_SHORT = 13  # characters of a Chinese sentence that tells little
_TELLING_KINDS = ("fate", "decision", "money", "feeling", "mind", "character", "kin", "office", "past", "cause")
_ENGLISH_KINDS = {
    kind: frozenset(map(stem, _WORDS[f"english_{kind}"])) for kind in (*_TELLING_KINDS, "gesture", "scene", "clothes")
}
_AUXILIARY, _TOWARDS = _WORDS["english_auxiliary"], _WORDS["english_towards"]
_IRREGULAR = frozenset(form for forms in load_word_lists("irregular_forms").values() for form in forms)
_BEFORE = re.compile(r"\b([A-Za-z]?[a-z]+) (?:(?:the|that|poor|old|young|little|[A-Z]\w*\.?) )*\Z")
_FINITE = re.compile(
    r"(?:,[^,;:—]{3,90},)?"
    r"(?: (?:\w+ly|also|then|now|still|even|once|soon|never|always|often|himself|herself))* ([a-z]+)\b"
)
_POSSESSIVE = re.compile(r"['’]s?\b")
_LISTED_BEHIND = re.compile(r"(?:,| and|, and) [A-ZÀ-Ý]")
_ASIDE = r"(?:,[^,;]{3,90},)?"
_PERFECT = re.compile(rf"{_ASIDE} had ")
_STATE = re.compile(
    rf"{_ASIDE} (?:was|is|were|had been|became|has been|had become|seemed|remained)\b"
    r"(?! (?:\w+ly |still |now |already |just )?\w+ing\b|about to)"
)
_FEELS = re.compile(  # what somebody is for a moment
    rf"{_ASIDE} (?:was|were|had been|felt|looked|seemed|became) "
    r"(?:\w+ly |so |very |much |too |quite |still |more |most )*(?:struck|surprised|astonished|embarrassed|confused|"
    r"offended|pleased|delighted|amazed|startled|glad|horrified|displeased|silent|busy|alone|pale|ready|about|told|seen|"
    r"heard|asked|sitting|standing|greeted|met|received|expected|absorbed|excited|frightened|alarmed|sad|irritable|"
    r"occupied|quartered|stationed|wearing|dressed|there|here|in the|on the|at the)\b"
)
_HABIT = re.compile(r"\b(?:always|never|often|usually|seldom|generally)\b")
_PRONOUN = re.compile(r"\b(?:he|she|his|her|him|they|their|them|it|its)\b", re.I)
_UNKNOWN_SUBJECT = re.compile(  # "He", "Within four years he": only the sentences before say who it is
    r"(?:(?:And|But|Yet|For|So|Then|Now|If|When|While|As|Though|Since|After|Before|During|Once|In|On|At|Of|Within|With|"
    r"Without|By|From|Like|[A-Z][a-z]+ing)(?: [a-z]+){0,5},? )?(?:[Hh]e|[Ss]he|[Tt]hey)\b"
)
_TALK = re.compile(
    r"\b(?:said|asked|replied|told|spoke|speaking|talk|talking|conversation|story|words|question|letter|heard)\b"
)


def _is_finite(rest: str) -> bool:
    """Whether a verb follows a name, so that it is the subject of a clause."""
    verb = _FINITE.match(rest)
    return verb is not None and (verb[1] in _AUXILIARY or verb[1].endswith("ed") or verb[1] in _IRREGULAR)


@lru_cache(maxsize=1 << 15)
def _find_english_kinds(word: str) -> tuple[str, ...]:
    root = stem(word)
    return tuple(kind for kind, roots in _ENGLISH_KINDS.items() if root in roots)


_NEAR_KINDS = ("appointment", "death", "killing", "holding", "lasting", "matter")
_MATTER_KINDS = (*_NEAR_KINDS, "title", "feeling")


def _read_chinese_kinds() -> Mapping[str, Sequence[tuple[str, tuple[str, ...]]]]:
    """The Chinese words with their kinds, by their first character, the longest first."""
    kinds: dict[str, tuple[str, ...]] = {}
    for kind in (*_MATTER_KINDS, "march", "errand", "movement", "talk", "instant"):
        for word in _WORDS[f"chinese_{kind}"]:
            kinds[word] = (*kinds.get(word, ()), kind)
    by_first: dict[str, list[tuple[str, tuple[str, ...]]]] = {}
    for word in sorted(kinds, key=len, reverse=True):
        by_first.setdefault(word[0], []).append((word, kinds[word]))
    return by_first


_CHINESE_KINDS = _read_chinese_kinds()


def _find_chinese_words(text: str) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Where words of some kinds begin, with their kinds; none overlaps the one before."""
    free = 0  # where the next word may begin
    for at, character in enumerate(text):
        if at >= free and character in _CHINESE_KINDS:
            for word, kinds in _CHINESE_KINDS[character]:
                if text.startswith(word, at):
                    yield at, kinds
                    free = at + len(word)
                    break


_SENT = re.compile("[令命使遣差派教叫着唤拨留召调]\\Z")
_APPOINTED = re.compile("[封拜授加迁升表以立赠贬荐举用]\\Z")
_BY = re.compile("(?:被|为|遭|受|亏得?)\\Z")
_OVERCOME = re.compile("(?:[斩擒围困救败破伐讨攻取夺袭]|杀了?)\\Z")
_CHINESE_HELD = re.compile("(?:守|据|取|得|失|弃|破|夺|屯兵?|领)[了住于]?\\Z")
_PERCEIVES = re.compile("[^，。；]{0,3}(?:闻|听|见|看|瞧|晓得|知|想|料|恐|望|问|以为)")
_SOMEBODY_OF = re.compile(
    "[之的]?(?:[母父妻子女儿媳弟兄妹姐侄孙军兵营寨船使首尸房屋家处]|乳母|乳父|丫头|丫鬟|小厮|部将|部下)"
)
# words that mean somebody or something which only the sentences before name
_OPEN = re.compile(
    "其[家尸首妹子母人言计谋意忠书众说军兵故事势]|之(?=[，。；．]|\\Z)|他|二人|[此那]人|这(?:[话事个人女]|婆子|小丫头)|如此|此[事言计意]"
)
_AS_TITLE = re.compile("为[^，。；]{0,10}(?:" + "|".join(sorted(_WORDS["chinese_title"], key=len, reverse=True)) + ")")

ENGLISH_WEIGHTS: Mapping[str, float] = {
    "all": -1.98,
    "lasting": 1.21,
    "event": 0.68,
    "done": 0.97,
    "first": 0.21,
    "place": -0.89,
    "thing": -1.13,
    "place first": 0.54,
    "within place": -0.2,
    "listed": -0.48,
    "who": 0.37,
    "perfect": 0.17,
    "state": 0.42,
    "feels": -0.19,
    "pronoun before": -0.14,
    "unknown subject": -1.0,
    "far": -0.28,
    "aside": 0.55,
    "near money": 0.28,
    "near feeling": 0.13,
    "near gesture": -0.35,
    "near character": 0.19,
    "length": 1.05,
    "talk": -0.14,
    "telling": 0.66,
    "scene": -0.3,
    "clothes": -0.3,
    "words": 0.27,
    "tie": 0.63,
    "lived": 0.79,
    "kind of place": 2.21,
    "kin of": 0.66,
    "kind of person": 0.42,
    "habit": 0.23,
    "moment": -0.38,
    "within": 0.16,
    "supposing": -0.35,
    "latter": -0.63,
    "direction": -0.77,
    "when": -0.22,
    "narrator": -0.18,
    "battle": 1.0,
    "head": 1.39,
}
CHINESE_WEIGHTS: Mapping[str, float] = {
    "all": -1.77,
    "lasting": 1.32,
    "event": 0.68,
    "done": 0.94,
    "first": -0.17,
    "role": 1.34,
    "place": -0.89,
    "held place": 0.28,
    "appointed": 0.53,
    "by": -0.06,
    "perceives": -0.15,
    "somebody of": -0.16,
    "open": -0.29,
    "far": -0.78,
    "own length": 0.56,
    "as": 1.52,
    "appointment": 0.54,
    "death": 0.3,
    "killing": 0.89,
    "holding": -0.02,
    "feeling": 0.07,
    "instant": -0.11,
    "march": -0.79,
    "errand": -0.26,
    "movement": -0.17,
    "talk": -0.28,
    "near": 0.32,
    "elsewhere": 0.22,
    "talk elsewhere": -0.14,
    "instant elsewhere": -0.08,
    "length": 0.3,
    "short": -0.15,
    "origin": -0.02,
    "named": 2.32,
    "goes": -0.35,
    "moved": -0.28,
    "dies": -0.26,
    "speaks": -0.25,
    "described": 0.26,
    "nature": 0.69,
    "meets": -0.03,
    "home": 0.48,
    "date": 0.48,
    "terms": 1.22,
    "becomes": 0.63,
    "suffers": 0.37,
    "appears": -0.43,
    "others behind": -0.59,
    "kin behind": 0.7,
    "kin before": 0.95,
    "place last": 0.32,
    "verse": -1.48,
    "overcomes": 0.21,
    "captive": 0.58,
    "men of": -0.67,
    "takes": 0.18,
}
