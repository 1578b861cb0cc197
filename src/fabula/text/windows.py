"""Windows around a cursor: text that gives way at one end and never at the other.

What remains before the cursor always ends at the cursor: whole paragraphs go first, the furthest
first, then sentences, and characters only where a single sentence is too long for the room.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from zlib import crc32

from msgspec import Struct

from fabula.core.fragment import Fragment, Layer, Part
from fabula.text.sentences import sentence_starts
from fabula.text.tokens.paragraphs import Paragraphs
from fabula.text.tokens.tokenizer import Tokenizer

GAP = "\n\n"  # stands behind every piece, and is counted with it
WORTH_FILLING = 40  # tokens left by whole paragraphs from which on sentences are tried
LONGEST_TOKEN = 16  # characters; ordinary prose has four a token, so this never cuts too near


class Cut(Struct, frozen=True, gc=False):
    """A chosen beginning, and what the text from there to the cursor costs."""

    start: int
    tokens: int


class Stretch(Fragment, frozen=True, kw_only=True, gc=False):
    """The text before a cursor, as a fragment that may begin later than it could."""

    paragraphs: Paragraphs
    begin: int
    end: int
    edge: int  # the end without trailing white space, so that what follows begins on its own line
    tail: int  # the paragraph in which the edge lies
    stored_end: int | None = None  # the cursor's place in the text as stored, where that differs

    def __post_init__(self) -> None:
        """Sound by construction: the document it is a part of was normalised when it was read."""

    def since_start(self, start: int) -> str:
        """The text from `start` to the cursor, without the white space at its end."""
        return self.paragraphs.text[start : self.edge]

    def cost(self, tokenizer: Tokenizer, start: int) -> int:
        """What the text from `start` costs; `start` may lie inside a paragraph."""
        whole, edge, tail = self.paragraphs, self.edge, self.tail
        first = whole.index(start + 1)
        if first >= tail:
            return tokenizer.count(whole.text[start:edge] + GAP) if edge > start else 0
        head = 0
        if whole.starts[first] != start:
            first += 1
            head = tokenizer.count(whole.text[start : whole.starts[first]])
        return head + whole.tokens(tokenizer, first, tail) + self._tail(tokenizer, tail, edge)

    def words_at(self, start: int) -> int:
        """A check on the first words of a window, by which to know that it still begins there."""
        return crc32(self.paragraphs.text[start : min(start + 32, self.end)].encode())

    def begins(self, start: int, words: int) -> bool:
        """Does a window that began at `start` with those words still begin so?"""
        if not self.begin <= start < self.end:
            return False
        return self.words_at(start) == words or start == self.begin

    @property
    def empty(self) -> bool:
        """Is there nothing before the cursor but white space?"""
        return self.edge <= self.begin

    def full(self, tokenizer: Tokenizer) -> Cut:
        """All of it."""
        return Cut(self.begin, self.cost(tokenizer, self.begin))

    def fit(self, tokenizer: Tokenizer, room: int, *, paragraphs_only: bool = False) -> Cut | None:
        """The longest end of it that fits into `room`; None when not a character does."""
        whole, edge, tail = self.paragraphs, self.edge, self.tail
        if edge <= self.begin:
            return Cut(self.begin, 0)
        tail_start = max(whole.starts[tail], self.begin)
        if edge - tail_start <= max(room, 1) * LONGEST_TOKEN:
            cost = self._tail(tokenizer, tail, edge)
            if cost <= room:
                first, spent = whole.reach_back(tokenizer, tail, room - cost)
                start = whole.starts[first]
                if start <= self.begin:
                    return self.full(tokenizer)
                whole_ones = Cut(start, cost + spent)
                if paragraphs_only or room - whole_ones.tokens < WORTH_FILLING:
                    return whole_ones
                # What whole paragraphs leave of the room goes to the last sentences of the one before them.
                before = max(whole.starts[first - 1], self.begin)
                more = self._inside(tokenizer, before, start, room - whole_ones.tokens, ending="")
                return whole_ones if more is None else Cut(more.start, more.tokens + whole_ones.tokens)
        return self._inside(tokenizer, tail_start, edge, room, ending=GAP)

    def tail_start(self) -> int:
        """Where the paragraph begins in which the cursor stands."""
        return max(self.paragraphs.starts[self.tail], self.begin)

    def _tail(self, tokenizer: Tokenizer, tail: int, edge: int) -> int:
        start = max(self.paragraphs.starts[tail], self.begin)
        return tokenizer.count(self.paragraphs.text[start:edge] + GAP)

    def _inside(self, tokenizer: Tokenizer, start: int, edge: int, room: int, *, ending: str) -> Cut | None:
        """The longest end of one paragraph that fits: by sentences; the cursor's own, then, by characters."""
        start = max(start, edge - max(room, 1) * LONGEST_TOKEN)
        text = self.paragraphs.text[start:edge]
        by_characters: Sequence[int] = range(1, len(text)) if ending else ()
        for places in (sentence_starts(text)[1:], by_characters):
            found = _first_fitting(places, lambda at: tokenizer.count(_safe(text[at:]) + ending), room)
            if found is not None and _safe(text[found:]):
                at = len(text) - len(_safe(text[found:]))
                return Cut(start + at, tokenizer.count(text[at:] + ending))
        return None


def _safe(text: str) -> str:
    """Without what must not stand at the beginning of a counted piece."""
    return text.lstrip()


def _first_fitting(places: Sequence[int], cost: Callable[[int], int], room: int) -> int | None:
    """The earliest place from which the rest fits (costs fall as places rise)."""
    low, high = 0, len(places)
    while low < high:
        middle = (low + high) // 2
        if cost(places[middle]) <= room:
            high = middle
        else:
            low = middle + 1
    return places[low] if low < len(places) else None


def stretch(fragment: Fragment) -> Stretch:
    """A plain fragment's text as a stretch, for callers who have no document to point into."""
    if isinstance(fragment, Stretch):
        return fragment
    paragraphs = Paragraphs(fragment.text)
    fields = {name: getattr(fragment, name) for name in fragment.__struct_fields__}
    begin, end = paragraphs.starts[0], len(fragment.text)
    edge = _edge(fragment.text, begin, end)
    return Stretch(**fields, paragraphs=paragraphs, begin=begin, end=end, edge=edge, tail=paragraphs.index(edge))


def _edge(text: str, begin: int, end: int) -> int:
    while end > begin and text[end - 1].isspace():
        end -= 1
    return end


def window(
    paragraphs: Paragraphs,
    cursor: int,
    *,
    source: str,
    project_id: str,
    reach: int,
    title: str = "",
    known_to: frozenset[str] | None = None,
    stored_cursor: int | None = None,
) -> Stretch:
    """The text before a cursor, at most `reach` characters of it, beginning with a paragraph."""
    begin = paragraphs.starts[0]
    if cursor - begin > reach:
        begin = paragraphs.starts[paragraphs.index(cursor - reach)]
        if cursor - begin > 2 * reach:  # one endless paragraph: begin with a sentence of it
            far = cursor - reach
            begin = far + next(iter(sentence_starts(paragraphs.text[far:cursor])[1:]), 0)
    begin = min(begin, cursor)
    edge = _edge(paragraphs.text, begin, cursor)
    return Stretch(
        source=source,
        layer=Layer.IMMEDIATE,
        text="",
        project_id=project_id,
        title=title,
        part=Part.WINDOW,
        score=1.0,
        known_to=known_to,
        paragraphs=paragraphs,
        begin=begin,
        end=cursor,
        edge=edge,
        tail=paragraphs.index(edge),
        stored_end=stored_cursor,
    )


def shorten(text: str, tokenizer: Tokenizer, room: int, *, gap: str = GAP) -> str:
    """The longest beginning of a text that fits: by paragraphs, then sentences; '' if none does."""
    if tokenizer.count(text + gap) <= room:
        return text
    ends = list(Paragraphs(text).starts[1:])
    for places in (ends, sentence_starts(text)[1:]):
        kept = [at for at in places if tokenizer.count(text[:at].rstrip() + gap) <= room]
        if kept:
            return text[: kept[-1]].rstrip()
    return ""
