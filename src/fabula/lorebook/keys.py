"""Key matching: find the keys of lorebook entries in a text (inj-6, inj-7).

A key is plain text, or a JavaScript regular expression between slashes with its own flags. An invalid
expression is matched as plain text. Keys are parsed once for each version of the books (`KeyIndex`), and one
automaton searches for all plain keys at once. A text that grows is searched only where it has grown.

What a book can make expensive is bounded by counted work: the length of a key, the number of keys and expressions,
and the search for them. A key over a bound counts as not found, and the scan names it with its entry and book.
Each rule set has its own definition of a whole word.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property

from msgspec import Struct

from fabula.core.messages import Sentence, message, plural
from fabula.lorebook.model import EntryRef, LorebookSettings, LoreEntry, ParsedLorebook
from fabula.lorebook.scan_order import make_title
from fabula.text.automaton import Automaton
from fabula.text.js_regex import JS_WHITESPACE, JsRegex, RegexText, TooMuchWorkError, WorkBudget, compile_regex

WordTest = Callable[[str, int, int], bool]  # (text, start, end) -> whether a key that occurs there is a whole word
MAX_KEY_LENGTH = 12_000  # characters; patterns have a limit of their own
MAX_PATTERNS, MAX_PATTERN_CHARACTERS = 10_000, 200_000  # in books that are scanned together
MAX_PREFIX_CHARACTERS = 2_000_000  # in the automatons of books that are scanned together
SEARCH_WORK = 20_000_000  # characters that one scan searches for plain keys
_MATCH_COST = 40  # characters; the work of looking at one occurrence
_PREFIX = 32  # characters of a key in the automaton; the rest is compared where they occur
_CHUNK = 1_000  # characters that are searched at once, so that the list of occurrences stays short
_SHOWN = 60  # characters of a key or title in a sentence
_SLASHED = re.compile(r"/(.+)/([gimsuy]*)", re.DOTALL)
_BARE_SLASH = re.compile(r"(?<!\\)/")
_GAP = re.compile(f"[{re.escape(JS_WHITESPACE)}]")
_ASCII_WORD = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_")


class LoreKey(Struct, frozen=True):
    """A parsed key; `problem` says why an expression is matched as plain text."""

    text: str
    pattern: JsRegex | None = None
    problem: Sentence | None = None


def parse_key(text: str) -> LoreKey:
    """Parse a trimmed key as a regular expression or as plain text."""
    slashed = _split_pattern(text)
    if slashed is None:
        return LoreKey(text)
    parsed = compile_regex(slashed[1].replace("\\/", "/"), slashed[2])
    return LoreKey(text, parsed) if isinstance(parsed, JsRegex) else LoreKey(text, problem=parsed)


def _split_pattern(text: str) -> re.Match[str] | None:
    slashed = _SLASHED.fullmatch(text) if text.startswith("/") else None
    return None if slashed is None or _BARE_SLASH.search(slashed[1]) else slashed


def is_case_sensitive(entry: LoreEntry, settings: LorebookSettings) -> bool:
    """Return whether the case of letters matters in the plain keys of an entry."""
    return settings.case_sensitive if entry.case_sensitive is None else entry.case_sensitive


class KeyIndex:
    """The keys of books that are scanned together, parsed once and ready to be searched for."""

    def __init__(
        self, books: Sequence[ParsedLorebook], settings: LorebookSettings, fill_in_names: Callable[[str], str]
    ) -> None:
        self.keys: dict[str, LoreKey] = {}  # by the key as it is written in the book
        self.problems: list[tuple[EntryRef, Sentence]] = []
        self.entries_with_patterns: set[EntryRef] = set()
        self._fill_in_names = fill_in_names
        self._unused: dict[Sentence, tuple[int, EntryRef, dict[str, str]]] = {}  # by reason: how many, and the first
        self._patterns = self._pattern_characters = self._prefix_characters = 0
        entries: tuple[dict[str, list[EntryRef]], ...] = ({}, {})
        for book in books:
            for entry in book.entries:
                if not entry.disable:
                    self._add(book, entry, is_case_sensitive(entry, settings), entries)
        self.plain_keys = tuple(
            map(_PlainKeys, entries)
        )  # where the case of letters does not matter, and where it does
        self.problems += [
            (
                ref,
                plural(
                    count,
                    "The key {key!r} is not searched for, because {reason} ({entry} in {book}).",
                    "{count} keys are not searched for, because {reason}. The first is {key!r} ({entry} in {book}).",
                    reason=reason,
                    **names,
                ),
            )
            for reason, (count, ref, names) in self._unused.items()
        ]

    def _add(
        self, book: ParsedLorebook, entry: LoreEntry, case_sensitive: bool, entries: Sequence[dict[str, list[EntryRef]]]
    ) -> None:
        ref = EntryRef(book.name, entry.uid)
        for raw in (*(entry.key or ()), *(entry.keysecondary or ())):
            key = self.keys.get(raw)
            if key is None:
                text = self._fill_in_names(raw).strip(JS_WHITESPACE)
                reason = self._find_bound(text)
                key = LoreKey("") if reason is not None else parse_key(text)
                self.keys[raw] = key
                names = {"key": shorten(text), **name_entry(book, entry)}
                if reason is not None:
                    count, first, first_names = self._unused.get(reason, (0, ref, names))
                    self._unused[reason] = count + 1, first, first_names
                elif key.problem is not None:
                    sentence = message(
                        "The key '{key}' cannot be used as a pattern and is searched for as it is written: {problem} "
                        "({entry} in {book}).",
                        problem=key.problem,
                        **names,
                    )
                    self.problems.append((ref, sentence))
            if key.pattern is not None:
                self.entries_with_patterns.add(ref)
            elif key.text:
                entries[case_sensitive].setdefault(key.text if case_sensitive else key.text.lower(), []).append(ref)

    def _find_bound(self, text: str) -> Sentence | None:
        """Count a key; return the bound that it is over."""
        if _split_pattern(text) is not None:
            self._patterns += 1
            self._pattern_characters += len(text)
            if self._patterns > MAX_PATTERNS or self._pattern_characters > MAX_PATTERN_CHARACTERS:
                return message("the books in use have too many patterns")
        self._prefix_characters += min(len(text), _PREFIX)
        if self._prefix_characters > MAX_PREFIX_CHARACTERS:
            return message("the books in use have too many keys")
        if len(text) > MAX_KEY_LENGTH:
            return message("it is longer than {limit:,} characters", limit=MAX_KEY_LENGTH)
        return None


class _PlainKeys:
    """An automaton over the beginnings of plain keys, and the entries that have each key."""

    def __init__(self, entries: dict[str, list[EntryRef]]) -> None:
        self.entries = entries
        by_prefix: dict[str, list[str]] = {}
        for key in entries:
            by_prefix.setdefault(key[:_PREFIX], []).append(key)
        self._keys = list(by_prefix.values())
        self._automaton = Automaton(list(by_prefix))
        self.longest = max(map(len, entries), default=0)

    def find(self, text: str, begin: int, budget: WorkBudget) -> Iterator[tuple[str, int, int]]:
        """Find every occurrence of a key from an offset on, until the budget is spent."""
        if not self.entries:
            return
        for at in range(begin, len(text), _CHUNK):
            chunk = text[at : at + _CHUNK + _PREFIX]
            budget.remaining -= len(chunk)
            for number, offset, _ in self._automaton.find(chunk):
                if offset >= _CHUNK:
                    continue  # the next chunk has it too
                for key in self._keys[number]:
                    if budget.remaining <= 0:
                        return
                    budget.remaining -= _MATCH_COST + len(key)
                    start = at + offset
                    if len(key) <= _PREFIX or text.startswith(key, start):
                        yield key, start, start + len(key)


class _PlainSearch:
    """The plain keys that are in a text, anywhere and as whole words."""

    def __init__(self, keys: _PlainKeys, is_whole_word: WordTest, *, case_sensitive: bool) -> None:
        self.found: set[str] = set()
        self.whole: set[str] = set()
        self._keys, self._is_whole_word, self._case_sensitive = keys, is_whole_word, case_sensitive
        self._text, self._size = "", 0

    def extend(self, text: str, budget: WorkBudget) -> list[EntryRef]:
        """Search what was added at the end of the text; return the entries with a key that is new there."""
        concerned: list[EntryRef] = []
        if len(text) == self._size or not self._keys.longest:
            return concerned
        added, self._size = text[self._size :], len(text)
        begin = max(len(self._text) - self._keys.longest, 0)
        self._text += added if self._case_sensitive else added.lower()
        for key, start, end in self._keys.find(self._text, begin, budget):
            if key in self.whole:
                continue
            is_whole = self._is_whole_word(self._text, start, end)
            if is_whole:
                self.whole.add(key)
            if is_whole or key not in self.found:
                self.found.add(key)
                concerned += self._keys.entries[key]
        return concerned


class ScanText:
    """A text in which keys are matched. It may grow; plain keys that were found in it stay found."""

    def __init__(self, text: str, searches: Sequence[_PlainSearch]) -> None:
        self.text, self.searches = text, searches
        self.pattern_results: dict[str, bool] = {}

    def append(self, text: str) -> None:
        """Append a text that begins with a line break."""
        self.text += text
        self.pattern_results = {}
        self.__dict__.pop("searched", None)

    @cached_property
    def searched(self) -> RegexText:
        """The text for regular expressions."""
        return RegexText(self.text)


class KeyMatcher:
    """Matches keys during one scan and records the problems of those that could not be used."""

    def __init__(self, index: KeyIndex, is_whole_word: WordTest) -> None:
        self.index = index
        self.problems: dict[str, Sentence] = {}  # by key; the bounds of a scan have names of their own
        self._is_whole_word = is_whole_word
        self._pattern_work, self._search_work = WorkBudget(), WorkBudget(SEARCH_WORK)

    def make_text(self, text: str) -> ScanText:
        """Make a text in which nothing was searched for yet."""
        searches = [
            _PlainSearch(keys, self._is_whole_word, case_sensitive=bool(number))
            for number, keys in enumerate(self.index.plain_keys)
        ]
        return ScanText(text, searches)

    def search(self, text: ScanText) -> list[EntryRef]:
        """Search for all plain keys in what is new in a text; return the entries with a key that is new there."""
        concerned = [ref for search in text.searches for ref in search.extend(text.text, self._search_work)]
        if self._search_work.remaining <= 0:
            self.problems["search"] = message(
                "Searching this text for all keys would take too long, so some keys count as not found."
            )
        return concerned

    def matches(
        self, raw: str, text: ScanText, *, case_sensitive: bool, whole_words: bool, name: Callable[[], dict[str, str]]
    ) -> bool:
        """Return whether a key is in the text; `name` gives the names of its entry and book."""
        key = self.index.keys[raw]
        if key.pattern is not None:
            if key.text not in text.pattern_results:
                text.pattern_results[key.text] = self._matches_pattern(key.text, key.pattern, text.searched, name)
            return text.pattern_results[key.text]
        search = text.searches[case_sensitive]
        return (key.text if case_sensitive else key.text.lower()) in (search.whole if whole_words else search.found)

    def _matches_pattern(self, key: str, pattern: JsRegex, text: RegexText, name: Callable[[], dict[str, str]]) -> bool:
        if self._pattern_work.remaining <= 0:
            if "patterns" not in self.problems:
                self.problems["patterns"] = message(
                    "Searching this text for all patterns would take too long. From {entry} in {book} on they count "
                    "as not found.",
                    **name(),
                )
            return False
        try:
            return pattern.is_found_in(text, self._pattern_work)
        except TooMuchWorkError:
            self.problems[key] = message(
                "The key {key!r} would take too long on this text and counts as not found ({entry} in {book}).",
                key=shorten(key),
                **name(),
            )
            return False


def shorten(text: str) -> str:
    """Return the beginning of a key or title, for a sentence."""
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def name_entry(book: ParsedLorebook, entry: LoreEntry) -> dict[str, str]:
    """Return the names of an entry and its book, for a sentence."""
    return {"entry": shorten(make_title(EntryRef(book.name, entry.uid), entry)), "book": book.title or book.name}


def is_ascii_word(text: str, start: int, end: int) -> bool:
    """Return whether a key is a whole word as SillyTavern sees it: no ASCII word character is next to it.

    A key with white space in it always passes.
    """
    if text[start - 1 : start] not in _ASCII_WORD and text[end : end + 1] not in _ASCII_WORD:
        return True
    return _GAP.search(text, start, end) is not None
