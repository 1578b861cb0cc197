"""Finds sentences and paragraphs and measures their length, for constraints on it (con-4).

English sentences are measured in words or characters. In Chinese, each Chinese character counts one, a whole word
or number in other letters counts one, and marks count nothing, as Chinese editors do it. A line break always ends
a sentence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from fabula.constraints.model import LengthUnit, Span
from fabula.core.view import Language
from fabula.text.sentences import find_sentence_starts

_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_CHARACTER = re.compile(
    r"[\u3005-\u3007\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]|[0-9A-Za-z\u00c0-\u024f]+"
)


def find_sentences(text: str) -> Iterator[Span]:
    """Find the span of each sentence, without the white space around it."""
    line_start = 0
    for line in text.split("\n"):
        starts = find_sentence_starts(line)
        for start, end in zip(starts, [*starts[1:], len(line)], strict=True):
            sentence = line[start:end]
            first = line_start + start + len(sentence) - len(sentence.lstrip())
            last = line_start + start + len(sentence.rstrip())
            if first < last:
                yield first, last
        line_start += len(line) + 1


def find_paragraphs(text: str) -> Iterator[Span]:
    """Find the span of each paragraph, without the white space around it."""
    yield from (match.span() for match in re.finditer(r"\S(?:[^\n]*\S)?", text))


def count_length(sentence: str, unit: LengthUnit, language: Language) -> int:
    """Count the words or characters of a sentence, as is usual in its language."""
    if unit == "words":
        return len(_WORD.findall(sentence))
    return len(_CHARACTER.findall(sentence)) if language == "zh" else len(sentence)
