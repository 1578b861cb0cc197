"""Names that are ordinary words as well: the words around one decide which is meant (cdx-3).

Only words that hardly ever stand beside a name count against it. In English the capital at the beginning of a sentence
hides the difference: in "Will you come?" and "Mark my words" a pronoun or object follows, as it does not follow a
name; "in May" and "3 June" are times. In Chinese an adverb of degree before 安静 shows the adjective, a measure word
before 金山 shows the mountain, and 地 after 安静 shows the adverb.
"""

from __future__ import annotations

import re

from fabula.text.word_list import load_word_lists

_LISTS = load_word_lists("ambiguous_names")
_SENTENCE_ENDS = frozenset(".!?…:;\n—")
_OPENING_MARKS = "“‘\"'([{*_ \u00a0\u3000"
_OBJECT = re.compile(
    r" (?:(?:I|you|he|she|it|we|they|me|him|us|them|my|your|his|her|its|our|their|a|an|this|that|these|those|there"
    r"|not|be)\b|the (?-i:(?![A-Z])))",
    re.IGNORECASE,
)
_VERBS = _LISTS["verbs"]
_TIMES = _LISTS["times"]
_BEFORE_TIME = re.compile(
    r"(?:\b(?:in|since|until|till|during|last|next|early|late|mid|every|(?:end|middle|beginning|month|first|day|days|"
    r"morning|night|\d(?:st|nd|rd|th)?) of|\d(?:st|nd|rd|th)?)[ -])\Z",
    re.IGNORECASE,
)
_AFTER_TIME = re.compile(r",? (?:the )?\d")

# Chinese adverbs of degree, measure words, and what turns a word into an adverb.
_DEGREE_ADVERBS = _LISTS["degree_adverbs"]
_MEASURE_WORD = re.compile(
    "[一二两三四五六七八九十百千几数半这那每某各整][座块片条朵阵场股滴颗串缕层团堆张把杯坛瓶首件种份声道]\\Z"
)
_ADVERB_ENDINGS = _LISTS["adverb_endings"]
_QUANTIFIERS = _LISTS["quantifiers"]
_FUNCTION_TAGS = ("c", "d", "p", "r", "u")  # conjunctions, adverbs, prepositions, pronouns, particles
_NAMING_VERBS = _LISTS["naming_verbs"]
_AFTER_PERSON = ("说", "道", "问", "笑", "喊", "答", "先生", "小姐", "姑娘", "老师")


def is_also_a_word(name: str) -> bool:
    """Is an English name also a verb or a time?"""
    lower = name.lower()
    return lower in _VERBS or lower in _TIMES


def is_english_word_at(text: str, start: int, end: int) -> bool:
    """Is the ordinary word meant here, though it is written like the name?"""
    word = text[start:end]
    if word.lower() in _TIMES and (
        _BEFORE_TIME.search(text, max(start - 16, 0), start) or _AFTER_TIME.match(text, end)
    ):
        return True
    if word.lower() not in _VERBS or not (word.isupper() or _begins_sentence(text, start)):
        return False
    return _OBJECT.match(text, end) is not None


def _begins_sentence(text: str, start: int) -> bool:
    before = text[max(start - 8, 0) : start].rstrip(_OPENING_MARKS)
    return not before or before[-1] in _SENTENCE_ENDS


def is_chinese_word_between(tag: str, before: str, after: str) -> bool:
    """Is the ordinary word with this part-of-speech tag meant between these two words, and not the name?"""
    if after in _ADVERB_ENDINGS or before in _DEGREE_ADVERBS or before in _QUANTIFIERS or _MEASURE_WORD.search(before):
        return True
    return tag.startswith(_FUNCTION_TAGS) and before not in _NAMING_VERBS and not after.startswith(_AFTER_PERSON)
