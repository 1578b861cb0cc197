"""How long sentences are: words where there are spaces, characters in Chinese.

A Chinese character counts one and so does a whole word or number in other letters, as Chinese editors
count; marks count nothing. A line break ends a sentence, whatever stands before it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

from fabula.core.view import Language
from fabula.text.sentences import sentence_starts

_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_CHARACTER = re.compile(
    r"[\u3005-\u3007\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]|[0-9A-Za-z\u00c0-\u024f]+"
)

Unit = Literal["words", "characters"]


def sentences(text: str) -> Iterator[tuple[int, int]]:
    """Where each sentence stands, without the white space around it."""
    begin = 0
    for line in text.split("\n"):
        starts = sentence_starts(line)
        for start, end in zip(starts, [*starts[1:], len(line)], strict=True):
            said = line[start:end]
            first = begin + start + len(said) - len(said.lstrip())
            last = begin + start + len(said.rstrip())
            if first < last:
                yield first, last
        begin += len(line) + 1


def length(sentence: str, unit: Unit, language: Language) -> int:
    """How long a sentence is, as its language counts."""
    if unit == "words":
        return len(_WORD.findall(sentence))
    return len(_CHARACTER.findall(sentence)) if language == "zh" else len(sentence)
