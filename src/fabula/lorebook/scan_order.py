"""The entries of all books in one list, ready to be scanned.

The list is in the order in which entries are considered: the chat's book, the persona's, then the
character's and the global ones as the strategy says; inside each by descending order, ties as in
the file. Decorators at the head of a text are taken off and names are filled in here, once.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cmp_to_key
from typing import get_args

from msgspec import Struct

from fabula.core.errors import Code, FabulaError
from fabula.lorebook.model import Book, LoreEntry, Ref, Scene, Settings, Source

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
        return title_of(self.ref, self.entry)


def title_of(ref: Ref, entry: LoreEntry) -> str:
    """What a person calls an entry."""
    return entry.comment or next(iter(entry.key or ()), "") or str(ref)


def listed(books: Sequence[Book], settings: Settings, scene: Scene) -> list[Lore]:
    """Every entry of every book, in the order they are considered."""
    if len({book.name for book in books}) != len(books):
        raise FabulaError(Code.LOREBOOK_INVALID, "Two books have the same name. Rename one of them.")
    of: dict[str, list[Lore]] = {source: [] for source in get_args(Source)}
    for book in books:
        of[book.source] += [ready(Ref(book.name, entry.uid), entry, scene) for entry in book.entries]
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


def ready(ref: Ref, entry: LoreEntry, scene: Scene) -> Lore:
    """An entry with its decorators taken off and its names filled in."""
    decorators: set[str] = set()
    text = entry.content or ""
    while text.startswith("@@"):
        line, _, text = text.partition("\n")
        decorators.add(line.strip())
    return Lore(ref, entry, expand(text, scene), frozenset(decorators))
