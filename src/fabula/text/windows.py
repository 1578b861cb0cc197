"""Text windows before a cursor, which are trimmed at their far end and always end at the cursor (bud-3).

Whole paragraphs are dropped first, the furthest first, then sentences, and characters only where a single sentence is
too long for the budget.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from zlib import crc32

from msgspec import Struct
from msgspec.structs import asdict

from fabula.core.fragment import Fragment, Layer, Part
from fabula.text.sentences import find_sentence_starts
from fabula.text.tokens.paragraphs import Paragraphs
from fabula.text.tokens.tokenizer import Tokenizer

BLOCK_SEPARATOR = "\n\n"  # follows every block of a prompt, and is counted with it
MIN_TOKENS_FOR_SENTENCES = 40  # tokens that whole paragraphs must leave before sentences are added
LONGEST_TOKEN = 16  # characters; prose has about four a token, so a limit of 16 never cuts too much


class WindowCut(Struct, frozen=True, gc=False):
    """Where a trimmed window begins, and how many tokens the text from there to the cursor takes."""

    start: int
    tokens: int


class TextWindow(Fragment, frozen=True, kw_only=True, gc=False):
    """A fragment with the text before a cursor, of which the beginning may be trimmed."""

    paragraphs: Paragraphs
    begin: int
    end: int  # the cursor
    text_end: int  # `end` without trailing white space, so that the next block begins on its own line
    last_paragraph: int  # the number of the paragraph that holds `text_end`
    stored_end: int | None = None  # the cursor's offset in the stored text, where that differs

    def __post_init__(self) -> None:
        """No check is needed: the document was normalised when it was read."""

    def text_from(self, start: int) -> str:
        """The text from `start` to the cursor, without trailing white space."""
        return self.paragraphs.text[start : self.text_end]

    def count_tokens_from(self, tokenizer: Tokenizer, start: int) -> int:
        """How many tokens the text from `start` takes; `start` may lie inside a paragraph."""
        paragraphs, last = self.paragraphs, self.last_paragraph
        first = paragraphs.index_at(start + 1)
        if first >= last:
            text = paragraphs.text[start : self.text_end]
            return tokenizer.count(text + BLOCK_SEPARATOR) if text else 0
        partial = 0
        if paragraphs.starts[first] != start:
            first += 1
            partial = tokenizer.count(paragraphs.text[start : paragraphs.starts[first]])
        return partial + paragraphs.count_tokens(tokenizer, first, last) + self._count_last_paragraph(tokenizer)

    def checksum_at(self, start: int) -> int:
        """A checksum of the first characters at `start`, which shows later whether the window still begins there."""
        return crc32(self.paragraphs.text[start : min(start + 32, self.end)].encode())

    def still_begins_at(self, start: int, checksum: int) -> bool:
        """Does the text at `start` still have this checksum?"""
        if not self.begin <= start < self.end:
            return False
        return self.checksum_at(start) == checksum or start == self.begin

    @property
    def is_empty(self) -> bool:
        """Is there nothing but white space before the cursor?"""
        return self.text_end <= self.begin

    def cut_nothing(self, tokenizer: Tokenizer) -> WindowCut:
        """The whole window."""
        return WindowCut(self.begin, self.count_tokens_from(tokenizer, self.begin))

    def fit(self, tokenizer: Tokenizer, max_tokens: int, *, paragraphs_only: bool = False) -> WindowCut | None:
        """The longest end of the window that fits into `max_tokens`; None when not one character fits."""
        if self.is_empty:
            return WindowCut(self.begin, 0)
        paragraphs, last_start = self.paragraphs, self.cursor_paragraph_start()
        if self.text_end - last_start <= max(max_tokens, 1) * LONGEST_TOKEN:
            last_tokens = self._count_last_paragraph(tokenizer)
            if last_tokens <= max_tokens:
                first, tokens = paragraphs.fit_backwards(tokenizer, self.last_paragraph, max_tokens - last_tokens)
                start = paragraphs.starts[first]
                if start <= self.begin:
                    return self.cut_nothing(tokenizer)
                cut = WindowCut(start, last_tokens + tokens)
                unused = max_tokens - cut.tokens
                if paragraphs_only or unused < MIN_TOKENS_FOR_SENTENCES:
                    return cut
                # The tokens that whole paragraphs leave go to the last sentences of the paragraph before them.
                previous = max(paragraphs.starts[first - 1], self.begin)
                sentences = self._fit_in_paragraph(tokenizer, previous, start, unused, ending="")
                return cut if sentences is None else WindowCut(sentences.start, sentences.tokens + cut.tokens)
        return self._fit_in_paragraph(tokenizer, last_start, self.text_end, max_tokens, ending=BLOCK_SEPARATOR)

    def cursor_paragraph_start(self) -> int:
        """Where the paragraph with the cursor begins."""
        return max(self.paragraphs.starts[self.last_paragraph], self.begin)

    def _count_last_paragraph(self, tokenizer: Tokenizer) -> int:
        return tokenizer.count(self.paragraphs.text[self.cursor_paragraph_start() : self.text_end] + BLOCK_SEPARATOR)

    def _fit_in_paragraph(
        self, tokenizer: Tokenizer, start: int, end: int, max_tokens: int, *, ending: str
    ) -> WindowCut | None:
        """The longest end of one paragraph that fits: by sentences, and with an `ending` then by characters."""
        start = max(start, end - max(max_tokens, 1) * LONGEST_TOKEN)
        text = self.paragraphs.text[start:end]
        characters: Sequence[int] = range(1, len(text)) if ending else ()
        for starts in (find_sentence_starts(text)[1:], characters):
            # The earliest start from which the rest fits: the rest shrinks as starts rise.
            fits = bisect_left(starts, True, key=lambda at: tokenizer.count(text[at:].lstrip() + ending) <= max_tokens)
            rest = text[starts[fits] :].lstrip() if fits < len(starts) else ""
            if rest:
                return WindowCut(end - len(rest), tokenizer.count(rest + ending))
        return None


def as_text_window(fragment: Fragment) -> TextWindow:
    """A plain fragment as a text window, for callers without a document."""
    if isinstance(fragment, TextWindow):
        return fragment
    paragraphs = Paragraphs(fragment.text)
    begin, end = paragraphs.starts[0], len(fragment.text)
    text_end = _strip_end(fragment.text, begin, end)
    return TextWindow(
        **asdict(fragment),
        paragraphs=paragraphs,
        begin=begin,
        end=end,
        text_end=text_end,
        last_paragraph=paragraphs.index_at(text_end),
    )


def _strip_end(text: str, begin: int, end: int) -> int:
    while end > begin and text[end - 1].isspace():
        end -= 1
    return end


def make_text_window(
    paragraphs: Paragraphs,
    cursor: int,
    *,
    source: str,
    project_id: str,
    reach: int,
    title: str = "",
    known_to: frozenset[str] | None = None,
    made_of: frozenset[str] = frozenset(),
    stored_cursor: int | None = None,
) -> TextWindow:
    """The window before a cursor: at most `reach` characters, beginning with a paragraph."""
    begin = paragraphs.starts[0]
    if cursor - begin > reach:
        begin = paragraphs.starts[paragraphs.index_at(cursor - reach)]
        if cursor - begin > 2 * reach:  # one very long paragraph: begin with one of its sentences
            far = cursor - reach
            begin = far + next(iter(find_sentence_starts(paragraphs.text[far:cursor])[1:]), 0)
    begin = min(begin, cursor)
    text_end = _strip_end(paragraphs.text, begin, cursor)
    return TextWindow(
        source=source,
        layer=Layer.IMMEDIATE,
        text="",
        project_id=project_id,
        title=title,
        part=Part.WINDOW,
        score=1.0,
        known_to=known_to,
        made_of=made_of,
        paragraphs=paragraphs,
        begin=begin,
        end=cursor,
        text_end=text_end,
        last_paragraph=paragraphs.index_at(text_end),
        stored_end=stored_cursor,
    )
