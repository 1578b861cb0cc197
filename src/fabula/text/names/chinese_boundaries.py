"""Decide whether a Chinese name stands by itself or is part of other words (cdx-3).

Chinese has no spaces. A segmenter that knows the names decides: a name must begin where a word begins, so that
树林远处 does not mention 林远. These rules correct the segmenter:

- a name of three or more characters is hardly ever an accident, and counts wherever it occurs;
- the dictionary has words that are two words, 于孙权 or 学雷锋: a full name that the story knows outranks them, and a
  conjunction may be part of such a word (和丽丽 means "and 丽丽");
- the owner's own surname may stand before another of their names: 刘玄德 is 玄德;
- a name that continues, as 桥本 does in 桥本龙太郎, or that follows another one (道—琼斯), is somebody else's;
- a person's name in front of a place or an institution (伏羲庙, 任岩松中学) names that place;
- a name whose first character is the end of a word (林远 in 密林远比), where what is left of that word is none, is not
  meant;
- a person's name that begins a longer ordinary word (高峰 in 高峰期) is part of that word.

`ambiguous.py` decides whether a person's name that is also a word is meant as the name.
"""

from __future__ import annotations

from collections.abc import Iterable, Set
from math import inf, log

from msgspec import Struct

from fabula.text.names.ambiguous import Reading, follows_measure_word, read_chinese
from fabula.text.names.surnames import DOUBLE_SURNAMES, UNAMBIGUOUS_SURNAMES
from fabula.text.segmenter import DICTIONARY_WORDS, find_tag, load_segmenter, weigh_cut, weigh_word
from fabula.text.word_list import load_word_lists

CONTEXT_CHARACTERS = 24  # on each side of a match that the segmenter is given
_STEM_WEIGHT = 1.5  # in favour of a cut in which the character before the name is half of a word
LONG_NAME = 3  # characters
_NAME_WEIGHT = log(1000 / DICTIONARY_WORDS)  # of a known name, beside the words of the dictionary
_PLACE_ENDINGS = frozenset("庙祠桥路街村镇县市寺亭塔墓林洞店")
_LISTS = load_word_lists("chinese_names")
_INSTITUTIONS, _TITLES = _LISTS["institutions"], _LISTS["forms_of_address"]
_NAME_JOINTS = frozenset("—–-－·・•‧")  # between the parts of one foreign name
_MEASURES_OF_PICTURES = "张声把"  # 一张尹强的照片
_NAME_PREFIXES = frozenset("小老阿大")  # 老林远 is 林远
_TRANSCRIPTION = frozenset("斯尔姆特克德普弗蒂茨恩顿莱")  # frequent in foreign names


class SegmentedWord(Struct, frozen=True, gc=False):
    """The word in which a match begins, where that word starts, and the words of its clause before and after it."""

    word: str
    start: int
    words_before: list[str]
    words_after: list[str]

    @property
    def before(self) -> str:
        """The word before it; "" at the beginning of a clause."""
        return self.words_before[-1] if self.words_before else ""

    @property
    def after(self) -> str:
        """The word after it; "" at the end of a clause."""
        return self.words_after[0] if self.words_after else ""


def read_name_at(
    text: str,
    start: int,
    end: int,
    *,
    is_person: bool,
    owner_names: Set[str] = frozenset(),
    overlapping: Iterable[tuple[int, int]] = (),
) -> Reading:
    """Does a name stand here by itself, and is the name meant?

    `owner_names` are the owner's other names and their surnames. `overlapping` are the places of other known names
    that share characters with this one.
    """
    if end - start == 1:
        return Reading.WORD if _is_han(text, start - 1) or _is_han(text, end) else Reading.NAME
    name = text[start:end]
    if is_person and start > 1 and text[start - 1] in _NAME_JOINTS and _is_han(text, start - 2) and _is_foreign(name):
        # two joints are a dash
        return Reading.NAME if _follows_own_name(text, start - 1, owner_names) else Reading.WORD
    word = _segment(text, start, end, overlapping, is_person=is_person)
    is_long = len(name) >= LONG_NAME
    if word.start < start:
        is_name = is_long or _is_swallowed(word, name, start, end) or _follows_own_name(text, start, owner_names)
        return Reading.NAME if is_name else Reading.WORD
    rest = word.word[end - start :]
    if not is_person:
        return Reading.NAME
    if _continues(rest, word.after) or _has_other_surname(word, name, owner_names):
        return Reading.WORD
    if is_long:
        return Reading.NAME
    is_in_dictionary = load_segmenter().has_word(name)
    if follows_measure_word(text, start, except_for="" if is_in_dictionary else _MEASURES_OF_PICTURES):
        return Reading.WORD
    if _begins_longer_word(name, word.word, rest):
        return Reading.WORD
    if not is_in_dictionary:
        return Reading.NAME
    return read_chinese(name, word.words_before, [rest, *word.words_after] if rest else word.words_after)


def _segment(
    text: str, start: int, end: int, overlapping: Iterable[tuple[int, int]], *, is_person: bool
) -> SegmentedWord:
    """The word in which a name begins, in the likeliest cut of the clause that may hold names as words."""
    cut = load_segmenter().cut
    first, last = _find_clause(text, start, end)
    before, after = cut(text[first:start], False), cut(text[end:last], False)
    is_chinese = all(_is_han(text, at) for at in range(start, end))
    weight = weigh_cut(before) + _NAME_WEIGHT + weigh_cut(after) if is_chinese else -inf
    best = cut(text[first:last], False)
    best_weight = weigh_cut(best)
    if before and _is_stem(before[-1]) and load_segmenter().has_word(before[-1] + text[start]):
        # 神州 in 名传神州 is a word of the dictionary, and a place: a person's name is seldom one.
        best_weight += _STEM_WEIGHT if is_person or not load_segmenter().has_word(text[start:end]) else 0
    for other_start, other_end in overlapping:
        if first <= other_start and other_end <= last:
            others = [*cut(text[first:other_start], False), text[other_start:other_end]]
            others += cut(text[other_end:last], False)
            other_weight = weigh_cut(others) - weigh_word(text[other_start:other_end]) + _NAME_WEIGHT
            if other_weight > best_weight:
                best, best_weight = others, other_weight
    if weight >= best_weight:
        return SegmentedWord(text[start:end], start, before, after)
    at = first
    for number, word in enumerate(best):
        if at + len(word) > start:
            return SegmentedWord(word, at, best[:number], best[number + 1 :])
        at += len(word)
    raise AssertionError("a cut covers its text")


def _is_stem(before: str) -> bool:
    """Is the word before a name one character that mostly is half of a word, as 密 is in 密林?"""
    return len(before) == 1 and before not in _NAME_PREFIXES and find_tag(before) in ("n", "a", "b")


def _find_clause(text: str, start: int, end: int) -> tuple[int, int]:
    """The stretch of Chinese characters around a name, as far as it matters."""
    first, last = start, end
    while first > max(0, start - CONTEXT_CHARACTERS) and _is_han(text, first - 1):
        first -= 1
    while last < min(len(text), end + CONTEXT_CHARACTERS) and _is_han(text, last):
        last += 1
    return first, last


def _is_full_name(name: str) -> bool:
    """Is it a surname with a given name after it?"""
    return name[0] in UNAMBIGUOUS_SURNAMES or name[:2] in DOUBLE_SURNAMES


def _is_foreign(name: str) -> bool:
    """Is it a transcription, or at least not a surname with a given name?"""
    return not _is_full_name(name) or not _TRANSCRIPTION.isdisjoint(name)


def _is_swallowed(word: SegmentedWord, name: str, start: int, end: int) -> bool:
    """Is a word of the dictionary this name with one more character in front?"""
    if word.start != start - 1 or word.start + len(word.word) != end or find_tag(name)[:2] not in ("nr", ""):
        return False
    if _is_full_name(name):
        return find_tag(word.word).startswith("nr") or not _is_proper_noun(word.word)
    return find_tag(word.word[0]).startswith(("c", "p", "v", "zg"))


def _begins_longer_word(name: str, word: str, rest: str) -> bool:
    """Is this a longer ordinary word, and not two words in one (明治维新, 雷锋精神)?"""
    if rest in ("", "的") or _is_full_name(name) or _is_proper_noun(word):
        return False
    tag = find_tag(word)
    if tag in ("i", "l"):  # 愚公移山 speaks of 愚公
        return not find_tag(name).startswith("n")
    return tag != "" and not (len(rest) > 1 and load_segmenter().has_word(rest))


def _follows_own_name(text: str, start: int, owner_names: Set[str]) -> bool:
    return any(text.startswith(other, start - len(other)) for other in owner_names if len(other) <= start)


def _has_other_surname(word: SegmentedWord, name: str, owner_names: Set[str]) -> bool:
    """Is it a given name after a surname that is not the owner's: 李建国 where 王建国 is known?"""
    if _is_full_name(name) or owner_names.isdisjoint(UNAMBIGUOUS_SURNAMES | DOUBLE_SURNAMES):
        return False
    return (word.before in UNAMBIGUOUS_SURNAMES or word.before in DOUBLE_SURNAMES) and word.before not in owner_names


def _continues(rest: str, after: str) -> bool:
    """Is what follows a person's name part of a longer name?"""
    if not rest:
        return after in _PLACE_ENDINGS or after in _INSTITUTIONS
    return rest in _PLACE_ENDINGS if len(rest) == 1 else rest not in _TITLES and _is_proper_noun(rest)


def _is_proper_noun(word: str) -> bool:
    return find_tag(word).startswith(("nr", "ns", "nt", "nz"))


def _is_han(text: str, at: int) -> bool:
    return 0 <= at < len(text) and "\u3400" <= text[at] <= "\u9fff"
