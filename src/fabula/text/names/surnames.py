"""Chinese surnames of one and two characters, and which of them are ordinary words as well."""

from __future__ import annotations

from fabula.text.word_list import load_word_lists

_LISTS = load_word_lists("chinese_surnames")
SURNAMES = _LISTS["single"]
DOUBLE_SURNAMES = _LISTS["double"]
SURNAMES_THAT_ARE_WORDS = _LISTS["that_are_words"]
UNAMBIGUOUS_SURNAMES = SURNAMES - SURNAMES_THAT_ARE_WORDS  # each of them shows by itself that a name begins


def surname_of(word: str) -> str:
    """The surname a word begins with, if a given name follows it."""
    if word[:2] in DOUBLE_SURNAMES:
        return word[:2] if len(word) > 2 else ""
    return word[0] if word[0] in SURNAMES and len(word) > 1 else ""
