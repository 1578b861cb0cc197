"""The numbers that a reader gives to parts, chapters and scenes.

A title that states its number ("Chapter 12", "XII.", 第十二回) has that number. Other chapters are counted, and fill
only gaps that are as large as they are many: the interlude between chapters 2 and 3 has no number. A prologue, a
preface, an epilogue or an appendix has none either. Numbers may start again in each part or volume, so a document has
the numbers of everything that it is in: volume 2, chapter 3, scene 1.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from operator import itemgetter

from msgspec import Struct

from fabula.core.story import Division, DivisionUnit
from fabula.manuscript.drafts import DocumentKind
from fabula.text.numerals import CHINESE_NUMBER, ENGLISH_NUMBER, ENGLISH_ORDINAL, parse_numeral

_UNITS: dict[str, DivisionUnit] = {
    **dict.fromkeys(("part", "partie", "parte", "teil", "часть", "部"), "part"),
    **dict.fromkeys(("volume", "vol.", "vol", "band", "tome", "том", "卷", "册", "冊", "集", "辑", "輯"), "volume"),
    **dict.fromkeys(("book", "buch", "livre", "libro", "книга"), "book"),
    **dict.fromkeys(("act", "acte", "幕"), "act"),
    **dict.fromkeys(("scene", "section", "节", "節"), "scene"),
    **dict.fromkeys(("chapter", "letter", "stave", "canto", "kapitel", "chapitre", "capítulo", "capitulo"), "chapter"),
    **dict.fromkeys(("capitolo", "hoofdstuk", "rozdział", "глава", "ch.", "章", "回", "话", "話", "折"), "chapter"),
}
_WORDS = "|".join(sorted((re.escape(word) for word in _UNITS if len(word) > 1), key=len, reverse=True))
_CHARACTERS = "".join(word for word in _UNITS if len(word) == 1)
_STATED = re.compile(
    rf"\b(?P<unit>{_WORDS}) +(?:the +)?(?P<number>{ENGLISH_NUMBER})\b"
    rf"|\b(?:the )?(?P<ordinal>{ENGLISH_ORDINAL}) (?P<ordered>{_WORDS})\b"
    rf"|第 ?(?P<chinese>{CHINESE_NUMBER}) ?(?P<character>[{_CHARACTERS}])"
    rf"|卷之?(?P<volume>{CHINESE_NUMBER})",
    re.IGNORECASE,
)
_CHINESE_CHAPTER = re.compile(
    rf"(?:第 ?{CHINESE_NUMBER} ?[卷部册集辑] ?)?第 ?{CHINESE_NUMBER} ?(?P<character>[章回节節话話折幕卷])"
)
_BETWEEN = re.compile(r"[\s,.:：，、·—–/-]*+(?:(?:of|the|正文)\s)?")
_BARE = re.compile(
    r"(?P<digits>\d{1,3}|[０-９]{1,3}|[IVXLC]{1,8})(?:\s*[.:：)、—–-].*|)"
    rf"|(?P<chinese>{CHINESE_NUMBER})(?:[、.．:： ].*|)"
)
_WITHOUT_NUMBER = re.compile(
    r"(?:(?:author|translator|editor|publisher|transcriber)(?:['’]s)? (?:note|preface|foreword|introduction)s?"
    r"|prologue?|epilogue?|preface|foreword|forward|introduction|afterword|interlude|intermission|prelude|coda|postscript|"
    r"acknowledge?ments?|dedication|epigraph|dramatis personae|(?:cast|list) of [a-z]+|maps?|glossary|appendix"
    r"(?: [a-z]|\d+)?|(?:table of )?contents|copyright|title ?page|cover|colophon|bibliography|footnotes|endnotes"
    r"|notes?|about the authors?|to the reader|the end|vorwort|nachwort|пролог|эпилог)"
    r"(?:\s*[.:–—(-].*|\s+(?:\d{1,3}|[ivxlc]+)|)",
    re.IGNORECASE,
)
_WITHOUT_NUMBER_ZH = re.compile(
    "(?:序|序章|序幕|序言|序曲|自序|代序|总序|原序|前言|楔子|引子|引言|引|导言|导读|尾声|尾聲|后记|後記|终章|終章|跋|番外|外传"
    "|外傳|间章|插曲|附录|附錄|题记|致谢|凡例|目录|目錄|版权页?|编者按|作者的话|完结感言)"
    r"(?:[\s　:：、.·—（(《篇之].*|[一二三四五六七八九十0-9]{1,3}(?:[\s　:：].*)?|)"
)

Divisions = tuple[Division, ...]


class TitledDocument(Struct, frozen=True):
    """What numbering needs of a document."""

    id: str
    title: str
    kind: DocumentKind
    parent: str | None = None


class _Chapter(Struct):
    """A chapter to be numbered."""

    outer: Divisions
    stated: int | None
    is_numbered: bool
    number: int = 0


def read_title(title: str) -> Divisions:
    """The numbers that begin a title, outermost first: `Part 2, Chapter 3: The Sea`, 第二卷 第三章 海."""
    return _read_numbers(title)[0]


def strip_numbers(title: str) -> str:
    """A title without the numbers that begin it: `The Sea`, 海."""
    return _read_numbers(title)[1]


@lru_cache(maxsize=8192)
def _read_numbers(title: str) -> tuple[Divisions, str]:
    found: list[Division] = []
    text, at = title.strip(" 　【】[]=＝*＊#"), 0
    while (match := _STATED.match(text, at)) is not None:
        unit = match["unit"] or match["ordered"] or match["character"] or "卷"
        number = parse_numeral(match["number"] or match["ordinal"] or match["chinese"] or match["volume"])
        if number is None:
            break
        found.append((_UNITS[unit.lower()], number))
        separator = _BETWEEN.match(text, match.end())
        at = separator.end() if separator is not None else match.end()
    return tuple(found), text[at:]


def find_chapter_word(titles: Iterable[str]) -> str:
    """What a Chinese book calls its chapters: 回, 话 or 节 where most numbered titles do, else nothing."""
    words = Counter(match["character"] for title in titles if (match := _CHINESE_CHAPTER.match(title.strip(" 　【[#"))))
    word, count = max(words.items(), key=itemgetter(1), default=("", 0))
    return word if 2 * count > words.total() else ""


@lru_cache(maxsize=8192)
def is_without_number(title: str) -> bool:
    """Whether a title is that of a prologue, a preface, an epilogue or the like."""
    text = title.strip(" 　【】[]=＝*＊#")
    return _WITHOUT_NUMBER.fullmatch(text) is not None or _WITHOUT_NUMBER_ZH.fullmatch(text) is not None


def number_documents(documents: Sequence[TitledDocument]) -> list[Divisions]:
    """The divisions of each document, for documents in reading order."""
    chapter_kind = DocumentKind.CHAPTER
    if not any(document.kind is chapter_kind for document in documents):
        chapter_kind = DocumentKind.SCENE  # a story of scenes alone
    containers, chapters, owners = _number_containers(documents), list[_Chapter](), list[_Chapter | None]()
    current: _Chapter | None = None
    for document in documents:
        if document.kind is chapter_kind:
            current = _make_chapter(document, containers.get(document.parent, ()))
            chapters.append(current)
        elif document.kind in (DocumentKind.BOOK, DocumentKind.PART):
            current = None
        owners.append(current)
    _drop_rare_bare_numbers(chapters, documents, chapter_kind)
    _fill_numbers(chapters)
    scenes = Counter[int]()
    result: list[Divisions] = []
    for document, owner in zip(documents, owners, strict=True):
        if owner is None:
            result.append(containers.get(document.id, containers.get(document.parent, ())))
            continue
        divisions = (*owner.outer, *((("chapter", owner.number),) if owner.number else ()))
        if document.kind is DocumentKind.SCENE and chapter_kind is not DocumentKind.SCENE:
            scenes[id(owner)] += 1
            stated = dict(read_title(document.title)).get("scene")
            divisions = (*divisions, ("scene", stated or scenes[id(owner)]))
        result.append(divisions)
    return result


def _number_containers(documents: Iterable[TitledDocument]) -> Mapping[str | None, Divisions]:
    """The divisions of each book and part: as its title states them, else counted among its siblings."""
    found: dict[str | None, Divisions] = {}
    counts = Counter[tuple[str | None, DivisionUnit]]()
    for document in documents:
        if document.kind not in (DocumentKind.BOOK, DocumentKind.PART):
            continue
        outer, stated = found.get(document.parent, ()), read_title(document.title)
        if is_without_number(document.title):
            found[document.id] = outer
            continue
        if not stated:
            unit: DivisionUnit = "part" if document.kind is DocumentKind.PART else "book"
            stated = ((unit, counts[document.parent, unit] + 1),)
        counts[document.parent, stated[-1][0]] = stated[-1][1]
        found[document.id] = (*(one for one in outer if one[0] not in dict(stated)), *stated)
    return found


def _make_chapter(document: TitledDocument, outer: Divisions) -> _Chapter:
    stated = read_title(document.title)
    # A chapter may be called 第三节 or Letter 4: its innermost number is the chapter's.
    own = stated[-1][1] if stated and stated[-1][0] in ("chapter", "scene") else None
    outer = tuple(dict([*outer, *(stated[:-1] if own is not None else ())]).items())
    return _Chapter(outer, own, is_numbered=own is not None or not is_without_number(document.title))


def _drop_rare_bare_numbers(
    chapters: Sequence[_Chapter], documents: Iterable[TitledDocument], kind: DocumentKind
) -> None:
    """Read titles such as `XII.` or `12. The Storm` where at least half of the chapters have one."""
    titles = [document.title.strip() for document in documents if document.kind is kind]
    bare = [
        _BARE.fullmatch(title) if chapter.stated is None else None
        for title, chapter in zip(titles, chapters, strict=True)
    ]
    if 2 * sum(match is not None for match in bare) < sum(chapter.is_numbered for chapter in chapters):
        return
    for chapter, match in zip(chapters, bare, strict=True):
        if match is not None:
            chapter.stated = parse_numeral(match["digits"] or match["chinese"])


def _fill_numbers(chapters: Sequence[_Chapter]) -> None:
    """Number the chapters whose titles state no number, where it is clear which one they have."""
    numbered = [chapter for chapter in chapters if chapter.is_numbered]
    last = 0
    waiting: list[_Chapter] = []
    for chapter in numbered:
        if chapter.stated is None:
            waiting.append(chapter)
            continue
        if waiting and chapter.stated - last - 1 == len(waiting):
            _count_from(waiting, last)
        elif waiting and chapter.stated <= last:  # the numbers start again after them, or with the first of them
            earlier = [one for one in waiting if one.outer != chapter.outer]
            _count_from(earlier, last)
            later = waiting[len(earlier) :]
            if chapter.stated - 1 == len(later):
                _count_from(later, 0)
        waiting = []
        last = chapter.number = chapter.stated
    _count_from(waiting, last)


def _count_from(chapters: Iterable[_Chapter], last: int) -> None:
    for number, chapter in enumerate(chapters, start=last + 1):
        chapter.number = number
