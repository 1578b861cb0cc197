"""Finds the narration of a text, and where it leaves its narrative person (con-4).

Narration is the text outside quotation marks. Quotations may be nested. One that is never closed ends with its
paragraph, since a speech that continues is opened again in the next one; if the next paragraph closes it without
opening another, it continues. A straight single mark is a quotation mark only where it opens before a word and is
closed in the same paragraph; all others are apostrophes. A paragraph that begins with a dash is dialogue, and
several words between asterisks are a thought.

In the third or second person, narration has no I or 我. In the first or second person others are still he and she,
so a single word proves nothing: a passage breaks its person when it is long enough, mentions others, and never
mentions its narrator, or you.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from fabula.constraints.model import LengthUnit, Person, Span
from fabula.constraints.sentence_length import count_length, find_sentences
from fabula.core.view import Language

MIN_LENGTH: dict[Language, int] = {"en": 40, "zh": 60}  # words or characters of narration that show a person

_CLOSING = {"“": "”", "‘": "’", "「": "」", "『": "』", "«": "»", "»": "«", "„": "”"}
_MAX_NESTING = 50  # quotations inside one another; a deeper one belongs to the one around it
_MARK = re.compile("[“”‘’「」『』«»„\"']")
_SINGLE = re.compile(r"(?<![^\W_])'(?=[^\s'])[^'\n]*+(?:(?<=[^\W_])'(?=[^\W_])[^'\n]*+)*+'(?![^\W_])")
_DASH = re.compile(r"[\s>]*+[—–―]")
_THOUGHT = re.compile(r"(?<![*\w])(\*{1,3}|_{1,3})(?=[^\s*_]++\s)[^*_\n]*+(?:\n[^*_\n]*+)?+(?<=\S)\1(?![*\w])")

_NUMBERED = "".join(f"(?<!{word} )" for word in ("Chapter", "Part", "Book", "Act", "Volume", "War", "Scene", "Type"))
_AFTER = "|".join(rf"(?<=\b{word} )" for word in ("of", "is", "was", "were", "are", "be", "than", "to", "like", "with"))
_FIRST_EN = re.compile(
    rf"(?<![^\W_])(?:{_NUMBERED}(?:(?<=[^\n])I|I(?![.)]))|[Mm]e|[Mm]y|[Mm]yself|[Ww]e|[Uu]s|[Oo]urs?|[Oo]urselves"
    rf"|(?:{_AFTER})mine)(?![^\W_])"
)
_THIRD_EN = re.compile(r"\b(?:he|she|him|her|his|hers|himself|herself|they|them|their)\b", re.IGNORECASE)
_FIRST_ZH = re.compile(
    r"(?<![自忘唯超真敌无舍物彼大小本])(?<!卿卿)(?<!你死)(?<!你追)(?<!你来)(?<!你争)(?<!我行)(?<!卿我)"
    r"(?:我们|咱们|我(?![国党军校]|行我素|见犹怜)|咱|俺)"
)
_SECOND_EN = re.compile(r"\b(?:you|your|yours|yourself|yourselves)\b", re.IGNORECASE)
_SECOND_ZH = re.compile("[你您妳]")
_THIRD_ZH = re.compile(r"(?<![其吉维排利])[他她](?![人乡日杀处])们?")
_FIRST: dict[Language, re.Pattern[str]] = {"en": _FIRST_EN, "zh": _FIRST_ZH}
_SECOND: dict[Language, re.Pattern[str]] = {"en": _SECOND_EN, "zh": _SECOND_ZH}
_THIRD: dict[Language, re.Pattern[str]] = {"en": _THIRD_EN, "zh": _THIRD_ZH}


def find_narration(text: str) -> list[Span]:
    """Find the spans of a text outside quotation marks, in order; empty ones are left out."""
    found: list[Span] = []
    narration_start = 0
    closers: list[str] = []  # the marks that close the open quotations, innermost last
    start = 0
    for line in text.split("\n"):
        end = start + len(line)
        if closers and not _closes_quotation(line, closers[0]):
            closers, narration_start = [], start
        if not closers and _DASH.match(line):
            found.append((narration_start, start))
            narration_start = start = end + 1
            continue
        skip_to = start
        for mark in _MARK.finditer(text, start, end):
            at, character = mark.start(), mark[0]
            if at < skip_to:
                continue
            if character == "'":
                single = None if closers else _SINGLE.match(text, at, end)
                if single is not None:
                    found.append((narration_start, at))
                    narration_start = skip_to = single.end()
            elif character == "’" and _is_apostrophe(text, at):
                continue
            elif character in closers:
                del closers[_last_index(closers, character) :]
                narration_start = at + 1 if not closers else narration_start
            elif character in _CLOSING or character == '"':
                if not closers:
                    found.append((narration_start, at))
                if len(closers) < _MAX_NESTING:
                    closers.append(_CLOSING.get(character, '"'))
        start = end + 1
    if not closers:
        found.append((narration_start, len(text)))
    return [part for first, last in found for part in _without_thoughts(text, first, last)]


def find_narrator_pronouns(text: str, person: Person, language: Language) -> list[Span]:
    """Find the narrator's I or we in narration that should not have any."""
    return [] if person == "first" else list(_find_all(_FIRST[language], text, find_narration(text)))


def find_excluded_pronouns(text: str, person: Person, language: Language) -> list[Span]:
    """Find the narrator's I, or you, in narration that should not be in that person; the third is in every story."""
    patterns = {"first": _FIRST, "second": _SECOND}
    return list(_find_all(patterns[person][language], text, find_narration(text))) if person in patterns else []


def find_missing_person(text: str, person: Person, language: Language) -> Span | None:
    """Find the first sentence about others in a passage that should mention its narrator, or you, and never does."""
    if person == "third":
        return None
    narration = find_narration(text)
    expected = _FIRST if person == "first" else _SECOND
    others = next(_find_all(_THIRD[language], text, narration), None)
    unit: LengthUnit = "characters" if language == "zh" else "words"
    size = sum(count_length(text[start:end], unit, language) for start, end in narration)
    if others is None or size < MIN_LENGTH[language] or next(_find_all(expected[language], text, narration), None):
        return None
    return next(span for span in find_sentences(text) if span[1] > others[0])


def _find_all(pattern: re.Pattern[str], text: str, spans: Sequence[Span]) -> Iterator[Span]:
    for start, end in spans:
        yield from (match.span() for match in pattern.finditer(text, start, end))


def _without_thoughts(text: str, start: int, end: int) -> Iterator[Span]:
    """Cut a span of narration where a thought interrupts it."""
    for thought in _THOUGHT.finditer(text, start, end):
        if start < thought.start():
            yield start, thought.start()
        start = thought.end()
    if start < end:
        yield start, end


def _closes_quotation(line: str, closer: str) -> bool:
    """Does a paragraph close the quotation of an earlier one before it opens another?"""
    if closer == '"':
        return False
    for mark in _MARK.finditer(line):
        if mark[0] == closer and not (closer == "’" and _is_apostrophe(line, mark.start())):
            return True
        if mark[0] in _CLOSING or mark[0] == '"':
            return False
    return False


def _is_apostrophe(text: str, at: int) -> bool:
    return at > 0 and text[at - 1].isalnum() and text[at + 1 : at + 2].isalpha()


def _last_index(closers: list[str], character: str) -> int:
    return len(closers) - 1 - closers[::-1].index(character)
