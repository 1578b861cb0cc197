"""Stem English words, irregular forms included.

A stem is for comparing, not for reading: `hiking`, `hiked` and `hike` have one stem, and so have `went` and `go`.
The rules are few and look at the letters alone; a wrong stem is wrong in the same way everywhere. Snowball was tried
in its place and found less of the evidence (docs/architecture.md).
"""

from __future__ import annotations

from fabula.text.word_list import load_word_lists

_VOWELS = frozenset("aeiouy")
_MIN_STEM = 5  # letters that must remain where a whole ending such as -ation is removed
_ENDINGS = (
    *("ization", "isation", "fulness", "ousness", "iveness", "ational", "ation", "ition", "ement", "ment"),
    *("ness", "ity", "iti", "able", "ible", "ance", "ence", "ship", "hood", "ful", "less", "ous", "ive", "ion"),
    *("al", "er", "or", "ist", "ic", "ant", "ent", "en", "at"),
)
_BASE_FORMS = {form: base for base, forms in load_word_lists("irregular_forms").items() for form in forms}


def stem(word: str) -> str:
    """The stem of a word in lower case."""
    bare = word.replace("’", "'").removesuffix("'s").replace("'", "")
    short = _strip_inflection(_BASE_FORMS.get(bare, bare))
    for ending in _ENDINGS:
        if short.endswith(ending) and len(short) - len(ending) >= _MIN_STEM:
            short = short[: -len(ending)]
            return short[:-1] if short[-1] == "e" else short
    return short


def _strip_inflection(word: str) -> str:
    """A word without the endings of number, person and tense."""
    if len(word) <= 3:
        return word
    word = _strip_plural(word)
    if word.endswith("ied") and len(word) > 4:
        word = word[:-3] + "y"
    elif word.endswith("ed") and not word.endswith("eed") and len(word) > 4 and _has_vowel(word[:-2]):
        word = _undouble(word[:-2])
    elif word.endswith("ing") and len(word) > 5 and _has_vowel(word[:-3]):
        word = _undouble(word[:-3])
    if word.endswith("ly") and len(word) > 5:
        word = word[:-2]
    if len(word) > 3 and word[-1] == "e":
        word = word[:-1]
    if len(word) > 3 and word[-1] == "y":
        word = word[:-1] + "i"
    return word


def _strip_plural(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "xes", "ches", "shes", "zes")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith(("ss", "us", "is")) else word


def _has_vowel(stem: str) -> bool:
    return any(letter in _VOWELS for letter in stem)


def _undouble(stem: str) -> str:
    """`stopp` is `stop`, but `fall` stays."""
    return stem[:-1] if len(stem) > 2 and stem[-1] == stem[-2] and stem[-1] not in "lsz" else stem
