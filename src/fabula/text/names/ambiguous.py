"""Names that are ordinary words as well: the words around one decide which is meant (cdx-3).

In English the capital at the beginning of a sentence hides the difference; elsewhere a capital shows the name. At the
beginning, what follows decides: in "Will you come?" and "Mark my words" a pronoun or object, which does not follow a
name; in "Roses are red" the plural without an article; in "Rose petals" and "Frank words" a noun; in "Joy filled the
room" a verb of which no person is the subject. "in May" and "3 June" are times.

Chinese has no capitals, and the dictionary tags every word that begins with a surname as a name. So the words on both
sides decide for every name that is in the dictionary: an adverb of degree before 安静 shows the adjective, 了 after
张开 the verb, a measure word before 金山 the mountain. Speaking, acting and titles show the person. Where there are
signs of the word and none of the person, the reading is `UNCERTAIN`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import IntEnum
from math import log

from fabula.text.names.spellings import find_common_words
from fabula.text.segmenter import DICTIONARY_WORDS, find_tag, weigh_word
from fabula.text.word_list import load_word_lists

_LISTS = load_word_lists("ambiguous_names")
_SENTENCE_ENDS = frozenset(".!?…:;\n—")
_OPENING_MARKS = "“‘\"'([{*_ \u00a0\u3000"
_OBJECT = re.compile(
    r" (?:(?:I|you|he|she|it|we|they|me|him|us|them|my|your|his|her|its|our|their|a|an|this|that|these|those|there"
    r"|not|be)\b|the (?-i:(?![A-Z])))",
    re.IGNORECASE,
)
_VERBS, _TIMES, _NOUNS = _LISTS["verbs"], _LISTS["times"], _LISTS["nouns"]
_QUALITIES, _ADJECTIVES = _LISTS["qualities"], _LISTS["adjectives"]
_ENGLISH_WORDS = _VERBS | _TIMES | _NOUNS | _QUALITIES | _ADJECTIVES
_MODALS = frozenset(("will", "may", "can"))
_PARTICLES, _FUNCTION_WORDS = _LISTS["particles"], _LISTS["function_words"]
_IMPERSONAL_VERBS, _SEASON_VERBS = _LISTS["impersonal_verbs"], _LISTS["season_verbs"]
_PERSON_LISTS = load_word_lists("english_names")
_PERSON_VERBS = _PERSON_LISTS["speech_verbs"] | _PERSON_LISTS["action_words"] | _PERSON_LISTS["auxiliaries"]
_VERB_FORMS = _LISTS["past_forms"].union(*load_word_lists("irregular_forms").values()) - _LISTS["irregular_plurals"]
_PLURAL = re.compile(r"e?s\b(?!['’])", re.IGNORECASE)
_NEXT_WORD = re.compile(r"[ \n]([a-z]+)\b(?!['’])(?:[ \n]([a-z]+)\b)?")
_AFTER_VERB = re.compile(
    r"(?:a|an|the|my|his|her|its|our|your|their|this|that|it|him|them|me|us|you|up|down|out|off|away|back|at|to|into|"
    r"toward|towards|through|over|and|around)\b"
)
_QUESTION = re.compile(r"[^.!?\n]*\?")
_PREPOSITIONS = frozenset(("in", "under", "for", "without", "among", "over"))
_BEFORE_TIME = re.compile(
    r"(?:\b(?:in|since|until|till|during|last|next|early|late|mid|every|(?:end|middle|beginning|month|first|day|days|"
    r"morning|night|\d(?:st|nd|rd|th)?) of|\d(?:st|nd|rd|th)?)[ -])\Z",
    re.IGNORECASE,
)
_AFTER_TIME = re.compile(r",? (?:the )?\d")

# Chinese adverbs of degree, measure words, and what turns a word into an adverb.
_DEGREE_ADVERBS = _LISTS["degree_adverbs"]
_MEASURE_WORD = re.compile(
    "[一二两三四五六七八九十百千几数半这那每某各整][座块片条朵阵场股滴颗串缕层团堆张把杯坛瓶首件种份声道轮派束丛棵株排抹]\\Z"
)
_ADVERB_ENDINGS = _LISTS["adverb_endings"]
_QUANTIFIERS = _LISTS["quantifiers"]
_FUNCTION_TAGS = ("c", "d", "p", "r", "u")  # conjunctions, adverbs, prepositions, pronouns, particles
_RARE_WORD = log(150 / DICTIONARY_WORDS)
_NAMING_VERBS = _LISTS["naming_verbs"]
_AFTER_PERSON = ("说", "道", "问", "笑", "喊", "答", "先生", "小姐", "姑娘", "老师")  # after what is mostly no name
_ASPECT_WORDS, _TIME_SUFFIXES = _LISTS["aspect_words"], _LISTS["time_suffixes"]
_PREDICATE_ADVERBS, _PERSON_PRONOUNS = _LISTS["predicate_adverbs"], _LISTS["person_pronouns"]
_PERSON_ACTIONS, _PERSON_ADVERBS = tuple(_LISTS["person_actions"]), _LISTS["person_adverbs"]
_BEFORE_PERSONS = _LISTS["before_persons"]
_DESCRIBED_NOUNS = _LISTS["described_nouns"]
_EXISTENTIAL_VERBS = _LISTS["existential_verbs"]
_LOOKING_VERBS, _PERSON_POSSESSIONS = _LISTS["looking_verbs"], _LISTS["person_possessions"]
_GENERIC_PERSONS = load_word_lists("chinese_names")["generic_persons"]
_PERSON_NOUN_ENDINGS = frozenset(
    "长员理记师生手人家者任席官兵士友伴子女哥弟姐妹爷娘父母儿孙妻夫公婆叔伯姨舅授帅将王帝后妃侯相臣工民星"
)


class Reading(IntEnum):
    """What is meant where a name is also a word."""

    WORD = 0
    UNCERTAIN = 1
    NAME = 2


def is_also_a_word(name: str) -> bool:
    """Is an English name also an ordinary word, or its plural one?"""
    lower = name.lower()
    if lower in _ENGLISH_WORDS or _make_singular(lower) in _ENGLISH_WORDS:
        return True
    return name.isascii() and name.isalpha() and bool(find_common_words({f"{lower}s", f"{lower}es"}))


def read_english(text: str, start: int, end: int) -> Reading:
    """What is meant where an English name that is also a word stands."""
    word = text[start:end].lower()
    if word in _TIMES and (_BEFORE_TIME.search(text, max(start - 16, 0), start) or _AFTER_TIME.match(text, end)):
        return Reading.WORD
    if not (text[start:end].isupper() or _begins_sentence(text, start)):
        return Reading.NAME
    if _PLURAL.match(text, end) or _make_singular(word) in _NOUNS:
        return Reading.WORD
    if word in _VERBS:
        if _OBJECT.match(text, end):
            return Reading.WORD
        if word in _MODALS and _asks(text, end):
            return Reading.WORD
    following = _NEXT_WORD.match(text, end)
    if following is None or word not in _ENGLISH_WORDS:
        return Reading.NAME
    return _read_by_next_word(word, following[1], following[2] or "")


def _read_by_next_word(word: str, following: str, second: str) -> Reading:
    """What a word at the beginning of a sentence means before these two words."""
    is_quality, is_time = word in _QUALITIES, word in _TIMES
    if following == "of":
        return Reading.UNCERTAIN if second == "the" else Reading.WORD
    if (is_quality and following in _PREPOSITIONS) or (word in _VERBS and following in _PARTICLES):
        return Reading.WORD
    if (is_quality and following in _IMPERSONAL_VERBS) or (is_time and following in _SEASON_VERBS):
        return Reading.WORD
    if is_quality and following == "can":
        return Reading.UNCERTAIN
    if is_quality and following in ("is", "was") and second in ("a", "an", "the", "what", "all", "like"):
        return Reading.UNCERTAIN
    if following == "are" or following in _FUNCTION_WORDS or word not in (_NOUNS | _ADJECTIVES | _QUALITIES):
        return Reading.WORD if following == "are" else Reading.NAME
    if following in _PERSON_VERBS or following in _VERB_FORMS or following.endswith(("ed", "ly")):
        return Reading.NAME
    if following in _PARTICLES or following in _IMPERSONAL_VERBS:
        return Reading.NAME
    if following.endswith("s") and (following[:-1] in _PERSON_VERBS or _AFTER_VERB.match(second)):
        return Reading.NAME  # a verb in the present tense
    is_plural_subject = second in ("are", "were", "do", "have")  # Stone walls do not…
    if following.endswith("s") and not is_plural_subject and second in _PARTICLES | _FUNCTION_WORDS:
        return Reading.UNCERTAIN
    return Reading.WORD


def _make_singular(word: str) -> str:
    """The singular of an irregular plural; "" where it is none."""
    for plural, singular in (("ies", "y"), ("ves", "f"), ("men", "man")):
        if word.endswith(plural):
            return word[: -len(plural)] + singular
    return ""


def _asks(text: str, end: int) -> bool:
    """Is it a question whose subject follows here?"""
    following = text[end : end + 2]
    return following[:1] == " " and following[1:].isalpha() and _QUESTION.match(text, end) is not None


def _begins_sentence(text: str, start: int) -> bool:
    before = text[max(start - 8, 0) : start].rstrip(_OPENING_MARKS)
    return not before or before[-1] in _SENTENCE_ENDS


def follows_measure_word(text: str, start: int, *, except_for: str = "") -> bool:
    """Does a Chinese number or demonstrative with a measure word for things stand before this place?"""
    return (
        text[start - 1 : start] not in except_for and _MEASURE_WORD.search(text, max(0, start - 2), start) is not None
    )


def read_chinese(name: str, before: Sequence[str], after: Sequence[str]) -> Reading:
    """What is meant by a name in the dictionary between the words of its clause before and after it."""
    tag, previous, following = find_tag(name), before[-1] if before else "", after[0] if after else ""
    if following in _ADVERB_ENDINGS or previous in _DEGREE_ADVERBS or previous in _QUANTIFIERS:
        return Reading.WORD
    is_acting = following.startswith(_PERSON_ACTIONS) or (previous != "的" and following in _PERSON_ADVERBS)
    if tag.startswith(_FUNCTION_TAGS) and weigh_word(name) > _RARE_WORD:  # a rare one is mostly none
        is_name = previous in _NAMING_VERBS or following.startswith(_AFTER_PERSON)
        return Reading.NAME if is_name else Reading.WORD
    if (previous in _BEFORE_PERSONS and (previous, following) != ("是", "的")) or previous in _NAMING_VERBS:
        return Reading.NAME
    if _is_followed_as_word(previous, after):
        return Reading.WORD
    if following == "的":
        return _read_attribute(previous, after)
    if previous == "着" and len(before) > 1 and _LOOKING_VERBS.isdisjoint(before[-2]):
        return Reading.UNCERTAIN if _EXISTENTIAL_VERBS.isdisjoint(before[-2]) else Reading.WORD
    if is_acting:
        return Reading.UNCERTAIN if previous in _PERSON_PRONOUNS else Reading.NAME
    return _read_predicate(previous, before, after)


def _is_followed_as_word(previous: str, after: Sequence[str]) -> bool:
    """Does 了 or 得 after a predicate follow, or 前 after a time, and no verb whose object the name is stand before?"""
    following, tag = after[0] if after else "", find_tag(previous)[:1]
    if following in _TIME_SUFFIXES:
        return tag in ("", "n", "t", "u") and not (len(after) > 1 and find_tag(after[1]).startswith("v"))
    if following == "得":  # 曹操得了徐州
        return tag in ("n", "r") or previous.endswith("们")
    return following in _ASPECT_WORDS and tag not in ("v", "p") and bool(previous or following != "起来")


def _read_attribute(previous: str, after: Sequence[str]) -> Reading:
    """What 安静 means in 安静的…"""
    if len(after) > 1 and after[1] in _PERSON_POSSESSIONS:
        return Reading.NAME
    if previous.endswith(("个", "位", "种")) or previous in _PREDICATE_ADVERBS:
        return Reading.WORD
    return Reading.UNCERTAIN


def _read_predicate(previous: str, before: Sequence[str], after: Sequence[str]) -> Reading:
    """What a word means that nothing a person does follows: 缓缓张开, 字迹方正, 他张开双臂."""
    following = after[0] if after else ""
    if previous in _PREDICATE_ADVERBS or previous == "地" or _is_repeated(previous):
        return Reading.WORD
    if len(after) == 1 and _is_repeated(following):
        return Reading.WORD
    is_object = following in _PERSON_PRONOUNS or (
        find_tag(following).startswith("n") and not _is_person_noun(following)
    )
    if previous in _PERSON_PRONOUNS:
        return Reading.WORD if is_object or not after else Reading.UNCERTAIN
    if following in _PERSON_PRONOUNS and find_tag(previous).startswith("d"):
        return Reading.WORD
    if previous == "的":
        return Reading.UNCERTAIN
    if not after and previous in _DESCRIBED_NOUNS:
        return Reading.WORD
    if not after and find_tag(previous) in ("n", "t", "s", "vn", "an") and not _is_person_noun(previous):
        return Reading.UNCERTAIN
    if not before and len(after) == 1 and (is_object or len(following) == 2) and not _is_person_noun(following):
        return Reading.WORD if following in _PERSON_POSSESSIONS else Reading.UNCERTAIN
    return Reading.NAME


def _is_repeated(word: str) -> bool:
    """Is it a word of manner that repeats itself: 缓缓, 依依, 慢慢地?"""
    return 1 < len(word) < 4 and word[0] == word[1] and find_tag(word)[:1] in ("d", "z", "a", "")


def _is_person_noun(word: str) -> bool:
    return word in _GENERIC_PERSONS or word[-1:] in _PERSON_NOUN_ENDINGS or find_tag(word).startswith("nr")
