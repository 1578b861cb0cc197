"""Narrative person: who speaks outside quotation marks.

Told in the third person, a narration has no I or 我 of its own; nor has one told in the second. Told in the
first, others are still he and she, so a single word proves nothing: a passage is out of person when it is
long enough, speaks of others, and never once of its narrator.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal

from fabula.constraints.lengths import Unit, length, sentences
from fabula.constraints.quotes import narration
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
_FIRST_ZH = re.compile(r"(?<![自忘唯超真敌无])(?:我们|咱们|我(?![国党军校])|咱|俺)")
_THIRD_ZH = re.compile(r"(?<![其吉维排利])[他她](?![人乡日杀处])们?")
_FIRST: dict[Language, re.Pattern[str]] = {"en": _FIRST_EN, "zh": _FIRST_ZH}
_THIRD: dict[Language, re.Pattern[str]] = {"en": _THIRD_EN, "zh": _THIRD_ZH}


def out_of_person(text: str, person: Who, language: Language) -> list[tuple[int, int]]:
    """Where a narration leaves its person: the words, or the first sentence of a passage without a narrator."""
    told = narration(text)
    spoken = list(_found(_FIRST[language], text, told))
    if person != "first":
        return spoken
    others = next(_found(_THIRD[language], text, told), None)
    unit: Unit = "characters" if language == "zh" else "words"
    size = sum(length(text[start:end], unit, language) for start, end in told)
    if spoken or others is None or size < ENOUGH[language]:
        return []
    return [next(span for span in sentences(text) if span[1] > others[0])]


def _found(pattern: re.Pattern[str], text: str, told: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    for start, end in told:
        yield from (found.span() for found in pattern.finditer(text, start, end))
