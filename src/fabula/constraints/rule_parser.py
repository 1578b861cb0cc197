"""Parses constraints in plain words, English or Chinese, into checks that a program can run (con-4).

"No exclamation marks" or 每句不超过30字 become a check. A rule is parsed only as a whole: what remains without its ban,
the words, marks or names that it bans and its understood conditions may consist of neutral words only (`rules.toml`).
Anything else could be a condition ("before the wedding", "to Bob", 结婚之前), so the rule is left to the model.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import asdict, replace

from fabula.constraints.conditions import RuleCondition, split_condition
from fabula.constraints.model import (
    BannedWords,
    ForbiddenNames,
    LengthUnit,
    NarrativePerson,
    Person,
    SentenceLength,
    TextCheck,
)
from fabula.text.numerals import CHINESE_NUMBER, SPELT_NUMBER, parse_numeral
from fabula.text.segmenter import find_tag, load_segmenter

_MARKS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (r"exclamation (?:marks?|points?)|exclamations|感叹号|惊叹号|叹号", ("!", "！")),
    (r"question marks?|问号", ("?", "？")),
    (r"semi-?colons?|分号", (";", "；")),
    (r"(?<!semi)(?<!semi-)colons?|冒号", (":", "：")),
    (r"ellips[ie]s|dot dot dot|(?:three )?dots|省略号", ("…", "...")),
    (r"(?:(?:em|en|long)[- ])?dash(?:es)?|破折号", ("—", "--")),
    (r"parenthes[ie]s|(?:round )?brackets|圆?括号", ("(", ")", "（", "）")),
    (r"asterisks?|星号", ("*", "＊")),
    (r"ampersands?", ("&", "＆")),
    (r"tildes?|波浪号|波浪线", ("~", "～")),
)
_QUOTATION = re.compile(
    r"“([^“”]+)”|‘([^‘’]+)’|\"([^\"]+)\"|(?<![A-Za-z])'([^']+)'(?![A-Za-z])|「([^「」]+)」|『([^『』]+)』"
)
_HAN = re.compile(r"[\u3400-\u9fff]")
_FIRST_PLACEHOLDER = 0xE000
_PLACEHOLDER = "[\ue000-\uf8ff]"
_BARE_MARK = r"(?<![^\s,，、])[!?;:…—–！？；：]{1,3}(?![^\s,，、])"
_TOKEN = re.compile(r"[^\W\d_]+(?:['-][^\W\d_]+)*|\d+|[^\s\w]")
_SEPARATORS = re.compile(
    r"(?:[\s,/&]|\b(?:and|or|nor|the|any|a|no|words?|phrases?|either|also)\b"
    r"|(?<=[\s,])(?:not|never|avoid)(?: (?:use|write|say))?\b)*",
    re.IGNORECASE,
)
_SEPARATORS_ZH = re.compile(
    "[、，,/和或与及跟以者]*(?:也?(?:不要|不得|不许|不准|不能|不|别|避免|禁止)(?:使用|用|写|出现|有)?)?"
)
_PARTIAL_BAN = re.compile(
    r"\b(?:not|never|n't) (?:always|all|every|only|just|too|have to|need|necessarily)\b|n't have to\b"
)
_TITLES = r"(?:Mr|Mrs|Ms|Dr|St|Prof|Capt|Col|Gen|Lt|Sgt)\."
_NAME_WORD = rf"(?:{_TITLES}|[A-ZÀ-Þ][\w’'-]*)"
_NAME = rf"(?:[Tt]he )?{_NAME_WORD}(?: (?:(?:of|de|du|von|van|la|le|al|da|di|the) ){{0,2}}{_NAME_WORD}){{0,4}}"
_CONDITION_WORDS = re.compile(
    r"\b(?:Before|After|Until|Till|Unless|Except|If|When|While|In|On|At|To|From|For|During|By|With|Without|Only|But|As"
    r"|Because|Since|Where|Outside|Inside|Again|Yet|Not|No|Never|Chapters?|Part)\b"
)
_MENTION = (
    r"(?:mention(?:s|ed|ing)?(?: of)?|nam(?:e[ds]?|ing)|refer(?:s|red|ring)? to|references? to|speak(?:s|ing)? of"
    r"|spoken of|talk(?:s|ing|ed)? (?:about|of)|bring(?:s|ing)? up|brought up|allu(?:de[ds]?|ding) to"
    r"|call(?:ed)? by name|utter(?:ed)?|us(?:e|ing) the names?(?: of)?|say(?:ing)? the names?(?: of)?)"
)
_MENTION_ONLY = re.compile(rf"\b{_MENTION}\b", re.IGNORECASE)
_SPEAKERS = re.compile(
    r"(?:nobody|no one|no-one|no (?:character|person|speaker)) (?:may |must |should |can |will |is to |ever )*"
    r"(says?|uses?|utters?|speaks?(?: of)?|mentions?|names?)\b",
    re.IGNORECASE,
)
_PERSON = re.compile(r"\b(first|second|third|1st|2nd|3rd)[- ]person\b|第\s?([一二三123])\s?人称", re.IGNORECASE)
_PERSONS: dict[str, Person] = {
    **dict.fromkeys(("first", "1st", "一", "1"), "first"),
    **dict.fromkeys(("second", "2nd", "二", "2"), "second"),
    **dict.fromkeys(("third", "3rd", "三", "3"), "third"),
}
_WHOSE_VIEW = re.compile(r"(?:\bfrom )?\b[A-ZÀ-Þ][\w-]*(?: [A-ZÀ-Þ][\w-]*)?'s (?=point of view|pov|perspective)")
_UNIT = r"(words?|characters?|letters?)"
_UNDER = re.compile(
    rf"\b(?P<less>under|below|shorter than|fewer than|less than) (?P<a>\d{{1,4}}) (?P<ua>{_UNIT})"
    rf"|\b(?:at most|up to|no more than|not more than|no longer than|not longer than|not over|not exceeding|within"
    rf"|maximum(?: of)?|max\.?(?: of)?|a limit of|limited to) (?P<b>\d{{1,4}}) (?P<ub>{_UNIT})"
    rf"|\b(?P<c>\d{{1,4}}) (?P<uc>{_UNIT})(?: or (?:fewer|less|under|shorter)|,? (?:at (?:the )?most|maximum|max|tops))"
    rf"|\b(?:limit|keep|cap|restrict|hold|confine)\b[^\d]*\b(?:to|at) (?P<d>\d{{1,4}}) (?P<ud>{_UNIT})"
    rf"|\b(?:maximum|max|limit)\b[^\d]*[ :](?P<e>\d{{1,4}}) (?P<ue>{_UNIT})",
    re.IGNORECASE,
)
_BOUNDS = (
    "under|below|shorter than|fewer than|less than|at (?:the )?most|up to|(?:no|not) (?:more|longer) than|not over"
    "|not exceeding|within|or (?:fewer|less|under|shorter)|tops|over|above|longer than|more than|beyond|past"
    "|greater than|exceed(?:s|ing|ed)?"
)
_OVER = re.compile(
    rf"\b(?:over|above|longer than|more than|beyond|past|greater than|exceed(?:s|ing|ed)?) (?P<n>\d{{1,4}})"
    rf" (?P<u>{_UNIT})",
    re.IGNORECASE,
)
_NUMBER_ZH = rf"\s?({CHINESE_NUMBER})\s?个?(?:汉)?字"
_LENGTH_ZH = re.compile(
    rf"(?:(?P<over>超过|超出|多于|大于|长于|高于)|(?P<less>少于|小于|低于|短于)|(?P<most>最多|至多|不超|控制在|限制在|限定在|限))"
    rf"(?:为|是)?{_NUMBER_ZH}(?P<within>以内|以下|之内|内)?|{_NUMBER_ZH}(?:以内|以下|之内|内|为限|封顶)"
)
_MARKS_ZH = "[，、,：:。.]"
_BAN_ZH = re.compile("不|非|禁|勿|避免|别|莫|杜绝")


class RuleReading(Struct, frozen=True):
    """What a program understands of a rule: its check, or whether only a condition is in the way."""

    check: TextCheck | None = None
    has_unknown_condition: bool = False


class _English(Struct, frozen=True):
    ban: frozenset[str]
    after: frozenset[str]
    neutral: frozenset[str]
    words: frozenset[str]
    not_listed: frozenset[str]
    length: frozenset[str]
    person: frozenset[str]
    phrases: dict[str, str]


class _Chinese(Struct, frozen=True):
    ban: str
    after: str
    before: str
    between: str
    mention: str
    around_names: str
    length: str
    person: str


def parse_rule(text: str, names: Iterable[str] = ()) -> TextCheck | None:
    """Parse a rule into a check, or None; `names` are the names of the codex."""
    return read_rule(text, names).check


def read_rule(text: str, names: Iterable[str] = ()) -> RuleReading:
    """Read a rule as far as a program understands it; `names` are the names of the codex."""
    plain = " ".join(text.split()).strip().rstrip(".。!！;；,，").replace("’", "'").replace("‘", "'")
    if len(plain) > 400 or re.search(_PLACEHOLDER, plain):
        return RuleReading()
    plain = _pair_single_marks(text, plain)
    quoted: list[str] = []
    rule = _QUOTATION.sub(lambda match: _take_quotation(match, quoted), plain).strip().rstrip(".。!！;；,，")
    known = [name for name in names if name.strip()]
    split = split_condition(rule)
    if split is not None:
        body, condition = split
        check = _parse_body(body, quoted, known, condition)
        if check is not None:
            return RuleReading(check)
    return RuleReading(None, _names_something(rule, quoted, known))


def _pair_single_marks(text: str, plain: str) -> str:
    """Keep the curly single marks of a rule that has them as quotation marks."""
    kept = " ".join(text.split()).strip().rstrip(".。!！;；,，")
    return kept if re.search(r"‘[^‘’]+’", kept) else plain


def _take_quotation(match: re.Match[str], quoted: list[str]) -> str:
    word = next(filter(None, match.groups())).strip()
    word = word.rstrip(".,，。") if any(map(str.isalnum, word)) else word
    quoted.append(word)
    return f" {chr(_FIRST_PLACEHOLDER + len(quoted) - 1)} " if word and len(quoted) < 500 else " "


def _parse_body(body: str, quoted: Sequence[str], names: Sequence[str], condition: RuleCondition) -> TextCheck | None:
    """Parse a rule without its conditions, all of it."""
    grammar = _ChineseRule if _HAN.search(body) else _EnglishRule
    rule = grammar(body, quoted, names)
    has_scope = condition.narration_only or condition.dialogue_only
    check: TextCheck | None = None if has_scope else rule.parse_length()
    check = check or (None if condition.dialogue_only else rule.parse_person())
    check = check or rule.parse_names() or rule.parse_words()
    if check is None:
        return None
    limits = {name: value for name, value in asdict(condition).items() if value and hasattr(check, name)}
    return replace(check, **limits)


def _names_something(rule: str, quoted: Sequence[str], names: Sequence[str]) -> bool:
    """Whether a rule bans something that a program could find, so that only its condition is not understood."""
    is_ban = _BAN_ZH.search(rule) or any(token in _load_words()[0].ban for token in _tokens(rule))
    has_object = (
        quoted
        or _find_marks(rule)
        or re.search(r"\b(?:the|these) (?:word|phrase|term)s?\b", rule, re.IGNORECASE)
        or re.search(r"提到|提及|提起", rule)
        or (_MENTION_ONLY.search(rule) and (any(name in rule for name in names) or re.search(rf" {_NAME}", rule)))
    )
    is_length = re.search(r"\bsentences?\b.*\d+ (?:words?|characters?)\b|句.*字", rule, re.IGNORECASE)
    return bool((is_ban and has_object) or is_length or _PERSON.search(rule))


class _EnglishRule:
    """The forms of a rule in English."""

    def __init__(self, body: str, quoted: Sequence[str], names: Sequence[str]) -> None:
        self._words = _load_words()[0]
        self._quoted, self._names = quoted, names
        self._body = body
        for phrase, word in self._words.phrases.items():
            self._body = re.sub(rf"\b{phrase}\b", word, self._body, flags=re.IGNORECASE)
        self._body = " ".join(self._body.replace("’", "'").split())

    def parse_length(self) -> SentenceLength | None:
        body = re.sub(rf"\b{SPELT_NUMBER}\b(?= {_UNIT})", _to_digits, self._body, flags=re.IGNORECASE)
        body = re.sub(r"\b(\d{1,4})-(word|character)\b", r"\1 \2s", body)
        if not re.search(r"\b(?:sentence|paragraph)s?\b", body, re.IGNORECASE):
            return None
        under, over = _UNDER.search(body), None
        if under is None:
            over = _OVER.search(body)
        found = under or over
        if found is None:
            return None
        # What `limit sentences to` or `maximum` stand for stays in the rest, except the number itself.
        groups = {name: value for name, value in found.groupdict().items() if value}
        number = next(int(value) for value in groups.values() if value.isdecimal())
        unit = next(value for name, value in groups.items() if name.startswith("u"))
        rest = re.sub(rf"\b(?:{_BOUNDS}|{number} {unit})\b", " ", body, flags=re.IGNORECASE)
        tokens = _tokens(rest)
        bans = [token for token in tokens if token in self._words.ban]
        if any(token not in self._words.length and token not in ",:-" for token in tokens):
            return None
        if len(bans) != (over is not None):
            return None
        length: LengthUnit = "words" if unit.lower().startswith("word") else "characters"
        measured = [kind for kind in ("sentence", "paragraph") if re.search(rf"\b{kind}s?\b", body, re.IGNORECASE)]
        most = number - ("less" in groups)
        if most < 1 or len(measured) > 1:
            return None
        return SentenceLength(
            max_length=most, unit=length, measured="sentence" if measured[0] == "sentence" else "paragraph"
        )

    def parse_person(self) -> NarrativePerson | None:
        found = _PERSON.findall(self._body)
        rest = _tokens(_WHOSE_VIEW.sub("", _PERSON.sub(" ", self._body)))
        bans = [token for token in rest if token in self._words.ban]
        others = [token for token in rest if token not in self._words.person and token not in ",:;-."]
        return _make_person(found, len(bans)) if others == bans else None

    def parse_names(self) -> ForbiddenNames | None:
        body, only_dialogue = self._take_speakers(self._body, ("mention", "name", "speak"))
        known = "|".join(re.escape(name) for name in sorted(self._names, key=len, reverse=True) if name in body)
        one = rf"(?:{known}|{_PLACEHOLDER}|{_NAME})" if known else rf"(?:{_PLACEHOLDER}|{_NAME})"
        several = rf"(?:{one})(?:(?:, | and | or |, and |, or | nor | & ){one})*"
        around = r"(?:'s? names?)?(?:,? (?:by name|either|directly))?"
        for pattern in (
            rf"(?P<before>.*?)\b(?:{_MENTION}|the names?(?: of)?) +(?P<names>{several}){around}(?P<after>.*)",
            rf"(?P<before>(?:[Tt]he names? (?:of )?)?)(?P<names>{several}){around} (?P<after>.*?)",
        ):
            match = re.fullmatch(pattern, body)
            if match is None or (not match["after"] and not match["before"] and not only_dialogue):
                continue
            before, after = match["before"], match["after"]
            is_mentioned = pattern.startswith("(?P<before>.*") or _MENTION_ONLY.search(after) is not None
            is_used = "name" in match[0] and re.search(r"\b(?:appear|used|occur|written|spoken)\b", after) is not None
            rest = _MENTION_ONLY.sub(" ", after)
            if not (is_mentioned or is_used) or not self._is_ban(before, rest, banned=only_dialogue):
                continue
            found = self._split_names(match["names"], one)
            if found:
                return ForbiddenNames(names=found, dialogue_only=only_dialogue)
        return None

    def parse_words(self) -> BannedWords | None:
        body, only_dialogue = self._take_speakers(self._body, ("say", "use", "utter"))
        body, quoted = self._take_listed_words(body)
        items = list(re.finditer(rf"{_PLACEHOLDER}|{_BARE_MARK}|{_MARK_NAMES}", body, re.IGNORECASE))
        if not items:
            return None
        for item, following in pairwise(items):
            if not _SEPARATORS.fullmatch(body[item.end() : following.start()]):
                return None
        before, after = body[: items[0].start()], body[items[-1].end() :]
        if not self._is_ban(before, after, banned=only_dialogue):
            return None
        words = [word for item in items for word in _item_words(item[0], quoted)]
        return BannedWords(words=tuple(dict.fromkeys(words)), dialogue_only=only_dialogue)

    def _take_speakers(self, body: str, verbs: Sequence[str]) -> tuple[str, bool]:
        """Take "nobody says" off a rule, which is about dialogue."""
        match = _SPEAKERS.match(body)
        if match is None or not match[1].lower().startswith(tuple(verbs)):
            return body, False
        verb = "mention " if match[1].lower().startswith(("mention", "name", "speak")) else ""
        return verb + body[match.end() :].strip(), True

    def _take_listed_words(self, body: str) -> tuple[str, Sequence[str]]:
        """Replace a list without quotation marks ("the words very, really and just") by placeholders."""
        nouns = "|".join(sorted(self._words.words, key=len, reverse=True))
        word = r"[^\W\d_]+(?:['-][^\W\d_]+)*"
        separator = ", and |, or |, | and | or |/"
        match = re.search(
            rf"(?:\b(?:the|these|those|following) (?:{nouns}):?|\b(?:{nouns}):)"
            rf" (?P<list>{word}(?:(?:{separator}){word})*)"
            r"(?=$| (?:is|are|must|may|should|shall|can|cannot|can't|will|has|have|never|do)\b)",
            body,
            re.IGNORECASE,
        )
        if match is None:
            return body, self._quoted
        separators = re.findall(separator, match["list"])
        listed = re.split(separator, match["list"])
        has_colon = match[0][: match.start("list") - match.start()].rstrip().endswith(":")
        is_open = (
            not has_colon and separators and separators[-1] == ", "
        )  # "the word home, usually" must not ban "usually"
        if is_open or any(one.lower() in self._words.not_listed or one.lower() in self._words.ban for one in listed):
            return body, self._quoted
        if separators and not match[0][: match.start("list") - match.start()].rstrip(": ").endswith("s"):
            return body, self._quoted  # "the word home and ..." is one word and something else
        quoted = [*self._quoted, *listed]
        places = " ".join(chr(_FIRST_PLACEHOLDER + len(self._quoted) + n) for n in range(len(listed)))
        return f"{body[: match.start('list')]}{places}{body[match.end('list') :]}", quoted

    def _is_ban(self, before: str, after: str, *, banned: bool = False) -> bool:
        """Whether the words around what is banned are one ban and neutral words."""
        if _PARTIAL_BAN.search(f"{before} {after}".lower()):
            return False
        first, last = _tokens(before), _tokens(after)
        bans = [token for token in (*first, *last) if token in self._words.ban]
        is_neutral = all(
            token in allowed or token in self._words.ban or token in ",:-–—."
            for tokens, allowed in ((first, self._words.neutral), (last, self._words.after))
            for token in tokens
        )
        return is_neutral and len(bans) == (0 if banned else 1)

    def _split_names(self, text: str, one: str) -> tuple[str, ...]:
        found: list[str] = []
        for match in re.finditer(one, text):
            name = re.sub(r"'s?$", "", _item_words(match[0], self._quoted)[0])
            known = any(name == other for other in self._names)
            is_longer = any(name.startswith(f"{other} ") for other in self._names)
            if not known and match[0][0] < "\ue000" and (is_longer or _CONDITION_WORDS.search(name) or name == "I"):
                return ()
            found.append(name)
        return _longest_names(found)


class _ChineseRule:
    """The forms of a rule in Chinese."""

    def __init__(self, body: str, quoted: Sequence[str], names: Sequence[str]) -> None:
        self._words = _load_words()[1]
        self._quoted, self._names = quoted, names
        self._body = re.sub(r"\s+", "", body)

    def parse_length(self) -> SentenceLength | None:
        found = _LENGTH_ZH.search(self._body)
        if found is None or not re.search("句|段", self._body):
            return None
        rest = self._body[: found.start()] + self._body[found.end() :]
        if not _consists_of(rest, self._words.length):
            return None
        bans = len(_BAN_ZH.findall(rest))
        if bans != (found["over"] is not None) or (found["over"] and found["within"]):
            return None
        number = parse_numeral(next(filter(None, (found[4], found[6])))) or 0
        most = number - (found["less"] is not None)
        measured = [kind for kind, sign in (("sentence", "句"), ("paragraph", "段")) if sign in rest]
        if most < 1 or len(measured) > 1:
            return None
        return SentenceLength(
            max_length=most, unit="characters", measured="sentence" if measured[0] == "sentence" else "paragraph"
        )

    def parse_person(self) -> NarrativePerson | None:
        rest = _PERSON.sub("", self._body)
        if not _consists_of(rest, f"{self._words.person} {self._words.ban}"):
            return None
        return _make_person(_PERSON.findall(self._body), _count_bans(rest, self._words))

    def parse_names(self) -> ForbiddenNames | None:
        ban, mention = _alternatives(self._words.ban), _alternatives(self._words.mention)
        opening, between = _alternatives(self._words.before), _alternatives(self._words.between)
        around = _alternatives(self._words.around_names)
        forms = (
            rf"(?:{opening}|{_MARKS_ZH})*?(?:{ban})(?:{between})*?(?P<verb>{mention})(?:{around})*(?P<names>.+?)(?:{around})*",
            rf"(?:{opening}|{_MARKS_ZH})*?(?P<names>.+?)(?P<named>(?:{around})*)(?:{opening}|{_MARKS_ZH})*?(?:{ban})"
            rf"(?:{between})*?(?P<verb>{mention})",
        )
        for is_subject, form in enumerate(forms):
            match = re.fullmatch(form, self._body)
            if match is None or (is_subject and match["verb"] == "出现" and not match["named"]):
                continue  # a person who appears is not only named
            if "再" in f"{self._body[: match.start('names')]}{self._body[match.end('names') :]}":
                return None  # "no more" holds from some place on
            is_word = match["verb"] == "出现" and re.fullmatch(rf"(?:{_PLACEHOLDER}|[、和或与及跟，])+", match["names"])
            found = () if is_word else self._split_names(match["names"])
            if found:
                return ForbiddenNames(names=found)
        return None

    def parse_words(self) -> BannedWords | None:
        body, quoted = self._take_listed_words()
        items = list(re.finditer(rf"{_PLACEHOLDER}|[!?;…—！？；]{{1,3}}|{_MARK_NAMES}", body))
        if not items:
            return None
        for item, following in pairwise(items):
            if not _SEPARATORS_ZH.fullmatch(body[item.end() : following.start()]):
                return None
        before, after = body[: items[0].start()], body[items[-1].end() :]
        opening, ban, between = (
            _alternatives(words) for words in (self._words.before, self._words.ban, self._words.between)
        )
        is_known = (
            re.fullmatch(rf"(?:{opening}|{_MARKS_ZH})*(?:(?:{ban})(?:{between}|{_MARKS_ZH})*)?", before) is not None
        )
        if not is_known or not _consists_of(after, f"{self._words.ban} {self._words.after}"):
            return None
        if _count_bans(before, self._words) + _count_bans(after, self._words) != 1:
            return None
        words = [word for item in items for word in _item_words(item[0], quoted)]
        return BannedWords(words=tuple(dict.fromkeys(words)))

    def _take_listed_words(self) -> tuple[str, Sequence[str]]:
        """Replace a list without quotation marks (禁用词：忽然、竟然; 不要用很、非常这些词) by placeholders."""
        item = r"[\u3400-\u9fff]{1,4}"
        several = rf"{item}(?:[、和或与及]{item})*"
        verbs = "使用|运用|用|出现|写|说"
        match = re.search(rf"(?:词|词语|词汇|字眼)[：:](?P<list>{several})$", self._body) or re.search(
            rf"(?:{verbs})(?P<list>{several}?)(?=(?:这|等|一|二|两|三)[个些几类样两三]?的?(?:个?词|词语|字眼|字)|字样)",
            self._body,
        )
        if match is None:
            return self._body, self._quoted
        listed = re.split("[、和或与及]", match["list"])
        if not all(len(word) == 1 or find_tag(word) for word in listed):
            return self._body, self._quoted
        places = "、".join(chr(_FIRST_PLACEHOLDER + len(self._quoted) + n) for n in range(len(listed)))
        return f"{self._body[: match.start('list')]}{places}{self._body[match.end('list') :]}", [*self._quoted, *listed]

    def _split_names(self, text: str) -> tuple[str, ...]:
        found: list[str] = []
        for part in filter(None, re.split("[、和或与及跟，,以者]+", text) if text not in self._names else [text]):
            if re.fullmatch(_PLACEHOLDER, part):
                found.append(_item_words(part, self._quoted)[0])
            elif part in self._names or _is_chinese_name(part):
                found.append(part)
            else:
                return ()
        return _longest_names(found)


@lru_cache(maxsize=1)
def _load_words() -> tuple[_English, _Chinese]:
    data: dict[str, dict[str, Any]] = tomllib.loads(Path(__file__).with_name("rules.toml").read_text("utf-8"))
    english = {name: value.split() if isinstance(value, str) else value for name, value in data["english"].items()}
    return msgspec.convert(english, _English), msgspec.convert(data["chinese"], _Chinese)


@lru_cache(maxsize=32)
def _alternatives(words: str) -> str:
    """A pattern of any of the words, the longest first."""
    return "|".join(sorted((re.escape(word) for word in words.split()), key=len, reverse=True))


def _consists_of(text: str, words: str) -> bool:
    """Whether a Chinese text consists of these words and marks."""
    return re.fullmatch(rf"(?:{_alternatives(words)}|{_MARKS_ZH})*", text) is not None


def _count_bans(text: str, words: _Chinese) -> int:
    """How many bans a text of known words has; 不 in 不要 counts once."""
    return len(re.findall(_alternatives(words.ban), text))


def _is_chinese_name(text: str) -> bool:
    """Whether the segmenter takes a text for one name of a person or a place."""
    if not 2 <= len(text) <= 6 or not all(map(_HAN.match, text)):
        return False
    tagged = [find_tag(text)] if find_tag(text) else [tag for _, tag in load_segmenter().tag(text)]
    return len(tagged) == 1 and tagged[0].startswith(("nr", "ns", "nt", "nz"))


def _make_person(found: Sequence[tuple[str, str]], bans: int) -> NarrativePerson | None:
    """The check of a rule that names one person, and perhaps bans it; nobody can check that nobody is he or she."""
    if len(found) != 1 or bans > 1:
        return None
    person = _PERSONS[(found[0][0] or found[0][1]).lower()]
    return None if bans and person == "third" else NarrativePerson(person=person, is_excluded=bool(bans))


def _tokens(text: str) -> list[str]:
    return [token.lower() for token in _TOKEN.findall(text)]


def _to_digits(match: re.Match[str]) -> str:
    return str(parse_numeral(match[0]))


_MARK_NAMES = "|".join(rf"(?:{name})" if _HAN.search(name) is None else name for name, _ in _MARKS)


def _find_marks(rule: str) -> tuple[str, ...]:
    """The marks that a rule calls by their names, such as `exclamation marks`."""
    return tuple(mark for name, marks in _MARKS if re.search(name, rule, re.IGNORECASE) for mark in marks)


def _item_words(item: str, quoted: Sequence[str]) -> tuple[str, ...]:
    """The words or marks that one item of a list bans."""
    if re.fullmatch(_PLACEHOLDER, item):
        return (quoted[ord(item) - _FIRST_PLACEHOLDER],)
    named = next((marks for name, marks in _MARKS if re.fullmatch(name, item, re.IGNORECASE)), None)
    return named or (item,)


def _longest_names(names: list[str]) -> tuple[str, ...]:
    """The names that are not part of another one in the list."""
    return tuple(dict.fromkeys(name for name in names if not any(name != other and name in other for other in names)))
