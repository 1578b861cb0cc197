"""Headings in plain text: lines that say "Chapter 12", "PART ONE", "第十二章 …", "楔子".

A line counts only if it looks like a heading and not like the beginning of a sentence. What is
listed in a table of contents is not a chapter: a heading without text whose title comes again later
is passed over.
"""

from __future__ import annotations

import re
from enum import Enum
from typing import NamedTuple


class Word(Enum):
    """What the words of a heading say it is."""

    CONTAINER = "container"
    CHAPTER = "chapter"
    SCENE = "scene"


class Line(NamedTuple):
    """A heading found in plain text: where its lines begin and end, and what it says."""

    start: int
    end: int
    title: str
    word: Word
    name: str


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
    rf"(?P<name>{_CONTAINERS}|{_CHAPTERS}|scene)[ ]+(?:{_NUMBER})\b(?P<rest>[ ]*[.:)–—-]*.{{0,90}})", re.IGNORECASE
)
_ORDERED = re.compile(
    rf"(?:the[ ])?(?:{_ORDINALS})[ ](?P<name>book|part|volume|chapter|epilogue|act)[.:]?", re.IGNORECASE
)
_NAMED = re.compile(
    r"(?:prologue?|epilogue?|prolog|epilog|preface|foreword|introduction|afterword|interlude|postscript|"
    r"acknowledge?ments?|author[’']s note|dramatis personae|пролог|эпилог)(?P<rest>(?:[ ]*[.:–—-].{0,60})?)",
    re.IGNORECASE,
)
_CN = "[0-9０-９零〇一二三四五六七八九十百千万两廿卅]{1,9}"
_CN_NUMBERED = re.compile(
    rf"[【\[《=＝*＊]{{0,6}}(?:正文)?[ 　]*第[ 　]{{0,2}}{_CN}[ 　]{{0,2}}"
    r"(?:(?P<name>[章卷册冊幕折辑輯话話])|"
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
_STOPS = tuple(".,;!?”’\"'。，；！？：")
_NUMERAL = re.compile(r"(?:(?P<digits>\d{1,3})|(?P<roman>[IVXLC]{1,8}))\.?")
_BETWEEN = re.compile(r"[ 　.:：–—]+")
_LONGEST = 110


def word_of(title: str) -> Word | None:
    """What a title says of itself, if anything."""
    found = _read(title.strip())
    return found[0] if found else None


def find_headings(text: str) -> list[Line]:
    """Every heading line of a plain text, in order, those of a table of contents left out."""
    lines = text.split("\n")
    found: list[Line] = []
    for number, raw in enumerate(lines):
        line = raw.strip()
        if not line or len(line) > _LONGEST:
            continue
        heading = _read(line)
        if heading is None:
            continue
        word, name, loose = heading
        if loose and number and (above := lines[number - 1].strip()) and _read(above) is None:
            continue
        end, title = number + 1, _bare(line)
        if loose and (below := _title_below(lines, number)):
            end, title = below[0], f"{title} {below[1]}"
        found.append(Line(number, end, title, word, name))
    return _without_contents(found or _numerals(lines), lines)


def _read(line: str) -> tuple[Word, str, bool] | None:
    """What a line says, its word, and whether it must stand alone to be believed."""
    if not line or len(line) > _LONGEST:
        return None
    if match := _NUMBERED.fullmatch(line):
        name = match["name"].lower()
        word = Word.SCENE if name == "scene" else Word.CONTAINER if name in _CONTAINERS.split("|") else Word.CHAPTER
        return (word, name, True) if _reads_as_title(match["rest"], line) else None
    if match := _ORDERED.fullmatch(line):
        name = match["name"].lower()
        return Word.CHAPTER if name in ("chapter", "epilogue") else Word.CONTAINER, name, True
    if match := _NAMED.fullmatch(line):
        return (Word.CHAPTER, "named", True) if _reads_as_title(match["rest"], line) else None
    return _read_chinese(line)


def _read_chinese(line: str) -> tuple[Word, str, bool] | None:
    if match := _CN_NUMBERED.fullmatch(line):
        name, rest = match["name"] or match["tricky"], match["rest"]
        apart = not rest or rest[0] in " 　:：、.·-—"
        if rest.rstrip("】]》=＝*＊ ").endswith(("。", "；", "，", "：", ",", ";")):
            return None
        if not apart and re.search("[，。！？；：“”]", rest):
            return None
        if name in _CN_CONTAINERS and not _CN_CHAPTER_INSIDE.search(line):
            return Word.CONTAINER, name, False
        return Word.SCENE if name in "节節" else Word.CHAPTER, name, False
    if match := _CN_VOLUME.fullmatch(line):
        return (Word.CONTAINER, "卷", False) if not match["rest"].endswith(_STOPS) else None
    if match := _CN_NAMED.fullmatch(line):
        return (Word.CHAPTER, "named", False) if not match["rest"].endswith(_STOPS) else None
    return None


def _reads_as_title(rest: str, line: str) -> bool:
    """Is what follows the number a title, and not the rest of a sentence?"""
    bare = rest.strip(" .:)–—-")
    if not bare or line.isupper():
        return True
    apart = rest.lstrip()[:1] in (".", ":", ")", "–", "—", "-")
    if not apart and not (bare[0].isupper() or bare[0].isdigit() or not bare[0].isascii()):
        return False
    return apart or not bare.endswith(_STOPS)


def _bare(line: str) -> str:
    return line.strip("【】[]=＝*＊ 　") if line[0] in "【[=＝*＊" else line


def _title_below(lines: list[str], number: int) -> tuple[int, str] | None:
    """A title on the line after "Chapter I", or in capitals one line further down."""
    at = number + 1
    if at < len(lines) and not lines[at].strip():
        at += 1
    if at >= len(lines) or (at + 1 < len(lines) and lines[at + 1].strip()):
        return None
    title = lines[at].strip()
    near = at == number + 1 or title.isupper()
    plain = len(title) < 70 and not title.endswith((",", ";", "”", '"', ".", "—")) and title[0].isalnum()
    return (at + 1, title) if title and near and plain and _read(title) is None else None


def _without_contents(found: list[Line], lines: list[str]) -> list[Line]:
    """Without the lines of a table of contents, and without titles that only repeat the heading above."""
    titles = [tuple(_BETWEEN.split(line.title.casefold().rstrip(" .:"))) for line in found]
    last = {title[:size]: at for at, title in enumerate(titles) for size in (2, len(title))}
    kept: list[Line] = []
    for at, line in enumerate(found):
        end = found[at + 1].start if at + 1 < len(found) else len(lines)
        empty = not any(text.strip() for text in lines[line.end : end])
        if empty and last[titles[at]] > at:
            continue
        above = kept[-1] if kept else None
        if above and line.title in above.title and not any(text.strip() for text in lines[above.end : line.start]):
            kept[-1] = above._replace(end=line.end)
        else:
            kept.append(line)
    return kept


def _numerals(lines: list[str]) -> list[Line]:
    """Bare numbers between blank lines, if they count up from one."""
    found: list[Line] = []
    for number, raw in enumerate(lines):
        match = _NUMERAL.fullmatch(raw.strip())
        around = lines[max(0, number - 1) : number] + lines[number + 1 : number + 2]
        if match is None or any(line.strip() for line in around):
            continue
        value = int(match["digits"]) if match["digits"] else _roman(match["roman"])
        if value == len(found) + 1:
            found.append(Line(number, number + 1, raw.strip(), Word.CHAPTER, "number"))
    return found if len(found) > 1 else []


def _roman(text: str) -> int:
    values = [{"I": 1, "V": 5, "X": 10, "L": 50, "C": 100}[char] for char in text]
    return sum(-a if a < b else a for a, b in zip(values, [*values[1:], 0], strict=True))
