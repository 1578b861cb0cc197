"""Keys: is one of them in the text?

A key is a piece of text, or a JavaScript pattern between slashes that brings its own options along.
A pattern that is broken is looked for as it is written, as plain text, and one that would take too
long counts as not found; both are reported, because the writer of the book meant something else.
What a whole word is, each set of rules says for itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cached_property, lru_cache

from msgspec import Struct

from fabula.text.js_regex import WHITE, Allowance, Pattern, Searched, TooMuchWorkError, pattern
from fabula.text.whole_words import occurrences

Stands = Callable[[str, str], bool]  # (text, key): does the key occur as a word of its own?
_SLASHED = re.compile(r"/(.+)/([gimsuy]*)", re.DOTALL)
_BARE_SLASH = re.compile(r"(?<!\\)/")
_ASCII_WORD = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")
_GAP = re.compile(f"[{re.escape(WHITE)}]")


class Key(Struct, frozen=True):
    """A key as it is to be used; `problem` says why a pattern is taken as plain text."""

    text: str
    pattern: Pattern | None = None
    problem: str = ""


@lru_cache(maxsize=8192)
def read_key(text: str) -> Key:
    """A trimmed key, recognised as pattern or text."""
    slashed = _SLASHED.fullmatch(text)
    if not slashed or _BARE_SLASH.search(slashed[1]):
        return Key(text)
    made = pattern(slashed[1].replace("\\/", "/"), slashed[2])
    return Key(text, problem=made) if isinstance(made, str) else Key(text, made)


class Haystack:
    """A text to look in; what keys need of it is worked out once, and no pattern is tried on it twice."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.found: dict[str, bool] = {}  # by pattern, as it is written

    @cached_property
    def lowered(self) -> str:
        return self.text.lower()

    @cached_property
    def searched(self) -> Searched:
        return Searched(self.text)


class Finder:
    """Looks for keys during one scan, and keeps note of those that could not be used."""

    def __init__(self, stands: Stands, expand: Callable[[str], str]) -> None:
        self.problems: dict[str, str] = {}
        self._stands, self._expand = stands, expand
        self._allowance = Allowance()

    def read(self, raw: str) -> Key:
        """The key with names filled in; a broken pattern is reported once."""
        key = read_key(self._expand(raw).strip(WHITE))
        if key.problem:
            self.problems.setdefault(key.text, f"is no pattern, and is looked for as it is written: {key.problem}")
        return key

    def found(self, raw: str, hay: Haystack, *, case_sensitive: bool, whole_words: bool) -> bool:
        """Whether a key is in the text."""
        key = self.read(raw)
        if not key.text:
            return False
        if key.pattern is not None:
            known = hay.found.get(key.text)
            if known is None:
                known = hay.found[key.text] = self._matches(key, key.pattern, hay.searched)
            return known
        text, wanted = (hay.text, key.text) if case_sensitive else (hay.lowered, key.text.lower())
        return wanted in text and (not whole_words or self._stands(text, wanted))

    def _matches(self, key: Key, wanted: Pattern, text: Searched) -> bool:
        try:
            return wanted.found_in(text, self._allowance)
        except TooMuchWorkError:
            self.problems[key.text] = "would take too long on this text, and counts as not found"
            return False


def ascii_word(text: str, key: str) -> bool:
    """SillyTavern's whole word: with white space anything goes, else no ASCII word character beside it."""
    if _GAP.search(key):
        return True
    return any(
        (not start or text[start - 1] not in _ASCII_WORD) and (end == len(text) or text[end] not in _ASCII_WORD)
        for start, end in occurrences(text, key)
    )
