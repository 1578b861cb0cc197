"""Narrative person: who speaks outside quotation marks.

Told in the third person, a narration has no I or 我 of its own; nor has one told in the second. Told in the
first or second, others are still he and she, so a single word proves nothing: a passage is out of person when it
is long enough, speaks of others, and never once of its narrator, or of you.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal

from fabula.constraints.quotation import narration
from fabula.constraints.sentence_length import Unit, length, sentences
from fabula.core.view import Language

Who = Literal["first", "second", "third"]
ENOUGH: dict[Language, int] = {"en": 40, "zh": 60}  # words or characters of narration that show a person

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


def out_of_person(text: str, person: Who, language: Language) -> list[tuple[int, int]]:
    """The words with which a narration leaves its person by speaking of its narrator."""
    return [] if person == "first" else list(_found(_FIRST[language], text, narration(text)))


def without_person(text: str, person: Who, language: Language) -> tuple[int, int] | None:
    """The first sentence about others, in a passage that should speak of its narrator, or of you, and never does."""
    if person == "third":
        return None
    told = narration(text)
    wanted = _FIRST if person == "first" else _SECOND
    others = next(_found(_THIRD[language], text, told), None)
    unit: Unit = "characters" if language == "zh" else "words"
    size = sum(length(text[start:end], unit, language) for start, end in told)
    if others is None or size < ENOUGH[language] or next(_found(wanted[language], text, told), None) is not None:
        return None
    return next(span for span in sentences(text) if span[1] > others[0])


def _found(pattern: re.Pattern[str], text: str, told: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    for start, end in told:
        yield from (found.span() for found in pattern.finditer(text, start, end))
