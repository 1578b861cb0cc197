"""Word pieces: a text as the numbers a BERT model reads, lower case, without accents.

Each character becomes itself in lower case without its accents, nothing, or a word of its own (marks and
Chinese characters); that is one table, filled as characters are met. Words are then cut into the longest
pieces the vocabulary has, and remembered, since most words of a text have been met before.
"""

from __future__ import annotations

from collections.abc import Sequence
from unicodedata import category, normalize

UNKNOWN, FIRST, LAST = "[UNK]", "[CLS]", "[SEP]"
LONGEST_WORD = 100  # characters; a longer one is unknown as a whole
READ = 32_768  # characters of a text are looked at: far more than any model takes
_REMEMBERED = 100_000  # words
_NOTHING = ("Cc", "Cf", "Co", "Cs")  # control characters and their like
_IDEOGRAPHS = (
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2CEAF),
    (0x2F800, 0x2FA1F),
)


class WordPieces:
    """Cuts texts by one vocabulary, whose lines are numbered from 0."""

    def __init__(self, vocabulary: Sequence[str]) -> None:
        """A vocabulary without the three marks that every text needs is refused with KeyError."""
        self._number = {piece: at for at, piece in enumerate(vocabulary)}
        self._unknown = [self._number[UNKNOWN]]
        self._first, self._last = self._number[FIRST], self._number[LAST]
        self._known: dict[str, list[int]] = {}

    def numbers(self, text: str, most: int) -> list[int]:
        """The text's pieces between the marks of beginning and end, `most` in all."""
        pieces = [self._first]
        for word in text[:READ].translate(_LETTERS).split():
            found = self._known.get(word)
            pieces += self._cut(word) if found is None else found
            if len(pieces) >= most:
                break
        return [*pieces[: most - 1], self._last]

    def _cut(self, word: str) -> list[int]:
        if len(self._known) >= _REMEMBERED:
            self._known = {}
        self._known[word] = pieces = self._longest(word)
        return pieces

    def _longest(self, word: str) -> list[int]:
        """The longest piece first, then the longest of what is left; a word that does not come out even is unknown."""
        if len(word) > LONGEST_WORD:
            return self._unknown
        pieces: list[int] = []
        start = 0
        while start < len(word):
            for end in range(len(word), start, -1):
                number = self._number.get(word[start:end] if start == 0 else f"##{word[start:end]}")
                if number is not None:
                    pieces.append(number)
                    start = end
                    break
            else:
                return self._unknown
        return pieces


class _Letters(dict[int, str]):
    """What becomes of each character, worked out when it is first met."""

    def __missing__(self, point: int) -> str:
        self[point] = made = _letter(chr(point))
        return made


def _letter(character: str) -> str:
    if character in "\t\n\r":
        return " "
    if category(character) in _NOTHING or character == "\N{REPLACEMENT CHARACTER}":
        return ""
    if character.isspace():
        return " "
    parts = [part.lower() for part in normalize("NFD", character) if category(part) != "Mn"]
    made = "".join(f" {part} " if _is_mark(part) else part for part in parts)
    return f" {made} " if any(low <= ord(character) <= high for low, high in _IDEOGRAPHS) else made


def _is_mark(character: str) -> bool:
    """Punctuation, and every other visible ASCII sign that is no letter or digit."""
    return category(character[0])[0] == "P" or (character.isascii() and not character.isalnum())


_LETTERS = _Letters()
