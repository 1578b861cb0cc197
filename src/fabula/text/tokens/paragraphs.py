"""Paragraphs of a text with prefix sums of their token counts.

A text is cut where token counts add up: a paragraph begins on a line with text and ends with the blank lines after
it. Counts are made in pages of paragraphs, on demand, and kept. So finding a window takes the same time in a short
book and in a long one.
"""

from __future__ import annotations

import itertools
import re
from bisect import bisect_left, bisect_right

from fabula.text.names.mention_cache import MentionCache
from fabula.text.term_cache import TermCache
from fabula.text.tokens.tokenizer import Tokenizer

PAGE_SIZE = 64  # paragraphs counted together
HUGE_PARAGRAPH = 200_000  # characters; a longer paragraph is not counted and never fits whole
NEVER_FITS = 1 << 40
_START = re.compile(r"(?<=\n)(?=[^\S\n]*[^\s/])")
_BLANK_LINES = re.compile(r"(?:[^\S\n]*\n)*")


class Paragraphs:
    """The paragraphs of one immutable text, with token sums for each vocabulary."""

    __slots__ = ("_sums", "mention_cache", "starts", "term_cache", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        blank = _BLANK_LINES.match(text)
        first = blank.end() if blank else 0
        self.starts: list[int] = [first, *(m.start() for m in _START.finditer(text, first + 1))]
        self.mention_cache = MentionCache(text, self.starts)
        self.term_cache = TermCache(text, self.starts)
        self._sums: dict[str, dict[int, list[int]]] = {}

    def index_at(self, offset: int) -> int:
        """The number of the paragraph that holds the character before `offset`."""
        return max(bisect_right(self.starts, max(offset - 1, 0)) - 1, 0)

    def count_tokens(self, tokenizer: Tokenizer, first: int, last: int) -> int:
        """Tokens of the paragraphs from `first` up to, not including, `last`."""
        total = 0
        while first < last:
            page, offset = divmod(first, PAGE_SIZE)
            sums = self._page_sums(tokenizer, page)
            end = min(last - page * PAGE_SIZE, len(sums) - 1)
            total += sums[end] - sums[offset]
            first = page * PAGE_SIZE + end
        return total

    def fit_backwards(self, tokenizer: Tokenizer, last: int, max_tokens: int) -> tuple[int, int]:
        """The first paragraph from which all up to, not including, `last` fit, and how many tokens they take."""
        used = 0
        while last > 0:
            page, offset = divmod(last - 1, PAGE_SIZE)
            sums = self._page_sums(tokenizer, page)
            page_tokens = sums[offset + 1]
            if used + page_tokens <= max_tokens:
                used += page_tokens
                last = page * PAGE_SIZE
                continue
            # The first sum that, when taken away, brings the rest of the page under the limit.
            low = bisect_left(sums, page_tokens - (max_tokens - used), 0, offset + 1)
            return page * PAGE_SIZE + low, used + page_tokens - sums[low]
        return 0, used

    def _page_sums(self, tokenizer: Tokenizer, page: int) -> list[int]:
        pages = self._sums.get(tokenizer.name)
        if pages is None:
            pages = self._sums[tokenizer.name] = {}
        sums = pages.get(page)
        if sums is None:
            edges = [*self.starts[page * PAGE_SIZE : (page + 1) * PAGE_SIZE + 1]]
            if (page + 1) * PAGE_SIZE >= len(self.starts):
                edges.append(len(self.text))
            total, sums = 0, [0]
            for start, end in itertools.pairwise(edges):
                total += tokenizer.count(self.text[start:end]) if end - start <= HUGE_PARAGRAPH else NEVER_FITS
                sums.append(total)
            pages[page] = sums
        return sums
