"""Build the tree of a book from a list of headings, and write it as a list again.

The level of a heading says what it stands under. What it is (part, chapter, scene) follows from its
words ("Part One", "第三回") and otherwise from the depth of the tree. Writers use the same guess: they
write a kind out only where a reader would guess another one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from fabula.formats.manuscripts.model import Section, check_section_count
from fabula.formats.manuscripts.plain_text import HeadingType, classify_title
from fabula.formats.manuscripts.prose import Block, render_markdown
from fabula.manuscript.drafts import DocumentDraft, DocumentKind

_TYPES = {
    DocumentKind.BOOK: HeadingType.CONTAINER,
    DocumentKind.PART: HeadingType.CONTAINER,
    DocumentKind.CHAPTER: HeadingType.CHAPTER,
    DocumentKind.SCENE: HeadingType.SCENE,
    DocumentKind.NOTE: None,
}


def build_tree(sections: Sequence[Section], *, leaves_are_scenes: bool = False) -> tuple[DocumentDraft, ...]:
    """Build the drafts of a list of sections.

    With `leaves_are_scenes` a tree of two levels means chapters with scenes, and not parts with chapters.
    """
    check_section_count(len(sections))
    kinds = guess_kinds(sections, leaves_are_scenes=leaves_are_scenes)
    depths = _find_depths(sections)
    siblings: list[list[DocumentDraft]] = [[]]
    # From last to first: when a section is met, all drafts below it are complete.
    for section, kind, depth in reversed(list(zip(sections, kinds, depths, strict=True))):
        while len(siblings) < depth + 2:
            siblings.append([])
        children = tuple(reversed(siblings[depth + 1]))
        del siblings[depth + 1 :]
        siblings[depth].append(
            DocumentDraft(
                title=section.title,
                kind=kind,
                text=section.text,
                synopsis=section.synopsis,
                notes=section.notes,
                children=children,
            )
        )
    return tuple(reversed(siblings[0]))


def build_tree_with_opening(sections: Sequence[Section]) -> tuple[DocumentDraft, ...]:
    """Build the drafts of sections that begin with text before the first heading (level 0)."""
    opening = [section for section in sections[:1] if not section.level]
    drafts = tuple(DocumentDraft(title="", text=section.text) for section in opening if section.text)
    return drafts + build_tree(sections[len(opening) :])


def join_sections(parts: Iterable[Section | Block]) -> list[Section]:
    """Give every heading the blocks after it as its text; level 0 is the text before the first."""
    groups: list[tuple[Section, list[Block]]] = [(Section(level=0, title=""), [])]
    for part in parts:
        if isinstance(part, Section):
            groups.append((part, []))
            check_section_count(len(groups))
        else:
            groups[-1][1].append(part)
    return [replace(heading, text=render_markdown(blocks)) for heading, blocks in groups]


def flatten_tree(drafts: Sequence[DocumentDraft], level: int = 1) -> list[Section]:
    """List the sections of a tree, notes left out."""
    sections: list[Section] = []
    for draft in drafts:
        if draft.kind is not DocumentKind.NOTE:
            sections.append(Section(level=level, title=draft.title.strip(), text=draft.text, kind=draft.kind))
            sections.extend(flatten_tree(draft.children, level + 1))
    return sections


def flatten_with_needed_kinds(drafts: Sequence[DocumentDraft], *, mark_untitled: bool = False) -> list[Section]:
    """List the sections of a tree with a kind only where a reader would guess another one.

    With `mark_untitled` a section without a title has its kind as well.
    """
    sections = flatten_tree(drafts)
    kinds: list[DocumentKind | None] = [s.kind if mark_untitled and not s.title else None for s in sections]
    while True:
        written = [replace(section, kind=kind) for section, kind in zip(sections, kinds, strict=True)]
        guesses = guess_kinds(written)
        wrong = [at for at, guess in enumerate(guesses) if guess is not sections[at].kind]
        if not wrong:
            return written
        for at in wrong:
            kinds[at] = sections[at].kind


def guess_kinds(sections: Sequence[Section], *, leaves_are_scenes: bool = False) -> list[DocumentKind]:
    """The kind of each section: its own, or a guess."""
    depths = _find_depths(sections)
    types = [_TYPES[section.kind] if section.kind else classify_title(section.title) for section in sections]
    chapter_depth = _find_chapter_depth(depths, types, leaves_are_scenes)
    kinds: list[DocumentKind] = []
    for at, (section, heading_type, depth) in enumerate(zip(sections, types, depths, strict=True)):
        is_leaf = at + 1 == len(depths) or depths[at + 1] <= depth
        is_container = heading_type is HeadingType.CONTAINER
        if section.kind is not None:
            kinds.append(section.kind)
        elif heading_type is HeadingType.CHAPTER or (depth < chapter_depth and is_leaf and not is_container):
            kinds.append(DocumentKind.CHAPTER)
        elif depth < chapter_depth or (depth == chapter_depth and is_container):
            kinds.append(DocumentKind.BOOK if depth < chapter_depth - 1 else DocumentKind.PART)
        else:
            is_chapter = depth == chapter_depth and heading_type is not HeadingType.SCENE
            kinds.append(DocumentKind.CHAPTER if is_chapter else DocumentKind.SCENE)
    return kinds


def _find_depths(sections: Sequence[Section]) -> list[int]:
    """How many headings each section stands under."""
    above: list[int] = []
    depths: list[int] = []
    for section in sections:
        while above and above[-1] >= section.level:
            above.pop()
        depths.append(len(above))
        above.append(section.level)
    return depths


def _find_chapter_depth(depths: Sequence[int], types: Sequence[HeadingType | None], leaves_are_scenes: bool) -> int:
    """The depth at which chapters stand."""
    by_type = {kind: [d for d, t in zip(depths, types, strict=True) if t is kind] for kind in HeadingType}
    deepest = max(depths, default=0)
    if chapters := by_type[HeadingType.CHAPTER]:
        return Counter(chapters).most_common(1)[0][0]
    if scenes := by_type[HeadingType.SCENE]:
        return max(0, min(scenes) - 1)
    if containers := by_type[HeadingType.CONTAINER]:
        return min(max(containers) + 1, deepest)
    if leaves_are_scenes:
        return max(0, deepest - 1)
    return deepest if deepest < 2 else deepest - 1 if deepest < 4 else 2
