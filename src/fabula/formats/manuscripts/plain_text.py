"""Find headings in plain text, join hard-wrapped lines, read a title page.

Lines such as "Chapter 12", "PART ONE", "第十二章 …" or "楔子" are headings if they do not read like the
beginning of a sentence. A table of contents is skipped: a heading without text below it whose title
occurs again later is not a chapter.
"""

from __future__ import annotations

import re
from enum import Enum
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from fabula.formats.manuscripts.model import Section, check_section_count
from fabula.formats.manuscripts.prose import is_cjk_prose


class HeadingType(Enum):
    """What the words of a heading say about it."""

    CONTAINER = "container"  # a book, a part, a volume
    CHAPTER = "chapter"
    SCENE = "scene"


class HeadingLine(NamedTuple):
    """A heading in plain text: its range of lines, its title and the word that numbers it ("chapter", "卷")."""

    start: int
    end: int
    title: str
    type: HeadingType
    unit: str


class _Match(NamedTuple):
    """A line that has the form of a heading; `ambiguous` ones count only after a blank line."""

    type: HeadingType
    unit: str
    ambiguous: bool


_UNITS = "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve"
_TEENS = "thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|nineteen"
_TENS = "twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety"
_ORDINALS = (
    "first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|eleventh|twelfth|thirteenth|fourteenth|"
    "fifteenth|sixteenth|seventeenth|eighteenth|nineteenth|twentieth|last|final"
)
_SPELT = rf"(?:{_TENS})(?:[- ](?:{_UNITS}))?|{_UNITS}|{_TEENS}|(?:the[ ])?(?:{_ORDINALS})"
_NUMBER = rf"(?:\d{{1,4}}|[ivxlcdm]{{1,9}}|{_SPELT})"
_CONTAINERS = "book|part|volume|vol\\.|act|teil|buch|band|partie|livre|tome|parte|libro|часть|том|книга"
_CHAPTERS = "chapter|letter|stave|canto|kapitel|chapitre|capítulo|capitulo|capitolo|hoofdstuk|rozdział|глава"
_NUMBERED = re.compile(
    rf"(?P<unit>{_CONTAINERS}|{_CHAPTERS}|scene)[ ]+(?:{_NUMBER})\b(?P<rest>[ ]*[.:)–—-]*.{{0,90}})", re.IGNORECASE
)
_ORDERED = re.compile(
    rf"(?:the[ ])?(?:{_ORDINALS})[ ](?P<unit>book|part|volume|chapter|epilogue|act)[.:]?", re.IGNORECASE
)
_NAMED = re.compile(
    r"(?:prologue?|epilogue?|prolog|epilog|preface|foreword|introduction|afterword|interlude|postscript|"
    r"acknowledge?ments?|author[’']s note|dramatis personae|пролог|эпилог)(?P<rest>(?:[ ]*[.:–—-].{0,60})?)",
    re.IGNORECASE,
)
_CN = "[0-9０-９零〇一二三四五六七八九十百千万两廿卅]{1,9}"
_CN_NUMBERED = re.compile(
    rf"[【\[《=＝*＊]{{0,6}}(?:正文)?[ 　]*第[ 　]{{0,2}}{_CN}[ 　]{{0,2}}"
    r"(?:(?P<unit>[章卷册冊幕折辑輯话話])|"
    r"(?P<tricky>回(?!合|答|来|來|到|去|头|頭|家|忆)|节(?!课|目|日|车)|節(?!課|目|日|車)|部(?!分|队|隊|门|門|下|长|長)|"
    r"集(?!团|團|体|體|中|合)|篇(?!文|小|幅)))(?P<rest>.{0,60})"
)
_CN_VOLUME = re.compile(rf"(?:卷(?:之)?{_CN}|[上中下](?:卷|部|篇|册))(?P<rest>(?:[ 　:：、.·].{{0,40}})?)")
_CN_NAMED = re.compile(
    r"(?:楔子|引子|引言|序章|序幕|序言|自序|前言|序|尾声|尾聲|后记|後記|终章|終章|跋|番外|大结局|大結局)"
    r"(?P<rest>(?:[ 　:：、.·一二三四五六七八九十0-9].{0,40})?)"
)
_CN_CHAPTER_INSIDE = re.compile(rf"[ 　]第{_CN}[章回节節话話]")
_CN_CONTAINERS = frozenset("卷册冊部集篇幕辑輯")
_SENTENCE_ENDS = tuple(".,;!?”’\"'。，；！？：")
_LONGER_WORD = re.compile(r"[^\W\d_]{4,}")
_NUMERAL = re.compile(r"(?:(?P<digits>\d{1,3})|(?P<roman>[IVXLC]{1,8}))\.?")
_SEPARATORS = re.compile(r"[ 　.:：–—]+")
_MAX_HEADING_LENGTH = 110
_MAX_NUMERAL_LENGTH = 9
_MIN_HEADING_LENGTH = 4  # where the line begins with an ASCII character; a Chinese heading may be one character
_LINES_PER_SECTION = 3  # with the form of a heading: its own, and its mentions in tables of contents
_LEVELS = {HeadingType.CHAPTER: 10, HeadingType.SCENE: 11}  # containers have levels from 1 on, in the order they occur

_BLANK_LINES = re.compile(r"\n[ \t]*\n[ \t\n]*\n")  # a repeated group would keep memory for every line
_BY = re.compile(r"(?:by[ ]+|作者[ 　]*[:：][ 　]*|著者[:：])(.{1,60})", re.IGNORECASE)
_TITLE_AND_AUTHOR = re.compile(  # 《西游记》吴承恩（明）, 《红楼梦》 [清] 曹雪芹 著
    r"《(?P<title>[^《》]{1,40})》[ 　]*(?:作者[ 　]*[:：]?|[-—·/])?[ 　]*"
    r"(?:[（(\[〔【][^（）()\[\]〔〕【】]{1,8}[）)\]〕】][ 　]*)?"
    r"(?P<author>[^ 　《》（）()\[\]〔〕【】，。：:!！?？]{2,12}(?:[ 　·][^ 　《》（）()，。：:]{1,12})?)"
    r"[ 　]*(?:[（(\[〔【][^（）()\[\]〔〕【】]{1,8}[）)\]〕】])?[ 　]*"
)
_WRITTEN_BY = re.compile(r"[ 　]*(?:著|撰|编著|編著|作)$")
_TITLE = re.compile(r"(?:书名|書名|title)[ ]*[:：][ 　]*(.{1,60})", re.IGNORECASE)


def classify_title(title: str) -> HeadingType | None:
    """What a title says about its section; None for "The Lamp"."""
    match = _match_heading(title.strip())
    return match.type if match else None


def find_headings(text: str) -> list[HeadingLine]:
    """Every heading line of a plain text in order, without those of a table of contents."""
    lines = text.split("\n")
    headings: list[HeadingLine] = []
    for number, raw in enumerate(lines):
        line = raw.strip()
        match = _match_heading(line)
        if match is None:
            continue
        check_section_count(len(headings) // _LINES_PER_SECTION)
        if match.ambiguous and number and (above := lines[number - 1].strip()) and _match_heading(above) is None:
            continue
        end, title = number + 1, line.strip("【】[]=＝*＊ 　") if line[0] in "【[=＝*＊" else line
        if match.ambiguous and (subtitle := _find_subtitle(lines, number)):
            end, title = subtitle[0], f"{title} {subtitle[1]}"
        headings.append(HeadingLine(number, end, title, match.type, match.unit))
    return _remove_contents(headings or _find_bare_numbers(lines), lines)


def split_plain_text(text: str) -> list[Section]:
    """Cut plain text at its heading lines; level 0 is the text before the first."""
    lines = text.split("\n")
    headings = find_headings(text)
    check_section_count(len(headings))
    container_levels: dict[str, int] = {}
    for heading in headings:
        if heading.type is HeadingType.CONTAINER:
            container_levels.setdefault(heading.unit, len(container_levels) + 1)
    # Lines before the first heading that have the form of headings belong to a table of contents.
    opening = [line for line in lines[: headings[0].start] if classify_title(line) is None] if headings else lines
    sections = [Section(level=0, title="", text="\n".join(opening))]
    ends = [heading.start for heading in headings[1:]] + [len(lines)]
    for heading, end in zip(headings, ends, strict=False):
        level = _LEVELS.get(heading.type) or container_levels[heading.unit]
        sections.append(Section(level=level, title=heading.title, text="\n".join(lines[heading.end : end])))
    return sections


def tidy_paragraphs(text: str) -> str:
    """Reduce runs of blank lines to one and join lines that were wrapped by hand."""
    text = _BLANK_LINES.sub("\n\n", text).strip("\n")
    if not text.strip():
        return ""
    lines = text.split("\n")
    full = sum(1 for line in lines if 45 <= len(line) <= 100)
    filled = sum(1 for line in lines if line.strip())
    if filled < 20 or full * 2 < filled or max(map(len, lines)) > 110 or is_cjk_prose(text):
        return text
    out: list[str] = [lines[0]]
    for before, line in pairwise(lines):
        wrapped = len(before) >= 45 and before[-1] not in "\\ " and line[:1].strip() and line[0] not in ">#*-+|"
        out.append(f" {line}" if wrapped else f"\n{line}")
    return "".join(out)


def parse_title_page(text: str) -> tuple[str, tuple[str, ...], str]:
    """Title, authors and the rest of the few lines before the first chapter of a plain text."""
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    if not lines or len(text) > 500:
        return "", (), text
    title = ""
    authors: tuple[str, ...] = ()
    rest: list[str] = []
    for line in lines:
        if match := _BY.fullmatch(line):
            authors = (match[1].strip(),)
        elif not title and (match := _TITLE_AND_AUTHOR.fullmatch(line)):
            title, authors = match["title"].strip(), (_WRITTEN_BY.sub("", match["author"]),)
        elif not title and (match := _TITLE.fullmatch(line)):
            title = match[1].strip("《》 ")
        elif not title and len(line) <= 60 and line[-1] not in ".。，,":
            title = line.strip("《》 ")
        else:
            rest.append(line)
    return title, authors, "\n\n".join(rest)


def _match_heading(line: str) -> _Match | None:
    """Match one stripped line against the forms of headings."""
    if not line or len(line) > _MAX_HEADING_LENGTH or (len(line) < _MIN_HEADING_LENGTH and line[0].isascii()):
        return None
    if match := _NUMBERED.fullmatch(line):
        unit = match["unit"].lower()
        kind = HeadingType.CONTAINER if unit in _CONTAINERS.split("|") else HeadingType.CHAPTER
        kind = HeadingType.SCENE if unit == "scene" else kind
        return _Match(kind, unit, True) if _is_title(match["rest"], line) else None
    if match := _ORDERED.fullmatch(line):
        unit = match["unit"].lower()
        return _Match(HeadingType.CHAPTER if unit in ("chapter", "epilogue") else HeadingType.CONTAINER, unit, True)
    if match := _NAMED.fullmatch(line):
        return _Match(HeadingType.CHAPTER, "named", True) if _is_title(match["rest"], line) else None
    return _match_chinese_heading(line)


def _match_chinese_heading(line: str) -> _Match | None:
    if match := _CN_NUMBERED.fullmatch(line):
        unit, rest = match["unit"] or match["tricky"], match["rest"]
        separated = not rest or rest[0] in " 　:：、.·-—"
        if rest.rstrip("】]》=＝*＊ ").endswith(("。", "；", "，", "：", ",", ";")):
            return None
        if not separated and re.search("[，。！？；：“”]", rest):
            return None
        if unit in _CN_CONTAINERS and not _CN_CHAPTER_INSIDE.search(line):
            return _Match(HeadingType.CONTAINER, unit, False)
        return _Match(HeadingType.SCENE if unit in "节節" else HeadingType.CHAPTER, unit, False)
    for pattern, kind, unit in (
        (_CN_VOLUME, HeadingType.CONTAINER, "卷"),
        (_CN_NAMED, HeadingType.CHAPTER, "named"),
    ):
        if match := pattern.fullmatch(line):
            return _Match(kind, unit, False) if not match["rest"].endswith(_SENTENCE_ENDS) else None
    return None


def _is_title(rest: str, line: str) -> bool:
    """Is what follows the number a title, and not the rest of a sentence?"""
    bare = rest.strip(" .:)–—-")
    if not bare or line.isupper():
        return True
    separated = rest.lstrip()[:1] in (".", ":", ")", "–", "—", "-")
    if not separated and not (bare[0].isupper() or bare[0].isdigit() or not bare[0].isascii()):
        return False
    return separated or not bare.endswith(_SENTENCE_ENDS) or (bare[-1] in "!?" and _has_title_case(bare))


def _has_title_case(words: str) -> bool:
    """Do most longer words begin with a capital ("Hark!", "Will He Perish?")?"""
    longer: list[str] = _LONGER_WORD.findall(words)
    return 2 * sum(word[0].isupper() for word in longer) >= len(longer)


def _find_subtitle(lines: list[str], number: int) -> tuple[int, str] | None:
    """A title on the line after "Chapter I", or in capitals one line further down; with the line after it."""
    at = number + 1
    if at < len(lines) and not lines[at].strip():
        at += 1
    if at >= len(lines) or (at + 1 < len(lines) and lines[at + 1].strip()):
        return None
    title = lines[at].strip()
    near = at == number + 1 or title.isupper()
    plain = len(title) < 70 and not title.endswith((",", ";", "”", '"', ".", "—")) and title[:1].isalnum()
    return (at + 1, title) if near and plain and _match_heading(title) is None else None


def _remove_contents(headings: list[HeadingLine], lines: list[str]) -> list[HeadingLine]:
    """Remove the lines of a table of contents, and titles that only repeat the heading above."""
    titles = [tuple(_SEPARATORS.split(heading.title.casefold().rstrip(" .:"))) for heading in headings]
    last_use = {title[:size]: at for at, title in enumerate(titles) for size in (2, len(title))}
    chapters: list[HeadingLine] = []
    for at, heading in enumerate(headings):
        end = headings[at + 1].start if at + 1 < len(headings) else len(lines)
        if last_use[titles[at]] > at and _is_blank(lines[heading.end : end]):
            continue
        above = chapters[-1] if chapters else None
        if above and heading.title in above.title and _is_blank(lines[above.end : heading.start]):
            chapters[-1] = above._replace(end=heading.end)
        else:
            chapters.append(heading)
    return chapters


def _is_blank(lines: list[str]) -> bool:
    return not any(line.strip() for line in lines)


def _find_bare_numbers(lines: list[str]) -> list[HeadingLine]:
    """Numbers alone between blank lines, if they count up from one."""
    headings: list[HeadingLine] = []
    for number, raw in enumerate(lines):
        line = raw.strip()
        if len(line) > _MAX_NUMERAL_LENGTH or _parse_numeral(line) != len(headings) + 1:
            continue
        if _is_blank(lines[max(0, number - 1) : number] + lines[number + 1 : number + 2]):
            headings.append(HeadingLine(number, number + 1, line, HeadingType.CHAPTER, "number"))
    return headings if len(headings) > 1 else []


@lru_cache(maxsize=1_000)
def _parse_numeral(line: str) -> int:
    """The number that is alone on a line; 0 where there is none."""
    match = _NUMERAL.fullmatch(line)
    if match is None:
        return 0
    return int(match["digits"]) if match["digits"] else _parse_roman(match["roman"])


def _parse_roman(text: str) -> int:
    values = [{"I": 1, "V": 5, "X": 10, "L": 50, "C": 100}[char] for char in text]
    return sum(-a if a < b else a for a, b in zip(values, [*values[1:], 0], strict=True))
