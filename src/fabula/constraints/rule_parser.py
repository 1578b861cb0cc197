"""Parses constraints in plain words, English or Chinese, into checks that a program can run (con-4).

"No exclamation marks" or 每句不超过30字 become a check. A sentence that could mean something else is not parsed and
is left to the model.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from fabula.constraints.model import (
    BannedWords,
    ForbiddenNames,
    LengthUnit,
    NarrativePerson,
    Person,
    SentenceLength,
    TextCheck,
)

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
_NEGATION = re.compile(r"\b(?:not|never|no|avoid|don['’]t|unless|except)\b|不|非|禁|勿|避免|除非", re.IGNORECASE)
_NARRATION = re.compile(
    r"\b(?:narration|narrative|outside (?:of )?dialogue)\b|叙述|旁白|对[话白](?:之外|以外|外)", re.IGNORECASE
)
_DIALOGUE = re.compile(r"\b(?:dialogue|speech)\b|对[话白]|台词", re.IGNORECASE)
_QUOTATION = re.compile(
    r"“([^“”]+)”|‘([^‘’]+)’|\"([^\"]+)\"|(?<![A-Za-z])'([^']+)'(?![A-Za-z])|「([^「」]+)」|『([^『』]+)』"
)
_WORD_NOUN = re.compile(r"\b(?:words?|phrases?|terms?)\b", re.IGNORECASE)
# A ban without its quoted words: nothing else may be in the sentence.
_BAN_ONLY = re.compile(
    r"\W*(?:please )?(?:no|never|avoid|do not|don['’]t|must not|should not)(?: (?:use|write|say|using))?(?:\W|and|or)*"
    r"|\W*(?:文中|正文中?|全文|叙述中?|旁白中?|对[话白](?:之外|以外|外))?\W*(?:绝对|一律|尽量)?"
    r"(?:不要|不得|不许|不准|不能|不可|不|禁止|严禁|禁用|避免|切勿|勿|别)(?:再)?(?:使用|出现|用|写)?"
    r"(?:任何)?(?:词语?|字眼|字)?(?:\W|和|或|与|及|等|这个词|一词|这些词|这类词|字样|之类的词|词语?)*",
    re.IGNORECASE,
)
_UNQUOTED_WORD = re.compile(r"\bthe (?:word|phrase|term) ([^\W\d_]+(?:['’-][^\W\d_]+)*)$", re.IGNORECASE)
_PERSON = re.compile(r"\b(first|second|third)[- ]person\b|第\s?([一二三123])\s?人称", re.IGNORECASE)
_PERSONS: dict[str, Person] = {
    **dict.fromkeys(("first", "一", "1"), "first"),
    **dict.fromkeys(("second", "二", "2"), "second"),
    **dict.fromkeys(("third", "三", "3"), "third"),
}
_LENGTH_EN = re.compile(
    r"\bsentences?\b.{0,40}?\b"
    r"(under|below|shorter than|fewer than|less than|over|above|longer than|more than|exceed(?:ing)?"
    r"|at most|up to|maximum of|within|no more than|no longer than)\b.{0,12}?(\d{1,4}) (words?|characters?)\b",
    re.IGNORECASE,
)
_NUMBER = r"(\d{1,4}|[一二三四五六七八九十百两]{1,5})\s?"
_LENGTH_ZH = re.compile(
    rf"(?:每句|每一句|每个句子|单句|一句话|句子|句长).{{0,8}}?(?:(超过|多于|大于|长于|少于|小于|低于|最多|至多|控制在)\s?{_NUMBER}(?:个)?字"
    rf"|{_NUMBER}(?:个)?字(?:以内|以下|之内))"
)
_MENTION_VERB = re.compile(
    r"\b(?:name[ds]?|mention(?:ed)?|called by name)\b|提到|提及|说出|点名|透露|出现", re.IGNORECASE
)
_BEFORE_CHAPTER = re.compile(
    rf"\b(?:before|until) chapter (\d{{1,4}})\b|第\s?{_NUMBER}章(?:之前|以前|前)", re.IGNORECASE
)
_DIGITS = {character: value for value, character in enumerate("零一二三四五六七八九")} | {"两": 2}


def parse_rule(text: str, names: Iterable[str] = ()) -> TextCheck | None:
    """Parse a rule into a check, or None; `names` are the names of the codex."""
    rule = " ".join(text.split()).strip().rstrip(".。!！;；")
    return (
        _parse_length(rule) or _parse_person(rule) or _parse_forbidden_names(rule, names) or _parse_banned_words(rule)
    )


def _parse_length(rule: str) -> SentenceLength | None:
    found = _LENGTH_EN.search(rule)
    if found is not None:
        word, number = found[1].lower(), int(found[2])
        over = word in ("over", "above", "longer than", "more than") or word.startswith("exceed")
        if over and not _NEGATION.search(rule):
            return None  # "sentences of more than 10 words" asks for long ones
        less = word in ("under", "below", "shorter than", "fewer than", "less than")
        unit: LengthUnit = "words" if found[3].lower().startswith("word") else "characters"
        return _max_length(number - less, unit)
    found = _LENGTH_ZH.search(rule)
    if found is None:
        return None
    if found[1] in ("超过", "多于", "大于", "长于") and not _NEGATION.search(rule):
        return None
    number = _parse_number(found[2] or found[3])
    return _max_length(number - (found[1] in ("少于", "小于", "低于")), "characters")


def _max_length(number: int, unit: LengthUnit) -> SentenceLength | None:
    return SentenceLength(max_length=number, unit=unit) if number > 0 else None


def _parse_person(rule: str) -> NarrativePerson | None:
    found = _PERSON.findall(rule)
    if len(found) != 1 or _NEGATION.search(rule) or _DIALOGUE.search(rule):
        return None
    return NarrativePerson(person=_PERSONS[(found[0][0] or found[0][1]).lower()])


def _parse_forbidden_names(rule: str, names: Iterable[str]) -> ForbiddenNames | None:
    verb = _MENTION_VERB.search(rule)
    if verb is None or not _BAN.search(_BEFORE_CHAPTER.sub("", rule).strip(" ,，")) or _named_marks(rule):
        return None
    before = _BEFORE_CHAPTER.search(rule)
    known = _longest_names([name for name in names if name in rule])
    forbidden = known or (_quoted_words(rule) if before is not None else ())
    if not forbidden or (verb[0] == "出现" and not known and before is None):
        return None
    before_chapter = _parse_number(before[1] or before[2]) if before is not None else None
    return ForbiddenNames(names=forbidden, before_chapter=before_chapter)


def _parse_banned_words(rule: str) -> BannedWords | None:
    if not _BAN.search(rule):
        return None
    narration_only = _NARRATION.search(rule) is not None
    if not narration_only and _DIALOGUE.search(rule):
        return None  # only about dialogue: left to the model
    plain = _QUOTATION.sub("", rule)
    words = _quoted_words(rule) if _WORD_NOUN.search(plain) or _BAN_ONLY.fullmatch(plain) else ()
    unquoted = _UNQUOTED_WORD.search(rule)
    words = words or ((unquoted[1],) if unquoted is not None else _named_marks(rule))
    return BannedWords(words=words, narration_only=narration_only) if words else None


def _named_marks(rule: str) -> tuple[str, ...]:
    """The marks that a short rule calls by their names, such as `exclamation marks`."""
    plain = _QUOTATION.sub("", rule)
    found = tuple(mark for name, marks in _MARKS if re.search(rf"(?:{name})", plain, re.IGNORECASE) for mark in marks)
    return found if len(plain) <= 60 else ()


def _quoted_words(rule: str) -> tuple[str, ...]:
    found = (next(filter(None, groups)).strip() for groups in _QUOTATION.findall(rule))
    return tuple(dict.fromkeys(word for word in found if word))


def _longest_names(names: list[str]) -> tuple[str, ...]:
    """The names that are not part of another one in the list."""
    return tuple(dict.fromkeys(name for name in names if not any(name != other and name in other for other in names)))


def _parse_number(text: str) -> int:
    """Parse a number in digits or Chinese characters: 25, 二十五."""
    if text.isdecimal():
        return int(text)
    hundreds, mark, rest = text.rpartition("百")
    total = 100 * _DIGITS.get(hundreds or "一", 1) if mark else 0
    tens, mark, ones = rest.rpartition("十")
    total += 10 * _DIGITS.get(tens or "一", 1) if mark else 0
    return total + _DIGITS.get(ones, 0)
