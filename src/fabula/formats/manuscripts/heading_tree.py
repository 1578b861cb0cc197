"""From a list of headings to the tree of a book.

A heading's level says what it stands under; what it *is* (part, chapter, scene) follows from its
words where they tell ("Part One", "第三回"), and otherwise from how deep the tree is. Writers of
files use the same guess: a kind is written out only where a reader would guess another.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from fabula.formats.manuscripts.headings import Word, word_of
from fabula.manuscript.drafts import Draft, Kind

_SAID = {
    Kind.BOOK: Word.CONTAINER,
    Kind.PART: Word.CONTAINER,
    Kind.CHAPTER: Word.CHAPTER,
    Kind.SCENE: Word.SCENE,
    Kind.NOTE: None,
}


class Section(Struct, frozen=True, kw_only=True):
    """A heading, what stands beneath it before the next, and its kind if that is known."""

    level: int
    title: str
    text: str = ""
    kind: Kind | None = None
    synopsis: str = ""
    notes: str = ""


def grow(sections: Sequence[Section], *, folders: bool = False) -> tuple[Draft, ...]:
    """The drafts of a list of sections; `folders` says that two levels mean chapters with scenes."""
    kinds = kinds_of(sections, folders=folders)
    depths = _depths(sections)
    open_at: list[list[Draft]] = [[]]
    # From the last to the first: when a section is met, all that stands below it is finished.
    for section, kind, depth in reversed(list(zip(sections, kinds, depths, strict=True))):
        while len(open_at) < depth + 2:
            open_at.append([])
        below = tuple(reversed(open_at[depth + 1]))
        del open_at[depth + 1 :]
        open_at[depth].append(
            Draft(
                title=section.title,
                kind=kind,
                text=section.text,
                synopsis=section.synopsis,
                notes=section.notes,
                children=below,
            )
        )
    return tuple(reversed(open_at[0]))


def flat(drafts: Sequence[Draft], level: int = 1) -> list[Section]:
    """The tree as a list of sections, notes left out."""
    found: list[Section] = []
    for draft in drafts:
        if draft.kind is not Kind.NOTE:
            found.append(Section(level=level, title=draft.title.strip(), text=draft.text, kind=draft.kind))
            found.extend(flat(draft.children, level + 1))
    return found


def laid_out(drafts: Sequence[Draft], *, nameless: bool = False) -> list[Section]:
    """The tree as a list of sections, with a kind where a reader would guess another (or where there is no title)."""
    found = flat(drafts)
    said: list[Kind | None] = [section.kind if nameless and not section.title else None for section in found]
    while True:
        guesses = kinds_of([replace(section, kind=kind) for section, kind in zip(found, said, strict=True)])
        wrong = [at for at, guess in enumerate(guesses) if guess is not found[at].kind]
        if not wrong:
            return [replace(section, kind=kind) for section, kind in zip(found, said, strict=True)]
        for at in wrong:
            said[at] = found[at].kind


def kinds_of(sections: Sequence[Section], *, folders: bool = False) -> list[Kind]:
    """What each section is, said or guessed."""
    depths = _depths(sections)
    words = [_SAID[section.kind] if section.kind else word_of(section.title) for section in sections]
    chapters = _chapter_depth(depths, words, folders)
    kinds: list[Kind] = []
    for at, (section, word, depth) in enumerate(zip(sections, words, depths, strict=True)):
        leaf = at + 1 == len(depths) or depths[at + 1] <= depth
        if section.kind is not None:
            kinds.append(section.kind)
        elif word is Word.CHAPTER or (depth < chapters and leaf and word is not Word.CONTAINER):
            kinds.append(Kind.CHAPTER)
        elif depth < chapters or (depth == chapters and word is Word.CONTAINER):
            kinds.append(Kind.BOOK if depth < chapters - 1 else Kind.PART)
        else:
            kinds.append(Kind.CHAPTER if depth == chapters and word is not Word.SCENE else Kind.SCENE)
    return kinds


def _depths(sections: Sequence[Section]) -> list[int]:
    """How many headings each section stands under."""
    above: list[int] = []
    depths: list[int] = []
    for section in sections:
        while above and above[-1] >= section.level:
            above.pop()
        depths.append(len(above))
        above.append(section.level)
    return depths


def _chapter_depth(depths: Sequence[int], words: Sequence[Word | None], folders: bool) -> int:
    told = Counter(depth for depth, word in zip(depths, words, strict=True) if word is Word.CHAPTER)
    if told:
        return told.most_common(1)[0][0]
    scenes = [depth for depth, word in zip(depths, words, strict=True) if word is Word.SCENE]
    if scenes:
        return max(0, min(scenes) - 1)
    containers = [depth for depth, word in zip(depths, words, strict=True) if word is Word.CONTAINER]
    deepest = max(depths, default=0)
    if containers:
        return min(max(containers) + 1, deepest)
    if folders:
        return max(0, deepest - 1)
    return deepest if deepest < 2 else deepest - 1 if deepest < 4 else 2
