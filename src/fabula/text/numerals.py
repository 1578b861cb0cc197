"""Parse whole numbers as people write them: 12, １２, XII, twelve, twelfth, 12th, 十二."""

from __future__ import annotations

import re

_NUMBER_WORDS = (
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
)
_ORDINAL_WORDS = (
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth "
    "sixteenth seventeenth eighteenth nineteenth"
)
_TENS_WORDS = "twenty thirty forty fifty sixty seventy eighty ninety"
_TENTH_WORDS = "twentieth thirtieth fortieth fiftieth sixtieth seventieth eightieth ninetieth"
_SMALL, _TENS = _NUMBER_WORDS.split(), _TENS_WORDS.split()
_ORDINALS, _TENTHS = _ORDINAL_WORDS.split(), _TENTH_WORDS.split()
_VALUES = {
    **{word: number for words in (_SMALL, _ORDINALS) for number, word in enumerate(words, start=1)},
    **{word: number for words in (_TENS, _TENTHS) for number, word in zip(range(20, 100, 10), words, strict=True)},
    "hundred": 100,
    "a hundred": 100,
    "one hundred": 100,
}
_UNITS = "|".join([*_SMALL[:9], *_ORDINALS[:9]])
_ROMAN = re.compile(r"(?=[mdclxvi])m{0,3}(?:cm|cd|d?c{0,3})(?:xc|xl|l?x{0,3})(?:ix|iv|v?i{0,3})", re.IGNORECASE)
_ROMAN_VALUES = {"i": 1, "v": 5, "x": 10, "l": 50, "c": 100, "d": 500, "m": 1000}
_CHINESE_DIGITS = {character: value for value, character in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2}
_CHINESE_UNITS = {"十": 10, "百": 100, "千": 1000}

# Regular expressions of numbers; `ENGLISH_NUMBER` needs the flag IGNORECASE.
SPELT_NUMBER = (
    rf"(?:(?:{'|'.join(_TENS)})(?:[- ](?:{_UNITS}))?|(?:a |one )?hundred"
    rf"|{'|'.join(sorted((*_SMALL, *_ORDINALS, *_TENTHS), key=len, reverse=True))})"
)
ENGLISH_NUMBER = rf"(?:\d{{1,4}}(?:st|nd|rd|th)?|{SPELT_NUMBER}|[ivxlcdm]{{1,9}})"
ENGLISH_ORDINAL = (
    rf"(?:\d{{1,4}}(?:st|nd|rd|th)|(?:(?:{'|'.join(_TENS)})[- ])?"
    rf"(?:{'|'.join(sorted(_ORDINALS, key=len, reverse=True))})|{'|'.join(_TENTHS)})"
)
CHINESE_NUMBER = "(?:[0-9０-９]{1,4}|[零〇一二三四五六七八九十百千两廿卅]{1,9})"


def parse_numeral(text: str) -> int | None:
    """The number that a text writes, in digits, Roman numerals, English words or Chinese characters; else None."""
    word = text.strip().casefold()
    digits = re.fullmatch(r"(\d{1,9})(?:st|nd|rd|th)?", word)
    if digits is not None:
        return int(digits[1])
    if word in _VALUES:
        return _VALUES[word]
    tens, _, ones = word.replace("-", " ").partition(" ")
    if tens in _TENS and ones in _VALUES and _VALUES[ones] < 10:
        return _VALUES[tens] + _VALUES[ones]
    if _ROMAN.fullmatch(word):
        return _parse_roman(word)
    return _parse_chinese(word.replace("廿", "二十").replace("卅", "三十"))


def _parse_roman(text: str) -> int:
    values = [_ROMAN_VALUES[character] for character in text]
    return sum(-a if a < b else a for a, b in zip(values, [*values[1:], 0], strict=True))


def _parse_chinese(text: str) -> int | None:
    if not text or any(character not in _CHINESE_DIGITS and character not in _CHINESE_UNITS for character in text):
        return None
    if not any(character in _CHINESE_UNITS for character in text):
        return int("".join(str(_CHINESE_DIGITS[character]) for character in text))
    total, digit = 0, 0
    for character in text:
        if character in _CHINESE_UNITS:
            total += (digit or 1) * _CHINESE_UNITS[character]
            digit = 0
        else:
            digit = _CHINESE_DIGITS[character]
    return total + digit
