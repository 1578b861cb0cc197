"""Sayings: constraints in plain words that a program can check.

A writer says "no exclamation marks" or 每句不超过30字 and means just that. What is understood here is checked by
program; everything else is left to the model, so a sentence that might mean something else is not understood.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal

from fabula.constraints.model import Banned, Check, Length, Person, Unnamed

_MARKS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (r"exclamation (?:marks?|points?)|感叹号|惊叹号|叹号", ("!", "！")),
    (r"question marks?|问号", ("?", "？")),
    (r"semi-?colons?|分号", (";", "；")),
    (r"ellips[ie]s|省略号", ("…", "...")),
    (r"(?:em[- ])?dash(?:es)?|破折号", ("—", "--")),
    (r"parenthes[ie]s|brackets|括号", ("(", ")", "（", "）")),
)
_BAN = re.compile(
    r"^(?:please )?(?:no|never|avoid|without|do not|don['’]t|must not|should not)\b"
    r"|\b(?:is|are) (?:forbidden|banned|not allowed)$|^(?:the )?.{0,20}\b(?:must|may|should) not\b"
    r"|(?:不要|不得|不许|不准|不能|不可|不使?用|不出现|禁止|严禁|禁用|避免|切勿|勿用|别用|不写)",
    re.IGNORECASE,
)
_NO_BAN = re.compile(r"\b(?:not|never|no|avoid|don['’]t|unless|except)\b|不|非|禁|勿|避免|除非", re.IGNORECASE)
_TOLD = re.compile(
    r"\b(?:narration|narrative|outside (?:of )?dialogue)\b|叙述|旁白|对[话白](?:之外|以外|外)", re.IGNORECASE
)
_SAID = re.compile(r"\b(?:dialogue|speech)\b|对[话白]|台词", re.IGNORECASE)
_QUOTED = re.compile(
    r"“([^“”]+)”|‘([^‘’]+)’|\"([^\"]+)\"|(?<![A-Za-z])'([^']+)'(?![A-Za-z])|「([^「」]+)」|『([^『』]+)』"
)
_WORD = re.compile(r"\b(?:words?|phrases?|terms?)\b", re.IGNORECASE)
# What may be left of a ban once the words themselves are taken out of it.
_LEFT = re.compile(
    r"\W*(?:please )?(?:no|never|avoid|do not|don['’]t|must not|should not)(?: (?:use|write|say|using))?(?:\W|and|or)*"
    r"|\W*(?:文中|正文中?|全文|叙述中?|旁白中?|对[话白](?:之外|以外|外))?\W*(?:绝对|一律|尽量)?"
    r"(?:不要|不得|不许|不准|不能|不可|不|禁止|严禁|禁用|避免|切勿|勿|别)(?:再)?(?:使用|出现|用|写)?"
    r"(?:任何)?(?:词语?|字眼|字)?(?:\W|和|或|与|及|等|这个词|一词|这些词|这类词|字样|之类的词|词语?)*",
    re.IGNORECASE,
)
_BARE = re.compile(r"\bthe (?:word|phrase|term) ([^\W\d_]+(?:['’-][^\W\d_]+)*)$", re.IGNORECASE)
Who = Literal["first", "second", "third"]
_PERSON = re.compile(r"\b(first|second|third)[- ]person\b|第\s?([一二三123])\s?人称", re.IGNORECASE)
_WHICH: dict[str, Who] = {
    **dict.fromkeys(("first", "一", "1"), "first"),
    **dict.fromkeys(("second", "二", "2"), "second"),
    **dict.fromkeys(("third", "三", "3"), "third"),
}
_LONG_EN = re.compile(
    r"\bsentences?\b.{0,40}?\b"
    r"(under|below|shorter than|fewer than|less than|over|above|longer than|more than|exceed(?:ing)?"
    r"|at most|up to|maximum of|within|no more than|no longer than)\b.{0,12}?(\d{1,4}) (words?|characters?)\b",
    re.IGNORECASE,
)
_NUMBER = r"(\d{1,4}|[一二三四五六七八九十百两]{1,5})\s?"
_LONG_ZH = re.compile(
    rf"(?:每句|每一句|每个句子|单句|一句话|句子|句长).{{0,8}}?(?:(超过|多于|大于|长于|少于|小于|低于|最多|至多|控制在)\s?{_NUMBER}(?:个)?字"
    rf"|{_NUMBER}(?:个)?字(?:以内|以下|之内))"
)
_NAMING = re.compile(r"\b(?:name[ds]?|mention(?:ed)?|called by name)\b|提到|提及|说出|点名|透露|出现", re.IGNORECASE)
_BEFORE = re.compile(rf"\b(?:before|until) chapter (\d{{1,4}})\b|第\s?{_NUMBER}章(?:之前|以前|前)", re.IGNORECASE)
_DIGITS = {character: value for value, character in enumerate("零一二三四五六七八九")} | {"两": 2}


def understood(text: str, names: Iterable[str] = ()) -> Check | None:
    """What a program can check of a sentence, in English or Chinese; `names` are those that are known."""
    said = " ".join(text.split()).strip().rstrip(".。!！;；")
    return _length(said) or _person(said) or _unnamed(said, names) or _banned(said)


def _length(said: str) -> Length | None:
    found = _LONG_EN.search(said)
    if found is not None:
        word, number = found[1].lower(), int(found[2])
        over = word in ("over", "above", "longer than", "more than") or word.startswith("exceed")
        if over and not _NO_BAN.search(said):
            return None  # "sentences of more than 10 words" asks for long ones
        less = word in ("under", "below", "shorter than", "fewer than", "less than")
        unit: Literal["words", "characters"] = "words" if found[3].lower().startswith("word") else "characters"
        return _at_most(number - less, unit)
    found = _LONG_ZH.search(said)
    if found is None:
        return None
    if found[1] in ("超过", "多于", "大于", "长于") and not _NO_BAN.search(said):
        return None
    number = _number(found[2] or found[3])
    return _at_most(number - (found[1] in ("少于", "小于", "低于")), "characters")


def _at_most(number: int, unit: Literal["words", "characters"]) -> Length | None:
    return Length(most=number, unit=unit) if number > 0 else None


def _person(said: str) -> Person | None:
    found = _PERSON.findall(said)
    if len(found) != 1 or _NO_BAN.search(said) or _SAID.search(said):
        return None
    return Person(person=_WHICH[(found[0][0] or found[0][1]).lower()])


def _unnamed(said: str, names: Iterable[str]) -> Unnamed | None:
    naming = _NAMING.search(said)
    if naming is None or not _BAN.search(_BEFORE.sub("", said).strip(" ,，")) or _mark(said):
        return None
    before = _BEFORE.search(said)
    known = _longest([name for name in names if name in said])
    wanted = known or (_quoted(said) if before is not None else ())
    if not wanted or (naming[0] == "出现" and not known and before is None):
        return None
    return Unnamed(names=wanted, before=_number(before[1] or before[2]) if before is not None else None)


def _banned(said: str) -> Banned | None:
    if not _BAN.search(said):
        return None
    narration = _TOLD.search(said) is not None
    if not narration and _SAID.search(said):
        return None  # in dialogue only: left to the model
    plain = _QUOTED.sub("", said)
    words = _quoted(said) if _WORD.search(plain) or _LEFT.fullmatch(plain) else ()
    bare = _BARE.search(said)
    words = words or ((bare[1],) if bare is not None else _mark(said))
    return Banned(words=words, narration=narration) if words else None


def _mark(said: str) -> tuple[str, ...]:
    """Marks that are called by their names, where little else is said."""
    plain = _QUOTED.sub("", said)
    found = tuple(mark for name, marks in _MARKS if re.search(rf"(?:{name})", plain, re.IGNORECASE) for mark in marks)
    return found if len(plain) <= 60 else ()


def _quoted(said: str) -> tuple[str, ...]:
    found = (next(filter(None, groups)).strip() for groups in _QUOTED.findall(said))
    return tuple(dict.fromkeys(word for word in found if word))


def _longest(names: list[str]) -> tuple[str, ...]:
    """Names that are no part of another found one."""
    return tuple(dict.fromkeys(name for name in names if not any(name != other and name in other for other in names)))


def _number(text: str) -> int:
    """25, or 二十五."""
    if text.isdecimal():
        return int(text)
    hundreds, mark, rest = text.rpartition("百")
    total = 100 * _DIGITS.get(hundreds or "一", 1) if mark else 0
    tens, mark, ones = rest.rpartition("十")
    total += 10 * _DIGITS.get(tens or "一", 1) if mark else 0
    return total + _DIGITS.get(ones, 0)
