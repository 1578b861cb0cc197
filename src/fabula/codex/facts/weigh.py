"""Weigh what a sentence tells of somebody or something that it names, where no pattern shows that it lasts (cdx-10).

Most of what a book says of its people is told by what they do and what is done to them. A sentence has features: where
the name stands in it, and how many words of a few kinds it has (deeds, traits, dates; looks, doors and tones of voice,
which only belong to a scene). Each has a weight, so that the sum says whether a reader would call the sentence worth
knowing: 0 where one of two would. The weights were found by logistic regression over sentences of several books that
were judged one by one; they know kinds of words, and no words of any book.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import lru_cache

from msgspec import Struct

from fabula.codex.facts.patterns import (
    CHINESE_EVENT_WORD,
    CHINESE_OFFICE,
    CLAUSE_EDGE,
    ENGLISH_EVENTS,
    ENGLISH_TRAITS,
    LISTED_BEFORE,
    TELLER,
    UNSPACED_CLAUSE_EDGE,
    UNSPACED_CONNECTIVES,
    WORD,
)
from fabula.text.stemmer import stem
from fabula.text.telling import measure_sentence
from fabula.text.word_list import load_word_lists

_WORDS = load_word_lists("deed_words")
_ENGLISH_KINDS = {
    "deed": frozenset(map(stem, _WORDS["english_deed"])),
    "gesture": frozenset(map(stem, _WORDS["english_gesture"])),
    "scene": frozenset(map(stem, _WORDS["english_scene"])),
    "event": ENGLISH_EVENTS,
    "trait": ENGLISH_TRAITS,
}
_NEAR = 90  # characters behind a name that tell most of it
_MAX_COUNT = 4  # words of one kind that count
_CHINESE_DEED, _CHINESE_GESTURE, _CHINESE_THING = (
    re.compile("|".join(sorted(_WORDS[f"chinese_{name}"], key=len, reverse=True)))
    for name in ("deed", "gesture", "thing")
)
_BEFORE = re.compile(r"\b([A-Za-z]?[a-z]+) (?:(?:the|that|poor|old|young|little|[A-Z]\w*\.?) )*\Z")
_ABOUT, _TOWARDS, _TIME, _AUXILIARY = (_WORDS[f"english_{name}"] for name in ("about", "towards", "time", "auxiliary"))
_FINITE = re.compile(
    r"(?:,[^,;:—]{3,90},)?"
    r"(?: (?:\w+ly|also|then|now|still|even|once|soon|never|always|often|himself|herself))* ([a-z]+)\b"
)
_IRREGULAR = frozenset(form for forms in load_word_lists("irregular_forms").values() for form in forms)
_SUBORDINATOR = re.compile(r"\b(?:(?i:where|though|although|because)|that|which|whom|whose|what|how|whether|than)\b")
_OWN = re.compile(r"\b(?:his|her|himself|herself)\b")
_POSSESSIVE = re.compile(r"['’]s?\b")
_LISTED_BEHIND = re.compile(r"(?:,| and|, and) [A-Z]")
_OPEN_WORD = re.compile(r"\b(?:him|it|them|this|that|these|those|there|here|they|he|she|his|her|their)\b", re.I)
_CONNECTIVE_START = re.compile(r"(?:But|And|Then|So|Yet|For|Or|Nor|Now|Thus|Still|However|Here|There)\b")
_PRONOUN_START = re.compile(r"(?:\w+ ){0,2}(?:he|she|they|it|I|we|who|what)\b", re.I)
_PERFECT = re.compile(r"(?:,[^,;]{3,90},)? had ")
_STATE = re.compile(r",? (?:was|is|were) (?!(?:\w+ly |still |now )?\w+ing\b|about to\b)")
_CHINESE_START = re.compile("只见|忽见|正说|正在|一面|说着|因|于是|却(?!说)|又|那|这|此|彼|当下|且(?!说)|忽|早|正")
_CHINESE_LISTED = re.compile("[、，]?(?:\\Z|等|、)")
_CHINESE_CLAUSE = re.compile("[^，。；：．！？]*")

ENGLISH_WEIGHTS: Mapping[str, float] = {
    "all": -2.0,
    "first": 0.5,
    "clause": 0.2,
    "dependent": 0.5,
    "time": -0.8,
    "hearsay": -1.5,
    "object": 0.6,
    "elsewhere": -0.2,
    "towards": -0.2,
    "about": -0.4,
    "about place": -1.0,
    "thing aside": -0.7,
    "owner": -0.7,
    "listed": -0.5,
    "before": -0.3,
    "pronoun first": -0.5,
    "who": 0.5,
    "whose": 0.15,
    "perfect": 0.6,
    "state": 1.0,
    "telling": 1.35,
    "near telling": 0.7,
    "trait": 0.15,
    "event": 0.1,
    "deed": 0.05,
    "gesture": -0.1,
    "scene": -0.6,
    "open": -0.17,
    "length": 1.15,
    "cut": -0.3,
    "connective": -0.1,
    "teller": -0.2,
    "other place": 0.1,
}
CHINESE_WEIGHTS: Mapping[str, float] = {
    "all": -0.85,
    "first": -0.1,
    "clause": -0.15,
    "elsewhere": 0.15,
    "place": -1.5,
    "office": -3.0,
    "listed": -0.25,
    "clauses before": -0.35,
    "clause deed": 0.5,
    "deed": 0.17,
    "event": 0.6,
    "gesture": -0.7,
    "thing": 0.15,
    "start": -0.7,
    "length": 1.1,
    "short": -0.95,
    "other place": 0.65,
}


class NamePlace(Struct, frozen=True):
    """A name in a sentence: what stands before and behind it, and which others are named there."""

    head: str
    rest: str
    is_subject: bool  # whether the sentence begins with it
    is_place: bool
    is_thing: bool  # no person
    has_other_place: bool


def weigh_statement(text: str, name: NamePlace, *, is_unspaced: bool) -> float:
    """How much a sentence tells of a name in it; 0 where a reader may find it worth knowing or not."""
    weights = CHINESE_WEIGHTS if is_unspaced else ENGLISH_WEIGHTS
    features = list_chinese_features(text, name) if is_unspaced else list_english_features(text, name)
    return weights["all"] + sum(weights[feature] * amount for feature, amount in features)


def list_english_features(text: str, name: NamePlace) -> Iterator[tuple[str, float]]:
    """The features of an English sentence by name, each with its amount."""
    yield from _list_english_places(text, name)
    for kind, count in _count_kinds(text).items():
        yield kind, min(count, _MAX_COUNT)
    yield "near telling", measure_sentence(name.head[-20:] + name.rest[:_NEAR])
    yield "cut", not text.endswith((".", ";", ")", "”", "’"))
    yield "telling", measure_sentence(text)
    yield "length", min(len(text), 200) / 100
    yield "open", min(len(_OPEN_WORD.findall(text)), _MAX_COUNT)
    yield "connective", _CONNECTIVE_START.match(text) is not None
    yield "teller", TELLER.search(text) is not None
    yield "other place", name.has_other_place


def _list_english_places(text: str, name: NamePlace) -> Iterator[tuple[str, float]]:
    """Where a name stands: as the subject, as whom or what something is done to, in a list, in another clause."""
    head, rest = name.head, name.rest
    edge = max((one.end() for one in CLAUSE_EDGE.finditer(head)), default=0)
    is_subject = name.is_subject or _is_finite(rest)
    is_owner = _POSSESSIVE.match(rest) is not None
    match = _BEFORE.search(head)
    before = "" if match is None else match[1]
    yield "owner", is_owner and not name.is_subject
    yield "listed", (_LISTED_BEHIND.match(rest) or LISTED_BEFORE.search(head)) is not None
    yield "who", rest.startswith((" who ", ", who "))
    yield "pronoun first", not name.is_subject and _PRONOUN_START.match(text) is not None
    yield "before", min(len(head) / 100, 2)
    yield "whose", _OWN.search(rest) is not None
    if is_subject and not is_owner:
        is_time = before.lower() in _TIME
        is_dependent = not is_time and _SUBORDINATOR.search(head, edge) is not None
        yield "time" if is_time else "dependent" if is_dependent else "first" if name.is_subject else "clause", 1
        yield "hearsay", is_dependent and _PRONOUN_START.match(text) is not None
        yield "perfect", _PERFECT.match(rest) is not None
        yield "state", _STATE.match(rest) is not None
        return
    yield "thing aside", name.is_thing
    if before in _ABOUT:
        yield "about place" if name.is_place else "about", 1
    elif before in _TOWARDS:
        yield "towards", not name.is_place
    elif before and ("deed" in _find_kinds(before) or "event" in _find_kinds(before) or before.endswith("ed")):
        yield "object", 1
    else:
        yield "elsewhere", 1


def _is_finite(rest: str) -> bool:
    """Whether a verb follows a name, so that it is the subject of a clause."""
    verb = _FINITE.match(rest)
    return verb is not None and (verb[1] in _AUXILIARY or verb[1].endswith("ed") or verb[1] in _IRREGULAR)


def _count_kinds(text: str) -> Mapping[str, int]:
    return Counter(kind for word in WORD.findall(text) for kind in _find_kinds(word.lower()))


@lru_cache(maxsize=1 << 15)
def _find_kinds(word: str) -> tuple[str, ...]:
    root = stem(word)
    return tuple(kind for kind, roots in _ENGLISH_KINDS.items() if root in roots)


def list_chinese_features(text: str, name: NamePlace) -> Iterator[tuple[str, float]]:
    """The features of a Chinese sentence by name, each with its amount."""
    head, rest = name.head, name.rest
    edge = max((one.end() for one in UNSPACED_CLAUSE_EDGE.finditer(head)), default=0)
    is_subject = name.is_subject or UNSPACED_CONNECTIVES.fullmatch(head[edge:]) is not None
    behind = _CHINESE_CLAUSE.match(rest)
    clause = head[edge:] + (behind[0] if behind is not None else "")
    yield "place", name.is_place
    yield "office", name.is_place and CHINESE_OFFICE.match(rest) is not None
    yield "clause" if is_subject and not name.is_subject else "first" if is_subject else "elsewhere", 1
    yield "listed", head.endswith("、") or _CHINESE_LISTED.match(rest) is not None
    yield "clauses before", min(head.count("，") + head.count("；"), _MAX_COUNT)
    yield "clause deed", min(len(_CHINESE_DEED.findall(clause)), 2)
    yield "deed", min(len(set(_CHINESE_DEED.findall(text))), 6)
    yield "event", min(len(set(CHINESE_EVENT_WORD.findall(text))), 3)
    yield "gesture", min(len(_CHINESE_GESTURE.findall(text)), _MAX_COUNT)
    yield "thing", min(len(set(_CHINESE_THING.findall(text))), 5)
    yield "start", _CHINESE_START.match(text) is not None
    yield "length", min(len(text), 60) / 30
    yield "short", len(text) < 14
    yield "other place", name.has_other_place
