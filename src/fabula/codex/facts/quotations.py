"""Quotations: sentences of a chapter that a model named as facts of an entry, held against the text (cdx-10).

A model invents, so nothing is taken on its word. A quotation counts only while the chapter holds it word for word, as
one short run of whole sentences, and names the entry in or beside it by a name that is known all through the story.
Where the sentence itself does not name the entry, only the chapter as a whole tells that it is meant: then the fact is
known from the end of the chapter on. A quotation is looked up whenever the text is read, so an edit that removes the
sentence removes the fact.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice

from msgspec import Struct

from fabula.codex.facts.find import FactNames, quote_span
from fabula.codex.facts.patterns import ABBREVIATION, UNSPACED
from fabula.codex.tables import entries as entry_rows
from fabula.codex.tables import quotations as quotation_rows
from fabula.store.transaction import ReadTransaction, WriteTransaction
from fabula.text.names.disambiguation import resolve_mentions
from fabula.text.names.matcher import NameMatcher
from fabula.text.sentences import find_sentence_starts

MAX_QUOTATIONS = 40  # of one document
LENGTHS, UNSPACED_LENGTHS = (20, 300), (8, 120)  # characters of a quotation, at least and at most
AROUND, UNSPACED_AROUND = 300, 100  # characters before and after a quotation in which its entry may be named
_SAME_MARKS = str.maketrans("‘’“”–—", "''\"\"--")  # which models write instead of one another
_FIRST_UNSPACED = "\u2e80"  # from which on a character is a word by itself
_LISTS_ALL = ("", "")  # in a row that names every entry that was asked about; older rows name those quoted
_OUTER_MARKS = " \t\n\"'“”‘’「」『』"


class Quotation(Struct, frozen=True, gc=False):
    """A sentence of a document that a model named as a fact of an entry."""

    entry_id: str
    text: str


class Quotations(Struct, frozen=True):
    """The quotations of a project, by document."""

    by_document: Mapping[str, tuple[Quotation, ...]] = {}


class FoundQuotation(Struct, frozen=True):
    """A quotation that a text holds: whole sentences of one paragraph, and the entry they are about."""

    entry_id: str
    start: int
    end: int
    known_from: int  # the offset from which on it may be told

    def quote(self, text: str) -> str:
        """The sentences on one line."""
        return quote_span(text, self.start, self.end)


def find_quotations(
    text: str, quotations: Iterable[Quotation], matcher: NameMatcher, names: FactNames
) -> Iterator[FoundQuotation]:
    """The quotations that a text holds word for word and that name their entry; the others are left out."""
    plain_text = _level_marks(text)
    for quotation in quotations:
        entry_id = quotation.entry_id
        span = _find_sentences(plain_text, quotation.text) if entry_id in names.names else None
        known_from = None if span is None else _find_known_offset(text, *span, entry_id, matcher, names)
        if span is not None and known_from is not None:
            yield FoundQuotation(entry_id, *span, known_from)


def find_sentences(text: str, words: str) -> tuple[int, int] | None:
    """Where the sentences of a text begin and end that hold these words."""
    return _find_sentences(_level_marks(text), words)


@lru_cache(maxsize=1)
def _level_marks(text: str) -> str:
    return text.translate(_SAME_MARKS)


def _find_sentences(plain_text: str, words: str) -> tuple[int, int] | None:
    """Where the sentences begin and end that hold these words; None where none do, or they are too short or long."""
    wanted = " ".join(words.split()).strip(_OUTER_MARKS).translate(_SAME_MARKS)
    if not UNSPACED_LENGTHS[0] // 2 <= len(wanted) <= LENGTHS[1]:
        return None
    found = re.search(r"[^\S\n]+".join(map(re.escape, wanted.split())), plain_text)
    if found is None:
        return None
    # of a long paragraph only what is near: a sentence that begins or ends farther away is too long
    nearest, farthest = max(found.start() - LENGTHS[1], 0), min(found.end() + LENGTHS[1], len(plain_text))
    first, last = plain_text.rfind("\n", nearest, found.start()) + 1, plain_text.find("\n", found.end(), farthest)
    first, last = first or nearest, farthest if last < 0 else last
    paragraph = plain_text[first:last]
    starts = [at for at in find_sentence_starts(paragraph) if not ABBREVIATION.search(paragraph, max(0, at - 8), at)]
    begin = starts[bisect_right(starts, found.start() - first) - 1]
    following = bisect_right(starts, found.end() - 1 - first)
    end = starts[following] if following < len(starts) else len(paragraph)
    sentences = paragraph[begin:end].rstrip()
    shortest, longest = UNSPACED_LENGTHS if UNSPACED.search(sentences) else LENGTHS
    return (first + begin, first + begin + len(sentences)) if shortest <= len(sentences) <= longest else None


def _find_known_offset(
    text: str, start: int, end: int, entry_id: str, matcher: NameMatcher, names: FactNames
) -> int | None:
    """From where on a span tells something of an entry: from its end where it names it, else from the end of the text.

    None where the entry is not surely named in it or beside it, or where the span has a name that is revealed later, or
    has the name only as an ordinary word ("all hope").
    """
    reach = UNSPACED_AROUND if UNSPACED.search(text, start, end) else AROUND
    first, last = max(start - reach, 0), min(end + reach, len(text))
    while 0 < first < start and not text[first - 1].isspace() and text[first - 1] < _FIRST_UNSPACED:
        first += 1  # a word that was cut in two is none
    while end < last < len(text) and not text[last].isspace() and text[last] < _FIRST_UNSPACED:
        last -= 1
    found = resolve_mentions(match for match in matcher.find(text[first:last]) if match.is_certain)
    own = [one for one in found if one.is_certain and one.owners[0] == entry_id]
    inside = [one for one in own if start - first <= one.start < end - first]
    if not all(map(names.is_known, inside)) or not any(map(names.is_known, own)):
        return None
    if not inside and _has_words(text[start:end].casefold(), names.names[entry_id]):
        return None
    return end if inside else len(text)


def _has_words(folded: str, names: Iterable[str]) -> bool:
    """Whether a text in lower case has one of these names in it, whatever it means there."""
    return any(
        name in folded if UNSPACED.search(name) else re.search(rf"\b{re.escape(name)}\b", folded) for name in names
    )


def load_quotations(reading: ReadTransaction) -> Quotations:
    """Load the quotations of a project."""
    return Quotations(
        {row.document_id: found for row in reading.rows(quotation_rows) if (found := _read_sentences(row.quotations))}
    )


class AskedEntries(Struct, frozen=True):
    """The entries about which a model was asked in a text, and what it quoted of them."""

    ids: frozenset[str] = frozenset()
    quotations: tuple[Quotation, ...] = ()


def find_asked(
    reading: ReadTransaction, document_id: str, source_hash: str, named: Collection[str] = ()
) -> AskedEntries:
    """About which entries a model was asked in the text of a document with this hash; none where it has changed.

    A row of an older program does not say it. There a model was asked about all that the text named: of those `named`
    now, the entries that are older than the row.
    """
    row = reading.row(quotation_rows, document_id=document_id)
    if row is None or row.made_from != source_hash:
        return AskedEntries()
    asked = {ident for ident, _ in row.quotations}
    if _LISTS_ALL[0] not in asked:
        asked |= _list_older(reading, named, row.made)
    return AskedEntries(frozenset(asked), _read_sentences(row.quotations))


def _list_older(reading: ReadTransaction, named: Collection[str], made: str) -> set[str]:
    """Which of these entries, of the book or of its series, were made before a time."""
    older = (entry_rows.c.id.in_(sorted(named)), entry_rows.c.made <= made)
    owners = [one for one in (reading, reading.series()) if one is not None]
    return {row.id for owner in owners for row in owner.rows(entry_rows, *older, only=("id",))}


def store_quotations(
    tx: WriteTransaction, document_id: str, found: Sequence[Quotation], source_hash: str, asked: Iterable[str] = ()
) -> None:
    """Store what a model found in a document, in place of what it found before, and about whom it was asked."""
    tx.delete_rows(quotation_rows, quotation_rows.c.document_id == document_id)
    kept = [_LISTS_ALL, *((one.entry_id, one.text) for one in found[:MAX_QUOTATIONS])]
    kept += [(ident, "") for ident in sorted(set(asked).difference(ident for ident, _ in kept))]
    row = {"document_id": document_id, "quotations": kept, "made_from": source_hash, "made": tx.current_time()}
    tx.insert(quotation_rows, row)


def load_document_quotations(reading: ReadTransaction, document_id: str) -> list[Quotation]:
    """All that is stored of one document, also the entries of which the model quoted nothing."""
    row = reading.row(quotation_rows, document_id=document_id)
    return [] if row is None else [Quotation(*one) for one in row.quotations]


def replace_quotations(
    tx: WriteTransaction, document_id: str, moved: Sequence[Quotation], old_hash: str, new_hash: str
) -> None:
    """Store the sentences of a document in other words; what was read in the old text counts as read in the new one."""
    row = tx.require(quotation_rows, document_id=document_id)
    made_from = new_hash if row.made_from == old_hash else row.made_from
    values = {"quotations": [(one.entry_id, one.text) for one in moved], "made_from": made_from}
    tx.update_rows(quotation_rows, values, quotation_rows.c.document_id == document_id)


def _read_sentences(stored: Iterable[Sequence[str]]) -> tuple[Quotation, ...]:
    return tuple(islice((Quotation(ident, text) for ident, text in stored if text), MAX_QUOTATIONS))
