"""The entries of all books in one list, ready to be scanned.

The list is in the order in which entries are considered: the chat's book, the persona's, then the
character's and the global ones as the strategy says; inside each by descending order, ties as in
the file. Decorators at the head of a text are taken off and names are filled in here, once.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cmp_to_key

from msgspec import Struct

from fabula.core.errors import Code, FabulaError
from fabula.lorebook.model import Book, LoreEntry, Ref, Scene, Settings

SHORT = 64  # below this JavaScript sorts by insertion
_MACRO = re.compile(r"\{\{(user|char)\}\}", re.IGNORECASE)


class Lore(Struct, frozen=True):
    """An entry on its way through a scan."""

    ref: Ref
    entry: LoreEntry
    text: str
    decorators: frozenset[str]

    @property
    def title(self) -> str:
        """What a person calls it."""
        return self.entry.comment or next(iter(self.entry.key or ()), "") or str(self.ref)


def listed(books: Sequence[Book], settings: Settings, scene: Scene) -> list[Lore]:
    """Every entry of every book, in the order they are considered."""
    if len({book.name for book in books}) != len(books):
        raise FabulaError(Code.LOREBOOK_INVALID, "Two books have the same name. Rename one of them.")
    of = {
        source: [_lore(book, entry, scene) for book in books if book.source == source for entry in book.entries]
        for source in ("chat", "persona", "character", "global")
    }
    match settings.character_strategy:
        case 0:
            parts = [of["character"] + of["global"]]
        case 2:
            parts = [of["global"], of["character"]]
        case _:
            parts = [of["character"], of["global"]]
    return [lore for part in (of["chat"], of["persona"], *parts) for lore in by_order(part)]


def by_order(lores: Sequence[Lore]) -> list[Lore]:
    """By descending order, ties as they came; who has no order ties with everybody."""
    if all(lore.entry.order is not None for lore in lores):
        return sorted(lores, key=lambda lore: -(lore.entry.order or 0))
    return sorted(lores, key=cmp_to_key(_behind)) if len(lores) >= SHORT else _inserted(lores)


def _behind(one: Lore, other: Lore) -> int:
    mine, theirs = one.entry.order, other.entry.order
    return 0 if mine is None or theirs is None else (theirs > mine) - (theirs < mine)


def _inserted(lores: Sequence[Lore]) -> list[Lore]:
    """As JavaScript sorts a short list: a tie with everybody is no order, so the way of sorting decides."""
    rest = list(lores)
    run = 1
    if len(rest) > 1 and _behind(rest[1], rest[0]) < 0:
        while run < len(rest) and _behind(rest[run], rest[run - 1]) < 0:
            run += 1
        found = rest[:run][::-1]
    else:
        while run < len(rest) and _behind(rest[run], rest[run - 1]) >= 0:
            run += 1
        found = rest[:run]
    for lore in rest[run:]:
        low, high = 0, len(found)
        while low < high:
            middle = (low + high) // 2
            if _behind(lore, found[middle]) < 0:
                high = middle
            else:
                low = middle + 1
        found.insert(low, lore)
    return found


def expand(text: str, scene: Scene) -> str:
    """A text with the names of user and character filled in."""
    if "{{" not in text:
        return text
    names = {"user": scene.user, "char": scene.character}
    return _MACRO.sub(lambda found: names[found[1].lower()] or found[0], text)


def _lore(book: Book, entry: LoreEntry, scene: Scene) -> Lore:
    decorators: set[str] = set()
    text = entry.content or ""
    while text.startswith("@@"):
        line, _, text = text.partition("\n")
        decorators.add(line.strip())
    return Lore(Ref(book.name, entry.uid), entry, expand(text, scene), frozenset(decorators))
