"""The words of a text, as search, synopses and memory compare them."""

from __future__ import annotations

import re

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*|\d+")
_WIDE = re.compile(r"[\u2e80-\u9fff\uac00-\ud7af]+")


def terms(text: str) -> list[str]:
    """The words of a text, and the character pairs of what is written without spaces."""
    found: list[str] = []
    for word in _WORD.findall(text):
        if _WIDE.match(word):
            found.extend(word[at : at + 2] for at in range(max(len(word) - 1, 1)))
        else:
            found.append(word.lower())
    return found
