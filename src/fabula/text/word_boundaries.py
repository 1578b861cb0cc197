"""Word boundaries in each script: where a word or a name may begin and end.

In scripts with spaces a name is a word, optionally with an English plural or possessive at its end. Korean has spaces
and particles after the name. In Japanese, particles separate a name in hiragana from other words. The regular
expressions list how a particle can begin; anything else continues with another word. Chinese names are judged in
`names/chinese_boundaries.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import IntEnum

_ENDING = re.compile(r"(?:['’]s|s['’]|es|s)?(?![^\W_])", re.IGNORECASE)
_POSSESSIVE = re.compile(r"(?:['’]s)?(?![^\W_])", re.IGNORECASE)
_HANGUL_ENDING = re.compile(
    r"은|는|이|가|을|를|의|에|와|과|도|만|까지|부터|로|으로|야|아|여|께|한테|하고|랑|처럼|보다|마저|조차|뿐|씨|님|군|양|네|들|라|란|"
    r"인|였|입|임|마다|밖에|같|대로|든|나|커녕|요|다|형|누나|언니|오빠|선배|선생|아저씨|아줌마|할머니|할아버지|엄마|아빠"
)
_HIRAGANA_ENDING = re.compile(
    "は|が|を|に|の|と|も|で|へ|や|か|よ|ね|さん|さま|ちゃん|くん|たん|まで|だ|な|って|じゃ|みたい|らし|しか|ばかり|ほど|こそ|さえ|ぞ|わ"
)
_HIRAGANA_BEFORE = frozenset("はがをにのともでへやかよねたいるなくてっ")


class Script(IntEnum):
    """A group of scripts that separate words in the same way."""

    SPACED = 0
    HAN = 1
    KATAKANA = 2
    HANGUL = 3
    HIRAGANA = 4
    OTHER = 5  # no rule for boundaries


def script_of(character: str) -> Script:
    """The script of a character, as far as word boundaries are concerned."""
    if character < "\u0300":
        return Script.SPACED
    if "\u4e00" <= character <= "\u9fff" or "\u3400" <= character <= "\u4dbf" or character > "\U0001ffff":
        return Script.HAN
    if "\u3041" <= character <= "\u309f":
        return Script.HIRAGANA
    if "\u30a0" <= character <= "\u30ff" or "\uff66" <= character <= "\uff9f":
        return Script.KATAKANA
    if "\uac00" <= character <= "\ud7af":
        return Script.HANGUL
    if "\u2e80" <= character <= "\u33ff" or character in "々〆":
        return Script.OTHER
    return Script.SPACED


def can_begin_word(text: str, start: int, first: Script) -> bool:
    """May a name whose first character is of that script begin here?"""
    if not start or first == Script.OTHER:
        return True
    before = text[start - 1]
    if first == Script.HIRAGANA and before in _HIRAGANA_BEFORE:
        return True
    return script_of(before) != first or not before.isalnum()


def can_end_word(text: str, end: int, last: Script, *, plural: bool = True) -> bool:
    """May a name whose last character is of that script end here? A plural, possessive or particle may follow."""
    if end == len(text):
        return True
    following = text[end]
    if last == Script.KATAKANA:
        return script_of(following) != Script.KATAKANA
    if last == Script.HANGUL:
        return script_of(following) != Script.HANGUL or _HANGUL_ENDING.match(text, end) is not None
    if last == Script.HIRAGANA:
        return script_of(following) != Script.HIRAGANA or _HIRAGANA_ENDING.match(text, end) is not None
    if last != Script.SPACED or not (following.isalnum() or following in "'’" or following > "\u02ff"):
        return True
    ending = _ENDING if plural else _POSSESSIVE
    return ending.match(text, end) is not None or script_of(following) != Script.SPACED


def is_half_of_double_name(text: str, start: int, end: int) -> bool:
    """Is a person's name half of a double name, as in Anna-Maria or Smith-Jones?"""
    if text[end : end + 1] == "-" and text[end + 1 : end + 2].isupper():
        return True
    return start > 1 and text[start - 1] == "-" and text[start - 2].isalpha() and _is_capitalised_word(text, start - 1)


def _is_capitalised_word(text: str, end: int) -> bool:
    """Does the word that ends here begin with a capital?"""
    at = end
    while at > 0 and text[at - 1].isalpha():
        at -= 1
    return text[at].isupper()


def contains_word(text: str, word: str) -> bool:
    """Does a text contain this as a whole word? In Chinese, which shows no boundaries, every occurrence counts."""
    return find_word(text, word) >= 0


def find_word(text: str, word: str) -> int:
    """The offset of the first occurrence as a whole word; -1 where there is none."""
    for start, end in find_occurrences(text, word):
        if is_word_at(text, start, end):
            return start
    return -1


def is_word_at(text: str, start: int, end: int) -> bool:
    """Is what stands between two offsets a whole word?"""
    return _is_boundary(text[start - 1 : start], text[start]) and _is_boundary(text[end : end + 1], text[end - 1])


def find_occurrences(text: str, word: str) -> Iterator[tuple[int, int]]:
    """The start and end of every occurrence, overlapping ones included."""
    start = text.find(word)
    while start >= 0:
        yield start, start + len(word)
        start = text.find(word, start + 1)


def _is_boundary(neighbour: str, own: str) -> bool:
    if not neighbour or not neighbour.isalnum() or not own.isalnum():
        return True
    script = script_of(own)
    return script in (Script.HAN, Script.OTHER) or script_of(neighbour) != script
