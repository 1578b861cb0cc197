"""Checks a text against constraints by program, without a model (con-4).

A constraint names what to look for in its `check`, or in words that the rule parser understands. Only constraints
in force at the position are checked. Each violation names the constraint and the span, with a sentence in the
project's language. Names that enter the story later (codex entries and progressions) are forbidden until then.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain

from msgspec import Struct

from fabula.constraints.banned_words import drop_overlaps, find_banned_words, make_matcher
from fabula.constraints.conditions import find_story_range, has_chapter_limits, name_story_range, read_opening
from fabula.constraints.model import (
    BannedWords,
    ChapterLimits,
    Constraint,
    ForbiddenNames,
    NarrativePerson,
    ScopeLimits,
    SentenceLength,
    Span,
    TextCheck,
)
from fabula.constraints.narration import (
    find_excluded_pronouns,
    find_missing_person,
    find_narration,
    find_narrator_pronouns,
)
from fabula.constraints.rule_parser import RuleReading, read_rule
from fabula.constraints.sentence_length import count_length, find_paragraphs, find_sentences
from fabula.core.messages import Sentence, message
from fabula.core.story import Position, Timeline
from fabula.core.view import Language
from fabula.text.truncation import shorten_to_line

EntryNames = Mapping[str, tuple[str, ...]]  # entry id -> all its names
LaterNames = Mapping[str, Position]  # name -> where it enters the story


class Violation(Struct, frozen=True, kw_only=True):
    """A span of a text that breaks a constraint; `constraint` is its id."""

    constraint: str
    start: int
    end: int
    words: str
    sentence: str


_UNITS = {"words": message("words"), "characters": message("characters")}
_PERSONS = {
    "first": message("first person"),
    "second": message("second person"),
    "third": message("third person"),
}
_PRONOUNS = {("first", "en"): "I", ("second", "en"): "you", ("first", "zh"): "我", ("second", "zh"): "你"}


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
    violations: list[Violation] = []
    for constraint in constraints:
        if is_in_force(constraint, position, timeline):
            check = find_check(constraint, entry_names)
            if check is not None and _holds_at(check, position, timeline):
                for span, sentence in _run_check(text, check, language, entry_names):
                    violations.append(_make_violation(text, constraint.id, span, sentence.render(language)))
    if position is not None and later_names:
        ahead = tuple(name for name, since in later_names.items() if not timeline.has_reached(since, position))
        for hit in make_matcher(ahead).find(text) if ahead else ():
            sentence = message("“{words}” is not known yet at this point of the story.", words=_quote(hit.surface))
            span = (hit.start, hit.end)
            violations.append(_make_violation(text, f"name:{hit.owner}", span, sentence.render(language)))
    return sorted(violations, key=lambda violation: (violation.start, violation.end, violation.constraint))


def find_check(constraint: Constraint, entry_names: EntryNames | None = None) -> TextCheck | None:
    """The check of a constraint, or the one its text can be parsed into; None leaves it to the model."""
    return constraint.check or _read_rule(constraint, entry_names).check


def find_limits(constraint: Constraint, entry_names: EntryNames | None = None) -> ChapterLimits | None:
    """The chapters that the words of a constraint limit it to; None where it holds in all."""
    check = find_check(constraint, entry_names)
    if check is None:
        return _read_opening(constraint.text)
    return check if has_chapter_limits(check) else None


class ProgramCheck(Struct, frozen=True):
    """What a program checks of a constraint; where it checks nothing, `problem` says why. And in which chapters."""

    check: TextCheck | None
    problem: Sentence | None = None
    chapters: Sentence | None = None


def explain_check(constraint: Constraint, timeline: Timeline, entry_names: EntryNames | None = None) -> ProgramCheck:
    """Find what a program checks of a constraint in this story, and otherwise why the model checks it."""
    check = find_check(constraint, entry_names)
    if check is None:
        opening = _read_opening(constraint.text)
        chapters = None if opening is None else name_story_range(opening, timeline)
        return ProgramCheck(None, _read_rule(constraint, entry_names).reason, chapters)
    problem = find_story_range(check, timeline).problem if has_chapter_limits(check) else None
    if problem is not None:
        return ProgramCheck(None, problem)
    return ProgramCheck(check, chapters=name_story_range(check, timeline))


def _read_rule(constraint: Constraint, entry_names: EntryNames | None) -> RuleReading:
    names = chain.from_iterable((entry_names or {}).values())
    return _read_text(constraint.text, tuple(name for name in names if name in constraint.text))


_read_text = lru_cache(maxsize=1024)(read_rule)  # a whole book is checked with the same few rules
_read_opening = lru_cache(maxsize=1024)(read_opening)


def is_in_force(constraint: Constraint, position: Position | None, timeline: Timeline) -> bool:
    """Does a constraint hold at this position of the story (con-2)?"""
    begun = constraint.since is None or timeline.has_reached(constraint.since, position)
    return begun and not (constraint.until is not None and timeline.has_reached(constraint.until, position))


def _holds_at(check: TextCheck, position: Position | None, timeline: Timeline) -> bool:
    """Whether a check holds in the chapter of this position; without a position, one with chapters does not."""
    if not has_chapter_limits(check):
        return True
    index = None if position is None else timeline.index(position.document)
    story_range = find_story_range(check, timeline)
    return index is not None and story_range.problem is None and story_range.first <= index < story_range.end


def is_elsewhere(limits: ChapterLimits, position: Position, timeline: Timeline) -> bool:
    """Does a rule hold in other chapters of the story than that of this position?"""
    index, story_range = timeline.index(position.document), find_story_range(limits, timeline)
    return index is not None and story_range.problem is None and not story_range.first <= index < story_range.end


def _run_check(
    text: str, check: TextCheck, language: Language, entry_names: EntryNames
) -> Iterator[tuple[Span, Sentence]]:
    """The spans that break a check, each with a sentence that says why."""
    match check:
        case BannedWords(words=words):
            for start, end in _select_scope(find_banned_words(text, words), text, check):
                yield (start, end), message("“{words}” is not to be used.", words=_quote(text[start:end]))
        case SentenceLength(max_length=max_length, unit=unit, measured=measured):
            for start, end in find_sentences(text) if measured == "sentence" else find_paragraphs(text):
                count = count_length(text[start:end], unit, language)
                if count > max_length:
                    values = {"count": count, "unit": _UNITS[unit], "most": max_length}
                    sentence = (
                        message("This sentence has {count} {unit}, and {most} are the most.", **values)
                        if measured == "sentence"
                        else message("This paragraph has {count} {unit}, and {most} are the most.", **values)
                    )
                    yield (start, end), sentence
        case NarrativePerson(person=person, is_excluded=True):
            for start, end in find_excluded_pronouns(text, person, language):
                sentence = message(
                    "“{words}” is in the narration, and the story is not told in the {person}.",
                    words=_quote(text[start:end]),
                    person=_PERSONS[person],
                )
                yield (start, end), sentence
        case NarrativePerson(person=person):
            for start, end in find_narrator_pronouns(text, person, language):
                sentence = message(
                    "“{words}” speaks of the narrator, and the story is told in the {person}.",
                    words=_quote(text[start:end]),
                    person=_PERSONS[person],
                )
                yield (start, end), sentence
            missing = find_missing_person(text, person, language)
            if missing is not None:
                sentence = message(
                    "Nobody is “{pronoun}” in this passage, and the story is told in the {person}.",
                    pronoun=_PRONOUNS[person, language],
                    person=_PERSONS[person],
                )
                yield missing, sentence
        case ForbiddenNames(names=names):
            matcher = make_matcher(_add_aliases(names, entry_names))
            hits = drop_overlaps((hit.start, hit.end) for hit in matcher.find(text))
            for start, end in _select_scope(hits, text, check):
                yield (start, end), message("“{words}” is not to be named here.", words=_quote(text[start:end]))


def _select_scope(spans: Sequence[Span], text: str, check: ScopeLimits) -> Iterable[Span]:
    """The spans in the narration or in the dialogue, where a check is about only one of them."""
    if not spans or not (check.narration_only or check.dialogue_only):
        return spans
    narration = find_narration(text)
    return [
        (start, end)
        for start, end in spans
        if any(first <= start and end <= last for first, last in narration) is check.narration_only
    ]


def _add_aliases(names: Sequence[str], entry_names: EntryNames) -> tuple[str, ...]:
    """Names, with all other names of the entries that they mean: by the id, the main name or a part of it.

    Another name, which may be one that is revealed later, forbids itself and not the entry.
    """
    complete = [*names]
    for ident, known in entry_names.items():
        if any(one == ident or (one in known and _is_part(one, known[0])) for one in names):
            complete.extend(known)
    return tuple(dict.fromkeys(complete))


def _is_part(name: str, main_name: str) -> bool:
    """Whether a name is another one, or some words or Chinese characters of it."""
    return f" {name} " in f" {main_name} " or (not name.isascii() and name in main_name)


def _make_violation(text: str, ident: str, span: Span, sentence: str) -> Violation:
    return Violation(constraint=ident, start=span[0], end=span[1], words=text[slice(*span)], sentence=sentence)


def _quote(words: str) -> str:
    return shorten_to_line(words, 41)
