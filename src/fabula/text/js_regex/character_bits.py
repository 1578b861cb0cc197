"""The positions of each class of characters in a text, as bit sets.

A text is analysed once for all patterns of a scan: which characters occur in it, and what they are in other cases.
After that, the positions of a class of characters come from a table.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from fabula.text.js_regex.parser import CharacterClass
from fabula.text.js_regex.unicode_properties import has_property

if TYPE_CHECKING:
    from numpy import bool_, int64
    from numpy.typing import NDArray

LOOKUP_COST = 6_000  # the least that finding the positions of a class costs


class RegexText:
    """A text to match against, as JavaScript sees it with and without the `u` flag."""

    def __init__(self, text: str) -> None:
        self._text = text

    @cached_property
    def code_points(self) -> CharacterPositions:
        """The text in code points, as with the `u` flag."""
        return CharacterPositions(self._text.encode("utf-32-le", "surrogatepass"), "<u4", unicode=True)

    @cached_property
    def code_units(self) -> CharacterPositions:
        """The text in UTF-16 code units."""
        return CharacterPositions(self._text.encode("utf-16-le", "surrogatepass"), "<u2", unicode=False)


class CharacterPositions:
    """The positions of characters in one text."""

    def __init__(self, data: bytes, kind: str, *, unicode: bool) -> None:
        import numpy

        self._codes = numpy.frombuffer(data, dtype=kind).astype(numpy.int64)
        self.size = len(self._codes)
        self._unicode = unicode
        self._letters = numpy.flatnonzero(numpy.bincount(self._codes)) if self.size else self._codes
        self._cache: dict[tuple[CharacterClass, bool], int] = {}

    def find_positions(self, chars: CharacterClass, ignore_case: bool, spend: Callable[[int], None]) -> int:
        """The positions of the characters of a class; `spend` is told the work where they were not cached."""
        positions = self._cache.get((chars, ignore_case))
        if positions is None:
            cost = len(chars.ranges) + 300 * len(chars.properties) + 300 * ignore_case
            spend(LOOKUP_COST + 4 * self.size + cost * len(self._letters))
            positions = self._cache[chars, ignore_case] = self._compute_positions(chars, ignore_case)
        return positions

    def _compute_positions(self, chars: CharacterClass, ignore_case: bool) -> int:
        import numpy

        if not self.size:
            return 0
        if len(chars.ranges) == 1 and not chars.properties and not ignore_case:
            low, high = chars.ranges[0]
            return _pack_bits(((self._codes >= low) & (self._codes <= high)) ^ chars.negated)
        inside = self._find_members(self._letters, chars)
        if ignore_case:
            at, others = self._cases
            inside[at[self._find_members(others, chars)]] = True
            for low, high in chars.ranges:
                if low == high:  # another case of this letter in the text may not map back to it
                    inside |= self._folds == ord(fold_case(chr(low), self._unicode))
        table = numpy.zeros(int(self._letters[-1]) + 1, dtype=bool)
        table[self._letters] = ~inside if chars.negated else inside
        return _pack_bits(table[self._codes])

    def _find_members(self, letters: NDArray[int64], chars: CharacterClass) -> NDArray[bool_]:
        import numpy

        found = numpy.zeros(len(letters), dtype=bool)
        for low, high in chars.ranges:
            found |= (letters >= low) & (letters <= high)
        for name, negated in chars.properties:
            found |= numpy.array([has_property(chr(code), name) is not negated for code in letters], dtype=bool)
        return found

    @cached_property
    def _folds(self) -> NDArray[int64]:
        import numpy

        return numpy.array([ord(fold_case(chr(code), self._unicode)) for code in self._letters], dtype=numpy.int64)

    @cached_property
    def _cases(self) -> tuple[NDArray[int64], NDArray[int64]]:
        """The numbers of letters that have other cases, and those cases."""
        import numpy

        pairs = [
            (at, ord(other))
            for at, code in enumerate(self._letters)
            for other in _other_cases(chr(code), self._unicode)
        ]
        at, others = zip(*pairs, strict=True) if pairs else ((), ())
        return numpy.array(at, dtype=numpy.int64), numpy.array(others, dtype=numpy.int64)


def _pack_bits(mask: NDArray[bool_]) -> int:
    import numpy

    return int.from_bytes(numpy.packbits(mask, bitorder="little").tobytes(), "little")


def fold_case(letter: str, unicode: bool) -> str:
    """A letter in the case in which JavaScript compares it."""
    other = letter.casefold() if unicode else letter.upper()
    if len(other) != 1 or (not unicode and not letter.isascii() and other.isascii()):
        return letter
    return other


@lru_cache(maxsize=16_384)
def _other_cases(letter: str, unicode: bool) -> set[str]:
    own = fold_case(letter, unicode)
    near = {letter.upper(), letter.lower(), letter.upper().lower(), own} - {letter}
    return {form for form in near if len(form) == 1 and fold_case(form, unicode) == own}
