"""Why a rule is left to the model: the number, the condition or the words in it that a program does not understand."""

from __future__ import annotations

import re
from collections.abc import Sequence

from fabula.constraints.rules.chinese import ANY_BAN, find_unknown_chinese
from fabula.constraints.rules.english import MENTION, NAME
from fabula.constraints.rules.vocabulary import (
    FIRST_PLACEHOLDER,
    HAN,
    MARK_NAMES,
    PERSON,
    PLACEHOLDER,
    TOKEN,
    find_marks,
    load_words,
    split_tokens,
)
from fabula.core.messages import Sentence, message
from fabula.text.numerals import CHINESE_NUMBER, SPELT_NUMBER

_NUMBER = rf"(?:\d+|{SPELT_NUMBER}|a (?:few|couple|handful))"
_PER = (
    r"(?: (?:per|each|every|an?|in (?:an?|any|each|every|one)) (?:single )?"
    r"(?:page|chapter|scene|paragraph|sentence|line|thousand words|book)\b)"
)
_COUNT = re.compile(
    rf"\b(?:at (?:the )?most|(?:no|not) (?:more|fewer|less) than|up to|at least|(?:fewer|less|more) than|only"
    rf"|(?:a )?max(?:imum)?(?: of)?|(?:a )?min(?:imum)?(?: of)?|exactly|just) (?:{_NUMBER}|once|twice)\b"
    rf"(?: (?:times|words?|characters?|letters?)\b)?{_PER}?"
    rf"|\b(?:once|twice|{_NUMBER} (?:times|or (?:fewer|less|more)))\b{_PER}?"
    rf"|\b(?:one|an?) [^,;]*{_PER}|\b(?:overus(?:e|ed|ing)|overdo(?:ne|ing)?|too (?:often|much|many)|sparingly)\b",
    re.IGNORECASE,
)
_COUNT_ZH = re.compile(
    rf"(?:每|一)[章页段回节句本千]字?[^，,；;]{{0,8}}?{CHINESE_NUMBER}[个次处句遍条种段字]"
    rf"|(?:最多|至多|最少|至少|不超过|不多于|不少于|不得超过|不能超过|超过|多于|少于|只能|只可|只许|仅|只)"
    rf"[^，,；;]{{0,6}}?{CHINESE_NUMBER}[个次处句遍条种段页章]|过多|太多|过度|滥用|少用|慎用"
)
_LENGTH = re.compile(r"\b(?:sentences?|paragraphs?)\b.*\d+ (?:words?|characters?)\b|[句段].*字", re.IGNORECASE)
_CHAPTER_LENGTH = re.compile(
    r"\b(?:chapters?|scenes?|pages?|parts?)\b.*\b(?:words?|characters?|pages?)\b|[章回节卷].*字", re.IGNORECASE
)
_CALLED = re.compile(r"\b(?:called|named|addressed as)\b|称呼|叫做|名叫|称为", re.IGNORECASE)
_UNNUMBERED = re.compile(
    r"\bthe (?:prologue|epilogue|foreword|preface|afterword|interlude|introduction|finale)\b"
    r"|楔子|序章|序幕|引子|前言|尾声|后记|番外|终章|[上中下][卷部册篇]",
    re.IGNORECASE,
)
_STRONG_LINKS = (
    "before|after|until|till|unless|except|while|when|whenever|if|during|once|as long as|so long as|as soon as|only"
    "|outside|in case|because|since|where|wherever|other than|apart from|besides|instead of|for now|at first|but"
)
_ADVERBS = "again|yet|any ?more|any longer|usually|mostly|often|sometimes|always"
_CLAUSE_LINKS = "before|after|until|till|unless|except|while|when|whenever|if|during|as long as|so long as"
_WEAK_LINKS = (
    "in|on|at|to|from|for|by|with|without|near|among|inside|within|around|over|under|about|through|behind|beside"
    "|between"
)
_FRONT_END = (
    r"(?= (?:do|does|don't|must|may|should|shall|can|cannot|can't|will|never|no|not|avoid|is|are|nobody|use|write)\b)"
)
_STARTS_ZH = (
    "除非|如果|要是|假如|若是|若|只要|只有|除了|除|直到|直至|等到|当|凡是|凡|对着|对(?![话白])|跟|向|在|(?<![提说写谈讲用])到|暂时|目前|有时"
    "|经常|常常"
)
_ENDS_ZH = (
    "之前|以前|之后|以后|的时候|时候|期间|为止|面前|之间|以外|之外|场景里|场景中|场面|场景|场合|时|前|后|里|中|内|外|上"
)
_CONDITION_ZH = re.compile(
    rf"(?:{_STARTS_ZH})[^，,；;]*?(?=[，,；;]|$|不|禁|勿|避免|别|莫|就|都|{PLACEHOLDER})"
    rf"|(?:(?<=^)|(?<=[，,；;]))[^，,；;不禁勿别莫]{{1,20}}?(?:{_ENDS_ZH})"
    rf"(?=[，,；;]|$|不|禁|勿|避免|别|莫|都|一律|每|用|任何|谁|{PLACEHOLDER}|{MARK_NAMES})"
    r"|再(?=用|提|写|说|出现|使用)"
)
_DANGLING = re.compile(r"\b(?:and|or|but|only|except|for|not|unless|than|just)$", re.IGNORECASE)


def explain_unchecked(rule: str, body: str, quoted: Sequence[str], names: Sequence[str]) -> Sentence:
    """Say why no program checks a rule, whose quotations are placeholders, in words of its own.

    `body` is the rule without the conditions that are understood.
    """
    is_chinese = HAN.search(rule) is not None
    is_checkable = _names_something(rule, quoted, names)
    count = _find_count(body, is_chinese)
    if count:
        return message("it is about how many or how often, “{words}”", words=_show(count, quoted, is_chinese))
    unnumbered = _UNNUMBERED.search(rule)
    if unnumbered:
        return message(
            "a program knows chapters and parts by their numbers only, not “{words}”",
            words=_show(unnumbered[0], quoted, is_chinese),
        )
    find = _find_condition_zh if is_chinese else _find_condition
    condition = find(body, is_checkable)
    if _DANGLING.search(condition):  # "except" without "in chapter 3"
        condition = find(rule, is_checkable)
    if condition:
        return message("it has a condition, “{words}”", words=_show(condition, quoted, is_chinese))
    unknown = _find_unknown(body, names, is_chinese) if is_checkable else ""
    if unknown:
        return message("a program does not understand “{words}”", words=_show(unknown, quoted, is_chinese))
    if is_checkable:
        return message("it is not one plain ban")
    if _CHAPTER_LENGTH.search(rule):
        return message("a program measures sentences and paragraphs, not chapters")
    if _CALLED.search(rule):
        return message("a program cannot tell who is called what")
    return message("only a reader can tell whether it is kept")


def _names_something(rule: str, quoted: Sequence[str], names: Sequence[str]) -> bool:
    """Whether a rule bans something that a program could find, so that only the rest of it is not understood."""
    has_object = (
        quoted
        or find_marks(rule)
        or re.search(r"\b(?:the|these) (?:word|phrase|term)s?\b", rule, re.IGNORECASE)
        or re.search(r"提到|提及|提起", rule)
        or (MENTION.search(rule) and (any(name in rule for name in names) or re.search(rf" {NAME}", rule)))
    )
    return bool((_is_ban(rule) and has_object) or _LENGTH.search(rule) or PERSON.search(rule))


def _is_ban(rule: str) -> bool:
    words = load_words()[0]
    return ANY_BAN.search(rule) is not None or any(token in words.ban for token in split_tokens(rule))


def _find_count(rule: str, is_chinese: bool) -> str:
    for match in (_COUNT_ZH if is_chinese else _COUNT).finditer(rule):
        is_length = re.search(r"(?:words?|characters?|letters?|字)$", match[0], re.IGNORECASE)
        is_length = is_length or re.match("个?字", rule[match.end() :])
        if not (is_length and _LENGTH.search(rule)):
            return match[0]
    return ""


def _find_condition(rule: str, is_checkable: bool) -> str:
    """The first phrase of a rule that begins like a condition; one with a preposition must not be neutral."""
    strong = re.search(rf"\b(?:{_STRONG_LINKS if is_checkable else _CLAUSE_LINKS})\b", rule, re.IGNORECASE)
    if strong is not None:
        return _take_phrase(rule, strong.start())
    adverb = re.search(rf"\b(?:{_ADVERBS})\b", rule, re.IGNORECASE) if is_checkable else None
    if adverb is not None:
        return adverb[0]
    neutral = load_words()[0].neutral | load_words()[0].ban
    for match in re.finditer(rf"\b(?:{_WEAK_LINKS})\b", rule, re.IGNORECASE) if is_checkable else ():
        phrase = _take_phrase(rule, match.start())
        rest = re.sub(
            f"{PLACEHOLDER}|{MARK_NAMES}", " ", MENTION.sub(" ", phrase[len(match[0]) :]), flags=re.IGNORECASE
        )
        is_bound = re.match(rf" (?:{_NUMBER}) (?:words?|characters?|letters?)\b", rest, re.IGNORECASE)
        if not is_bound and any(token not in neutral for token in split_tokens(rest)):
            return phrase
    return ""


def _take_phrase(rule: str, start: int) -> str:
    """The rest of a clause; at the beginning of a rule, as far as its verb."""
    front = re.match(rf".*?(?:(?=[,;])|{_FRONT_END})", rule) if start == 0 else None
    return front[0] if front is not None else re.split("[,;]", rule[start:])[0]


def _find_condition_zh(rule: str, is_checkable: bool) -> str:
    found = _CONDITION_ZH.search(re.sub(r"\s+", "", rule))
    is_demand = is_checkable or ANY_BAN.search(rule) or re.search("必须|只能|应|要|没有?人|谁", rule)
    return found[0] if found is not None and is_demand else ""


def _find_unknown(rule: str, names: Sequence[str], is_chinese: bool) -> str:
    """The words of a rule, from the first to the last one, that are neither a ban nor neutral."""
    if is_chinese:
        return find_unknown_chinese(rule, names)
    words = load_words()[0]
    known = words.ban | words.neutral | words.after | words.words | words.length | words.person
    plain = re.sub(f"{MENTION.pattern}|{MARK_NAMES}", lambda match: " " * len(match[0]), rule, flags=re.IGNORECASE)
    unknown = [
        match
        for match in TOKEN.finditer(plain)
        if match[0].lower() not in known and match[0] not in names and any(map(str.isalnum, match[0]))
    ]
    return rule[unknown[0].start() : unknown[-1].end()] if unknown else ""


def _show(words: str, quoted: Sequence[str], is_chinese: bool) -> str:
    """The words with their quotations in place of the placeholders."""
    marks = "「」" if is_chinese else "‘’"
    shown = re.sub(PLACEHOLDER, lambda match: f"{marks[0]}{quoted[ord(match[0]) - FIRST_PLACEHOLDER]}{marks[1]}", words)
    return re.sub(r"\s+", "" if is_chinese else " ", shown).strip(" ,，")
