"""Where in a text each kind of character stands, a bit a place.

A text is looked at once for all patterns of a scan: which characters occur in it, and what they are in other
cases. After that, the places of a class of characters are one look into a table.
"""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from fabula.text.js_regex.syntax_tree import Chars
from fabula.text.js_regex.unicode_properties import has_property

if TYPE_CHECKING:
    from numpy import bool_, int64
    from numpy.typing import NDArray


class Searched:
    """A text to look for patterns in, as JavaScript sees it with and without the `u` flag."""

    def __init__(self, text: str) -> None:
        self._text = text

    @cached_property
    def points(self) -> Marks:
        """By code points, as with `u`."""
        return Marks(self._text.encode("utf-32-le", "surrogatepass"), "<u4", unicode=True)

    @cached_property
    def units(self) -> Marks:
        """In units of 16 bits."""
        return Marks(self._text.encode("utf-16-le", "surrogatepass"), "<u2", unicode=False)


class Marks:
    """The places of characters in one text."""

    def __init__(self, data: bytes, kind: str, *, unicode: bool) -> None:
        import numpy

        self._codes = numpy.frombuffer(data, dtype=kind).astype(numpy.int64)
        self.size = len(self._codes)
        self._unicode = unicode
        self._letters = numpy.flatnonzero(numpy.bincount(self._codes)) if self.size else self._codes
        self._known: dict[tuple[Chars, bool], int] = {}

    @property
    def variety(self) -> int:
        """How many different characters there are."""
        return len(self._letters)

    def knows(self, chars: Chars, ignore: bool) -> bool:
        """Whether the places of that class were looked up before, which makes them cheap."""
        return (chars, ignore) in self._known

    def where(self, chars: Chars, ignore: bool) -> int:
        """The places where one of these characters stands."""
        known = self._known.get((chars, ignore))
        if known is None:
            known = self._known[chars, ignore] = self._looked_up(chars, ignore)
        return known

    def _looked_up(self, chars: Chars, ignore: bool) -> int:
        import numpy

        if not self.size:
            return 0
        if len(chars.ranges) == 1 and not chars.properties and not ignore:
            low, high = chars.ranges[0]
            return _bits(((self._codes >= low) & (self._codes <= high)) ^ chars.negated)
        inside = self._members(self._letters, chars)
        if ignore:
            at, others = self._cases
            inside[at[self._members(others, chars)]] = True
            for low, high in chars.ranges:
                if low == high:  # a letter of which a text may hold another case that has no way back
                    inside |= self._folds == ord(folded(chr(low), self._unicode))
        table = numpy.zeros(int(self._letters[-1]) + 1, dtype=bool)
        table[self._letters] = ~inside if chars.negated else inside
        return _bits(table[self._codes])

    def _members(self, letters: NDArray[int64], chars: Chars) -> NDArray[bool_]:
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

        return numpy.array([ord(folded(chr(code), self._unicode)) for code in self._letters], dtype=numpy.int64)

    @cached_property
    def _cases(self) -> tuple[NDArray[int64], NDArray[int64]]:
        """Which letters have other cases, and which."""
        import numpy

        pairs = [
            (at, ord(other))
            for at, code in enumerate(self._letters)
            for other in _other_cases(chr(code), self._unicode)
        ]
        at, others = zip(*pairs, strict=True) if pairs else ((), ())
        return numpy.array(at, dtype=numpy.int64), numpy.array(others, dtype=numpy.int64)


def _bits(places: NDArray[bool_]) -> int:
    import numpy

    return int.from_bytes(numpy.packbits(places, bitorder="little").tobytes(), "little")


def folded(letter: str, unicode: bool) -> str:
    """JavaScript's idea of the same letter in another case."""
    other = letter.casefold() if unicode else letter.upper()
    if len(other) != 1 or (not unicode and not letter.isascii() and other.isascii()):
        return letter
    return other


@lru_cache(maxsize=16_384)
def _other_cases(letter: str, unicode: bool) -> set[str]:
    own = folded(letter, unicode)
    near = {letter.upper(), letter.lower(), letter.upper().lower(), own} - {letter}
    return {form for form in near if len(form) == 1 and folded(form, unicode) == own}
