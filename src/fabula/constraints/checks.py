"""Checks a text against constraints by program, without a model (con-4).

A constraint names what to look for in its `check`, or in words that the rule parser understands. Only constraints
in force at the position are checked. Each violation names the constraint and the span, with a sentence in the
project's language. Names that enter the story later (codex entries and progressions) are forbidden until then.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain

from msgspec import Struct

from fabula.constraints.banned_words import drop_overlaps, find_banned_words, make_matcher
from fabula.constraints.model import (
    BannedWords,
    Constraint,
    ForbiddenNames,
    NarrativePerson,
    SentenceLength,
    Span,
    TextCheck,
)
from fabula.constraints.narration import find_missing_person, find_narration, find_narrator_pronouns
from fabula.constraints.rule_parser import parse_rule
from fabula.constraints.sentence_length import count_length, find_sentences
from fabula.core.story import Position, Timeline
from fabula.core.view import Language

EntryNames = Mapping[str, tuple[str, ...]]  # entry id -> all its names
LaterNames = Mapping[str, Position]  # name -> where it enters the story


class Violation(Struct, frozen=True, kw_only=True):
    """A span of a text that breaks a constraint; `constraint` is its id."""

    constraint: str
    start: int
    end: int
    words: str
    sentence: str


_SENTENCES: dict[Language, dict[str, str]] = {
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
_PERSON_NAMES: dict[Language, dict[str, str]] = {
    "en": {"first": "first", "second": "second", "third": "third"},
    "zh": {"first": "一", "second": "二", "third": "三"},
}
_PRONOUNS: dict[Language, dict[str, str]] = {
    "en": {"first": "I", "second": "you"},
    "zh": {"first": "我", "second": "你"},
}


def check_text(
    text: str,
    constraints: Iterable[Constraint],
    language: Language,
    *,
    position: Position | None = None,
    timeline: Timeline | None = None,
    entry_names: EntryNames | None = None,
    later_names: LaterNames | None = None,
) -> list[Violation]:
    """Find every violation of a constraint that a program can check, in the order of the text."""
    timeline, entry_names = timeline or Timeline(), entry_names or {}
    chapter = None if position is None else timeline.chapter_number(position.document)
    violations: list[Violation] = []
    for constraint in constraints:
        if is_in_force(constraint, position, timeline):
            check = find_check(constraint, entry_names)
            if check is not None:
                violations.extend(_run_check(text, constraint.id, check, language, entry_names, chapter))
    if position is not None and later_names:
        ahead = tuple(name for name, since in later_names.items() if not timeline.has_reached(since, position))
        violations.extend(_find_later_names(text, language, ahead))
    return sorted(violations, key=lambda violation: (violation.start, violation.end, violation.constraint))


def find_check(constraint: Constraint, entry_names: EntryNames | None = None) -> TextCheck | None:
    """The check of a constraint, or the one its text can be parsed into; None leaves it to the model."""
    return constraint.check or parse_rule(constraint.text, chain.from_iterable((entry_names or {}).values()))


def is_in_force(constraint: Constraint, position: Position | None, timeline: Timeline) -> bool:
    """Does a constraint hold at this position of the story (con-2)?"""
    begun = constraint.since is None or timeline.has_reached(constraint.since, position)
    return begun and not (constraint.until is not None and timeline.has_reached(constraint.until, position))


def _run_check(
    text: str, ident: str, check: TextCheck, language: Language, entry_names: EntryNames, chapter: int | None
) -> Iterator[Violation]:
    sentences = _SENTENCES[language]
    match check:
        case BannedWords(words=words, narration_only=narration_only):
            spans = find_banned_words(text, words)
            if narration_only:
                spans = _inside(spans, find_narration(text))
            yield from (_violation(text, ident, span, sentences["banned"]) for span in spans)
        case SentenceLength(max_length=max_length, unit=unit):
            for span in find_sentences(text):
                count = count_length(text[slice(*span)], unit, language)
                if count > max_length:
                    sentence = sentences["length"].format(count=count, most=max_length, unit=_UNITS[language][unit])
                    yield _violation(text, ident, span, sentence)
        case NarrativePerson(person=person):
            person_name = _PERSON_NAMES[language][person]
            sentence = sentences["person"].replace("{person}", person_name)
            for span in find_narrator_pronouns(text, person, language):
                yield _violation(text, ident, span, sentence)
            missing = find_missing_person(text, person, language)
            if missing is not None:
                sentence = sentences["nobody"].format(who=_PRONOUNS[language][person], person=person_name)
                yield _violation(text, ident, missing, sentence)
        case ForbiddenNames(names=names, before_chapter=before):
            if before is None or chapter is None or chapter < before:
                matcher = make_matcher(_add_aliases(names, entry_names))
                spans = drop_overlaps((hit.start, hit.end) for hit in matcher.find(text))
                yield from (_violation(text, ident, span, sentences["named"]) for span in spans)


def _find_later_names(text: str, language: Language, names: tuple[str, ...]) -> Iterator[Violation]:
    if names:
        for hit in make_matcher(names).find(text):
            yield _violation(text, f"name:{hit.owner}", (hit.start, hit.end), _SENTENCES[language]["later"])


def _add_aliases(names: Sequence[str], entry_names: EntryNames) -> tuple[str, ...]:
    """Names, with all other names of the entries that they or their ids belong to."""
    complete = [*names]
    for ident, known in entry_names.items():
        if ident in names or any(name in names for name in known):
            complete.extend(known)
    return tuple(dict.fromkeys(complete))


def _inside(spans: Iterable[Span], outer: Sequence[Span]) -> list[Span]:
    return [span for span in spans if any(start <= span[0] and span[1] <= end for start, end in outer)]


def _violation(text: str, ident: str, span: Span, sentence: str) -> Violation:
    words = text[slice(*span)]
    sentence = sentence.replace("{words}", words if len(words) <= 40 else f"{words[:40]}…")
    return Violation(constraint=ident, start=span[0], end=span[1], words=words, sentence=sentence)
