"""Key matching: find the keys of lorebook entries in a text (inj-6, inj-7).

A key is plain text, or a JavaScript regular expression between slashes with its own flags. An invalid
expression is matched as plain text. An expression that would take too long counts as not found. Both
are reported as problems of the book. Each rule set has its own definition of a whole word.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cached_property, lru_cache

from msgspec import Struct

from fabula.core.messages import Sentence, message
from fabula.text.js_regex import JS_WHITESPACE, JsRegex, RegexText, TooMuchWorkError, WorkBudget, compile_regex

WordTest = Callable[[str, str], bool]  # (text, key) -> whether the key occurs as a whole word
_SLASHED = re.compile(r"/(.+)/([gimsuy]*)", re.DOTALL)
_BARE_SLASH = re.compile(r"(?<!\\)/")
_GAP = re.compile(f"[{re.escape(JS_WHITESPACE)}]")


class LoreKey(Struct, frozen=True):
    """A parsed key; `problem` says why an expression is matched as plain text."""

    text: str
    pattern: JsRegex | None = None
    problem: Sentence | None = None


@lru_cache(maxsize=8192)
def parse_key(text: str) -> LoreKey:
    """Parse a trimmed key as a regular expression or as plain text."""
    slashed = _SLASHED.fullmatch(text)
    if not slashed or _BARE_SLASH.search(slashed[1]):
        return LoreKey(text)
    parsed = compile_regex(slashed[1].replace("\\/", "/"), slashed[2])
    return LoreKey(text, parsed) if isinstance(parsed, JsRegex) else LoreKey(text, problem=parsed)


class ScanText:
    """A text in which keys are matched; derived forms and the result of each expression are computed once."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.results: dict[str, bool] = {}  # by expression, as it is written

    @cached_property
    def lowered(self) -> str:
        return self.text.lower()

    @cached_property
    def searched(self) -> RegexText:
        return RegexText(self.text)


class KeyMatcher:
    """Matches keys during one scan and records the problems of those that could not be used."""

    def __init__(self, is_whole_word: WordTest, fill_in_names: Callable[[str], str]) -> None:
        self.problems: dict[str, Sentence] = {}  # by key
        self._is_whole_word, self._fill_in_names = is_whole_word, fill_in_names
        self._allowance = WorkBudget()

    def parse(self, raw: str) -> LoreKey:
        """Parse a key after filling in names; report an invalid expression once."""
        key = parse_key(self._fill_in_names(raw).strip(JS_WHITESPACE))
        if key.problem:
            problem = message(
                "The key {key!r} is not a valid pattern and is searched for as it is written: {problem}.",
                key=key.text,
                problem=key.problem,
            )
            self.problems.setdefault(key.text, problem)
        return key

    def matches(self, raw: str, text: ScanText, *, case_sensitive: bool, whole_words: bool) -> bool:
        """Return whether a key is in the text."""
        key = self.parse(raw)
        if not key.text:
            return False
        if key.pattern is not None:
            if key.text not in text.results:
                text.results[key.text] = self._matches_pattern(key.text, key.pattern, text.searched)
            return text.results[key.text]
        haystack, needle = (text.text, key.text) if case_sensitive else (text.lowered, key.text.lower())
        return needle in haystack and (not whole_words or self._is_whole_word(haystack, needle))

    def _matches_pattern(self, key: str, pattern: JsRegex, text: RegexText) -> bool:
        try:
            return pattern.is_found_in(text, self._allowance)
        except TooMuchWorkError:
            self.problems[key] = message(
                "The key {key!r} would take too long on this text and counts as not found.", key=key
            )
            return False


def is_ascii_word(text: str, key: str) -> bool:
    """Return whether the key is a whole word as SillyTavern sees it: no ASCII word character is next to it.

    A key with white space in it always passes.
    """
    return bool(_GAP.search(key) or _compile_word(key).search(text))


@lru_cache(maxsize=8192)
def _compile_word(key: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){re.escape(key)}(?!\w)", re.ASCII)
