"""Scripts: how words are told apart in each, and where a name may begin and end."""

from __future__ import annotations

import re
from enum import IntEnum

_ENDING = re.compile(r"(?:['’]s|s['’]|es|s)?(?![^\W_])", re.IGNORECASE)


class Script(IntEnum):
    """How words are told apart."""

    SPACED = 0
    HAN = 1
    KATAKANA = 2
    HANGUL = 3
    OTHER = 4  # nothing to go by: hiragana and the like


def script_of(character: str) -> Script:
    """The script a character belongs to, as far as finding words in it goes."""
    if character < "\u0300":
        return Script.SPACED
    if "\u4e00" <= character <= "\u9fff" or "\u3400" <= character <= "\u4dbf" or character > "\U0001ffff":
        return Script.HAN
    if "\u30a0" <= character <= "\u30ff" or "\uff66" <= character <= "\uff9f":
        return Script.KATAKANA
    if "\uac00" <= character <= "\ud7af":
        return Script.HANGUL
    if "\u2e80" <= character <= "\u33ff" or character in "々〆":
        return Script.OTHER
    return Script.SPACED


def begins_word(text: str, start: int, first: Script) -> bool:
    """May a name whose first character is of that script begin here? (Chinese is judged elsewhere.)"""
    if not start or first == Script.OTHER:
        return True
    before = text[start - 1]
    return script_of(before) != first or not before.isalnum()


def ends_word(text: str, end: int, last: Script) -> bool:
    """May a name whose last character is of that script end here, perhaps with a plural or a possessive?"""
    if end == len(text):
        return True
    following = text[end]
    if last == Script.KATAKANA:
        return script_of(following) != Script.KATAKANA
    if last != Script.SPACED or not (following.isalnum() or following in "'’" or following > "\u02ff"):
        return True
    return _ENDING.match(text, end) is not None or script_of(following) != Script.SPACED
