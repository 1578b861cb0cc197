"""Names that a rename leaves behind: offered to the writer, and renamed only if asked for (man-4).

Who renames Edmond Dantès may mean plain Dantès too, and who renames 八戒 also 猪八戒. Nobody but the writer knows, so
each such name is offered with what it would become and how often it occurs.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct, field

from fabula.codex.entry import Entry
from fabula.core.errors import Code, FabulaError
from fabula.core.messages import join_names, message
from fabula.store.transaction import ReadTransaction
from fabula.workspace.rename.edits import iterate_texts
from fabula.workspace.rename.rename import (
    iterate_cells,
    make_finder,
    make_matcher,
    read_all_entries,
    read_value,
    validate_names,
)

MAX_OFFERS = 8
_MIN_COMPOUNDS = 3  # a longer Chinese word with the name in it is offered if it occurs this often
_SEPARATOR = re.compile(r"[\s·•・‧]+")
_HAN = re.compile(r"[\u3400-\u9fff]")


class RenameOffer(Struct, frozen=True, kw_only=True):
    """A name that a rename leaves as it is: how often it occurs, and what it would become."""

    words: str
    replacement: str = field(name="becomes")
    count: int


def find_offers(
    reading: ReadTransaction, old: str, new: str, *, history: bool = False, also: Mapping[str, str] | None = None
) -> list[RenameOffer]:
    """List names that are parts of the old one, or contain it, and stay as they are; the most frequent first.

    An occurrence that the rename changes, if only in part (Mr. Stubb, where Stubb is renamed), is not counted. `also`
    has further names that are renamed, and what each of them becomes.
    """
    renamed = validate_names(old, new, also or {})
    find = make_finder(reading, renamed)
    entries = read_all_entries(reading)
    texts = [
        text
        for _, _, row, column in iterate_cells(reading, renamed, history)
        for _, text in iterate_texts(column, read_value(row, column))
    ]
    owner_ids = {entry.id for entry in entries if old in entry.names}
    others = {name for entry in entries if entry.id not in owner_ids for name in entry.names}
    candidates = {
        words: becomes
        for words, becomes in (*_related_names(entries, old, new), *_compounds(entries, texts, old, new))
        if words not in others and words != becomes and words != old
    }
    matcher = make_matcher(entries, [old, *candidates])
    counts: Counter[str] = Counter()
    for text in texts:
        edits = find(text)
        for hit in matcher.find(text):
            if hit.owner in candidates and not any(start < hit.end and hit.start < end for start, end, _ in edits):
                counts[hit.owner] += 1
    return [
        RenameOffer(words=words, replacement=candidates[words], count=count)
        for words, count in counts.most_common(MAX_OFFERS)
    ]


def read_further_names(chosen: Sequence[str], offers: Sequence[RenameOffer]) -> dict[str, str]:
    """Read further names to rename: `NAME=BECOMES`, or a name that was offered."""
    offered: Mapping[str, str] = {offer.words: offer.replacement for offer in offers}
    names: dict[str, str] = {}
    for text in chosen:
        words, mark, becomes = text.partition("=")
        if not mark and words not in offered:
            raise FabulaError(
                Code.CODEX_INVALID,
                message(
                    "{name!r} is not among the names that can be renamed as well. There are: {known}. "
                    "Or say what it becomes: NAME=OTHER. Nothing was changed.",
                    name=words,
                    known=join_names(list(offered) or [message("none")]),
                ),
            )
        names[words] = becomes if mark else offered[words]
    return names


def _related_names(entries: Sequence[Entry], old: str, new: str) -> Iterator[tuple[str, str]]:
    """Yield other names of the same entry, and the single words of the old name, each with what it would become."""
    names = {name for entry in entries if old in entry.names for name in entry.names}
    for name in sorted(names):
        if old in name:
            yield name, name.replace(old, new)
    old_words, new_words = _SEPARATOR.split(old), _SEPARATOR.split(new)
    for number, word in enumerate(old_words):
        if len(old_words) > 1 and len(word) > 1 and not word.islower():
            from_end = number - len(old_words)
            same_place = number if number == 0 or len(old_words) == len(new_words) else max(from_end, -len(new_words))
            yield word, new_words[same_place]
    if _HAN.search(old) and len(old) == len(new):
        yield from ((name, new[old.index(name) :][: len(name)]) for name in sorted(names) if name in old)


def _compounds(entries: Sequence[Entry], texts: Sequence[str], old: str, new: str) -> Iterator[tuple[str, str]]:
    """Yield frequent Chinese words of one more character that contain the name, where it is not found as a name."""
    if not _HAN.search(old):
        return
    matcher, pattern = make_matcher(entries, [old]), re.compile(re.escape(old))
    before: Counter[str] = Counter()
    for text in texts:
        found = {hit.start for hit in matcher.find(text)}
        hits = (hit.start() for hit in pattern.finditer(text) if hit.start() not in found)
        before.update(text[at - 1] for at in hits if at and _HAN.fullmatch(text[at - 1]))
    yield from ((char + old, char + new) for char, count in before.items() if count >= _MIN_COMPOUNDS)
