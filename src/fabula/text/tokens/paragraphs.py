"""A text cut where token counts add up.

A paragraph begins on a line that holds text, and owns the blank lines behind it. Counts are made
page by page, only where somebody looks, and then kept: finding a window costs the same in the
first chapter and in the thousandth, in a short book and in a long one.
"""

from __future__ import annotations

import itertools
import re
from bisect import bisect_left, bisect_right

from fabula.text.names.mention_cache import Readings
from fabula.text.tokens.tokenizer import Tokenizer

PAGE = 64  # paragraphs counted together
HUGE = 200_000  # characters beyond which a paragraph is not counted but taken never to fit whole
NEVER = 1 << 40
_START = re.compile(r"(?<=\n)(?=[^\S\n]*[^\s/])")
_BLANK_LINES = re.compile(r"(?:[^\S\n]*\n)*")


class Paragraphs:
    """The paragraphs of one immutable text, with their token sums kept per vocabulary."""

    __slots__ = ("_sums", "readings", "starts", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        blank = _BLANK_LINES.match(text)
        first = blank.end() if blank else 0
        self.starts: list[int] = [first, *(m.start() for m in _START.finditer(text, first + 1))]
        self.readings = Readings(text, self.starts)
        self._sums: dict[str, dict[int, list[int]]] = {}

    def index(self, offset: int) -> int:
        """The paragraph that holds the character before `offset`."""
        return max(bisect_right(self.starts, max(offset - 1, 0)) - 1, 0)

    def tokens(self, tokenizer: Tokenizer, first: int, last: int) -> int:
        """Tokens of the paragraphs from `first` up to, not including, `last`."""
        total = 0
        while first < last:
            page, offset = divmod(first, PAGE)
            sums = self._page(tokenizer, page)
            end = min(last - page * PAGE, len(sums) - 1)
            total += sums[end] - sums[offset]
            first = page * PAGE + end
        return total

    def reach_back(self, tokenizer: Tokenizer, last: int, room: int) -> tuple[int, int]:
        """The earliest paragraph such that all from it up to `last` fit, and what they cost."""
        spent = 0
        while last > 0:
            page, offset = divmod(last - 1, PAGE)
            sums = self._page(tokenizer, page)
            whole = sums[offset + 1]
            if spent + whole <= room:
                spent += whole
                last = page * PAGE
                continue
            # The first sum that is large enough to bring the rest of the page under the room.
            low = bisect_left(sums, whole - (room - spent), 0, offset + 1)
            return page * PAGE + low, spent + whole - sums[low]
        return 0, spent

    def _page(self, tokenizer: Tokenizer, page: int) -> list[int]:
        pages = self._sums.get(tokenizer.name)
        if pages is None:
            pages = self._sums[tokenizer.name] = {}
        sums = pages.get(page)
        if sums is None:
            edges = [*self.starts[page * PAGE : (page + 1) * PAGE + 1]]
            if (page + 1) * PAGE >= len(self.starts):
                edges.append(len(self.text))
            total, sums = 0, [0]
            for start, end in itertools.pairwise(edges):
                total += tokenizer.count(self.text[start:end]) if end - start <= HUGE else NEVER
                sums.append(total)
            pages[page] = sums
        return sums
