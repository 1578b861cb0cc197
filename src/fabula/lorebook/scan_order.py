"""The entries of all books in one list, in the order in which a scan considers them (inj-7).

The order is: the chat's book, the persona's book, then character and global books as the setting
`character_strategy` says. Inside each part, entries are sorted by descending `order`; ties keep the
order of the file. Decorators at the beginning of a text are removed and names are filled in here, once.
"""

from __future__ import annotations

from bisect import insort_right
from collections.abc import Sequence
from functools import cmp_to_key
from itertools import pairwise
from typing import get_args

from msgspec import Struct

from fabula.core.messages import message
from fabula.lorebook.model import BookSource, EntryRef, LorebookSettings, LoreEntry, ParsedLorebook, ScanContext
from fabula.lorebook.parsing import invalid_lorebook
from fabula.lorebook.wildcards import show_key
from fabula.text.macros import fill_in_names

INSERTION_SORT_LIMIT = 64  # JavaScript sorts shorter lists by insertion


class ScanEntry(Struct, frozen=True):
    """An entry prepared for a scan: its fields, its text with names filled in, and its decorators."""

    ref: EntryRef
    fields: LoreEntry
    text: str
    decorators: frozenset[str]

    @property
    def title(self) -> str:
        """The title that is shown to people."""
        return make_title(self.ref, self.fields)


def make_title(ref: EntryRef, entry: LoreEntry) -> str:
    """Return the title of an entry: its comment, else its first key, else its number."""
    return entry.comment or show_key(next(iter(entry.key or ()), "")) or f"#{ref.uid}"


def list_entries(books: Sequence[ParsedLorebook], settings: LorebookSettings, context: ScanContext) -> list[ScanEntry]:
    """Return every entry of every book in scan order."""
    if len({book.name for book in books}) != len(books):
        raise invalid_lorebook(message("Two lorebooks have the same name."))
    by_source: dict[str, list[ScanEntry]] = {source: [] for source in get_args(BookSource)}
    for book in books:
        by_source[book.source] += [
            prepare_entry(EntryRef(book.name, entry.uid), entry, context) for entry in book.entries
        ]
    match settings.character_strategy:
        case 0:
            parts = [by_source["character"] + by_source["global"]]
        case 2:
            parts = [by_source["global"], by_source["character"]]
        case _:
            parts = [by_source["character"], by_source["global"]]
    return [entry for part in (by_source["chat"], by_source["persona"], *parts) for entry in sort_by_order(part)]


def sort_by_order(entries: Sequence[ScanEntry]) -> list[ScanEntry]:
    """Sort by descending `order`, stably; an entry without `order` compares as equal to every other."""
    if all(entry.fields.order is not None for entry in entries):
        return sorted(entries, key=lambda entry: -(entry.fields.order or 0))
    if len(entries) >= INSERTION_SORT_LIMIT:
        return sorted(entries, key=cmp_to_key(_compare))
    return _insertion_sort(entries)


def _compare(left: ScanEntry, right: ScanEntry) -> int:
    first, second = left.fields.order, right.fields.order
    return 0 if first is None or second is None else (second > first) - (second < first)


def _insertion_sort(entries: Sequence[ScanEntry]) -> list[ScanEntry]:
    """Sort a short list as JavaScript does: with entries that equal every other, the algorithm decides the result."""
    descends = len(entries) > 1 and _compare(entries[1], entries[0]) < 0
    pairs = enumerate(pairwise(entries), start=1)
    run = next((at for at, (left, right) in pairs if (_compare(right, left) < 0) is not descends), len(entries))
    result = list(entries[:run])
    if descends:
        result.reverse()
    for entry in entries[run:]:
        insort_right(result, entry, key=cmp_to_key(_compare))
    return result


def prepare_entry(ref: EntryRef, entry: LoreEntry, context: ScanContext) -> ScanEntry:
    """Prepare an entry for a scan: separate the decorators from the text and fill in names."""
    decorators: set[str] = set()
    text, at = entry.content or "", 0
    while text.startswith("@@", at):
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        decorators.add(text[at:end].strip())
        at = end + 1
    return ScanEntry(ref, entry, fill_in_names(text[at:], context.user, context.character.name), frozenset(decorators))
