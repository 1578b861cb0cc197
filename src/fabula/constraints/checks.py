"""Checks: what a program can say about a text before anybody asks a model (con-4).

A constraint says by its `check` what is to be looked for, or says it in words that are understood
(`sayings`). Those in force at this point of the story are held against the text, and each violation names
the constraint, the place and the words, in a sentence of the project's language. Names that the codex
brings later in the story count as forbidden until then.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from fabula.constraints.banned_words import apart, finder, occurrences
from fabula.constraints.model import Banned, Check, Constraint, Length, Person, Unnamed
from fabula.constraints.narrative_person import out_of_person, without_person
from fabula.constraints.quotation import narration
from fabula.constraints.rule_parser import understood
from fabula.constraints.sentence_length import length, sentences
from fabula.core.story import Position, Timeline
from fabula.core.view import Language

Span = tuple[int, int]
Cast = Mapping[str, tuple[str, ...]]  # the names of every entry, by its id
Later = Mapping[str, Position]  # names that come later, and where


class Violation(Struct, frozen=True, kw_only=True):
    """One place where a text breaks a constraint; `words` are those from `start` to `end`."""

    constraint: str
    start: int
    end: int
    words: str
    sentence: str


_SAYS: dict[Language, dict[str, str]] = {
    "en": {
        "banned": "“{words}” is not to be used.",
        "length": "This sentence has {count} {unit}, and {most} are the most.",
        "person": "“{words}” speaks of the narrator, and the story is told in the {person} person.",
        "nobody": "Nobody is {who} in this passage, and the story is told in the {person} person.",
        "named": "“{words}” is not to be named here.",
        "later": "“{words}” is not known yet at this point of the story.",
    },
    "zh": {
        "banned": "不得使用“{words}”。",
        "length": "这一句有{count}{unit}，最多{most}{unit}。",
        "person": "“{words}”是叙述者自称，而全文应以第{person}人称叙述。",
        "nobody": "这一段始终没有“{who}”，而全文应以第{person}人称叙述。",
        "named": "此处不得提到“{words}”。",
        "later": "“{words}”在故事的这一刻尚未登场。",
    },
}
_UNITS: dict[Language, dict[str, str]] = {
    "en": {"words": "words", "characters": "characters"},
    "zh": {"words": "词", "characters": "字"},
}
_PERSONS: dict[Language, dict[str, str]] = {
    "en": {"first": "first", "second": "second", "third": "third"},
    "zh": {"first": "一", "second": "二", "third": "三"},
}
_WHO: dict[Language, dict[str, str]] = {
    "en": {"first": "I", "second": "you"},
    "zh": {"first": "我", "second": "你"},
}


def check_text(
    text: str,
    constraints: Iterable[Constraint],
    language: Language,
    *,
    here: Position | None = None,
    timeline: Timeline | None = None,
    cast: Cast | None = None,
    later: Later | None = None,
) -> list[Violation]:
    """Every place where a text breaks what a program can check, in the order of the text."""
    line, people = timeline or Timeline(), cast or {}
    known = [name for names in people.values() for name in names]
    found: list[Violation] = []
    for constraint in constraints:
        if in_force(constraint, here, line):
            wanted = constraint.check or understood(constraint.text, known)
            if wanted is not None:
                found.extend(_violations(text, constraint.id, wanted, language, people, _chapter(here, line)))
    found.extend(_too_early(text, language, here, line, later or {}))
    return sorted(found, key=lambda one: (one.start, one.end, one.constraint))


def checkable(constraint: Constraint, cast: Cast | None = None) -> Check | None:
    """What a program checks of a constraint: as it says itself, or as its words are understood."""
    names = [name for names in (cast or {}).values() for name in names]
    return constraint.check or understood(constraint.text, names)


def in_force(constraint: Constraint, here: Position | None, timeline: Timeline) -> bool:
    """Does a constraint hold at this point of the story?"""
    begun = constraint.since is None or timeline.reached(constraint.since, here)
    return begun and not (constraint.until is not None and timeline.reached(constraint.until, here))


def _violations(
    text: str, ident: str, wanted: Check, language: Language, cast: Cast, chapter: int | None
) -> Iterator[Violation]:
    says = _SAYS[language]
    match wanted:
        case Banned(words=words, narration=told):
            found = occurrences(text, words)
            if told:
                found = _inside(found, narration(text))
            yield from (_violation(text, ident, span, says["banned"]) for span in found)
        case Length(most=most, unit=unit):
            for span in sentences(text):
                count = length(text[slice(*span)], unit, language)
                if count > most:
                    said = says["length"].format(count=count, most=most, unit=_UNITS[language][unit])
                    yield _violation(text, ident, span, said)
        case Person(person=person):
            named = _PERSONS[language][person]
            said = says["person"].replace("{person}", named)
            yield from (_violation(text, ident, span, said) for span in out_of_person(text, person, language))
            lacking = without_person(text, person, language)
            if lacking is not None:
                yield _violation(text, ident, lacking, says["nobody"].format(who=_WHO[language][person], person=named))
        case Unnamed(names=names, before=before):
            if before is None or chapter is None or chapter < before:
                yield from (_violation(text, ident, span, says["named"]) for span in _named(text, _all(names, cast)))


def _too_early(
    text: str, language: Language, here: Position | None, timeline: Timeline, later: Later
) -> Iterator[Violation]:
    ahead = tuple(name for name, since in later.items() if here is not None and not timeline.reached(since, here))
    if ahead:
        for hit in finder(ahead).find(text):
            yield _violation(text, f"name:{hit.owner}", (hit.start, hit.end), _SAYS[language]["later"])


def _all(names: Sequence[str], cast: Cast) -> list[str]:
    """Whoever is meant by a name or an id, by all of their names."""
    meant = [*names]
    for ident, known in cast.items():
        if ident in names or any(name in names for name in known):
            meant.extend(known)
    return list(dict.fromkeys(meant))


def _named(text: str, names: Sequence[str]) -> list[Span]:
    return apart((hit.start, hit.end) for hit in finder(tuple(names)).find(text))


def _inside(spans: Iterable[Span], stretches: Sequence[Span]) -> list[Span]:
    return [span for span in spans if any(start <= span[0] and span[1] <= end for start, end in stretches)]


def _chapter(here: Position | None, timeline: Timeline) -> int | None:
    return None if here is None else timeline.chapter(here.document)


def _violation(text: str, ident: str, span: Span, sentence: str) -> Violation:
    words = text[slice(*span)]
    said = sentence.replace("{words}", words if len(words) <= 40 else f"{words[:40]}…")
    return Violation(constraint=ident, start=span[0], end=span[1], words=words, sentence=said)
